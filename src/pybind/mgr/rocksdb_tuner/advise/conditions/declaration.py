"""Declaration of conditions: all metadata in the decorator of the condition's function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional

from ...shell import quoted
from ..records import Finding, FindingEvidence, Severity
from .facts import ClusterFacts
from .subjects import Needs

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
    #: Tests with such a finding: files of the module, or of the checkout below qa/.
    tests: tuple[str, ...]
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


def condition(
    condition_id: str,
    *,
    title: str,
    severity: Severity,
    remedy: str,
    source: str,
    tests: tuple[str, ...],
    commands: tuple[str, ...] = (),
    do_not: Optional[str] = None,
    health: Optional[HealthPolicy] = None,
    ceph_checks: tuple[str, ...] = (),
    stops_osds: bool = True,
    needs: Optional[Needs] = None,
    thresholds: Optional[Mapping[str, Threshold]] = None,
    values: Optional[Mapping[str, tuple[str, ...]]] = None,
) -> Callable[[ConditionFunction], Condition]:
    """Declare a condition; see `Condition` for the arguments."""

    def declare(function: ConditionFunction) -> Condition:
        return Condition(
            condition_id=condition_id,
            title=title,
            severity=severity,
            remedy=remedy,
            commands=commands,
            do_not=do_not,
            source=source,
            health=health,
            ceph_checks=ceph_checks,
            stops_osds=stops_osds,
            needs=needs,
            thresholds=thresholds or {},
            values=values or {},
            tests=tests,
            function=function,
        )

    return declare
