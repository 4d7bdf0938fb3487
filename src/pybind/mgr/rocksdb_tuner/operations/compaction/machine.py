"""State machine of a compaction campaign: pure, no I/O, no clock.

============  ==============================================  ===========
step          until                                           then
============  ==============================================  ===========
pending       all guards are open: a compaction is requested  compacting
compacting    the OSD's counters show that it ended           settling
..            they show that it did not start                 pending
settling      obsolete files are removed                      done
============  ==============================================  ===========

One OSD at a time. An OSD that cannot be compacted, or does not start compacting, is skipped. As in
a rollout, the driver stores the next state before it executes an action. A compaction cannot be
undone or stopped: pause, abort and mode off only keep the next one from starting. Requesting a
compaction twice is harmless, two compactions at once are not: a compaction that may still run is
monitored until the OSD itself reports that none is running.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Optional

from ...units import format_duration
from .. import phases
from ..announce import ACTION_AFTER_S, gate_stays_closed, with_remedy
from ..gates import NOT_ALLOWED, Away, ClusterView, absent, closed_gate, why_away
from ..phases import OBSERVES_FIRST, Phase, clip
from .records import CampaignState, CompactionStep, OsdCompaction, concluded, skipped, with_osd

#: No release reports the compaction counters to the manager, so they are queried. A Pacific OSD
#: handles commands one by one: while it compacts, the query waits, and an answer means that the
#: compaction is over. From Reef on it answers at once and reports whether one is running.
PROBE_COMMAND = 'perf dump'
PROBE_ARGUMENTS = {'logger': 'rocksdb'}


class Probe(NamedTuple):
    """The compaction counters of the current process of an OSD, after the last request."""

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
        # Pacific does not count running compactions: it does not answer during one.
        busy = (int(counters.get(f'compact_{name}', 0)) for name in ('running', 'queue_len'))
        return Probe(nonce, int(counters['compact']), any(count > 0 for count in busy))
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
    """The cluster at one time, and the OSD at hand. Unknown values are missing."""

    cluster: ClusterView
    #: Without OSDs in `unmeasured` that were silent for too long to wait for.
    measured: Measured
    #: The counters of its current process.
    probe: Optional[Probe] = None
    #: How long this manager has been observing, and how long it has seen the OSD in its step.
    watched_s: float = 0.0
    in_step_s: float = 0.0
    #: How long it has seen the OSD down and out, or up without samples while others have some.
    away_s: float = 0.0
    limits: Limits = field(default_factory=Limits)

    @property
    def stays_away(self) -> bool:
        return self.away_s >= self.limits.away_s


@dataclass(frozen=True)
class Compact:
    """Ask an OSD to compact now."""

    osd_id: int


@dataclass(frozen=True)
class Step(phases.Step[CampaignState, Compact]):
    #: Work in progress that is not held up: displayed but not stored, since it names a time.
    waits_for: Optional[str] = None


def step(state: CampaignState, view: View, now_s: float) -> Step:
    """The next state and at most one action. ``now_s`` only timestamps the state."""
    if state.ended:
        return Step(state)
    result = _next(replace(state, paused_reason=None), view)
    return replace(result, state=phases.stamped(state, result.state, now_s, held=True))


def startable(state: CampaignState) -> Optional[int]:
    """The OSD that the next step may request to compact, which needs its gates."""
    osd = state.at_hand
    held = state.ending or state.paused_by
    return None if held or osd is None or osd.step is not CompactionStep.PENDING else osd.osd_id


def _next(state: CampaignState, view: View) -> Step:
    osd = state.at_hand
    if view.watched_s < view.limits.observe_first_s:
        return _waiting(state, OBSERVES_FIRST)
    if osd is None or (state.ending is not None and osd.step is CompactionStep.PENDING):
        return Step(concluded(state))
    if osd.step is CompactionStep.PENDING:
        return _pending(state, osd, view)
    latency_ms = max(filter(None, (osd.latency_ms, view.measured.latency_ms)), default=None)
    osd = replace(osd, latency_ms=latency_ms)
    settles = osd.step is CompactionStep.SETTLING
    return (_settling if settles else _compacting)(with_osd(state, osd), osd, view)


def _waiting(state: CampaignState, reason: str) -> Step:
    return Step(replace(state, paused_reason=clip(reason)))


# -- the steps of an OSD


def _pending(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    """Compact the OSD if all guards are open."""
    n, seen = osd.osd_id, view.cluster
    if state.paused_by is not None or not seen.may_act:
        return _waiting(state, NOT_ALLOWED)
    lost = _why_given_up(n, view)
    if lost is not None:
        return Step(skipped(state, osd, lost))
    closed = _why_down(n, view) or closed_gate(seen, n) or seen.schedule_reason
    if closed is not None:
        return _waiting(state, closed)
    if state.stage is Phase.PREFLIGHT and view.watched_s < view.limits.baseline_s:
        return Step(state, waits_for='measuring client write latency before the first OSD')
    if view.stays_away:
        since = format_duration(view.limits.away_s)
        reason = f'its DB use, its size or its client writes were unknown for {since}'
        return Step(skipped(state, osd, reason))
    return _by_samples(state, osd, view)


def _by_samples(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    n, measured, probe = osd.osd_id, view.measured, view.probe
    unknown = why_room_unknown(n, measured) or why_writes_unknown(measured)
    if unknown is not None:
        return _waiting(state, unknown)
    preflight = state.stage is Phase.PREFLIGHT
    state = replace(state, stage=Phase.PROMOTING if state.finished else Phase.CANARY)
    # Measured before the first OSD, or once clients start to write.
    if preflight or (state.baseline_ms is None and measured.latency_ms is not None):
        return Step(replace(state, baseline_ms=measured.latency_ms))
    slower = _slower(state, view)
    if slower is not None:
        return _waiting(state, slower)
    if probe is None:
        return Step(state, waits_for=f'osd.{n} has not returned its counters yet')
    if probe.running:
        return _waiting(state, f'osd.{n} is already compacting, not started by this campaign')
    full = why_no_room(measured.used_bytes[n], measured.total_bytes[n])
    if full is not None:
        return Step(skipped(state, osd, full))
    requested = with_osd(
        replace(state, last_error=None),
        osd,
        step=CompactionStep.COMPACTING,
        nonce=probe.nonce,
        started_before=probe.started,
        asked=osd.asked + 1,
        used_before_bytes=measured.used_bytes[n],
    )
    return Step(requested, (Compact(n),))


def _compacting(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    n, probe = osd.osd_id, view.probe
    lost = _why_given_up(n, view)
    if lost is not None:
        return Step(skipped(state, osd, lost))
    down = _why_down(n, view)
    if down is not None:
        return _waiting(state, down)
    if probe is None or probe.running:
        return Step(state, waits_for=_running_text(n, view))
    # A compaction ends with its process, and counters restart.
    if probe.nonce == osd.nonce:
        if probe.started > osd.started_before:
            return Step(with_osd(state, osd, step=CompactionStep.SETTLING))
        if view.in_step_s < view.limits.begin_s:
            return Step(state, waits_for=f'compaction requested from osd.{n}')
    if osd.asked < view.limits.tries:
        return Step(with_osd(state, osd, step=CompactionStep.PENDING))
    error = f' ({state.last_error})' if state.last_error else ''
    reason = f'it did not start compacting after {osd.asked} requests{error}'
    return Step(skipped(state, osd, reason))


def _settling(state: CampaignState, osd: OsdCompaction, view: View) -> Step:
    n = osd.osd_id
    if view.in_step_s < view.limits.settle_s:
        return Step(state, waits_for=f'osd.{n} has compacted and is deleting old files')
    used = view.measured.used_bytes.get(n)
    return Step(with_osd(state, osd, step=CompactionStep.DONE, used_after_bytes=used))


def _running_text(osd_id: int, view: View) -> str:
    """A Pacific OSD answers only when it is done; one that hangs never answers."""
    # It may have started under another manager.
    least = 'at least ' if view.in_step_s >= view.watched_s else ''
    text = f'osd.{osd_id} has been compacting for {least}{format_duration(view.in_step_s)}'
    return text if view.probe is not None else f'{text} and has not answered'


# -- why an OSD may not compact


def _why_given_up(osd_id: int, view: View) -> Optional[str]:
    """Why the campaign stops waiting for an OSD; None: it is present, or may return."""
    away = absent(view.cluster, osd_id)
    if away is Away.GONE:
        return 'it is no longer in the OSD map'
    # A compaction ends with its process.
    return f'it {away.value}' if away is not None and view.stays_away else None


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


#: Beginning of the reason while client writes are slower than the baseline.
SLOW_WRITES = 'client writes take more than'


def _slower(state: CampaignState, view: View) -> Optional[str]:
    latency_ms, slower = view.measured.latency_ms, view.limits.slower
    # Without client writes, there is no latency, and nothing that could be slow.
    if latency_ms is None or latency_ms <= (state.baseline_ms or 0.0) * slower:
        return None
    # Without the current value: the text would change, and be stored, at every step.
    return (
        f'{SLOW_WRITES} {slower:g} times the baseline of {state.baseline_ms:.1f} ms; '
        '"ceph rocksdb-tuner operation resume" accepts the current latency as the new baseline'
    )


def why_waiting(state: CampaignState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting campaign; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    reason, osd = state.paused_reason, state.in_flight
    if state.ended or reason is None or state.paused_by is not None:
        return None
    down = osd is not None and reason == f'osd.{osd.osd_id} is down'
    needs_action = down or reason.startswith(SLOW_WRITES)
    late = waited_s >= ACTION_AFTER_S if needs_action else gate_stays_closed(waited_s)
    return with_remedy(reason, 'campaign', may_abort=state.ending is None) if late else None
