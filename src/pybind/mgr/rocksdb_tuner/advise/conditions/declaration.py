"""Declarations of conditions (knowledge/conditions.json), and the functions that decide them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

from ...knowledge import loader
from ...shell import quoted
from ..cohort import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from .facts import ClusterFacts, Readings

#: Placeholders that are words of commands, also in a remedy.
_WORDS = frozenset({'who', 'kv_who', 'meta_who', 'option', 'profile', 'sharding', 'device', 'size'})
#: "[runs|run]": the words for one OSD, and for several.
_NUMBERS = re.compile(r'\[([\w ]+)\|([\w ]+)\]')


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


class Case(NamedTuple):
    """OSDs with a condition; those of one group and severity are one finding."""

    evidence: tuple[Union[FindingEvidence, Readings], ...]
    osds: tuple[int, ...]
    group: object
    #: How bad it is, if that differs between OSDs: the worst is first, and its evidence is shown.
    rank: Optional[float]
    severity: Optional[Severity]
    #: Name of the text, if there are several.
    variant: str
    #: Placeholders of the texts.
    fill: Mapping[str, object]


def case(
    *evidence: Union[FindingEvidence, Readings],
    osds: Sequence[int] = (),
    group: object = None,
    rank: Optional[float] = None,
    severity: Optional[Severity] = None,
    variant: str = '',
    **fill: object,
) -> Case:
    return Case(evidence, tuple(osds), group, rank, severity, variant, fill)


def merged(cases: Iterable[Case]) -> Iterator[Case]:
    """One case for each group and severity; its OSDs are sorted by rank, then id."""
    groups: dict[object, list[Case]] = {}
    for found in cases:
        groups.setdefault((found.group, found.severity), []).append(found)
    for alike in groups.values():
        alike.sort(key=lambda c: (-(c.rank or 0.0), c.osds))
        first, ids = alike[0], tuple(osd_id for c in alike for osd_id in c.osds)
        evidence = first.evidence
        if first.rank is not None and len(ids) > 1:
            evidence = (FindingEvidence('worst', f'osd.{ids[0]}', ''), *evidence)
        yield first._replace(evidence=evidence, osds=ids)


#: Thresholds by name, and the other parameters of a condition.
At = Mapping[str, Any]
DecideOsd = Callable[[OsdFacts, At], Iterable[Case]]
DecideCluster = Callable[[ClusterFacts, At], Iterable[Case]]


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
    #: The exact commands of the remedy.
    commands: tuple[str, ...]
    #: Actions that would make it worse.
    do_not: Optional[str]
    #: Whether the remedy stops, restarts or may bring down OSDs, at once or to take effect.
    stops_osds: bool
    source: str
    health: Optional[HealthPolicy]
    #: Ceph's own health checks for it; while one is raised, the module raises none.
    ceph_checks: tuple[str, ...]
    #: Prerequisite of the condition; None: a condition of the setup.
    needs: Optional[str]
    thresholds: Mapping[str, Threshold]
    #: Other parameters.
    values: Mapping[str, tuple[str, ...]]
    decide: DecideCluster

    @property
    def health_code(self) -> str:
        return 'ROCKSDB_TUNER_' + self.condition_id.upper().replace('-', '_')

    def evaluate(self, cluster: ClusterFacts) -> Iterator[Finding]:
        """Its findings; none if a required signal is unknown."""
        return map(self.finding, self.decide(cluster, self.at))

    @cached_property
    def at(self) -> At:
        limits = {name: float(threshold.value) for name, threshold in self.thresholds.items()}
        return {**self.values, 'ceph_checks': self.ceph_checks, **limits}

    def finding(self, found: Case) -> Finding:
        """``{osd}`` is the first of the OSDs."""
        ids = found.osds
        fill = {'osds': name_osds(ids), 'osd': ids[0] if ids else '<id>', **found.fill}
        words = fill | {n: quoted(str(text)) for n, text in fill.items() if n in _WORDS}
        words['command'] = '; '.join(command.format_map(words) for command in self.commands)
        summary = _NUMBERS.sub(r'\1' if len(ids) == 1 else r'\2', _text(self.summaries, found))
        return Finding(
            finding_id=self.condition_id,
            severity=found.severity or self.severity,
            summary=summary.format_map(fill),
            osds=ids,
            evidence=tuple(
                shown
                for e in found.evidence
                for shown in (e.shown() if isinstance(e, Readings) else (e,))
            ),
            remedy=_text(self.remedies, found).format_map(words),
            source=self.source,
            commands=tuple(command.format_map(words) for command in self.commands),
            do_not=self.do_not,
        )


def _text(texts: Mapping[str, str], found: Case) -> str:
    return texts[found.variant] if len(texts) > 1 else texts['']


_DECIDED: dict[str, Condition] = {}


def each_osd(condition_id: str) -> Callable[[DecideOsd], Condition]:
    """The function that decides a condition for one OSD."""
    return lambda decide: _declare(
        condition_id, lambda cluster, at: _decided(decide, cluster.osds, at)
    )


def each_osd_of(condition_id: str, *limits: str) -> Callable[[DecideOsd], Condition]:
    """The same for OSDs whose clients are limited by one of these resources or parts."""
    return lambda decide: _declare(
        condition_id, lambda cluster, at: _decided(decide, osds_limited_by(cluster, *limits), at)
    )


def osds_limited_by(cluster: ClusterFacts, *limits: str) -> Iterator[OsdFacts]:
    for group in cluster.groups:
        if group.limit.part in limits or group.limit.resource in limits:
            yield from group.osds


def _decided(decide: DecideOsd, osds: Iterable[OsdFacts], at: At) -> Iterator[Case]:
    return merged(
        # Half the time of `_replace`.
        Case(found.evidence, (osd.info.osd_id,), *found[2:])
        for osd in osds
        for found in decide(osd, at)
    )


def of_cluster(condition_id: str) -> Callable[[DecideCluster], Condition]:
    """The function that decides a condition for all OSDs."""
    return partial(_declare, condition_id)


def _declare(condition_id: str, decide: DecideCluster) -> Condition:
    assert condition_id not in _DECIDED
    entry = declarations()[condition_id]
    health = entry.get('health')
    _DECIDED[condition_id] = Condition(
        condition_id=condition_id,
        section=entry['section'],
        title=entry['title'],
        severity=Severity(entry['severity']),
        summaries=_by_variant(entry['summary']),
        remedies=_by_variant(entry['remedy']),
        commands=tuple(entry.get('commands', ())),
        do_not=entry.get('do_not'),
        stops_osds=entry.get('stops_osds', True),
        source=entry['source'],
        health=HealthPolicy(**health) if health else None,
        ceph_checks=tuple(entry.get('ceph_checks', ())),
        needs=entry.get('needs'),
        thresholds={n: Threshold(**t) for n, t in entry.get('thresholds', {}).items()},
        values={name: tuple(texts) for name, texts in entry.get('values', {}).items()},
        decide=decide,
    )
    return _DECIDED[condition_id]


def _by_variant(text: Union[str, Mapping[str, str]]) -> Mapping[str, str]:
    return {'': text} if isinstance(text, str) else text


@cache
def declarations() -> Mapping[str, Mapping[str, Any]]:
    """The entries of ``knowledge/conditions.json`` by id, in the order of health checks."""
    return {entry['name']: entry for entry in loader.load('conditions')['conditions']}


@cache
def conditions() -> Mapping[str, Condition]:
    """All conditions by id, in the order of their declarations."""
    return {condition_id: _DECIDED[condition_id] for condition_id in declarations()}
