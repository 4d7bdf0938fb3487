"""Declarations of conditions: all but the deciding function is in knowledge/conditions.json."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Callable, Mapping, Optional, Union

from ...knowledge import loader
from ...shell import quoted
from ..records import Finding, FindingEvidence, Severity
from .facts import ClusterFacts
from .subjects import Below, Figure, Needs, Reaches, Subject

__all__ = ['Condition', 'HealthPolicy', 'LimitOption', 'ModuleOption', 'Threshold', 'condition']


@dataclass(frozen=True)
class ModuleOption:
    """A module option for a threshold, with its bounds."""

    name: str
    minimum: float
    maximum: float


#: Placeholders that are words of commands, also in a remedy.
_WORDS = frozenset({'who', 'kv_who', 'meta_who', 'option', 'profile', 'sharding'})


@dataclass(frozen=True)
class Threshold:
    """A threshold of a condition; fixed unless it has a module option."""

    value: float
    unit: str
    meaning: str
    source: str
    option: Optional[ModuleOption] = None


@dataclass(frozen=True)
class LimitOption:
    """A module option with the description of its threshold."""

    name: str
    unit: str
    meaning: str
    default: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class HealthPolicy:
    """Health check of a condition: summary and delays."""

    #: The text after "N OSD(s)".
    summary: str
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True)
class Condition:
    """A condition that is reported as a finding; declared with `condition`."""

    #: Stable; its health check is ROCKSDB_TUNER_ and this in capitals.
    condition_id: str
    #: Of the manual.
    section: str
    title: str
    #: The worst severity of its findings.
    severity: Severity
    #: A sentence with placeholders such as {osd} and {who}.
    remedy: str
    #: The exact commands of the remedy.
    commands: tuple[str, ...]
    #: Actions that would make it worse.
    do_not: Optional[str]
    source: str
    health: Optional[HealthPolicy]
    #: Ceph's own health checks for it; while one is raised, the module raises none.
    ceph_checks: tuple[str, ...]
    #: Whether the remedy stops, restarts or may bring down OSDs, at once or to take effect.
    stops_osds: bool
    #: Prerequisite of the condition; None: a condition of the setup.
    needs: Optional[Needs]
    thresholds: Mapping[str, Threshold] = field(hash=False)
    #: Other parameters.
    values: Mapping[str, tuple[str, ...]] = field(hash=False)
    function: ConditionFunction

    @property
    def health_code(self) -> str:
        return 'ROCKSDB_TUNER_' + self.condition_id.upper().replace('-', '_')

    @property
    def limit_options(self) -> tuple[LimitOption, ...]:
        """The module options that set its thresholds."""
        return tuple(
            LimitOption(
                t.option.name,
                t.unit,
                t.meaning,
                float(t.value),
                float(t.option.minimum),
                float(t.option.maximum),
            )
            for t in self.thresholds.values()
            if t.option is not None
        )

    def evaluate(self, cluster: ClusterFacts) -> Iterable[Finding]:
        """Its findings; none if a required signal is unknown."""
        return self.function(cluster, self)

    def limit(self, name: str, overrides: Mapping[str, float]) -> float:
        """The threshold ``name``; ``overrides``: values by module option."""
        threshold = self.thresholds[name]
        if threshold.option is not None and threshold.option.name in overrides:
            return overrides[threshold.option.name]
        return float(threshold.value)

    def finding(
        self,
        summary: str,
        osds: tuple[int, ...],
        evidence: tuple[FindingEvidence, ...],
        *,
        severity: Optional[Severity] = None,
        **fill: object,
    ) -> Finding:
        """A finding of this condition; ``fill``: placeholders of its remedy and commands.

        ``{osd}`` is the first of ``osds`` by default.
        """
        words = {n: quoted(str(text)) for n, text in fill.items() if n in _WORDS}
        fill = {'osd': osds[0] if osds else '<id>', **fill, **words}
        commands = tuple(command.format_map(fill) for command in self.commands)
        return Finding(
            finding_id=self.condition_id,
            severity=severity or self.severity,
            summary=summary,
            osds=osds,
            evidence=evidence,
            remedy=self.remedy.format_map({'command': '; '.join(commands), **fill}),
            source=self.source,
            commands=commands,
            do_not=self.do_not,
        )


#: Evaluates a condition, with its declaration for thresholds and texts.
ConditionFunction = Callable[[ClusterFacts, Condition], Iterable[Finding]]


@cache
def declarations() -> Mapping[str, Mapping[str, Any]]:
    """The entries of ``knowledge/conditions.json`` by id, in the order of health checks."""
    return {entry['name']: entry for entry in loader.load('conditions')['conditions']}


def condition(condition_id: str) -> Callable[[ConditionFunction], Condition]:
    """The function that decides a declared condition."""

    def declare(function: ConditionFunction) -> Condition:
        entry = declarations()[condition_id]
        health = entry.get('health')
        return Condition(
            condition_id=condition_id,
            section=entry['section'],
            title=entry['title'],
            severity=Severity(entry['severity']),
            remedy=entry['remedy'],
            commands=tuple(entry.get('commands', ())),
            do_not=entry.get('do_not'),
            stops_osds=entry.get('stops_osds', True),
            source=entry['source'],
            health=HealthPolicy(**health) if health else None,
            ceph_checks=tuple(entry.get('ceph_checks', ())),
            needs=_needs(entry.get('needs')),
            thresholds={n: _threshold(**t) for n, t in entry.get('thresholds', {}).items()},
            values={name: tuple(texts) for name, texts in entry.get('values', {}).items()},
            function=function,
        )

    return declare


def _needs(entry: Union[str, Mapping[str, str], None]) -> Optional[Needs]:
    if entry is None or isinstance(entry, str):
        return None if entry is None else Subject[entry.upper()]
    figure = Figure[entry['figure'].upper()]
    return (
        Reaches(figure, entry['reaches']) if 'reaches' in entry else Below(figure, entry['below'])
    )


def _threshold(option: Optional[Mapping[str, Any]] = None, **entry: Any) -> Threshold:
    return Threshold(**entry, option=ModuleOption(**option) if option else None)
