"""Stored form of history, restarts, clock and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Optional

from ...judge.evidence import Block, Evidence, Measured
from ...store.codec import decode, encode
from ...store.errors import StoredStateError
from ...store.pieces import LIMIT_BYTES
from ...store.text import pack, unpack
from ..history import HistoryRecord
from ..stopwatch import ClockState
from .codec import VERSION, decode_state, encode_state
from .records import RolloutState
from .restart_log import Restart, RestartLog


@dataclass(frozen=True)
class _Clock:
    passed_s: float
    ended: Optional[str]
    ended_s: Optional[float]


@dataclass(frozen=True)
class _Restarts:
    times_s: tuple[float, ...]
    steady_s: tuple[Optional[float], ...]


@dataclass(frozen=True)
class _Evidence:
    """Each block is one row: the signals of the first OSD, of the second, and so on."""

    id: str
    batch: int
    #: Number of changed OSDs, which come first.
    changed: int
    osds: tuple[int, ...]
    block_s: float
    signals: tuple[str, ...]
    before: tuple[tuple[Optional[float], ...], ...]
    after: tuple[tuple[Optional[float], ...], ...]
    #: When each block ended.
    before_s: tuple[Optional[float], ...]
    after_s: tuple[Optional[float], ...]


def encode_record(record: HistoryRecord, state: Optional[RolloutState] = None) -> str:
    """With ``state``, if it fits into one key, so that history alone allows a rollback.

    For large rollouts only the archive has the state.
    """
    document = {'version': VERSION, **encode(record)}
    if state is not None:
        text = pack({**document, 'state': encode_state(state)})
        if len(text.encode()) <= LIMIT_BYTES:
            return text
    return pack({**document, 'state': None})


def decode_record(text: str) -> HistoryRecord:
    """The record that `encode_record` wrote; raises StoredStateError."""
    return decode(HistoryRecord, _record_document(text))


def decode_state_of_record(text: str) -> Optional[RolloutState]:
    """The state stored with a record, None without one. Raises StoredStateError."""
    stored = _record_document(text).get('state')
    if stored is None:
        return None
    if not isinstance(stored, str):
        raise StoredStateError('"state" is not a string')
    return decode_state(stored)


def _record_document(text: str) -> dict[str, object]:
    return unpack(text, VERSION)


def encode_restarts(restarts: RestartLog) -> str:
    times_s = tuple(float(round(r.time_s)) for r in restarts.restarts)
    steady_s = tuple(
        None if r.steady_s is None else float(round(r.steady_s)) for r in restarts.restarts
    )
    return _packed(_Restarts(times_s, steady_s))


def decode_restarts(text: str) -> RestartLog:
    """The log that `encode_restarts` wrote, to the second; raises StoredStateError."""
    stored = decode(_Restarts, _unpacked(text))
    if len(stored.times_s) != len(stored.steady_s):
        raise StoredStateError('"steady_s" and "times_s" differ in length')
    return RestartLog(tuple(map(Restart, stored.times_s, stored.steady_s)))


def encode_clock(clock: ClockState) -> str:
    ended_id, ended_s = clock.ended or (None, None)
    return _packed(_Clock(clock.passed_s, ended_id, ended_s))


def decode_clock(text: str) -> ClockState:
    """What `encode_clock` wrote; raises StoredStateError."""
    stored = decode(_Clock, _unpacked(text))
    if stored.passed_s < 0:
        raise StoredStateError(f'"passed_s" is {stored.passed_s} instead of a non-negative number')
    if stored.ended is None:
        return ClockState(stored.passed_s)
    if stored.ended_s is None:
        raise StoredStateError('"ended_s" is missing')
    return ClockState(stored.passed_s, (stored.ended, stored.ended_s))


def encode_evidence(evidence: Evidence) -> str:
    osds = evidence.osds
    return _packed(
        _Evidence(
            id=evidence.rollout_id,
            batch=evidence.batch,
            changed=len(evidence.changed),
            osds=osds,
            block_s=evidence.block_s,
            signals=Measured._fields,
            before=tuple(row_of(block, osds) for block in evidence.before),
            after=tuple(row_of(block, osds) for block in evidence.after),
            before_s=tuple(map(_end_of, evidence.before)),
            after_s=tuple(map(_end_of, evidence.after)),
        )
    )


def row_of(block: Block, osds: Sequence[int]) -> tuple[Optional[float], ...]:
    """The signals of the first OSD, those of the second, and so on."""
    # More digits of a mean are noise.
    return tuple(
        None if value is None else float(f'{value:.5g}')
        for osd_id in osds
        for value in block.of(osd_id)
    )


def decode_evidence(text: str) -> Evidence:
    """The evidence that `encode_evidence` wrote, to five digits; raises StoredStateError."""
    stored = decode(_Evidence, _unpacked(text))
    osds, signals = stored.osds, stored.signals
    if not osds or len(set(osds)) != len(osds):
        raise StoredStateError('"osds" is empty or names an OSD twice')
    if set(signals) - set(Measured._fields) or len(set(signals)) != len(signals):
        raise StoredStateError('"signals" has unknown or duplicate names')
    if stored.changed > len(osds):
        raise StoredStateError('"changed" is greater than the number of OSDs')
    changed = stored.changed
    return Evidence(
        rollout_id=stored.id,
        batch=stored.batch,
        changed=osds[:changed],
        controls=osds[changed:],
        block_s=stored.block_s,
        before=_timed(blocks_of('before', stored.before, osds, signals), stored.before_s),
        after=_timed(blocks_of('after', stored.after, osds, signals), stored.after_s),
    )


def _end_of(block: Block) -> Optional[float]:
    return None if block.end_s is None else float(round(block.end_s))


def _timed(blocks: Sequence[Block], ends_s: Sequence[Optional[float]]) -> tuple[Block, ...]:
    if len(blocks) != len(ends_s):
        raise StoredStateError('"before_s" and "after_s" differ in length from their blocks')
    return tuple(replace(block, end_s=end_s) for block, end_s in zip(blocks, ends_s))


def blocks_of(
    name: str,
    rows: Sequence[tuple[Optional[float], ...]],
    osds: Sequence[int],
    signals: Sequence[str],
) -> tuple[Block, ...]:
    """``signals`` are those of the writing version: others are unknown."""
    width = len(signals)
    for number, row in enumerate(rows):
        if len(row) != width * len(osds):
            raise StoredStateError(
                f'"{name}[{number}]" has {len(row)} instead of {width} values for each of '
                f'{len(osds)} OSDs'
            )
    return tuple(
        Block(
            {
                osd_id: Measured(**dict(zip(signals, islice(row, i * width, (i + 1) * width))))
                for i, osd_id in enumerate(osds)
            }
        )
        for row in rows
    )


def _packed(record: object) -> str:
    return pack({'version': VERSION, **encode(record)})


def _unpacked(text: str) -> dict[str, object]:
    return unpack(text, VERSION)
