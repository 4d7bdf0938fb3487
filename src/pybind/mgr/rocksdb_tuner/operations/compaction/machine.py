"""What to do next about a compaction campaign: pure, no I/O, no clock.

As in a rollout, the driver stores the next state before it carries an action out. A compaction
cannot be taken back or stopped: pause, abort and the kill switch only keep the next from beginning.
That an OSD is asked twice is harmless, that two compact at once is not: whatever may still run is
watched until the OSD itself says that it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ...mgr.records import ClusterMap
from ...units import format_duration
from ..gates import NOT_ALLOWED, closed_gate
from ..leaving import Away, absent, why_away
from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .records import FINISHED, CampaignState, CompactionStep, OsdCompaction
from .view import Probe, View

#: Why an OSD was left is kept of each, and cut to this many characters.
REASON_MAX = 120
#: How the reason begins while clients' writes are slower than before.
SLOW_WRITES = 'writes of clients take more than'


@dataclass(frozen=True)
class Limits:
    """In seconds as seen by one manager, where nothing else is said."""

    #: A manager that became active looks this long before it does anything.
    look_first_s: float = 10.0
    #: So long the clients are watched before anything is compacted.
    baseline_s: float = 60.0
    #: A compaction that was asked for may be counted this late.
    begin_s: float = 15.0
    #: Files that a compaction made superfluous are removed, and reported, within this time.
    settle_s: float = 30.0
    #: No further OSD is begun while clients' writes take longer than before by this factor.
    slower: float = 1.5
    #: An OSD that stays down and out for so long is left behind.
    away_s: float = 300.0
    #: An OSD that did not begin when asked so often is left.
    tries: int = 2


@dataclass(frozen=True)
class Step:
    state: CampaignState
    #: The OSD to be asked to compact now.
    compact: Optional[int] = None
    #: What goes on that nothing holds up: shown, and not stored, since it names a time.
    waits_for: Optional[str] = None


def step(state: CampaignState, view: View, now_s: float, limits: Limits) -> Step:
    """The next state and at most one action. ``now_s`` only stamps the state."""
    if state.ended:
        return Step(state)
    if view.watched_s < limits.look_first_s:
        result = Step(_waiting(state, 'this manager has just become active and looks first'))
    else:
        result = _next(replace(state, paused_reason=None), view, limits)
    changed = _with_pause(result.state)
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
        if osd.step is CompactionStep.COMPACTING and (idle or _is_new(osd, probe)):
            found.append(osd.osd_id)
    held = state.ended or state.ending or state.paused_by
    following = None if held else _following(state, cluster)
    return (*found, *(() if following is None else (following.osd_id,)))


def _is_new(osd: OsdCompaction, probe: Optional[Probe]) -> bool:
    """Whether the OSD's process is another than that which was asked."""
    return probe is not None and probe.nonce != osd.nonce


