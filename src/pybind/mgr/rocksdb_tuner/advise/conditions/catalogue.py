"""The conditions as data: name, severity, thresholds, remedy and source of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Mapping, Optional

from ...knowledge import loader
from ..records import Finding, FindingEvidence, Severity

__all__ = ['Condition', 'HealthPolicy', 'LimitOption', 'condition', 'conditions', 'limit_options']


@dataclass(frozen=True)
class LimitOption:
    """A module option by which an operator sets a threshold."""

    name: str
    unit: str
    meaning: str
    default: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class HealthPolicy:
    """How a condition becomes a health check: what is said, and after which times."""

    code: str
    #: What follows "N OSD(s)".
    summary: str
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True)
class Condition:
    """One entry of ``knowledge/conditions.json``, whose schema says what each field means."""

    condition_id: str
    title: str
    severity: Severity
    remedy: str
    commands: tuple[str, ...]
    do_not: Optional[str]
    source: str
    health: Optional[HealthPolicy]
    #: Ceph's own health checks that say the same.
    ceph_checks: tuple[str, ...]
    thresholds: Mapping[str, float] = field(hash=False)
    #: Thresholds that a module option sets, by the name of the threshold.
    options: Mapping[str, LimitOption] = field(hash=False)
    values: Mapping[str, tuple[str, ...]] = field(hash=False)

    def limit(self, name: str, overrides: Mapping[str, float]) -> float:
        """The threshold ``name``; ``overrides`` are the operator's, by module option."""
        option = self.options.get(name)
        if option is not None and option.name in overrides:
            return overrides[option.name]
        return self.thresholds[name]

    def finding(
        self,
        summary: str,
        osds: tuple[int, ...],
        evidence: tuple[FindingEvidence, ...],
        *,
        severity: Optional[Severity] = None,
        **fill: object,
    ) -> Finding:
        """A finding of this condition; ``fill`` is what its remedy and commands leave open.

        ``{osd}`` is the first of ``osds`` unless it is given.
        """
        fill = {'osd': osds[0] if osds else '<id>', **fill}
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


@lru_cache(maxsize=1)
def conditions() -> Mapping[str, Condition]:
    """All conditions by id, in the order of the data."""
    return {entry['id']: _condition(entry) for entry in loader.load('conditions')['conditions']}


def condition(condition_id: str) -> Condition:
    """The condition of this id; KeyError if there is none."""
    return conditions()[condition_id]


def limit_options() -> tuple[LimitOption, ...]:
    """The module options that set thresholds."""
    return tuple(option for known in conditions().values() for option in known.options.values())


def _condition(entry: Mapping[str, Any]) -> Condition:
    return Condition(
        condition_id=entry['id'],
        title=entry['title'],
        severity=Severity(entry['severity']),
        remedy=entry['remedy'],
        commands=tuple(entry['commands']),
        do_not=entry['do_not'],
        source=entry['source'],
        health=_health(entry),
        ceph_checks=tuple(entry['ceph_checks']),
        thresholds={name: float(t['value']) for name, t in entry['thresholds'].items()},
        options={
            name: LimitOption(
                name=t['option']['name'],
                unit=t['unit'],
                meaning=t['meaning'],
                default=float(t['value']),
                minimum=float(t['option']['min']),
                maximum=float(t['option']['max']),
            )
            for name, t in entry['thresholds'].items()
            if t['option'] is not None
        },
        values={name: tuple(values) for name, values in entry['values'].items()},
    )


def _health(entry: Mapping[str, Any]) -> Optional[HealthPolicy]:
    health = entry['health']
    if health is None:
        return None
    return HealthPolicy(
        code='ROCKSDB_TUNER_' + entry['id'].upper().replace('-', '_'),
        summary=health['summary'],
        raise_after_s=float(health['raise_after_s']),
        clear_after_s=float(health['clear_after_s']),
    )
