"""All answers by the name of their schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from . import growth, history, mode, operations, trend


class Answer(NamedTuple):
    #: Of what it is the answer.
    title: str
    kind: Any
    #: Of a list, or of what may be null; a record has its own.
    description: str = ''


ANSWERS: Mapping[str, Answer] = {
    'growth': Answer('How the DB of an OSD grew on its device', growth.Growth),
    'history': Answer(
        'ceph rocksdb-tuner history', tuple[history.Change, ...], 'Every change, oldest first.'
    ),
    'mode': Answer('ceph rocksdb-tuner mode', mode.ModeInForce),
    'operation': Answer(
        'ceph rocksdb-tuner operation status, and the answer to pause, resume, abort and ack',
        Optional[operations.OperationInView],
        'The operation under way, or the last one; null before the first.',
    ),
    'operation-ls': Answer(
        'ceph rocksdb-tuner operation ls',
        tuple[operations.Operation, ...],
        'What is under way, then what ended, the newest first.',
    ),
    'trend': Answer(
        'What OSDs, or those of a device class, did in the last hours',
        tuple[trend.Trend, ...],
        'A series for each; empty while nothing was sampled. Every list has as many items as '
        'time_s; null: not known at that time. Of a class: the median over its OSDs of times, '
        'shares and ratios, the mean of all others.',
    ),
}
