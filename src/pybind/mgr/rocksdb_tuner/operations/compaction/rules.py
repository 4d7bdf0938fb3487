"""What a campaign sees, whether an OSD may compact, and when an operator has to act. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Optional, Union

from ...mgr.records import ClusterMap
from ...units import format_duration
from .. import phases
from ..announce import ACTION_AFTER_S, gate_stays_closed, with_remedy
from ..gates import NOT_ALLOWED, Away, ClusterView, absent, why_away
from ..phases import paused_text
from .records import CampaignState, OsdCompaction

#: No release reports the compaction counters to the manager, so they are queried. A Pacific OSD
#: handles commands one by one: while it compacts, the query waits, and an answer means that the
#: compaction is over. From Reef on it answers at once and reports whether one is running.
PROBE_COMMAND = 'perf dump'
PROBE_ARGUMENTS = {'logger': 'rocksdb'}
COMPACT_COMMAND = 'compact'


class Probe(NamedTuple):
    """The compaction counters of an OSD, after the last request."""

    #: The process in the OSD map at the time of the query.
    nonce: Optional[int]
    #: Compactions by command since its process started.
    started: int
    running: bool


#: Raised by a malformed answer.
_MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


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


@dataclass(frozen=True)
class View:
    """The cluster at one time. Unknown values are missing."""

    #: Maps, health, gates; `waited_s` and the verdict's parts are not used.
    cluster: ClusterView
    probes: Mapping[int, Probe] = field(default_factory=dict)
    #: As `Measured`.
    used_bytes: Mapping[int, int] = field(default_factory=dict)
    total_bytes: Mapping[int, int] = field(default_factory=dict)
    latency_ms: Optional[float] = None
    #: Without those that were silent for too long to wait for.
    unmeasured: frozenset[int] = frozenset()
    #: How long this manager has been observing, and how long it has seen each OSD in its step.
    watched_s: float = 0.0
    in_step_s: Mapping[int, float] = field(default_factory=dict)
    #: How long it has seen each OSD down and out, or up without samples while others have some.
    away_s: Mapping[int, float] = field(default_factory=dict)


#: Beginning of the reason while client writes are slower than the baseline.
SLOW_WRITES = 'client writes take more than'
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
class Compact:
    """Ask an OSD to compact now."""

    osd_id: int


@dataclass(frozen=True)
class Step(phases.Step[CampaignState, Compact]):
    #: Work in progress that is not held up: displayed but not stored, since it names a time.
    waits_for: Optional[str] = None

    @property
    def compact(self) -> Optional[int]:
        """The OSD to compact now."""
        return self.actions[0].osd_id if self.actions else None


def why_held(state: CampaignState, view: View) -> Optional[str]:
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if view.cluster.may_act else NOT_ALLOWED


def is_new_process(osd: OsdCompaction, probe: Optional[Probe]) -> bool:
    """Whether the OSD has restarted since the request."""
    return probe is not None and probe.nonce != osd.nonce


def probe_of(osd_id: int, view: View) -> Optional[Probe]:
    """The answer of the current process."""
    probe, info = view.probes.get(osd_id), view.cluster.osd(osd_id)
    return probe if probe is not None and info is not None and probe.nonce == info.nonce else None


def why_given_up(osd_id: int, view: View, limits: Limits) -> Optional[str]:
    """Why the campaign stops waiting for an OSD; None: it is present, or may return."""
    away = absent(view.cluster, osd_id)
    if away is Away.GONE:
        return 'it is no longer in the OSD map'
    # A compaction ends with its process.
    stays = view.away_s.get(osd_id, 0.0) >= limits.away_s
    return f'it {away.value}' if away is not None and stays else None


def why_silent(osd_id: int, view: View, limits: Limits) -> Optional[str]:
    """Why an OSD that is up and not compacting is skipped; None if it is not."""
    if view.away_s.get(osd_id, 0.0) < limits.away_s:
        return None
    since = format_duration(limits.away_s)
    return f'its DB use, its size or its client writes were unknown for {since}'


def why_down(osd_id: int, view: View) -> Optional[str]:
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


def why_unknown(osd_id: int, measured: Union[Measured, View]) -> Optional[str]:
    """Which guard cannot be evaluated for want of current samples; None: all can be."""
    return why_room_unknown(osd_id, measured) or why_writes_unknown(measured)


def why_room_unknown(osd_id: int, measured: Union[Measured, View]) -> Optional[str]:
    if osd_id in measured.used_bytes and osd_id in measured.total_bytes:
        return None
    return (
        f'it is unknown whether a second copy of the DB fits on osd.{osd_id}: no current sample '
        'of its DB use and size'
    )


def why_writes_unknown(measured: Union[Measured, View]) -> Optional[str]:
    if not measured.unmeasured:
        return None
    return (
        'it is unknown whether client writes are slow: no current sample of client writes on '
        f'osd.{min(measured.unmeasured)}'
    )


def together(osds: Collection[OsdCompaction], cluster: ClusterMap) -> bool:
    """Whether OSDs are in one failure domain now: some may have moved since they were planned."""
    wanted = {osd.osd_id for osd in osds}
    domains = {o.osd_id: o.failure_domain for o in cluster.osds if o.osd_id in wanted}
    known = len(domains) == len(wanted) and None not in domains.values()
    return known and len(set(domains.values())) == 1


def why_waiting(state: CampaignState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting campaign; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    reason = state.paused_reason
    if state.ended or reason is None or state.paused_by is not None:
        return None
    if not _needs_action(state, reason):
        if not gate_stays_closed(waited_s):
            return None
    elif waited_s < ACTION_AFTER_S:
        return None
    return with_remedy(reason, 'campaign', may_abort=state.ending is None)


def _needs_action(state: CampaignState, reason: str) -> bool:
    down = {f'osd.{osd.osd_id} is down' for osd in state.in_flight}
    return reason.startswith(SLOW_WRITES) or reason in down
