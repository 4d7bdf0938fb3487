"""State machine of a compaction campaign: pure, no I/O, no clock.

============  ==============================================  ===========
step          until                                           then
============  ==============================================  ===========
pending       all guards are open: a compaction is requested  compacting
compacting    the OSD's counters show that it ended           settling
settling      obsolete files are removed                      done
============  ==============================================  ===========

An OSD that cannot be compacted, or does not start compacting, is skipped. As in a rollout, the
driver stores the next state before it executes an action. A compaction cannot be undone or
stopped: pause, abort and mode off only keep the next one from starting. Requesting a compaction
twice is harmless, two compactions at once are not: a compaction that may still run is monitored
until the OSD itself reports that none is running.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Callable, NamedTuple, Optional

from ...mgr.records import ClusterMap
from ...units import format_duration
from .. import phases
from ..announce import ACTION_AFTER_S, gate_stays_closed, with_remedy
from ..gates import NOT_ALLOWED, Away, ClusterView, absent, closed_gate, why_away
from ..phases import OBSERVES_FIRST, Phase, paused_text
from .records import (
    FINISHED,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    concluded,
    skipped,
    waiting,
    with_osd,
)

#: No release reports the compaction counters to the manager, so they are queried. A Pacific OSD
#: handles commands one by one: while it compacts, the query waits, and an answer means that the
#: compaction is over. From Reef on it answers at once and reports whether one is running.
PROBE_COMMAND = 'perf dump'
PROBE_ARGUMENTS = {'logger': 'rocksdb'}


class Probe(NamedTuple):
    """The compaction counters of an OSD, after the last request."""

    #: The process in the OSD map at the time of the query.
    nonce: Optional[int]
    #: Compactions by command since its process started.
    started: int
    running: bool


#: Raised by a malformed answer.
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def parse_probe(text: str, nonce: Optional[int]) -> Probe:
    """Raises ValueError if ``text`` is not an answer to `PROBE_COMMAND`."""
    try:
        counters = json.loads(text)['rocksdb']
        return Probe(
            nonce,
            int(counters['compact']),
            # Pacific does not count running compactions: it does not answer during one.
            int(counters.get('compact_running', 0)) > 0
            or int(counters.get('compact_queue_len', 0)) > 0,
        )
    except _MALFORMED as error:
        raise ValueError(f'unexpected RocksDB counters ({type(error).__name__}: {error})') from None


class Measured(NamedTuple):
    """Current measurements. Unknown values are missing."""

    #: Used bytes of the DB, and the size of the device that it is on.
    used_bytes: Mapping[int, int]
    total_bytes: Mapping[int, int]
    #: Mean client write latency over all OSDs; None without writes, unless one is `unmeasured`.
    latency_ms: Optional[float]
    #: OSDs that are up and whose client writes are not known.
    unmeasured: frozenset[int]


#: Obsolete files are removed, and the space is reported, within this time and that by which reports
#: are late.
SETTLE_S = 30.0


@dataclass(frozen=True)
class Limits:
    """Seconds as seen by one manager, unless noted otherwise."""

    #: How long a newly active manager observes before it acts.
    observe_first_s: float = 10.0
    #: How long client latency is measured before the first compaction.
    baseline_s: float = 60.0
    #: A requested compaction shows in the counters within this time.
    begin_s: float = 15.0
    settle_s: float = SETTLE_S
    #: No further OSD is started while client writes are slower than the baseline by this factor.
    slower: float = 1.5
    #: An OSD that stays down and out, or without samples, for this long is left behind.
    away_s: float = 300.0
    #: An OSD that did not start compacting after this many requests is skipped.
    tries: int = 2


@dataclass(frozen=True)
class View:
    """The cluster at one time. Unknown values are missing."""

    cluster: ClusterView
    #: Without OSDs in `unmeasured` that were silent for too long to wait for.
    measured: Measured
    probes: Mapping[int, Probe] = field(default_factory=dict)
    #: How long this manager has been observing, and how long it has seen each OSD in its step.
    watched_s: float = 0.0
    in_step_s: Mapping[int, float] = field(default_factory=dict)
    #: How long it has seen each OSD down and out, or up without samples while others have some.
    away_s: Mapping[int, float] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def probe(self, osd_id: int) -> Optional[Probe]:
        """The answer of the current process."""
        probe, info = self.probes.get(osd_id), self.cluster.osd(osd_id)
        same = probe is not None and info is not None and probe.nonce == info.nonce
        return probe if same else None

    def stays_away(self, osd_id: int) -> bool:
        return self.away_s.get(osd_id, 0.0) >= self.limits.away_s

    def in_step(self, osd_id: int) -> float:
        return self.in_step_s.get(osd_id, 0.0)


@dataclass(frozen=True)
class Compact:
    """Ask an OSD to compact now."""

    osd_id: int


@dataclass(frozen=True)
class Step(phases.Step[CampaignState, Compact]):
    #: Work in progress that is not held up: displayed but not stored, since it names a time.
    works: tuple[str, ...] = ()

    @property
    def waits_for(self) -> Optional[str]:
        return '; '.join(self.works) or None

    @property
    def compact(self) -> Optional[int]:
        """The OSD to compact now."""
        return self.actions[0].osd_id if self.actions else None

    def then(self, step: Step) -> Step:
        return Step(step.state, self.actions or step.actions, (*self.works, *step.works))


def step(state: CampaignState, view: View, now_s: float) -> Step:
    """The next state and at most one action. ``now_s`` only timestamps the state."""
    if state.ended:
        return Step(state)
    free = replace(state, paused_reason=None)
    if view.watched_s < view.limits.observe_first_s:
        result = Step(waiting(free, OBSERVES_FIRST))
    else:
        result = _next(free, view)
    after = result.state
    if after.paused_by is not None:
        after = replace(after, paused_reason=paused_text(after.paused_by))
    return replace(result, state=after if after == state else replace(after, updated_s=now_s))


def probed(state: CampaignState, cluster: ClusterMap) -> tuple[int, ...]:
    """The OSDs whose counters the next step needs."""
    compacting = (osd.osd_id for osd in state.osds if osd.step is CompactionStep.COMPACTING)
    return () if state.ended else (*compacting, *_startable(state, cluster))


def gated(
    state: CampaignState, cluster: ClusterMap, probes: Mapping[int, Probe]
) -> tuple[int, ...]:
    """The OSDs for which the next step needs the gates."""
    found = []
    for osd in state.osds:
        probe = probes.get(osd.osd_id)
        idle = probe is not None and not probe.running and probe.started <= osd.started_before
        if osd.step is CompactionStep.COMPACTING and (idle or _is_new_process(osd, probe)):
            found.append(osd.osd_id)
    return (*found, *_startable(state, cluster))


def _startable(state: CampaignState, cluster: ClusterMap) -> tuple[int, ...]:
    held = state.ended or state.ending or state.paused_by
    following = None if held else _following(state, cluster)
    return () if following is None else (following.osd_id,)


def _next(state: CampaignState, view: View) -> Step:
    step = Step(state)
    for osd in state.in_flight:
        latency_ms = _higher(osd.latency_ms, view.measured.latency_ms)
        made = _STEPS[osd.step](step.state, replace(osd, latency_ms=latency_ms), view)
        # One at a time: this one is requested in the next step.
        if not (made.actions and step.actions):
            step = step.then(made)
    state = step.state
    if step.actions:
        return step
    following = None if state.ending else _following(state, view.cluster.cluster)
    if following is None:
        return step if state.in_flight else step.then(Step(concluded(state)))
    return step if state.paused_reason else step.then(_pending(state, following, view))


# -- the steps of an OSD


def _pending(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    """Compact one more OSD if all guards are open."""
    n, measured = osd.osd_id, view.measured
    held = _why_held(state, view)
    if held is not None:
        return Step(waiting(state, held))
    lost = why_given_up(n, view)
    if lost is not None:
        return Step(with_osd(state, skipped(osd, lost)))
    closed = _why_down(n, view) or closed_gate(view.cluster, n) or view.cluster.schedule_reason
    if closed is not None:
        return Step(waiting(state, closed))
    if state.stage is Phase.PREFLIGHT and view.watched_s < view.limits.baseline_s:
        return Step(state, works=('measuring client write latency before the first OSD',))
    silent = _why_silent(n, view)
    if silent is not None:
        return Step(with_osd(state, skipped(osd, silent)))
    unknown = _why_unknown(n, measured)
    if unknown is None and _lacks_baseline(state, measured):
        return Step(replace(state, stage=_stage(state), baseline_ms=measured.latency_ms))
    closed = unknown or _slower(state, view)
    if closed is not None:
        return Step(waiting(state, closed))
    probe = view.probe(n)
    if probe is None:
        return Step(state, works=(f'osd.{n} has not returned its counters yet',))
    if probe.running:
        return Step(waiting(state, f'osd.{n} is already compacting, not started by this campaign'))
    return _asked(state, osd, probe, measured)


def _asked(state: CampaignState, osd: OsdCompaction, probe: Probe, measured: Measured) -> Step:
    n = osd.osd_id
    full = why_no_room(measured.used_bytes[n], measured.total_bytes[n])
    if full is not None:
        return Step(with_osd(state, skipped(osd, full)))
    compacting = replace(
        osd,
        step=CompactionStep.COMPACTING,
        nonce=probe.nonce,
        started_before=probe.started,
        asked=1,
        used_before_bytes=measured.used_bytes[n],
    )
    after = with_osd(state, compacting)
    return Step(replace(after, stage=_stage(after), errors=0, last_error=None), (Compact(n),))


def _compacting(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    n = osd.osd_id
    state = with_osd(state, osd)
    lost = why_given_up(n, view)
    if lost is not None:
        return Step(with_osd(state, skipped(osd, lost)))
    down = _why_down(n, view)
    if down is not None:
        return Step(waiting(state, down))
    probe = view.probe(n)
    if probe is None or probe.running:
        return Step(state, works=(_running_text(n, probe, view),))
    if _is_new_process(osd, probe):
        # The previous compaction ended with the old process, and counters restarted.
        return Step(with_osd(state, replace(osd, nonce=probe.nonce, started_before=0)))
    if probe.started > osd.started_before:
        return Step(with_osd(state, replace(osd, step=CompactionStep.SETTLING)))
    if view.in_step(n) < view.limits.begin_s:
        return Step(state, works=(f'compaction requested from osd.{n}',))
    return _not_started(state, osd, view)


def _not_started(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    """A compaction was requested and does not start."""
    reason = _why_silent(osd.osd_id, view)
    if state.ending is not None:
        reason = 'it had not started when the campaign ended'
    if osd.asked >= view.limits.tries:
        reason = f'it did not start compacting after {osd.asked} requests'
        reason += f' ({state.last_error})' if state.last_error else ''
    if reason is not None:
        return Step(with_osd(state, skipped(osd, reason)))
    closed = (
        _why_held(state, view)
        or closed_gate(view.cluster, osd.osd_id)
        or _why_unknown(osd.osd_id, view.measured)
        or _apart(state, osd, view)
    )
    if closed is not None:
        return Step(waiting(state, closed))
    again = replace(osd, asked=osd.asked + 1)
    return Step(with_osd(state, again), (Compact(osd.osd_id),))


def _settling(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    n = osd.osd_id
    if view.in_step(n) < view.limits.settle_s:
        text = f'osd.{n} has compacted and is deleting old files'
        return Step(with_osd(state, osd), works=(text,))
    used = view.measured.used_bytes.get(n)
    return Step(with_osd(state, replace(osd, step=CompactionStep.DONE, used_after_bytes=used)))


_STEPS: Mapping[CompactionStep, Callable[[CampaignState, OsdCompaction, View], Step]] = {
    CompactionStep.COMPACTING: _compacting,
    CompactionStep.SETTLING: _settling,
}


def _following(state: CampaignState, cluster: ClusterMap) -> Optional[OsdCompaction]:
    """The next OSD; None if the maximum is already compacting, or none is left."""
    flying = state.in_flight
    following = next((o for o in state.osds if o.step is CompactionStep.PENDING), None)
    if following is None or not flying:
        return following
    # The first OSD compacts alone: its effect on clients is seen before there are two.
    if not _first_done(state) or len(flying) >= state.request.parallel:
        return None
    return following if together((following, *flying), cluster) else None


def _first_done(state: CampaignState) -> bool:
    return any(osd.step in FINISHED for osd in state.osds)


def _stage(state: CampaignState) -> Phase:
    return Phase.PROMOTING if _first_done(state) else Phase.CANARY


def _is_new_process(osd: OsdCompaction, probe: Optional[Probe]) -> bool:
    """Whether the OSD has restarted since the request."""
    return probe is not None and probe.nonce != osd.nonce


def _running_text(osd_id: int, probe: Optional[Probe], view: View) -> str:
    """A Pacific OSD answers only when it is done; one that hangs never answers."""
    seen_s = view.in_step(osd_id)
    # It may have started under another manager.
    least = 'at least ' if seen_s >= view.watched_s else ''
    text = f'osd.{osd_id} has been compacting for {least}{format_duration(seen_s)}'
    return text if probe is not None else f'{text} and has not answered'


def _higher(one: Optional[float], other: Optional[float]) -> Optional[float]:
    return max((value for value in (one, other) if value is not None), default=None)


# -- why an OSD may not compact


def _why_held(state: CampaignState, view: View) -> Optional[str]:
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if view.cluster.may_act else NOT_ALLOWED


def why_given_up(osd_id: int, view: View) -> Optional[str]:
    """Why the campaign stops waiting for an OSD; None: it is present, or may return."""
    away = absent(view.cluster, osd_id)
    if away is Away.GONE:
        return 'it is no longer in the OSD map'
    # A compaction ends with its process.
    return f'it {away.value}' if away is not None and view.stays_away(osd_id) else None


def _why_silent(osd_id: int, view: View) -> Optional[str]:
    """Why an OSD that is up and not compacting is skipped; None if it is not."""
    if not view.stays_away(osd_id):
        return None
    since = format_duration(view.limits.away_s)
    return f'its DB use, its size or its client writes were unknown for {since}'


def _why_down(osd_id: int, view: View) -> Optional[str]:
    info = view.cluster.osd(osd_id)
    if info is None or info.up:
        return None
    away = absent(view.cluster, osd_id)
    if away is None:
        return f'osd.{osd_id} is down'
    return f'{why_away(osd_id, away)}: it will be left behind unless it returns'


def why_no_room(used_bytes: int, total_bytes: int) -> Optional[str]:
    """Why an OSD cannot compact: until the new files are complete, the old ones stay."""
    if 2 * used_bytes <= total_bytes:
        return None
    return 'its DB device has no room for a second copy of the compacted data'


def _why_unknown(osd_id: int, measured: Measured) -> Optional[str]:
    """Which guard cannot be evaluated for want of current samples; None: all can be."""
    return why_room_unknown(osd_id, measured) or why_writes_unknown(measured)


def why_room_unknown(osd_id: int, measured: Measured) -> Optional[str]:
    if osd_id in measured.used_bytes and osd_id in measured.total_bytes:
        return None
    return (
        f'it is unknown whether a second copy of the DB fits on osd.{osd_id}: no current sample '
        'of its DB use and size'
    )


def why_writes_unknown(measured: Measured) -> Optional[str]:
    if not measured.unmeasured:
        return None
    return (
        'it is unknown whether client writes are slow: no current sample of client writes on '
        f'osd.{min(measured.unmeasured)}'
    )


def _lacks_baseline(state: CampaignState, measured: Measured) -> bool:
    """Whether to measure it now: before the first OSD, or once clients start to write."""
    if state.stage is Phase.PREFLIGHT:
        return True
    return state.baseline_ms is None and measured.latency_ms is not None and not state.in_flight


#: Beginning of the reason while client writes are slower than the baseline.
SLOW_WRITES = 'client writes take more than'


def _slower(state: CampaignState, view: View) -> Optional[str]:
    latency_ms, slower = view.measured.latency_ms, view.limits.slower
    if latency_ms is None:
        return None
    if state.baseline_ms is None:
        return 'client write latency has no baseline: clients started to write during a compaction'
    if latency_ms <= state.baseline_ms * slower:
        return None
    # Without the current value: the text would change, and be stored, at every step.
    return (
        f'{SLOW_WRITES} {slower:g} times the baseline of {state.baseline_ms:.1f} ms; '
        '"ceph rocksdb-tuner operation resume" accepts the current latency as the new baseline'
    )


def _apart(state: CampaignState, osd: OsdCompaction, view: View) -> Optional[str]:
    """Why it would compact together with an OSD of another failure domain: one was moved."""
    earlier = True
    for other in state.in_flight:
        if other.osd_id == osd.osd_id:
            earlier = False
        # If neither of two compacts, the first gets the request, and the second waits.
        elif (earlier or not _idle(other, view)) and not together(
            (osd, other), view.cluster.cluster
        ):
            return f'osd.{other.osd_id} is compacting in another failure domain'
    return None


def together(osds: Collection[OsdCompaction], cluster: ClusterMap) -> bool:
    """Whether OSDs are in one failure domain now: some may have moved since they were planned."""
    wanted = {osd.osd_id for osd in osds}
    domains = {o.osd_id: o.failure_domain for o in cluster.osds if o.osd_id in wanted}
    known = len(domains) == len(wanted) and None not in domains.values()
    return known and len(set(domains.values())) == 1


def _idle(osd: OsdCompaction, view: View) -> bool:
    """Whether an OSD got the request and is known not to be compacting."""
    probe = view.probe(osd.osd_id)
    if osd.step is not CompactionStep.COMPACTING or probe is None or probe.running:
        return False
    late = view.in_step(osd.osd_id) >= view.limits.begin_s
    return _is_new_process(osd, probe) or (late and probe.started <= osd.started_before)


def why_waiting(state: CampaignState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting campaign; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    reason = state.paused_reason
    if state.ended or reason is None or state.paused_by is not None:
        return None
    down = {f'osd.{osd.osd_id} is down' for osd in state.in_flight}
    needs_action = reason.startswith(SLOW_WRITES) or reason in down
    late = waited_s >= ACTION_AFTER_S if needs_action else gate_stays_closed(waited_s)
    return with_remedy(reason, 'campaign', may_abort=state.ending is None) if late else None
