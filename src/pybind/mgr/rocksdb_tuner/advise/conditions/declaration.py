"""How a condition is declared: all that is known of it, above the function that looks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional

from ..records import Finding, FindingEvidence, Severity
from .facts import ClusterFacts
from .subjects import Needs

__all__ = ['Condition', 'HealthPolicy', 'LimitOption', 'ModuleOption', 'Threshold', 'condition']


@dataclass(frozen=True)
class ModuleOption:
    """The module option by which an operator sets a threshold, and its bounds."""

    name: str
    minimum: float
    maximum: float


@dataclass(frozen=True)
class Threshold:
    """A figure from which on a condition holds; without an option nobody should change it."""

    value: float
    unit: str
    meaning: str
    source: str
    option: Optional[ModuleOption] = None


@dataclass(frozen=True)
class LimitOption:
    """A module option by which an operator sets a threshold, with what the threshold is."""

    name: str
    unit: str
    meaning: str
    default: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class HealthPolicy:
    """How a condition becomes a health check: what is said, and after which times."""

    #: What follows "N OSD(s)".
    summary: str
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True)
class Condition:
    """What an expert would point out; made by `condition`."""

    #: Stable; its health check is ROCKSDB_TUNER_ and this in capitals.
    condition_id: str
    title: str
    #: The worst that it comes with.
    severity: Severity
    #: A sentence; {osd}, {who} and the like are filled in.
    remedy: str
    #: The exact commands of the remedy.
    commands: tuple[str, ...]
    #: What makes it worse.
    do_not: Optional[str]
    source: str
    health: Optional[HealthPolicy]
    #: Ceph's own health checks that say the same: this one is not raised beside them.
    ceph_checks: tuple[str, ...]
    #: Without it there is nothing to look for; None: a condition of the setup.
    needs: Optional[Needs]
    thresholds: Mapping[str, Threshold] = field(hash=False)
    #: What else it goes by.
    values: Mapping[str, tuple[str, ...]] = field(hash=False)
    #: Where it was seen to be found: files of the module, or of the checkout below qa/.
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

    def look(self, cluster: ClusterFacts) -> Iterable[Finding]:
        """Where it holds; nothing where a signal that it needs is not known."""
        return self.function(cluster, self)

    def limit(self, name: str, overrides: Mapping[str, float]) -> float:
        """The threshold ``name``; ``overrides`` are the operator's, by module option."""
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


#: Looks for a condition, which it is given for its thresholds and texts.
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
    needs: Optional[Needs] = None,
    thresholds: Optional[Mapping[str, Threshold]] = None,
    values: Optional[Mapping[str, tuple[str, ...]]] = None,
) -> Callable[[ConditionFunction], Condition]:
    """Makes a condition of the function below it; `Condition` says what each argument means."""

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
            needs=needs,
            thresholds=thresholds or {},
            values=values or {},
            tests=tests,
            function=function,
        )

    return declare
