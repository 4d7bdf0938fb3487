"""The common part of the watches of all kinds of operation: required rules, and violations."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import Generic, NoReturn, Optional, TypeVar

Rule = TypeVar('Rule', bound=Enum)


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
