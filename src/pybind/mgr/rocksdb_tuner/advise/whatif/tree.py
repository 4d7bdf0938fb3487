"""The model of the tree for one option string, with errors for operators. Pure.

Level sizes that keep an OSD's RocksDB on its DB device, and their cost.

Fill time of memtables, until which options have little effect.

Model results for a running OSD, for comparison with its measurements.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, NamedTuple, Optional

from ...lsm.levels import (
    Fit,
    NotModeledError,
    fitting_levels,
    holds,
    options_of,
    paths,
    tree_options,
    usable_bytes,
)
from ...lsm.model import amplification_of, model, packing
from ...lsm.records import Amplification, Estimate, TreeModel
from ...options.checks import CheckResult
from ...options.releases import KnownRelease
from ...options.syntax import format, in_force, parse  # noqa: A004
from ...options.verdict import BadQuestionError, judge
from ...units import format_bytes
from ..facts import release_of_osd
from ..profiles import recognize
from ..records import FindingEvidence, OsdFacts
from ..strings import check
from .situation import Situation, situation_of_osd


@dataclass(frozen=True)
class TreeAnswer:
    """The model of an option string on an OSD."""

    options: str
    situation: Situation
    #: Name of the options' profile; None if they are not a known profile.
    profile: Optional[str]
    model: TreeModel


def tree(options: str, situation: Situation) -> TreeAnswer:
    """Model ``options`` in a situation, with the annex of its OSD.

    Raises BadQuestionError (EINVAL) for a string with which no OSD starts, and for a tree without
    levels.
    """
    release, options = situation.release, in_force(options, situation.annex)
    result = judge(options, (release,)).worst.result
    if not result.accepted:
        worst = result.problems[0]
        about = '' if worst.option is None else f'{worst.option}: '
        raise BadQuestionError(
            errno.EINVAL,
            f'{_does_not_start(result, release, "these options")}, so there is no model. '
            f'{about}{worst.message}; see "ceph rocksdb-tuner check" for all problems',
        )
    _check_columns(situation, options)
    try:
        found = model_in(situation, options)
    except NotModeledError as refusal:
        raise BadQuestionError(errno.EINVAL, f'there is no model of {refusal}') from None
    named = recognize(options, release)
    return TreeAnswer(options, situation, named.name if named else None, found)


def model_in(situation: Situation, options: str) -> TreeModel:
    """The model of valid options; raises the same as `lsm.model.model`."""
    return model(situation.tree_inputs(options))


def amplification_in(situation: Situation, options: str) -> Amplification:
    """The amplification of `model_in` alone."""
    return amplification_of(situation.tree_inputs(options))


@lru_cache(maxsize=512)
def packing_in(situation: Situation, options_from: str, options_to: str) -> Optional[float]:
    """`lsm.model.packing` for a situation; raises the same."""
    return packing(situation.tree_inputs(options_from), situation.tree_inputs(options_to))


@lru_cache(maxsize=512)
def packed(options_from: str, options_to: str, situation: Situation) -> Situation:
    """``situation`` with its data size under the compression of ``options_to``.

    Raises the same as `model`.
    """
    load = situation.load
    ratio = packing_in(situation, options_from, options_to)
    if ratio is None or load.data_bytes is None:
        return situation
    return replace(situation, load=replace(load, data_bytes=load.data_bytes * ratio))


def _check_columns(situation: Situation, options: str) -> None:
    """Check the options of single columns, which can also prevent OSD startup."""
    for column in situation.own_columns or ():
        if not column.options.items:
            continue
        text = format(options_of(column, parse(options)))
        result = judge(text, (situation.release,)).worst.result
        if not result.accepted:
            worst = result.problems[0]
            about = '' if worst.option is None else f'{worst.option}: '
            of_column = f'these options of column {column.name}'
            starts = _does_not_start(result, situation.release, of_column)
            raise BadQuestionError(errno.EINVAL, f'{starts}: {about}{worst.message}')


def _does_not_start(result: CheckResult, release: KnownRelease, options: str) -> str:
    """Text for an OSD that does not, or may not, start."""
    if result.accepted is False:
        return f'an OSD of {release.label} would not start with {options}'
    return f'whether an OSD of {release.label} starts with {options} is unknown'


_BASE, _MULTIPLIER = 'max_bytes_for_level_base', 'max_bytes_for_level_multiplier'
_UNKNOWN = (
    f'Choose {_BASE} and {_MULTIPLIER} so that the levels in use fit on the DB device (see "ceph '
    'rocksdb-tuner model").'
)
_NEW_SHAPE = 'Restart the OSD, then compact it: '


class Proposal(NamedTuple):
    """A remedy with its evidence."""

    remedy: str
    evidence: tuple[FindingEvidence, ...] = ()


def level_sizes(facts: OsdFacts) -> Proposal:
    """Level sizes for the running options, with the modeled write amplification."""
    compact = f'ceph tell osd.{facts.info.osd_id} compact'
    unknown = Proposal(f'{_UNKNOWN} {_NEW_SHAPE}{compact}')
    release, signals, options = release_of_osd(facts.info), facts.signals, facts.options
    if release is None or options is None or signals is None or not signals.db_total_bytes:
        return unknown
    running, version = parse(options.running), release.rocksdb_version
    if not check(options.running, version).accepted:
        return unknown
    situation = situation_of_osd(facts, release)
    data_bytes = situation.load.data_bytes
    if data_bytes is None or paths(situation.selection) == 1:
        return unknown
    db_bytes = usable_bytes(signals.db_total_bytes)
    try:
        tree = tree_options(running, version)
        if holds(tree, db_bytes, data_bytes):
            return Proposal(
                f'The current level sizes hold this data. Let RocksDB move it: {compact}'
            )
        fit = fitting_levels(tree, db_bytes, data_bytes)
        if fit is None:
            return Proposal(
                f'No level sizes hold {format_bytes(data_bytes)} on a DB device of '
                f'{format_bytes(signals.db_total_bytes)}: compress, or give the OSD a larger one.'
            )
        values = {_BASE: str(fit.level_base_bytes), _MULTIPLIER: str(fit.level_multiplier)}
        before = _write_amplification(situation, options.running)
        after = _write_amplification(situation, format(running.replaced(values)))
    except NotModeledError:
        return unknown
    return _proposal(fit, db_bytes, before, after, compact)


def _write_amplification(situation: Situation, text: str) -> Optional[float]:
    """None for a workload without a model."""
    write = model_in(situation, text).amplification.write
    return None if write is None else write.value


def _proposal(
    fit: Fit,
    db_bytes: int,
    before: Optional[float],
    after: Optional[float],
    compact: str,
) -> Proposal:
    effect = (
        'the effect on write amplification is unknown for this workload'
        if before is None or after is None
        else f'the predicted write amplification changes from {before:.1f} to {after:.1f}'
    )
    return Proposal(
        f'Put {_BASE}={fit.level_base_bytes},{_MULTIPLIER}={fit.level_multiplier} into the option '
        f'string: levels 0 to {fit.last_level} then take {format_bytes(fit.taken_bytes)} of the '
        f'{format_bytes(db_bytes)} that RocksDB may use, and {effect}. '
        f'{_NEW_SHAPE}{compact}',
        (
            FindingEvidence(f'{_BASE} that fits', fit.level_base_bytes, 'bytes', None),
            FindingEvidence(f'{_MULTIPLIER} that fits', fit.level_multiplier, 'times', None),
            FindingEvidence('write amplification', before, 'bytes/byte', None),
            FindingEvidence('new write amplification', after, 'bytes/byte', None),
        ),
    )


def fill_s(options_from: str, options_to: str, situation: Situation) -> Optional[float]:
    """Seconds between flushes under the current load, with the slower of two option strings.

    None for an unknown load, no writes, or an option string without a model.
    """
    rate = situation.load.wal_bytes_per_s
    if not rate:
        return None
    # Normalized for the cache: 1 byte/s, and no data, which does not affect flushes.
    load = replace(situation.load, wal_bytes_per_s=1.0, data_bytes=None, objects=None)
    asked = replace(situation, load=load)
    fills = [_at_one_byte_per_s(options, asked) for options in (options_from, options_to)]
    known = [fill for fill in fills if fill is not None]
    return float(f'{max(known) / rate:.2g}') if len(known) == len(fills) else None


@lru_cache(maxsize=64)
def _at_one_byte_per_s(options: str, situation: Situation) -> Optional[float]:
    try:
        tree = model_in(situation, options)
    except ValueError:
        return None
    busiest = max(tree.column_families, key=lambda family: family.share or 0.0)
    # For an unknown workload only the WAL limit is known, which bounds every memtable.
    return tree.wal.fill_s if busiest.flush_every_s is None else busiest.flush_every_s


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
    if release is None or facts.options is None:
        return None
    situation = situation_of_osd(facts, release)
    if situation.load.data_bytes is None:
        return None
    try:
        write = model_in(situation, facts.options.running).amplification.write
    except ValueError:
        return None
    return None if write is None else Modeled(write, situation.objects)
