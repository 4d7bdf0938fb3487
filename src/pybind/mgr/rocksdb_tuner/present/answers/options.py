"""Option strings of OSDs, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import OsdFacts, OsdOptions
from ...options.grammar import OptionDifference
from ..difference import difference
from ..summaries import options_in_use
from .copies import like
from .notes import OsdId

_SOURCE = (
    'What decides the running value: "default", "mon", "file", "env", "cmdline" or "override".'
)


@dataclass(frozen=True)
class OptionChange:
    """One option that differs."""

    option: Annotated[str, 'Name of a RocksDB option.']
    from_: Annotated[Optional[str], 'Value before; null where it is not set.']
    to: Annotated[Optional[str], 'Value after; null where it is not set.']


@dataclass(frozen=True)
class RunningOptions:
    """What an OSD runs."""

    profile: Annotated[
        Optional[str], 'Name of the known profile that it runs; null if none or not known.'
    ]
    pending_restart: Annotated[
        Optional[bool], 'True where the configured options need a restart to take effect.'
    ]
    source: Annotated[Optional[str], _SOURCE]


@dataclass(frozen=True)
class OptionsInFull(RunningOptions):
    """What an OSD runs, and what it would run after its next start."""

    running: Annotated[Optional[str], 'Effective option string that runs, annex included.']
    next_start: Annotated[
        Optional[str],
        'Option string that it would run after its next start; null if that cannot be told.',
    ]
    deciding_who: Annotated[Optional[str], 'Entry of the config store that decides for it.']
    overruled: Annotated[
        Optional[bool],
        'True where ceph.conf, the environment or the command line beats the config store.',
    ]
    annex: Annotated[Optional[str], 'Part of the strings that is bluestore_rocksdb_options_annex.']
    difference: Annotated[
        Optional[tuple[OptionChange, ...]], 'What a restart would change; null if not known.'
    ]


@dataclass(frozen=True)
class Variant:
    """OSDs that run the same profile from the same source."""

    profile: Annotated[Optional[str], 'Known profile; null if it is none that is known.']
    source: Annotated[str, _SOURCE]
    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']


@dataclass(frozen=True)
class GroupOptions:
    """What the OSDs of a group run."""

    profile: Annotated[
        Optional[str],
        'Known profile that all of them run; null if they differ or run none that is known.',
    ]
    source: Annotated[Optional[str], f'{_SOURCE} null if that differs or is not known.']
    pending_restart: Annotated[
        tuple[OsdId, ...], 'OSDs whose configured options need a restart to take effect.'
    ]
    variants: Annotated[
        tuple[Variant, ...],
        'What runs, the most frequent first; OSDs whose options are not known are in none.',
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
        return OptionsInFull(None, None, None, None, None, None, None, None, None)
    changed = options.next_start
    return like(
        OptionsInFull,
        options,
        difference=None if changed is None else difference_of(options.running, changed),
    )


def difference_of(before: str, after: str) -> Optional[tuple[OptionChange, ...]]:
    """None where one of the strings cannot be parsed."""
    changes = difference(before, after)
    return None if changes is None else changes_of(changes)


def changes_of(changes: Iterable[OptionDifference]) -> tuple[OptionChange, ...]:
    return tuple(OptionChange(c.option, c.value_from, c.value_to) for c in changes)
