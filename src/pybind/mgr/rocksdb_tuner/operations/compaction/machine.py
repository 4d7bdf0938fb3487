"""State machine of a compaction campaign: pure, no I/O, no clock.

As in a rollout, the driver stores the next state before it executes an action. A compaction cannot
be undone or stopped: pause, abort and mode off only keep the next one from starting. Requesting a
compaction twice is harmless, two compactions at once are not: a compaction that may still run is
monitored until the OSD itself reports that none is running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ...mgr.records import ClusterMap
from ...units import format_duration
from ..gates import closed_gate
from ..phases import OBSERVES_FIRST, Phase
from .records import (
    FINISHED,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    concluded,
    skipped,
    waiting,
    with_osd,
    with_pause,
)
from .rules import (
    SLOW_WRITES,
    Compact,
    Limits,
    Probe,
    Step,
    View,
    is_new_process,
    probe_of,
    together,
    why_down,
    why_given_up,
    why_held,
    why_no_room,
    why_silent,
    why_unknown,
)


def step(state: CampaignState, view: View, now_s: float, limits: Limits) -> Step:
    """The next state and at most one action. ``now_s`` only timestamps the state."""
    if state.ended:
        return Step(state)
    if view.watched_s < limits.observe_first_s:
        result = Step(waiting(state, OBSERVES_FIRST))
    else:
        result = _next(replace(state, paused_reason=None), view, limits)
    changed = with_pause(result.state)
    stamped = changed if changed == state else replace(changed, updated_s=now_s)
    return replace(result, state=stamped)


def probed(state: CampaignState, cluster: ClusterMap) -> tuple[int, ...]:
    """The OSDs whose counters the next step needs."""
    if state.ended:
        return ()
    asked = [osd.osd_id for osd in state.osds if osd.step is CompactionStep.COMPACTING]
    following = None if state.ending or state.paused_by else _following(state, cluster)
    return (*asked, *(() if following is None else (following.osd_id,)))


def gated(
    state: CampaignState, cluster: ClusterMap, probes: Mapping[int, Probe]
) -> tuple[int, ...]:
    """The OSDs for which the next step needs the gates."""
    found = []
    for osd in state.osds:
        probe = probes.get(osd.osd_id)
        idle = probe is not None and not probe.running and probe.started <= osd.started_before
        if osd.step is CompactionStep.COMPACTING and (idle or is_new_process(osd, probe)):
            found.append(osd.osd_id)
    held = state.ended or state.ending or state.paused_by
    following = None if held else _following(state, cluster)
    return (*found, *(() if following is None else (following.osd_id,)))


def _next(state: CampaignState, view: View, limits: Limits) -> Step:
    compact: Optional[int] = None
    runs = []
    for osd in state.in_flight:
        watched = watch(state, osd, view, limits)
        if watched.ask_again and compact is not None:
            # One at a time: this one is requested in the next step.
            continue
        state = with_osd(state, watched.osd)
        if watched.runs is not None:
            runs.append(watched.runs)
        if watched.waits is not None and state.paused_reason is None:
            state = waiting(state, watched.waits)
        if watched.ask_again:
            compact = osd.osd_id
    waits_for = '; '.join(runs) or None
    if compact is not None:
        return Step(state, (Compact(compact),), waits_for)
    if state.ending is not None:
        return Step(state if state.in_flight else concluded(state), waits_for=waits_for)
    following = _following(state, view.cluster.cluster)
    if following is None:
        return Step(state if state.in_flight else concluded(state), waits_for=waits_for)
    if state.paused_reason is not None:
        return Step(state, waits_for=waits_for)
    started = _start_osd(state, following, view, limits)
    return replace(
        started, waits_for='; '.join([*runs, *filter(None, [started.waits_for])]) or None
    )


def _start_osd(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Step:
    """Compact one more OSD if all gates are open."""
    n = osd.osd_id
    held = why_held(state, view)
    if held is not None:
        return Step(waiting(state, held))
    lost = why_given_up(n, view, limits)
    if lost is not None:
        return Step(with_osd(state, skipped(osd, lost)))
    closed = why_down(n, view) or closed_gate(view.cluster, n) or view.cluster.schedule_reason
    if closed is not None:
        return Step(waiting(state, closed))
    if state.stage is Phase.PREFLIGHT and view.watched_s < limits.baseline_s:
        return Step(state, waits_for='measuring client write latency before the first OSD')
    silent = why_silent(n, view, limits)
    if silent is not None:
        return Step(with_osd(state, skipped(osd, silent)))
    unknown = why_unknown(n, view)
    if unknown is None and _lacks_baseline(state, view):
        return Step(replace(state, stage=_stage(state), baseline_ms=view.latency_ms))
    closed = unknown or _slower(state, view, limits)
    if closed is not None:
        return Step(waiting(state, closed))
    probe = probe_of(n, view)
    if probe is None:
        return Step(state, waits_for=f'osd.{n} has not returned its counters yet')
    if probe.running:
        return Step(waiting(state, f'osd.{n} is already compacting, not started by this campaign'))
    return _asked(state, osd, probe, view)


def _asked(state: CampaignState, osd: OsdCompaction, probe: Probe, view: View) -> Step:
    used_bytes = view.used_bytes[osd.osd_id]
    full = why_no_room(used_bytes, view.total_bytes[osd.osd_id])
    if full is not None:
        return Step(with_osd(state, skipped(osd, full)))
    compacting = replace(
        osd,
        step=CompactionStep.COMPACTING,
        nonce=probe.nonce,
        started_before=probe.started,
        asked=1,
        used_before_bytes=used_bytes,
    )
    changed = with_osd(state, compacting)
    return Step(
        replace(changed, stage=_stage(changed), errors=0, last_error=None), (Compact(osd.osd_id),)
    )


def _following(state: CampaignState, cluster: ClusterMap) -> Optional[OsdCompaction]:
    """The next OSD; None if the maximum is already compacting, or none is left."""
    flying = state.in_flight
    following = next((o for o in state.osds if o.step is CompactionStep.PENDING), None)
    if following is None or not flying:
        return following
    # The first OSD compacts alone: its effect on clients is seen before there are two.
    first_done = any(osd.step in FINISHED for osd in state.osds)
    if not first_done or len(flying) >= state.request.parallel:
        return None
    return following if together((following, *flying), cluster) else None


def _lacks_baseline(state: CampaignState, view: View) -> bool:
    """Whether to measure it now: before the first OSD, or once clients start to write."""
    if state.stage is Phase.PREFLIGHT:
        return True
    return state.baseline_ms is None and view.latency_ms is not None and not state.in_flight


def _slower(state: CampaignState, view: View, limits: Limits) -> Optional[str]:
    if view.latency_ms is None:
        return None
    if state.baseline_ms is None:
        return 'client write latency has no baseline: clients started to write during a compaction'
    if view.latency_ms <= state.baseline_ms * limits.slower:
        return None
    # Without the current value: the text would change, and be stored, at every step.
    return (
        f'{SLOW_WRITES} {limits.slower:g} times the baseline of {state.baseline_ms:.1f} ms; '
        '"ceph rocksdb-tuner operation resume" accepts the current latency as the new baseline'
    )


def _stage(state: CampaignState) -> Phase:
    first_done = any(osd.step in FINISHED for osd in state.osds)
    return Phase.PROMOTING if first_done else Phase.CANARY


@dataclass(frozen=True)
class Watched:
    osd: OsdCompaction
    #: Why it is held up.
    waits: Optional[str] = None
    ask_again: bool = False
    #: Its current work, for display.
    runs: Optional[str] = None


def watch(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """The next step of an OSD in flight."""
    n = osd.osd_id
    osd = replace(osd, latency_ms=_higher(osd.latency_ms, view.latency_ms))
    if osd.step is CompactionStep.SETTLING:
        if view.in_step_s.get(n, 0.0) < limits.settle_s:
            return Watched(osd, runs=f'osd.{n} has compacted and is deleting old files')
        used = view.used_bytes.get(n)
        return Watched(replace(osd, step=CompactionStep.DONE, used_after_bytes=used))
    lost = why_given_up(n, view, limits)
    if lost is not None:
        return Watched(skipped(osd, lost))
    down = why_down(n, view)
    if down is not None:
        return Watched(osd, waits=down)
    probe = probe_of(n, view)
    if probe is None or probe.running:
        return Watched(osd, runs=_running(n, probe, view))
    if is_new_process(osd, probe):
        # A new process: the previous compaction ended with the old one, and counters restarted.
        return Watched(replace(osd, nonce=probe.nonce, started_before=0))
    if probe.started > osd.started_before:
        return Watched(replace(osd, step=CompactionStep.SETTLING))
    if view.in_step_s.get(n, 0.0) < limits.begin_s:
        return Watched(osd, runs=f'compaction requested from osd.{n}')
    return _not_started(state, osd, view, limits)


def _running(osd_id: int, probe: Optional[Probe], view: View) -> str:
    """A Pacific OSD answers only when it is done; one that hangs never answers."""
    seen_s = view.in_step_s.get(osd_id, 0.0)
    # It may have started under another manager.
    least = 'at least ' if seen_s >= view.watched_s else ''
    text = f'osd.{osd_id} has been compacting for {least}{format_duration(seen_s)}'
    return text if probe is not None else f'{text} and has not answered'


def _not_started(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """A compaction was requested and does not start."""
    if osd.asked >= limits.tries:
        reason = f'it did not start compacting after {osd.asked} requests'
        text = f'{reason} ({state.last_error})' if state.last_error else reason
        return Watched(skipped(osd, text))
    if state.ending is not None:
        return Watched(skipped(osd, 'it had not started when the campaign ended'))
    silent = why_silent(osd.osd_id, view, limits)
    if silent is not None:
        return Watched(skipped(osd, silent))
    closed = (
        why_held(state, view)
        or closed_gate(view.cluster, osd.osd_id)
        or why_unknown(osd.osd_id, view)
        or _apart(state, osd, view, limits)
    )
    if closed is not None:
        return Watched(osd, waits=closed)
    return Watched(replace(osd, asked=osd.asked + 1), ask_again=True)


def _apart(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Optional[str]:
    """Why it would compact together with an OSD of another failure domain: one was moved."""
    earlier = True
    for other in state.in_flight:
        if other.osd_id == osd.osd_id:
            earlier = False
        # If neither of two compacts, the first gets the request, and the second waits.
        elif (earlier or not _idle(other, view, limits)) and not together(
            (osd, other), view.cluster.cluster
        ):
            return f'osd.{other.osd_id} is compacting in another failure domain'
    return None


def _idle(osd: OsdCompaction, view: View, limits: Limits) -> bool:
    """Whether an OSD got the request and is known not to be compacting."""
    if osd.step is not CompactionStep.COMPACTING:
        return False
    probe = probe_of(osd.osd_id, view)
    if probe is None or probe.running:
        return False
    if is_new_process(osd, probe):
        return True
    late = view.in_step_s.get(osd.osd_id, 0.0) >= limits.begin_s
    return late and probe.started <= osd.started_before


def _higher(one: Optional[float], other: Optional[float]) -> Optional[float]:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
