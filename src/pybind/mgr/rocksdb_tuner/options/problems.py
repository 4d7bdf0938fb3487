"""Problems of an option string, the rules that report them, and the OSD that would run it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Mapping, Optional

from ..knowledge import loader
from ..notes import Among, Pattern
from ..store.codec import OMITTABLE, decode
from .syntax import OptionSet

#: By the unknown value.
_ASSUMED = {
    'cores': 'The number of cores per OSD is unknown and assumed to be 6 to 10.',
    'memory_target_bytes': 'osd_memory_target is unknown and assumed to be 4 GiB, its default.',
    'families': (
        'The column families are unknown and assumed to be 12, as in the default of all releases, '
        'without custom options.'
    ),
}


@dataclass(frozen=True)
class Hardware:
    """Resources of an OSD, and its related options.

    None is "unknown": rules that need the value are skipped, or report an assumption.
    """

    cores: Optional[int] = None
    memory_target_bytes: Optional[int] = None
    #: Sizes of dedicated devices; None also if there is none.
    wal_device_bytes: Optional[int] = None
    db_device_bytes: Optional[int] = None
    #: Options of each column family, shards listed separately.
    families: Optional[tuple[OptionSet, ...]] = None
    related_options: tuple[tuple[str, str], ...] = ()

    def weakest(self, other: Hardware) -> Hardware:
        """The minimum of two OSDs that may run the same string."""
        return Hardware(
            _least(self.cores, other.cores),
            _least(self.memory_target_bytes, other.memory_target_bytes),
            _least(self.wal_device_bytes, other.wal_device_bytes),
            _least(self.db_device_bytes, other.db_device_bytes),
            self.families if self.families is not None else other.families,
            tuple(dict.fromkeys((*self.related_options, *other.related_options))),
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions for unknown values, as sentences."""
        found = [text for name, text in _ASSUMED.items() if getattr(self, name) is None]
        if self.wal_device_bytes is None and self.db_device_bytes is None:
            found.append('No WAL or DB device is known: it is not checked whether the options fit.')
        return tuple(found)


def _least(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return min((number for number in (a, b) if number is not None), default=None)


@dataclass(frozen=True)
class Rule:
    #: "unknown-option"; stable.
    name: str
    #: "error": an OSD would not start, or it is dangerous; "warning"; "info".
    severity: str
    meaning: str
    source: str
    #: Text for a problem, a format of its figures; empty: several texts.
    message: str = field(default='', metadata=OMITTABLE)
    #: Options that cause a problem together, which names only one of them.
    weighs: tuple[str, ...] = field(default=(), metadata=OMITTABLE)


@dataclass(frozen=True)
class Combination:
    """Effective values with which RocksDB does not open a database."""

    option: str
    why: str
    #: A regular expression for the whole value of each option.
    when: Mapping[str, str]
    #: The first major version that refuses it.
    since: int = field(default=0, metadata=OMITTABLE)


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
    entries = loader.load('check_rules')['check_rules']
    return {entry['name']: decode(Rule, entry) for entry in entries}


@lru_cache(maxsize=1)
def combinations() -> tuple[Combination, ...]:
    return tuple(decode(Combination, entry) for entry in loader.load('check_rules')['combinations'])


def problem(
    rule: str,
    option: Optional[str],
    message: str = '',
    source: str = '',
    **figures: object,
) -> Problem:
    """A problem by a rule; ``message`` and ``source`` override those of the rule."""
    known = rules()[rule]
    return Problem(
        known.severity,
        rule,
        option,
        message or known.message.format(**figures),
        source or known.source,
    )


def problem_if(applies: object, rule: str, option: str, **figures: Any) -> Iterator[Problem]:
    """A row of a table of rules."""
    if applies:
        yield problem(rule, option, **figures)
