"""Health checks that do not flap: raised by what lasts, cleared by what stays away. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import AbstractSet, Mapping, TypeVar

from ..records import Finding, Severity
from .registry import conditions

#: Findings of these severities are health checks.
ALARMING = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True)
class Held:
    """One condition that was found lately."""

    since_s: float
    last_found_s: float
    raised: bool
    #: As it was last found.
    findings: tuple[Finding, ...]


#: By the id of the condition.
HoldState = Mapping[str, Held]


def hold(
    state: HoldState,
    findings: Sequence[Finding],
    now_s: float,
    health_codes: AbstractSet[str] = frozenset(),
) -> HoldState:
    """The state after these findings; only conditions that have a health check are in it.

    A condition is raised once it was found without interruption for its ``raise_after_s``, and
    cleared once it was not found for its ``clear_after_s``. A clock that was set back starts
    both anew. Where Ceph raises an alert of its own that newer releases have (``health_codes``),
    it is not raised beside it.
    """
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.severity in ALARMING:
            found.setdefault(finding.finding_id, []).append(finding)
    after: dict[str, Held] = {}
    for condition_id, known in conditions().items():
        policy = known.health
        if policy is None or not health_codes.isdisjoint(known.values.get('ceph_alerts', ())):
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
    """Since when each of ``present`` has been there without interruption."""
    return {key: min(known_s.get(key, now_s), now_s) for key in present}
