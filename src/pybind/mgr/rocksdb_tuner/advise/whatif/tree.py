"""The model of the tree for one option string, with errors for operators. Pure."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ...lsm.columns import options_of
from ...lsm.model import amplification_of, model, packing
from ...lsm.records import Amplification, TreeModel
from ...lsm.tree_options import NotModeledError
from ...options.checks import CheckResult
from ...options.releases import KnownRelease
from ...options.syntax import format, in_force, parse  # noqa: A004
from ...options.verdict import BadQuestionError, judge
from ..profiles import recognize
from .situation import Situation

__all__ = ['TreeAnswer', 'amplification_in', 'model_in', 'packed', 'packing_in', 'tree']


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
