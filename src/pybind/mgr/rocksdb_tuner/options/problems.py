"""Problems of an option string, and the rules that report them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Mapping, Optional

from ..knowledge import loader
from ..notes import Among, Pattern


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

    severity: Annotated[
        str,
        Among(('error', 'warning', 'info')),
        'Severity; "error": an OSD would not start, or the setting is dangerous.',
    ]
    rule: Annotated[str, Pattern('^[a-z0-9-]+$'), 'Stable id of the rule.']
    option: Annotated[Optional[str], 'Name of the option; null: the string as a whole.']
    message: Annotated[str, 'Description of the problem.']
    source: Annotated[str, 'Source of this information.']


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


def problems_of(rows: Iterable[tuple[bool, str, str, str]]) -> Iterator[Problem]:
    """From a table of: whether it applies, rule, option, message."""
    return (problem(rule, option, message) for applies, rule, option, message in rows if applies)
