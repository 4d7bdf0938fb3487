"""The model of the tree for one option string, with errors for operators. Pure.

Also the fill time of memtables, until which options have little effect, and model results for a
running OSD, for comparison with its measurements.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Optional

from ...lsm.levels import NotModeledError, options_of
from ...lsm.model import model, packing
from ...lsm.records import Estimate, TreeModel
from ...notes import InPlace
from ...options.releases import KnownRelease
from ...options.syntax import format, in_force, parse  # noqa: A004
from ...options.verdict import BadQuestionError, judge
from ..facts import release_of_osd
from ..profiles import recognize
from ..records import OsdFacts
from .situation import Situation, situation_of_osd


@dataclass(frozen=True)
class TreeAnswer:
    """The model of an option string on an OSD."""

    options: Annotated[str, 'bluestore_rocksdb_options']
    situation: Annotated[Situation, InPlace('osd_id', 'release')]
    profile: Annotated[Optional[str], 'Name of the matching profile.']
    model: Annotated[
        TreeModel,
        InPlace(
            *('wal', 'memtables', 'column_families', 'levels', 'db_device', 'amplification'),
            *('kv_sync_time', 'cpu'),
        ),
    ]


def tree(options: str, situation: Situation) -> TreeAnswer:
    """Model ``options`` in a situation, with the annex of its OSD.

    Raises BadQuestionError (EINVAL) for a string with which no OSD starts, and for a tree without
    levels.
    """
    release, options = situation.release, in_force(options, situation.annex)
    _check('these options', options, release)
    for column in situation.own_columns or ():
        if column.options.items:
            # They can also prevent OSD startup.
            own = format(options_of(column, parse(options)))
            _check(f'these options of column {column.name}', own, release)
    try:
        found = model(situation.tree_inputs(options))
    except NotModeledError as refusal:
        raise BadQuestionError(errno.EINVAL, f'there is no model of {refusal}') from None
    named = recognize(options, release)
    return TreeAnswer(options, situation, named.name if named else None, found)


def _check(what: str, options: str, release: KnownRelease) -> None:
    result = judge(options, (release,)).worst.result
    if result.accepted:
        return
    starts = f'whether an OSD of {release.label} starts with {what} is unknown'
    if result.accepted is False:
        starts = f'an OSD of {release.label} would not start with {what}'
    worst = result.problems[0]
    about = '' if worst.option is None else f'{worst.option}: '
    raise BadQuestionError(
        errno.EINVAL,
        f'{starts}, so there is no model. {about}{worst.message}; see "ceph rocksdb-tuner check" '
        'for all problems',
    )


@lru_cache(maxsize=512)
def tree_of(options: str, situation: Situation) -> Optional[TreeModel]:
    """None for options without levels, or with which no OSD starts."""
    try:
        return model(situation.tree_inputs(options))
    except ValueError:
        return None


@lru_cache(maxsize=512)
def packing_in(situation: Situation, options_from: str, options_to: str) -> Optional[float]:
    """`lsm.model.packing` for a situation; raises the same."""
    return packing(situation.tree_inputs(options_from), situation.tree_inputs(options_to))


def packed(options_from: str, options_to: str, situation: Situation) -> Situation:
    """``situation`` with its data size under the compression of ``options_to``.

    Raises the same as `lsm.model.model`.
    """
    ratio, load = packing_in(situation, options_from, options_to), situation.load
    if ratio is None or load.data_bytes is None:
        return situation
    return replace(situation, load=replace(load, data_bytes=load.data_bytes * ratio))


def fill_s(options_from: str, options_to: str, situation: Situation) -> Optional[float]:
    """Seconds between flushes under the current load, with the slower of two option strings.

    None for an unknown load, no writes, or an option string without a model.
    """
    rate = situation.load.wal_bytes_per_s
    if not rate:
        return None
    # Normalized for the cache: 1 byte/s, and no data, which does not affect flushes.
    load = replace(situation.load, wal_bytes_per_s=1.0, data_bytes=None, objects=None)
    asked, slowest = replace(situation, load=load), 0.0
    for options in (options_from, options_to):
        found = tree_of(options, asked)
        if found is None:
            return None
        busiest = max(found.column_families, key=lambda family: family.share or 0.0)
        # For an unknown workload only the WAL limit is known, which bounds every memtable.
        fill = found.wal.fill_s if busiest.flush_every_s is None else busiest.flush_every_s
        if fill is None:
            return None
        slowest = max(slowest, fill)
    return float(f'{slowest / rate:.2g}')


@dataclass(frozen=True)
class Modeled:
    """Model of an OSD with its running options."""

    write_amplification: Annotated[Estimate, 'Prediction for db_write_amp.']
    objects: Annotated[
        Optional[Estimate],
        'Objects that clients write to, estimated from the writes of the OSD; null if these do '
        'not tell.',
    ]


def modeled(facts: OsdFacts) -> Optional[Modeled]:
    """None if options or workload have no model, or the database size is unknown."""
    release = release_of_osd(facts.info)
    situation = None if release is None else situation_of_osd(facts, release)
    if situation is None or facts.options is None or situation.load.data_bytes is None:
        return None
    found = tree_of(facts.options.running, situation)
    if found is None or found.amplification.write is None:
        return None
    return Modeled(found.amplification.write, situation.objects)
