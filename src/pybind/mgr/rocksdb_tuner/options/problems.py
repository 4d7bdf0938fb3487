"""Problems of an option string, and the rules that report them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Mapping, Optional

from ..knowledge import loader


@dataclass(frozen=True)
class Rule:
    #: "unknown-option"; stable.
    name: str
    #: "error": an OSD would not start, or it is dangerous; "warning"; "info".
    severity: str
    meaning: str
    source: str
    #: Options that cause a problem together, which names only one of them.
    weighs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """One problem of an option string."""

    #: Severity of the rule.
    severity: str
    #: Name of the rule.
    rule: str
    #: None if it concerns the whole string.
    option: Optional[str]
    message: str
    source: str


@lru_cache(maxsize=1)
def rules() -> Mapping[str, Rule]:
    """All rules of `check` by name, the most severe first."""
    return {
        entry['name']: Rule(**{**entry, 'weighs': tuple(entry.get('weighs', ()))})
        for entry in loader.load('check_rules')['check_rules']
    }


def problem(rule: str, option: Optional[str], message: str, source: str = '') -> Problem:
    """A problem by a rule; ``source`` overrides the source of the rule."""
    known = rules()[rule]
    return Problem(known.severity, rule, option, message, source or known.source)
