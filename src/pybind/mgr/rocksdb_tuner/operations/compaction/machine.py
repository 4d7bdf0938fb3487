"""What to do next about a compaction campaign: pure, no I/O, no clock.

As in a rollout, the driver stores the next state before it carries an action out. A compaction
cannot be taken back or stopped: pause, abort and the kill switch only keep the next from beginning.
That an OSD is asked twice is harmless, that two compact at once is not: whatever may still run is
watched until the OSD itself says that it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from ...mgr.records import ClusterMap
from ..gates import closed_gate
from ..phases import Phase
from ..texts import LOOKS_FIRST
from .records import FINISHED, CampaignState, CompactionStep, OsdCompaction
from .rules import (
    SLOW_WRITES,
    Compact,
    Limits,
    Step,
    is_new,
    probe_of,
    together,
    why_down,
    why_held,
    why_lost,
)
from .states import concluded, skipped, waiting, with_osd, with_pause
from .view import Probe, View
from .watching import watch


def step(state: CampaignState, view: View, now_s: float, limits: Limits) -> Step:
    """The next state and at most one action. ``now_s`` only stamps the state."""
    if state.ended:
        return Step(state)
    if view.watched_s < limits.look_first_s:
        result = Step(waiting(state, LOOKS_FIRST))
    else:
        result = _next(replace(state, paused_reason=None), view, limits)
    changed = with_pause(result.state)
    stamped = changed if changed == state else replace(changed, updated_s=now_s)
    return replace(result, state=stamped)


def probed(state: CampaignState, cluster: ClusterMap) -> tuple[int, ...]:
    """The OSDs whose compactions must be known next."""
    if state.ended:
        return ()
    asked = [osd.osd_id for osd in state.osds if osd.step is CompactionStep.COMPACTING]
    following = None if state.ending or state.paused_by else _following(state, cluster)
    return (*asked, *(() if following is None else (following.osd_id,)))


def gated(
    state: CampaignState, cluster: ClusterMap, probes: Mapping[int, Probe]
) -> tuple[int, ...]:
    """The OSDs of which must be known whether they may be asked to compact now."""
    found = []
    for osd in state.osds:
        probe = probes.get(osd.osd_id)
        idle = probe is not None and not probe.running and probe.begun <= osd.begun_before
        if osd.step is CompactionStep.COMPACTING and (idle or is_new(osd, probe)):
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
            # One at a time: this one is asked at the next look.
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
    begun = _begin(state, following, view, limits)
    return replace(begun, waits_for='; '.join([*runs, *filter(None, [begun.waits_for])]) or None)


def _begin(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Step:
    """Compact one more OSD, if everything allows it."""
    n = osd.osd_id
    held = why_held(state, view)
    if held is not None:
        return Step(waiting(state, held))
    lost = why_lost(n, view, limits)
    if lost is not None:
        return Step(with_osd(state, skipped(osd, lost)))
    closed = why_down(n, view) or closed_gate(view.cluster, n) or view.cluster.not_now
    if closed is not None:
        return Step(waiting(state, closed))
    if state.stage is Phase.PREFLIGHT:
        if view.watched_s < limits.baseline_s:
            return Step(state, waits_for='writes of clients are measured before the first OSD')
        return Step(replace(state, stage=_stage(state), baseline_ms=view.latency_ms))
    slower = _slower(state, view, limits)
    if slower is not None:
        return Step(waiting(state, slower))
    probe = probe_of(n, view)
    if probe is None:
        return Step(state, waits_for=f'osd.{n} has not answered for its counters')
    if probe.running:
        return Step(waiting(state, f'osd.{n} is already compacting, started by somebody else'))
    used, total = view.used_bytes.get(n), view.total_bytes.get(n)
    if used is not None and total is not None and 2 * used > total:
        reason = 'its DB device has no room for a second copy of the compacted data'
        return Step(with_osd(state, skipped(osd, reason)))
    return _asked(state, osd, probe, used)


def _asked(
    state: CampaignState, osd: OsdCompaction, probe: Probe, used_bytes: Optional[int]
) -> Step:
    begun = replace(
        osd,
        step=CompactionStep.COMPACTING,
        nonce=probe.nonce,
        begun_before=probe.begun,
        asked=1,
        used_before_bytes=used_bytes,
    )
    changed = with_osd(state, begun)
    return Step(
        replace(changed, stage=_stage(changed), errors=0, last_error=None), (Compact(osd.osd_id),)
    )


def _following(state: CampaignState, cluster: ClusterMap) -> Optional[OsdCompaction]:
    """The OSD to begin with next; None while as many compact as may, or none is left."""
    flying = state.in_flight
    following = next((o for o in state.osds if o.step is CompactionStep.PENDING), None)
    if following is None or not flying:
        return following
    # The first of all is alone: what it does to the clients is seen before there are two.
    first_done = any(osd.step in FINISHED for osd in state.osds)
    if not first_done or len(flying) >= state.request.parallel:
        return None
    return following if together((following, *flying), cluster) else None


def _slower(state: CampaignState, view: View, limits: Limits) -> Optional[str]:
    if state.baseline_ms is None or view.latency_ms is None:
        return None
    if view.latency_ms <= state.baseline_ms * limits.slower:
        return None
    # Without the figure of now: the text would change, and be stored, at every look.
    return (
        f'{SLOW_WRITES} {limits.slower:g} times the {state.baseline_ms:.1f} ms of before; '
        '"ceph rocksdb-tuner rollout resume" accepts the present latency as the new baseline'
    )


def _stage(state: CampaignState) -> Phase:
    first_done = any(osd.step in FINISHED for osd in state.osds)
    return Phase.PROMOTING if first_done else Phase.CANARY
