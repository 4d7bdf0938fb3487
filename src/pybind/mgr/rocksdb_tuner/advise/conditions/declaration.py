"""Declarations of conditions (knowledge/conditions.json), and the facts that functions decide by.

A function yields a case where its condition holds, and none without the signals that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import AbstractSet, Any, Callable, Mapping, NamedTuple, Optional

from ...knowledge import loader
from ...mgr.records import ConfigEntry
from ...observe.details import AlertingOsd
from ...options.checks import CheckResult
from ...options.releases import KnownRelease
from ...options.wal import DEFAULT_BOUND_BYTES, left_of_target
from ...plan.records import ANNEX, OPTION
from ...shell import quoted
from ...store.codec import OMITTABLE, decode
from ..facts import name_osds, next_start, release_of_osd
from ..objections import METADATA
from ..records import Finding, FindingEvidence, GroupFacts, NextStart, OsdFacts, Severity
from ..strings import check

#: Placeholders that are words of commands, also in a remedy.
_WORDS = frozenset({'who', 'kv_who', 'meta_who', 'option', 'profile', 'sharding', 'device', 'size'})
#: "[runs|run]": the words for one OSD, and for several.
_NUMBERS = re.compile(r'\[([\w ]+)\|([\w ]+)\]')


class RunningString(NamedTuple):
    """An option string, and the OSDs of one release that run it."""

    text: str
    #: Not set by any configuration source.
    is_default: bool
    release: Optional[KnownRelease]
    osds: tuple[OsdFacts, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(osd.info.osd_id for osd in self.osds)

    def set_by(self, names: Iterable[str]) -> tuple[str, str]:
        """Entry and option that set the named options in the first OSD, for a command."""
        options = self.osds[0].options
        assert options is not None
        by_annex = options.source == 'default' or any(
            re.search(rf'\b{re.escape(name)}\b', options.annex) for name in names
        )
        if options.annex and by_annex:
            return options.annex_who or '<who>', ANNEX
        return options.deciding_who or '<who>', OPTION

    @property
    def checked(self) -> Optional[CheckResult]:
        """Result of the checks; None if they refuse it, or for an unknown RocksDB version.

        A running string that "would not start" is unknown to the catalog.
        """
        found = check(self.text, self.release.rocksdb_version) if self.release else None
        return found if found is not None and found.accepted else None


@dataclass(frozen=True)
class ClusterFacts:
    """Input of the conditions."""

    osds: tuple[OsdFacts, ...]
    #: Config store entries of the watched options.
    entries: tuple[ConfigEntry, ...]
    #: Ceph's own health checks that are raised.
    health_codes: frozenset[str] = frozenset()
    #: OSDs with Ceph's alert for slow operations.
    alerting: Mapping[int, AlertingOsd] = field(default_factory=dict)
    #: Seconds for which each OSD has been pending a restart.
    pending_s: Mapping[int, float] = field(default_factory=dict)
    #: With the limits of their clients.
    groups: tuple[GroupFacts, ...] = ()
    #: OSDs with a recommendation.
    advised: AbstractSet[int] = frozenset()

    @cached_property
    def strings(self) -> tuple[RunningString, ...]:
        """The running strings; a cluster has a handful, each of which is checked once."""
        alike: dict[object, list[OsdFacts]] = {}
        for osd in self.osds:
            options, info = osd.options, osd.info
            if options is not None:
                key = (options.running, options.source == 'default', options.annex)
                alike.setdefault((*key, info.version, info.release), []).append(osd)
        return tuple(
            RunningString(
                options.running,
                options.source == 'default' and not options.annex,
                release_of_osd(osds[0].info),
                tuple(osds),
            )
            for osds in alike.values()
            if (options := osds[0].options)
        )

    @cached_property
    def chosen_strings(self) -> tuple[RunningString, ...]:
        """The running strings that are not the default."""
        return tuple(running for running in self.strings if not running.is_default)

    @cached_property
    def next_starts(self) -> Mapping[int, NextStart]:
        """The configured options by OSD id, also of OSDs that are down and were not queried."""
        return {
            osd.info.osd_id: osd.options or next_start(osd.info, self.entries, {})
            for osd in self.osds
            if osd.options or not osd.info.up
        }

    def limited_by(self, *limits: str) -> Iterator[OsdFacts]:
        """The OSDs whose clients are limited by one of these resources or parts."""
        for group in self.groups:
            if group.limit.part in limits or group.limit.resource in limits:
                yield from group.osds


class Case(NamedTuple):
    """OSDs with a condition; those of one group and severity are one finding."""

    osds: tuple[int, ...]
    #: The first of them, which the declared evidence is read from.
    worst: Optional[OsdFacts]
    #: Evidence besides the declared one.
    evidence: tuple[FindingEvidence, ...]
    group: object
    #: How bad it is, if that differs between OSDs: the worst is first, and its evidence is shown.
    rank: Optional[float]
    severity: Optional[Severity]
    #: Name of the text, if there are several.
    variant: str
    #: Placeholders of the texts.
    fill: Mapping[str, object]


def case(
    *evidence: FindingEvidence,
    osd: Optional[OsdFacts] = None,
    osds: Sequence[int] = (),
    group: object = None,
    rank: Optional[float] = None,
    severity: Optional[Severity] = None,
    variant: str = '',
    **fill: object,
) -> Case:
    ids = tuple(osds) if osd is None else (osd.info.osd_id,)
    return Case(ids, osd, evidence, group, rank, severity, variant, fill)


def merged(cases: Iterable[Case]) -> Iterator[Case]:
    """One case for each group and severity; its OSDs are sorted by rank, then id."""
    groups: dict[object, list[Case]] = {}
    for found in cases:
        groups.setdefault((found.group, found.severity), []).append(found)
    for alike in groups.values():
        alike.sort(key=lambda c: (-(c.rank or 0.0), c.osds))
        yield alike[0]._replace(osds=tuple(osd_id for c in alike for osd_id in c.osds))


#: Thresholds by name, and the other parameters of a condition.
At = Mapping[str, Any]
DecideOsd = Callable[[OsdFacts, At], Iterable[Case]]
DecideCluster = Callable[[ClusterFacts, At], Iterable[Case]]
_DECIDED: dict[str, DecideCluster] = {}


def of_cluster(*condition_ids: str) -> Callable[[DecideCluster], DecideCluster]:
    """The function that decides conditions for all OSDs."""

    def declare(decide: DecideCluster) -> DecideCluster:
        assert not _DECIDED.keys() & set(condition_ids)
        _DECIDED.update(dict.fromkeys(condition_ids, decide))
        return decide

    return declare


def each_osd(*condition_ids: str, limits: tuple[str, ...] = ()) -> Callable[[DecideOsd], DecideOsd]:
    """The function that decides conditions for one OSD.

    ``limits``: only for OSDs whose clients are limited by one of these resources or parts.
    """

    def declare(decide: DecideOsd) -> DecideOsd:
        def of_all(cluster: ClusterFacts, at: At) -> Iterator[Case]:
            return merged(
                # Half the time of `_replace`.
                Case((osd.info.osd_id,), osd, *found[2:])
                for osd in (cluster.limited_by(*limits) if limits else cluster.osds)
                for found in decide(osd, at)
            )

        of_cluster(*condition_ids)(of_all)
        return decide

    return declare


@dataclass(frozen=True)
class Threshold:
    """A threshold of a condition."""

    value: float
    unit: str
    meaning: str
    source: str


@dataclass(frozen=True)
class HealthPolicy:
    """Health check of a condition: summary and delays."""

    #: The text after "N OSD(s)".
    summary: str
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True)
class Condition:
    """A condition that is reported as a finding."""

    #: Stable; its health check is ROCKSDB_TUNER_ and this in capitals.
    condition_id: str
    #: Of the manual.
    section: str
    title: str
    #: The worst severity of its findings.
    severity: Severity
    #: Sentences with placeholders such as {osds} and {who}, by variant; '' if there is one.
    summaries: Mapping[str, str]
    remedies: Mapping[str, str]
    source: str
    #: The remedy as a decision; None: a reason for none.
    do: Optional[str] = field(default=None, metadata=OMITTABLE)
    #: The exact commands of the remedy.
    commands: tuple[str, ...] = field(default=(), metadata=OMITTABLE)
    #: Actions that would make it worse.
    do_not: Optional[str] = field(default=None, metadata=OMITTABLE)
    #: Whether the remedy stops, restarts or may bring down OSDs, at once or to take effect.
    stops_osds: bool = field(default=True, metadata=OMITTABLE)
    health: Optional[HealthPolicy] = field(default=None, metadata=OMITTABLE)
    #: Ceph's own health checks for it; while one is raised, the module raises none.
    ceph_checks: tuple[str, ...] = field(default=(), metadata=OMITTABLE)
    #: Prerequisite of the condition; None: a condition of the setup.
    needs: Optional[str] = field(default=None, metadata=OMITTABLE)
    #: Field, unit and field of the window by signal, in the facts of the worst OSD.
    evidence: Mapping[str, str] = field(default_factory=dict, metadata=OMITTABLE)
    thresholds: Mapping[str, Threshold] = field(default_factory=dict, metadata=OMITTABLE)
    #: Other parameters.
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=OMITTABLE)

    @property
    def health_code(self) -> str:
        return 'ROCKSDB_TUNER_' + self.condition_id.upper().replace('-', '_')

    def evaluate(self, cluster: ClusterFacts) -> Iterator[Finding]:
        """Its findings; none if a required signal is unknown."""
        return map(self.finding, _DECIDED[self.condition_id](cluster, self.at))

    @cached_property
    def at(self) -> At:
        limits = {name: threshold.value for name, threshold in self.thresholds.items()}
        return {**self.values, 'ceph_checks': self.ceph_checks, **limits}

    def finding(self, found: Case) -> Finding:
        """``{osd}`` is the first of the OSDs."""
        ids = found.osds
        fill = {'osds': name_osds(ids), 'osd': ids[0] if ids else '<id>', **found.fill}
        words = fill | {n: quoted(str(text)) for n, text in fill.items() if n in _WORDS}
        commands = tuple(command.format_map(words) for command in self.commands)
        words['command'] = '; '.join(commands)
        summary = _NUMBERS.sub(r'\1' if len(ids) == 1 else r'\2', _text(self.summaries, found))
        return Finding(
            finding_id=self.condition_id,
            severity=found.severity or self.severity,
            summary=summary.format_map(fill),
            osds=ids,
            evidence=tuple(self._evidence(found)),
            remedy=_text(self.remedies, found).format_map(words),
            source=self.source,
            commands=commands,
            do_not=self.do_not,
        )

    def _evidence(self, found: Case) -> Iterator[FindingEvidence]:
        if found.rank is not None and len(found.osds) > 1:
            yield FindingEvidence('worst', f'osd.{found.osds[0]}', '')
        yield from found.evidence
        for signal, form in self.evidence.items() if found.worst else ():
            path, unit, *window = form.split()
            window_s = _read(found.worst, window[0]) if window else None
            yield FindingEvidence(signal, _read(found.worst, path), unit, window_s)


def _read(record: Any, path: str) -> Any:
    """A field of the facts of an OSD; None if a record on the way is not known."""
    return reduce(lambda part, name: getattr(part, name, None), path.split('.'), record)


def _text(texts: Mapping[str, str], found: Case) -> str:
    return texts[found.variant] if len(texts) > 1 else texts['']


@cache
def conditions() -> Mapping[str, Condition]:
    """All conditions by id, in the order of health checks."""
    entries = loader.load('conditions')['conditions']
    return {entry['name']: decode(Condition, _document(entry)) for entry in entries}


def _document(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = (entry['summary'], entry['remedy'])
    summary, remedy = ({'': text} if isinstance(text, str) else text for text in texts)
    return {**entry, 'condition_id': entry['name'], 'summaries': summary, 'remedies': remedy}


def is_enabled(value: str) -> bool:
    """A boolean option, in any spelling that Ceph accepts."""
    return value.strip().lower() in {'true', '1', 'yes', 'on'}


def effective_options(osd: OsdFacts) -> Mapping[str, str]:
    """Effective options of the running string; empty if unknown."""
    release = release_of_osd(osd.info)
    if osd.options is None or release is None:
        return {}
    checked = check(osd.options.running, release.rocksdb_version)
    return checked.effective if checked.accepted else {}


def shown_string(text: Optional[str], name: str = OPTION) -> FindingEvidence:
    return FindingEvidence(name, text, 'option string')


def writes_metadata(osd: OsdFacts, confidence: float = 0.0) -> bool:
    """Whether its clients mainly write metadata."""
    known = osd.workload
    return known is not None and known.workload_class in METADATA and known.confidence >= confidence


def _small_target(osd: OsdFacts) -> bool:
    target = osd.details.memory_target_bytes if osd.details else None
    return target is not None and left_of_target(target) < DEFAULT_BOUND_BYTES


#: What a condition of the present state needs in at least one OSD: else it is not looked for.
NEEDS: Mapping[str, Callable[[OsdFacts], object]] = {
    'db_device': lambda osd: osd.info.dedicated_db,
    'small_memory_target': _small_target,
    'metadata_work': writes_metadata,
    'statistics': lambda osd: osd.rocksdb_times,
    'signals': lambda osd: osd.signals,
    'details': lambda osd: osd.details,
    'last_start': lambda osd: osd.last_start,
    'small_units': lambda osd: osd.details and osd.details.bluefs_fallbacks,
}
#: Of the cluster.
HEALTH_CHECK = 'health_check'


def present_needs(cluster: ClusterFacts) -> frozenset[str]:
    found = {name for name, has in NEEDS.items() if any(map(has, cluster.osds))}
    return frozenset({*found, *([HEALTH_CHECK] if cluster.health_codes else [])})
