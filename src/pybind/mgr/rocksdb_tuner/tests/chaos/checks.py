"""The common part of the chaos tests of all kinds of operation: rules, violations and mutants."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any, Callable, Generic, NamedTuple, NoReturn, Optional, TypeVar

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


def violation(
    execute: Callable[[], object], checks: Checks[Rule], traceback_rule: Rule
) -> Optional[Violation[Rule]]:
    """Execute a schedule; the rule that it breaks, if any."""
    try:
        execute()
    except Violation as violation:
        return violation
    except Exception as error:  # noqa: BLE001 - any exception is a finding
        text = ''.join(traceback.format_exception(error))[-2500:]
        return checks.broken or Violation(traceback_rule, text)
    return checks.broken


class Caught(NamedTuple):
    """When a mutant was caught."""

    #: Schedules drawn until its rule failed; None: it never did.
    after: Optional[int]
    tried: int


def hunted(
    mutant: Any,
    schedule: Callable[[str], Schedule],
    broken_by: Callable[[Schedule, Rule], Optional[Violation[Rule]]],
    most_drawn: int,
    most_tried: int,
) -> Caught:
    """Run schedules of one fixed seed that may reveal a mutant until one breaks its rule."""
    tried = 0
    for drawn in range(most_drawn):
        planned = schedule(f'mutants:{drawn}')
        if not mutant.may_show(planned):
            continue
        tried += 1
        broken = broken_by(planned, mutant.rule)
        if broken is not None and broken.rule is mutant.rule:
            return Caught(drawn + 1, tried)
        if tried == most_tried:
            break
    return Caught(None, tried)


def unproven(mutants: Iterable[Any], rules: Iterable[Rule]) -> set[str]:
    """The rules that less than two mutants break, each of which has a name of its own."""
    found = list(mutants)
    assert len({mutant.name for mutant in found}) == len(found)
    biting = Counter(mutant.rule for mutant in found)
    return {rule.name for rule in rules if biting[rule] < 2}
