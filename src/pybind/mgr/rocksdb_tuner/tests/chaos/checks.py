"""The common part of the chaos tests of all kinds of operation: rules, violations and mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Callable, Generic, NamedTuple, NoReturn, Optional, TypeVar

Rule = TypeVar('Rule', bound=Enum)
Schedule = TypeVar('Schedule')


class Violation(AssertionError, Generic[Rule]):  # noqa: N818 - what it is
    """An invariant does not hold."""

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f'{rule.name} ({rule.value}): {text}')
        self.rule = rule


class Checks(Generic[Rule]):
    """A violation is stored and raised, so that a handler of exceptions cannot hide it."""

    def __init__(self, only: Optional[Rule] = None) -> None:
        """``only``: check this rule alone."""
        self.only = only
        self.broken: Optional[Violation[Rule]] = None
        self.checked: Counter[Rule] = Counter()

    def require(self, rule: Rule, ok: object, text: str) -> None:
        self.checked[rule] += 1
        if not ok and self.only in {None, rule}:
            self.fail(rule, text)

    def fail(self, rule: Rule, text: str) -> NoReturn:
        self.broken = self.broken or Violation(rule, text)
        raise self.broken


class Caught(NamedTuple):
    """When a mutant was caught."""

    #: Schedules drawn until its rule failed; None: it never did.
    after: Optional[int]
    tried: int


def hunted(
    schedules: Iterable[Schedule],
    may_show: Callable[[Schedule], bool],
    violation: Callable[[Schedule], Optional[Violation[Rule]]],
    rule: Rule,
    most_tried: int,
) -> Caught:
    """Run the schedules that may reveal a mutant until one breaks its rule."""
    tried = 0
    for drawn, planned in enumerate(schedules, start=1):
        if not may_show(planned):
            continue
        tried += 1
        broken = violation(planned)
        if broken is not None and broken.rule is rule:
            return Caught(drawn, tried)
        if tried == most_tried:
            break
    return Caught(None, tried)
