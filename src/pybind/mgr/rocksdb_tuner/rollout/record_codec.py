"""What is kept beside a rollout, as stored text, and back: history, restarts, evidence."""

from __future__ import annotations

from collections.abc import Sequence

from .codec import (
    VERSION,
    WITHOUT_BATCHES,
    WITHOUT_SOAK,
    judgement_document,
    predicted_document,
    read_judgement,
    read_predicted,
)
from .errors import StoredStateError
from .evidence import Block, Evidence, Measured
from .history import HistoryRecord
from .records import Outcome
from .restart_log import RestartLog
from .stored import Part, optional, packed, read_count, read_list, read_number, unpacked, wrong


def encode_record(record: HistoryRecord) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    document = {
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
    }
    return packed(document, f'the history record of {record.rollout_id}')


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
    )


def encode_restarts(restarts: RestartLog) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    document = {'version': VERSION, 'times_s': [round(at_s) for at_s in restarts.times_s]}
    return packed(document, 'the restarts of a day')


def decode_restarts(text: str) -> RestartLog:
    """The log that `encode_restarts` wrote, to the second; raises StoredStateError."""
    return RestartLog(
        tuple(unpacked(text, WITHOUT_SOAK, VERSION).column('times_s', None, read_number))
    )


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
