"""What is kept beside a rollout, as stored text, and back: history, restarts, evidence."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Optional

from ..judge.evidence import Block, Evidence, Measured
from ..plan.records import OPTION
from .codec import (
    VERSION,
    WITHOUT_BATCHES,
    WITHOUT_SOAK,
    decode_state,
    encode_state,
    judgement_document,
    predicted_document,
    read_judgement,
    read_predicted,
)
from .errors import RolloutRefused, StoredStateError
from .history import HistoryRecord
from .records import Outcome, RolloutState
from .restart_log import Restart, RestartLog
from .stopwatch import ClockState
from .stored import (
    Part,
    optional,
    packed,
    read_count,
    read_list,
    read_number,
    read_text,
    unpacked,
    wrong,
)


def encode_record(record: HistoryRecord, state: Optional[RolloutState] = None) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG.

    ``state`` is kept beside it, where there is room: history alone suffices to roll it back.
    """
    document: dict[str, object] = {
        'version': VERSION,
        'id': record.rollout_id,
        'time_s': record.time_s,
        'recommendation': record.recommendation_id,
        'who': record.who,
        'from': record.options_from,
        'to': record.options_to,
        'actor': record.actor,
        'outcome': record.outcome.value,
        'reason': record.reason,
        'prediction': record.prediction,
        'measured': record.measured,
        'predicted': predicted_document(record.predicted),
        'judgement': judgement_document(record.judgement),
        'option': record.option,
    }
    what = f'the history record of {record.rollout_id}'
    if state is not None:
        # Of very many OSDs only the archive has it.
        with suppress(RolloutRefused):
            return packed({**document, 'state': encode_state(state)}, what)
    return packed(document, what)


def decode_state_of_record(text: str) -> Optional[RolloutState]:
    """The state that was stored with a record; None: none was. Raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, VERSION)
    stored = document.added_later('state', read_text)
    return None if stored is None else decode_state(stored)


def decode_record(text: str) -> HistoryRecord:
    """The record that `encode_record` wrote; raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, VERSION)
    return HistoryRecord(
        rollout_id=document.text('id'),
        time_s=document.number('time_s'),
        recommendation_id=document.text('recommendation'),
        who=document.text('who'),
        options_from=document.text('from'),
        options_to=document.text('to'),
        actor=document.text('actor'),
        outcome=document.choice('outcome', Outcome),
        reason=document.optional_text('reason'),
        prediction=document.optional_text('prediction'),
        measured=document.optional_text('measured'),
        predicted=document.added_later('predicted', read_predicted),
        judgement=document.added_later('judgement', read_judgement),
        option=document.added_later('option', read_text) or OPTION,
    )


def encode_restarts(restarts: RestartLog) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    document = {
        'version': VERSION,
        'times_s': [round(r.time_s) for r in restarts.restarts],
        'steady_s': [None if r.steady_s is None else round(r.steady_s) for r in restarts.restarts],
    }
    return packed(document, 'the restarts of a day')


def decode_restarts(text: str) -> RestartLog:
    """The log that `encode_restarts` wrote, to the second; raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, VERSION)
    times_s = document.column('times_s', None, read_number)
    steady_s = document.column_added_later('steady_s', len(times_s), optional(read_number))
    return RestartLog(tuple(map(Restart, times_s, steady_s)))


def encode_clock(clock: ClockState) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    ended_id, ended_s = clock.ended or (None, None)
    document = {
        'version': VERSION,
        'passed_s': clock.passed_s,
        'ended': ended_id,
        'ended_s': ended_s,
    }
    return packed(document, 'the time that has passed')


def decode_clock(text: str) -> ClockState:
    """What `encode_clock` wrote; raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, VERSION)
    passed_s = document.number('passed_s')
    if passed_s < 0:
        wrong('passed_s', passed_s, 'a number from 0 up')
    ended = document.optional_text('ended')
    return ClockState(passed_s, None if ended is None else (ended, document.number('ended_s')))


def encode_evidence(evidence: Evidence) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    osds = evidence.osds
    document = {
        'version': VERSION,
        'id': evidence.rollout_id,
        'batch': evidence.batch,
        'changed': len(evidence.changed),
        'osds': list(osds),
        'block_s': evidence.block_s,
        'signals': list(Measured._fields),
        **{
            part: [
                # More digits than this say nothing of a mean.
                [None if v is None else float(f'{v:.5g}') for n in osds for v in block.of(n)]
                for block in blocks
            ]
            for part, blocks in (('before', evidence.before), ('after', evidence.after))
        },
    }
    return packed(document, f'what the verdict on {evidence.rollout_id} is made of')


def decode_evidence(text: str) -> Evidence:
    """The evidence that `encode_evidence` wrote, to five digits; raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, VERSION)
    osds = document.integers('osds')
    if not osds or len(set(osds)) != len(osds):
        raise StoredStateError('"osds" is empty or names an OSD twice')
    signals = document.strings('signals')
    unknown = set(signals) - set(Measured._fields)
    if unknown or len(set(signals)) != len(signals):
        raise StoredStateError('"signals" are not those that this module measures')
    batch, changed = 0, 1
    if document.value('version') != WITHOUT_BATCHES:
        batch, changed = document.typed('batch', read_count), document.typed('changed', read_count)
    if changed > len(osds):
        raise StoredStateError('"changed" are more than there are OSDs')
    return Evidence(
        rollout_id=document.text('id'),
        batch=batch,
        changed=tuple(osds[:changed]),
        controls=tuple(osds[changed:]),
        block_s=document.number('block_s'),
        before=_blocks(document, 'before', osds, signals),
        after=_blocks(document, 'after', osds, signals),
    )


def _blocks(
    document: Part, name: str, osds: Sequence[int], signals: Sequence[str]
) -> tuple[Block, ...]:
    """``signals`` are those of the version that wrote it: what it did not measure is not known."""
    width = len(signals)

    def read(path: str, value: object) -> Block:
        values = read_list(path, value)
        if len(values) != width * len(osds):
            wrong(path, value, f'{width} values for each of {len(osds)} OSDs')
        numbers = [optional(read_number)(path, one) for one in values]
        return Block(
            {
                n: Measured(**dict(zip(signals, numbers[i * width : (i + 1) * width])))
                for i, n in enumerate(osds)
            }
        )

    return tuple(document.column(name, None, read))