def paused(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Nothing more is begun until `resumed`."""
    return replace(state, paused_by=actor, paused_reason=paused_text(actor), updated_s=now_s)


def resumed(state: CampaignState, now_s: float) -> CampaignState:
    """Go on, and take the clients' latency of now for what it is without a compaction."""
    stage = state.stage if state.in_flight else Phase.PREFLIGHT
    return replace(
        state,
        stage=stage,
        baseline_ms=state.baseline_ms if state.in_flight else None,
        paused_by=None,
        paused_reason=None,
        errors=0,
        updated_s=now_s,
    )


def aborted(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Begin nothing more; what runs is watched to its end."""
    ending = replace(
        state,
        ending=f'aborted by {actor}',
        paused_by=None,
        paused_reason=None,
        updated_s=now_s,
    )
    return ending if ending.in_flight else _end(ending)


def ask_failed(state: CampaignState, osd_id: int, error: str, now_s: float) -> CampaignState:
    """The state after the command to compact was refused, or its answer never came.

    Whether the OSD compacts all the same is for its counters to say.
    """
    told = clip(f'osd.{osd_id}: {error}')
    return replace(state, errors=state.errors + 1, last_error=told, updated_s=now_s)


def _next(state: CampaignState, view: View, limits: Limits) -> Step:
    compact: Optional[int] = None
    runs = []
    for osd in state.in_flight:
        watched = _watched(state, osd, view, limits)
        if watched.ask_again and compact is not None:
            # One at a time: this one is asked at the next look.
            continue
        state = _with(state, watched.osd)
        if watched.runs is not None:
            runs.append(watched.runs)
        if watched.waits is not None and state.paused_reason is None:
            state = _waiting(state, watched.waits)
        if watched.ask_again:
            compact = osd.osd_id
    waits_for = '; '.join(runs) or None
    if compact is not None:
        return Step(state, compact, waits_for)
    if state.ending is not None:
        return Step(state if state.in_flight else _end(state), waits_for=waits_for)
    following = _following(state, view.cluster.cluster)
    if following is None:
        return Step(state if state.in_flight else _end(state), waits_for=waits_for)
    if state.paused_reason is not None:
        return Step(state, waits_for=waits_for)
    begun = _begin(state, following, view, limits)
    return replace(begun, waits_for='; '.join([*runs, *filter(None, [begun.waits_for])]) or None)


@dataclass(frozen=True)
class _Watched:
    osd: OsdCompaction
    #: Why it goes no further.
    waits: Optional[str] = None
    ask_again: bool = False
    #: What it does meanwhile.
    runs: Optional[str] = None


def _watched(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> _Watched:
    """One OSD on which something may run."""
    n = osd.osd_id
    osd = replace(osd, latency_ms=_higher(osd.latency_ms, view.latency_ms))
    if osd.step is CompactionStep.SETTLING:
        if view.in_step_s.get(n, 0.0) < limits.settle_s:
            return _Watched(osd, runs=f'osd.{n} has compacted, and removes files')
        used = view.used_bytes.get(n)
        return _Watched(replace(osd, step=CompactionStep.DONE, used_after_bytes=used))
    lost = _lost(n, view, limits)
    if lost is not None:
        return _Watched(_skipped(osd, lost))
    down = _down(n, view)
    if down is not None:
        return _Watched(osd, waits=down)
    probe = _probe(n, view)
    if probe is None or probe.running:
        return _Watched(osd, runs=_running(n, probe, view))
    if _is_new(osd, probe):
        # Another process: what the one before it did ended with it, and its count began anew.
        return _Watched(replace(osd, nonce=probe.nonce, begun_before=0))
    if probe.begun > osd.begun_before:
        return _Watched(replace(osd, step=CompactionStep.SETTLING))
    if view.in_step_s.get(n, 0.0) < limits.begin_s:
        return _Watched(osd, runs=f'osd.{n} was asked to compact')
    return _not_begun(state, osd, view, limits)


def _running(osd_id: int, probe: Optional[Probe], view: View) -> str:
    """An OSD of Pacific answers nothing until it is done, and one that hangs never does."""
    seen_s = view.in_step_s.get(osd_id, 0.0)
    # It may have begun under another manager.
    least = 'at least ' if seen_s >= view.watched_s else ''
    told = f'osd.{osd_id} has been compacting for {least}{format_duration(seen_s)}'
    return told if probe is not None else f'{told} and has not answered'


def _not_begun(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> _Watched:
    """It was asked, and does not compact."""
    if osd.asked >= limits.tries:
        reason = f'it was asked {osd.asked} times to compact and did not'
        told = f'{reason} ({state.last_error})' if state.last_error else reason
        return _Watched(_skipped(osd, told))
    if state.ending is not None:
        return _Watched(_skipped(osd, 'it had not begun at the end'))
    closed = (
        _held(state, view)
        or closed_gate(view.cluster, osd.osd_id)
        or _apart(state, osd, view, limits)
    )
    if closed is not None:
        return _Watched(osd, waits=closed)
    return _Watched(replace(osd, asked=osd.asked + 1), ask_again=True)


def _apart(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Optional[str]:
    """Why it would compact beside an OSD of another failure domain: one of them was moved."""
    earlier = True
    for other in state.in_flight:
        if other.osd_id == osd.osd_id:
            earlier = False
        # Of two that do not compact the first is asked, and the second waits for it.
        elif (earlier or not _idle(other, view, limits)) and not _together(
            (osd, other), view.cluster.cluster
        ):
            return f'osd.{other.osd_id} compacts in another failure domain'
    return None


def _idle(osd: OsdCompaction, view: View, limits: Limits) -> bool:
    """Whether an OSD was asked, and is known not to compact."""
    if osd.step is not CompactionStep.COMPACTING:
        return False
    probe = _probe(osd.osd_id, view)
    if probe is None or probe.running:
        return False
    if _is_new(osd, probe):
        return True
    late = view.in_step_s.get(osd.osd_id, 0.0) >= limits.begin_s
    return late and probe.begun <= osd.begun_before


def _begin(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Step:
    """Compact one more OSD, if everything allows it."""
    n = osd.osd_id
    held = _held(state, view)
    if held is not None:
        return Step(_waiting(state, held))
    lost = _lost(n, view, limits)
    if lost is not None:
        return Step(_with(state, _skipped(osd, lost)))
    closed = _down(n, view) or closed_gate(view.cluster, n) or view.cluster.not_now
    if closed is not None:
        return Step(_waiting(state, closed))
    if state.stage is Phase.PREFLIGHT:
        if view.watched_s < limits.baseline_s:
            return Step(state, waits_for='writes of clients are measured before the first OSD')
        return Step(replace(state, stage=_stage(state), baseline_ms=view.latency_ms))
    slower = _slower(state, view, limits)
    if slower is not None:
        return Step(_waiting(state, slower))
    probe = _probe(n, view)
    if probe is None:
        return Step(state, waits_for=f'osd.{n} has not answered for its counters')
    if probe.running:
        return Step(_waiting(state, f'osd.{n} compacts already, by somebody else'))
    used, total = view.used_bytes.get(n), view.total_bytes.get(n)
    if used is not None and total is not None and 2 * used > total:
        reason = 'its DB device has no room for a second copy of what is compacted'
        return Step(_with(state, _skipped(osd, reason)))
    return _asked(state, osd, probe, used)


def _probe(osd_id: int, view: View) -> Optional[Probe]:
    """What the process of now says of its compactions."""
    probe, info = view.probes.get(osd_id), view.cluster.osd(osd_id)
    return probe if probe is not None and info is not None and probe.nonce == info.nonce else None


def _lost(osd_id: int, view: View, limits: Limits) -> Optional[str]:
    """Why nobody waits for an OSD any more; None: it is there, or may come back."""
    if absent(view.cluster, osd_id) is Away.GONE:
        return 'it is not in the OSD map any more'
    return f'it {Away.DOWN_AND_OUT.value}' if _stays_away(osd_id, view, limits) else None


def _stays_away(osd_id: int, view: View, limits: Limits) -> bool:
    """Whether an OSD was replaced by others for so long that nobody waits for it any more.

    Whatever it was asked ended with its process.
    """
    return view.away_s.get(osd_id, 0.0) >= limits.away_s


def _down(osd_id: int, view: View) -> Optional[str]:
    info = view.cluster.osd(osd_id)
    if info is None or info.up:
        return None
    away = absent(view.cluster, osd_id)
    if away is None:
        return f'osd.{osd_id} is down'
    return f'{why_away(osd_id, away)}: it is left behind if that stays so'


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
    changed = _with(state, begun)
    return Step(replace(changed, stage=_stage(changed), errors=0, last_error=None), osd.osd_id)


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
    return following if _together((following, *flying), cluster) else None


def _together(osds: Collection[OsdCompaction], cluster: ClusterMap) -> bool:
    """Whether OSDs are of one failure domain now: some may have been moved since the plan."""
    wanted = {osd.osd_id for osd in osds}
    domains = {o.osd_id: o.failure_domain for o in cluster.osds if o.osd_id in wanted}
    known = len(domains) == len(wanted) and None not in domains.values()
    return known and len(set(domains.values())) == 1


def _slower(state: CampaignState, view: View, limits: Limits) -> Optional[str]:
    if state.baseline_ms is None or view.latency_ms is None:
        return None
    if view.latency_ms <= state.baseline_ms * limits.slower:
        return None
    # Without the figure of now: the text would change, and be stored, at every look.
    return (
        f'{SLOW_WRITES} {limits.slower:g} times the {state.baseline_ms:.1f} ms of before; '
        '"ceph rocksdb-tuner rollout resume" takes the latency of then for the usual one'
    )


def _held(state: CampaignState, view: View) -> Optional[str]:
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if view.cluster.may_act else NOT_ALLOWED


def _stage(state: CampaignState) -> Phase:
    first_done = any(osd.step in FINISHED for osd in state.osds)
    return Phase.PROMOTING if first_done else Phase.CANARY


def _end(state: CampaignState) -> CampaignState:
    skipped = [osd for osd in state.osds if osd.step is CompactionStep.SKIPPED]
    done = [osd for osd in state.osds if osd.step is CompactionStep.DONE]
    told = '; '.join(f'osd.{osd.osd_id}: {osd.reason}' for osd in skipped[:5])
    if len(skipped) > 5:
        told += f'; and {len(skipped) - 5} more'
    if state.ending is not None:
        stage, outcome = Phase.FAILED, Outcome.ABORTED
        told = f'{state.ending}; {told}' if told else state.ending
    elif done:
        stage, outcome = Phase.DONE, Outcome.DONE
    else:
        stage, outcome = Phase.FAILED, Outcome.FAILED
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        failure=clip(told) or None,
        ending=None,
        paused_by=None,
    )


def _skipped(osd: OsdCompaction, reason: str) -> OsdCompaction:
    return replace(osd, step=CompactionStep.SKIPPED, reason=clip(reason, REASON_MAX))


def _with(state: CampaignState, osd: OsdCompaction) -> CampaignState:
    return replace(state, osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds))


def _waiting(state: CampaignState, reason: str) -> CampaignState:
    return replace(state, paused_reason=clip(reason))


def _with_pause(state: CampaignState) -> CampaignState:
    if state.paused_by is None:
        return state
    return replace(state, paused_reason=paused_text(state.paused_by))


def _higher(one: Optional[float], other: Optional[float]) -> Optional[float]:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
