"""Hysteresis of health checks: they are raised and cleared after a delay. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import AbstractSet, Mapping, TypeVar

from ..records import Finding, Severity
from .declaration import conditions

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
    if not state and not found:
        return after
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
