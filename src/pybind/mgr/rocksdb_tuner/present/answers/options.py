"""Option strings of OSDs, and their differences.

Builds answers from records with fields of the same names.

Estimates of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Optional, TypeVar

from ...advise.records import OsdFacts, OsdOptions
from ...kinds import fields_of
from ...notes import OsdId
from ...options.grammar import OptionDifference
from ..summaries import difference, options_in_use

_T = TypeVar('_T')


def like(answer: type[_T], record: object, **others: object) -> _T:
    """An ``answer`` with the fields of ``record`` that have the same names, and ``others``."""
    kind: Any = answer
    same = {f.name: getattr(record, f.name) for f in fields_of(kind) if f.name not in others}
    return answer(**same, **others)


def like_if_any(answer: type[_T], record: Optional[object]) -> Optional[_T]:
    return None if record is None else like(answer, record)


_SOURCE = 'Source of the running value: "default", "mon", "file", "env", "cmdline" or "override".'


@dataclass(frozen=True)
class OptionChange:
    """An option that differs."""

    option: Annotated[str, 'Name of a RocksDB option.']
    from_: Annotated[Optional[str], 'Value before; null: not set.']
    to: Annotated[Optional[str], 'Value after; null: not set.']


@dataclass(frozen=True)
class RunningOptions:
    """Running options of an OSD."""

    profile: Annotated[Optional[str], 'Name of the running profile; null: none, or unknown.']
    pending_restart: Annotated[
        Optional[bool],
        'Whether a restart would apply the configured options; false if the OSD would not start '
        'with them.',
    ]
    source: Annotated[Optional[str], _SOURCE]


@dataclass(frozen=True)
class OptionsInFull(RunningOptions):
    """Running options of an OSD, and its options after the next start."""

    running: Annotated[Optional[str], 'Running option string, including the annex.']
    next_start: Annotated[
        Optional[str],
        'Option string after the next start; null: unknown.',
    ]
    starts: Annotated[Optional[bool], 'Whether the OSD would start with it; null: unknown.']
    deciding_who: Annotated[
        Optional[str], 'Config mask of the entry that takes precedence for the OSD.'
    ]
    overruled: Annotated[
        Optional[bool],
        'Whether ceph.conf, the environment or the command line overrides the config store.',
    ]
    annex: Annotated[
        Optional[str], 'bluestore_rocksdb_options_annex, as part of the option strings.'
    ]
    difference: Annotated[
        Optional[tuple[OptionChange, ...]], 'Changes at the next restart; null: unknown.'
    ]


@dataclass(frozen=True)
class Variant:
    """OSDs that run the same profile from the same source."""

    profile: Annotated[Optional[str], 'Name of the profile; null if it matches none.']
    source: Annotated[str, _SOURCE]
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']


@dataclass(frozen=True)
class GroupOptions:
    """Running options of the OSDs of a group."""

    profile: Annotated[
        Optional[str],
        'Profile that all of them run; null if they differ or match no profile.',
    ]
    source: Annotated[Optional[str], f'{_SOURCE} null if it differs or is unknown.']
    pending_restart: Annotated[
        tuple[OsdId, ...], 'OSDs whose configured options a restart would apply.'
    ]
    variants: Annotated[
        tuple[Variant, ...],
        'Variants, most frequent first; without OSDs whose options are unknown.',
    ]


def group_options_of(osds: Iterable[OsdFacts]) -> GroupOptions:
    in_use = options_in_use(osds)
    variants = tuple(like(Variant, variant) for variant in in_use.variants)
    return like(GroupOptions, in_use, variants=variants)


def running_of(options: Optional[OsdOptions]) -> RunningOptions:
    if options is None:
        return RunningOptions(None, None, None)
    return RunningOptions(options.profile, options.pending_restart, options.source)


def options_of(options: Optional[OsdOptions]) -> OptionsInFull:
    if options is None:
        return OptionsInFull(None, None, None, None, None, None, None, None, None, None)
    changed = options.next_start
    return like(
        OptionsInFull,
        options,
        difference=None if changed is None else difference_of(options.running, changed),
    )


def difference_of(before: str, after: str) -> Optional[tuple[OptionChange, ...]]:
    """None if one of the strings cannot be parsed."""
    changes = difference(before, after)
    return None if changes is None else changes_of(changes)


def changes_of(changes: Iterable[OptionDifference]) -> tuple[OptionChange, ...]:
    return tuple(OptionChange(c.option, c.value_from, c.value_to) for c in changes)
