"""Conditions for findings, one declared function each, and which become health checks. Pure.

A condition without its required signals yields no finding. Health checks are raised and cleared
after a delay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import AbstractSet, Mapping, Optional, TypeVar

from ..facts import name_osds
from ..records import Finding, OsdFacts, Severity
from . import load, options  # noqa: F401 - their conditions
from .declaration import ClusterFacts, conditions, present_needs

__all__ = ['ClusterFacts', 'HoldState', 'SetupFindings', 'findings', 'hold', 'raised', 'since']

#: As errors: OSDs would not start again.
_KEEP_DOWN = frozenset({'unstartable-options', 'cache-ratios'})
_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: Conditions of the OSDs' setup and configuration, and of their present state.
_OF_THE_SETUP = tuple(known for known in conditions().values() if known.needs is None)
OF_THE_PRESENT = tuple(known for known in conditions().values() if known.needs is not None)


class SetupFindings:
    """Caches the findings of the setup, which hardly ever changes."""

    def __init__(self) -> None:
        self._known: tuple[object, tuple[Finding, ...]] = (None, ())

    def of(self, cluster: ClusterFacts) -> tuple[Finding, ...]:
        setup = (
            cluster.entries,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if self._known[0] != setup:
            # Without the facts that conditions of the setup must not depend on.
            osds = tuple(
                OsdFacts(o.info, None, None, o.options, sharded=o.sharded, settings=o.settings)
                for o in cluster.osds
            )
            alone = ClusterFacts(osds, cluster.entries)
            self._known = setup, tuple(f for known in _OF_THE_SETUP for f in known.evaluate(alone))
        return self._known[1]


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` is the cache of the caller."""
    present = present_needs(cluster)
    found = [
        *(setup_findings or SetupFindings()).of(cluster),
        *(f for known in OF_THE_PRESENT if known.needs in present for f in known.evaluate(cluster)),
    ]
    down = {n: f.finding_id for f in found if _keeps_down(f) for n in f.osds}
    shown = (_remedied(f, down, cluster.advised) for f in found)
    return tuple(sorted(shown, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))


#: Command of findings that leave the remedy to a recommendation.
_RECOMMEND = 'ceph rocksdb-tuner recommend'
_WHY_NOT = f'"{_RECOMMEND} --all" says why no change is recommended'


def _keeps_down(finding: Finding) -> bool:
    return finding.finding_id in _KEEP_DOWN and finding.severity is Severity.ERROR


def _remedied(found: Finding, down: Mapping[int, str], advised: AbstractSet[int]) -> Finding:
    """With what may be done now.

    Nothing may stop an OSD which would not start again: ``down`` has the finding by OSD. A
    recommendation is named only if there is one for the OSDs.
    """
    ids = sorted(down.keys() & found.osds)
    if ids and not _keeps_down(found) and conditions()[found.finding_id].stops_osds:
        return replace(
            found,
            remedy=f'{name_osds(ids)} would not start again. Remove the cause first, see "ceph '
            f'rocksdb-tuner findings {down[ids[0]]}".',
            commands=(),
            do_not=None,
        )
    if _RECOMMEND not in found.commands or advised & set(found.osds):
        return found
    return replace(
        found,
        remedy=found.remedy.replace(f'"{_RECOMMEND}" has the commands', _WHY_NOT),
        commands=tuple(f'{c} --all' if c == _RECOMMEND else c for c in found.commands),
    )


#: Findings of these severities are health checks.
ALARMING = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True)
class Held:
    """A condition with recent findings."""

    since_s: float
    last_found_s: float
    raised: bool
    #: The latest findings.
    findings: tuple[Finding, ...]


#: By the id of the condition.
HoldState = Mapping[str, Held]


def hold(
    state: HoldState,
    findings: Sequence[Finding],
    now_s: float,
    health_codes: AbstractSet[str] = frozenset(),
) -> HoldState:
    """The state after these findings; only conditions with a health check are in it.

    A condition is raised once found without interruption for its ``raise_after_s``, and cleared
    once not found for its ``clear_after_s``. A clock that is set back restarts both. A condition is
    not raised in addition to Ceph's own check for it (``health_codes``).
    """
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.severity in ALARMING:
            found.setdefault(finding.finding_id, []).append(finding)
    after: dict[str, Held] = {}
    for condition_id, known in conditions().items():
        policy = known.health
        if policy is None or not health_codes.isdisjoint(known.ceph_checks):
            continue
        before, now = state.get(condition_id), found.get(condition_id)
        if now:
            since_s = before.since_s if before and before.since_s <= now_s else now_s
            raised = (before is not None and before.raised) or (
                now_s - since_s >= policy.raise_after_s
            )
            after[condition_id] = Held(since_s, now_s, raised, tuple(now))
        elif before is not None and before.raised:
            last_s = min(before.last_found_s, now_s)
            if now_s - last_s < policy.clear_after_s:
                after[condition_id] = Held(before.since_s, last_s, True, before.findings)
    return after


def raised(state: HoldState) -> tuple[Finding, ...]:
    """The findings whose health checks are raised, in the order of the conditions."""
    return tuple(finding for held in state.values() if held.raised for finding in held.findings)


_Key = TypeVar('_Key')


def since(
    known_s: Mapping[_Key, float], present: Iterable[_Key], now_s: float
) -> Mapping[_Key, float]:
    """The time since which each of ``present`` has been present without interruption."""
    return {key: min(known_s.get(key, now_s), now_s) for key in present}
