"""Rollouts and history records as stored text, and back.

The monitor keeps at most 64 KiB under one key (mon_config_key_max_entry_size, 65536 in every
release). Option strings, which most OSDs share, are stored once; a long text is compressed.
Decoding trusts nothing: another version, another type, a missing name or a contradiction is a
`StoredStateError` that names it.
"""

from __future__ import annotations

import base64
import binascii
import errno
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from enum import Enum
from itertools import islice
from typing import Callable, NoReturn, Optional, TypeVar

from .batches import count
from .errors import RolloutRefused, StoredStateError
from .evidence import Block, Evidence, Measured
from .history import HistoryRecord
from .records import (
    Before,
    ChangeKind,
    ChangeRequest,
    Direction,
    Effect,
    Ending,
    Inconclusive,
    Judgement,
    OsdBefore,
    OsdProgress,
    OsdStep,
    Outcome,
    Phase,
    Predicted,
    RolloutState,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from .restart_log import RestartLog
from .states import TEXT_MAX

VERSION = 3
#: Without a soak and its verdict: what is read of it never soaks.
_WITHOUT_SOAK = 1
#: Without batches: after the canary, OSD follows OSD, and none of them is judged.
_WITHOUT_BATCHES = 2

#: The most that a monitor keeps under one key.
LIMIT_BYTES = 65536
#: Longer texts are compressed.
_PLAIN_MAX_BYTES = 40000
#: Room for the texts that come up on the way (reason, error, suspicion, ending), in UTF-8 and
#: encoded, and for the judgements on the canary and on a batch.
_RESERVE_BYTES = 4 * TEXT_MAX * 5 + 2 * 4096
_COMPRESSED = 'zlib:'
#: A text that unpacks to more was not written here.
_UNPACKED_MAX_BYTES = 16 * 1024 * 1024

_E = TypeVar('_E', bound=Enum)
_T = TypeVar('_T')


def encode_state(state: RolloutState) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    table = _Table()
    request = state.request
    before = {osd.osd_id: osd for osd in state.before.osds}
    targets = dict(request.targets)
    osds = state.osds
    document = {
        'version': VERSION,
        'id': state.rollout_id,
        'request': {
            'recommendation': request.recommendation_id,
            'kind': request.kind.value,
            'who': request.who,
            'target_order': [osd_id for osd_id, _ in request.targets],
            'final': [[who, table.optional(value)] for who, value in request.final_entries],
            'actor': request.actor,
            'restart': request.restart,
            'prediction': request.prediction,
            'predicted': _predicted_document(request.predicted),
            'option': request.option,
            'batches': [len(batch) for batch in request.batches],
        },
        'before': {
            'entries': [[who, table.index(value)] for who, value in state.before.entries],
            'osd_order': [osd.osd_id for osd in state.before.osds],
        },
        # One column per property: like values stand side by side, which compresses best.
        'osds': {
            'id': [osd.osd_id for osd in osds],
            'target': [table.index(targets[osd.osd_id]) for osd in osds],
            'before_value': [table.index(before[osd.osd_id].value) for osd in osds],
            'before_source': [table.index(before[osd.osd_id].source) for osd in osds],
            'before_release': [table.optional(before[osd.osd_id].release) for osd in osds],
            'step': [table.index(osd.step.value) for osd in osds],
            'nonce_before': [osd.nonce_before for osd in osds],
            'nonce_after': [osd.nonce_after for osd in osds],
            'restarts_asked': [osd.restarts_asked for osd in osds],
            'flaps': [osd.flaps for osd in osds],
            'restart_needed': [osd.restart_needed for osd in osds],
            'doubtful': [osd.doubtful for osd in osds],
        },
        'started_s': state.started_s,
        'updated_s': state.updated_s,
        'stage': state.stage.value,
        'direction': state.direction.value,
        'paused_reason': state.paused_reason,
        'paused_by': state.paused_by,
        'ending': None
        if state.ending is None
        else [state.ending.outcome.value, state.ending.reason],
        'shared_touched': state.shared_touched,
        'restoring': list(state.restoring),
        'entries_done': state.entries_done,
        'errors': state.errors,
        'last_error': state.last_error,
        'suspicion': state.suspicion,
        'soak': {
            **_soak_document(state.soak),
            'batches': None if state.soak.batches is None else _soak_document(state.soak.batches),
            'controls': list(state.controls),
            'soaked_s': state.soaked_s,
            'batch_soaked_s': state.batch_soaked_s,
            'verdicts': [verdict.value for verdict in state.verdicts],
            'judgement': _judgement_document(state.judgement),
            'batch_judgement': _judgement_document(state.batch_judgement),
        },
        'outcome': None if state.outcome is None else state.outcome.value,
        'failure': state.failure,
        'strings': table.strings,
    }
    return _packed(document, f'rollout {state.rollout_id} of {len(osds)} OSDs')


def refuse_if_too_large(state: RolloutState) -> None:
    """Raise RolloutRefused (E2BIG) if the state could outgrow its key on its way."""
    # Nonces are 32-bit and random in newer releases: they do not compress.
    filled = tuple(
        replace(
            osd,
            step=OsdStep.CHECKING,
            nonce_before=_scattered(2 * index),
            nonce_after=_scattered(2 * index + 1),
        )
        for index, osd in enumerate(state.osds)
    )
    whos = (
        *(who for who, _ in state.request.final_entries),
        *(f'osd.{osd.osd_id}' for osd in state.osds),
    )
    verdicts = (Verdict.INCONCLUSIVE,) * count(state.request)
    fullest = replace(state, osds=filled, restoring=whos, verdicts=verdicts)
    size = len(encode_state(fullest).encode())
    _refuse_above(size + _RESERVE_BYTES, f'a rollout of {len(state.osds)} OSDs')


def decode_state(text: str) -> RolloutState:
    """The state that `encode_state` wrote; raises StoredStateError."""
    document = _unpacked(text)
    strings = document.strings('strings')
    request, before, columns = (document.part(name) for name in ('request', 'before', 'osds'))
    ids = columns.integers('id')
    value_of = {
        name: dict(zip(ids, columns.column(name, len(ids), _lookup(strings))))
        for name in ('target', 'before_value', 'before_source')
    }
    releases = columns.column('before_release', len(ids), _optional(_lookup(strings)))
    release_of = dict(zip(ids, releases))
    ending = document.value('ending')
    state = RolloutState(
        rollout_id=document.text('id'),
        request=ChangeRequest(
            recommendation_id=request.text('recommendation'),
            kind=request.choice('kind', ChangeKind),
            who=request.text('who'),
            targets=tuple(
                (n, value_of['target'][n]) for n in request.permutation('target_order', ids)
            ),
            order=tuple(ids),
            final_entries=request.pairs('final', _optional(_lookup(strings))),
            actor=request.text('actor'),
            restart=request.typed('restart', _flag),
            prediction=request.optional_text('prediction'),
            predicted=request.added_later('predicted', _predicted),
            option=request.text('option'),
        ),
        before=Before(
            entries=before.pairs('entries', _lookup(strings)),
            osds=tuple(
                OsdBefore(
                    n, value_of['before_value'][n], value_of['before_source'][n], release_of[n]
                )
                for n in before.permutation('osd_order', ids)
            ),
        ),
        osds=tuple(
            OsdProgress(*row)
            for row in zip(
                ids,
                columns.column('step', len(ids), _step(strings)),
                columns.column('nonce_before', len(ids), _optional(_count)),
                columns.column('nonce_after', len(ids), _optional(_count)),
                columns.column('restarts_asked', len(ids), _count),
                columns.column('flaps', len(ids), _count),
                columns.column('restart_needed', len(ids), _flag),
                columns.column('doubtful', len(ids), _flag),
            )
        ),
        started_s=document.number('started_s'),
        updated_s=document.number('updated_s'),
        stage=document.choice('stage', Phase),
        direction=document.choice('direction', Direction),
        paused_reason=document.optional_text('paused_reason'),
        paused_by=document.optional_text('paused_by'),
        ending=None if ending is None else _ending(ending),
        shared_touched=document.typed('shared_touched', _flag),
        restoring=tuple(document.strings('restoring')),
        entries_done=document.typed('entries_done', _count),
        errors=document.typed('errors', _count),
        last_error=document.optional_text('last_error'),
        suspicion=document.optional_text('suspicion'),
        outcome=document.optional_choice('outcome', Outcome),
        failure=document.optional_text('failure'),
    )
    if document.value('version') == _WITHOUT_SOAK:
        verdict = document.optional_choice('verdict', Verdict)
        state = replace(state, judgement=None if verdict is None else Judgement(verdict))
    else:
        soak = document.part('soak')
        state = _with_soak(state, soak)
        if document.value('version') == _WITHOUT_BATCHES:
            state = _with_promoted(state, soak)
        else:
            state = _with_batches(state, request, soak)
    _refuse_contradictions(state)
    return state


def _with_soak(state: RolloutState, soak: _Part) -> RolloutState:
    return replace(
        state,
        soak=_soak(soak),
        request=replace(state.request, controls=tuple(soak.integers('controls'))),
        soaked_s=soak.number('soaked_s'),
        judgement=soak.typed('judgement', _optional(_judgement)),
    )


def _predicted(path: str, value: object) -> Predicted:
    part = _object(path, value)
    return Predicted(
        metric=part.text('metric'),
        low_percent=part.number('low_percent'),
        high_percent=part.number('high_percent'),
    )


def _with_promoted(state: RolloutState, soak: _Part) -> RolloutState:
    """What the version without batches said of its canary."""
    if not soak.typed('promoted', _flag):
        return state
    return replace(state, verdicts=(state.verdict or Verdict.NO_DATA,))


def _with_batches(state: RolloutState, request: _Part, soak: _Part) -> RolloutState:
    sizes = request.integers('batches')
    if sizes and (sum(sizes) != len(state.osds) or 0 in sizes):
        raise StoredStateError('"request.batches" does not hold the OSDs of the rollout')
    order = iter(state.request.order)
    followed_by = soak.value('batches')
    return replace(
        state,
        request=replace(state.request, batches=tuple(tuple(islice(order, size)) for size in sizes)),
        soak=replace(
            state.soak, batches=None if followed_by is None else _soak(soak.part('batches'))
        ),
        verdicts=tuple(soak.column('verdicts', None, _verdict)),
        batch_judgement=soak.typed('batch_judgement', _optional(_judgement)),
        batch_soaked_s=soak.number('batch_soaked_s'),
    )


def _soak(part: _Part) -> SoakPlan:
    return SoakPlan(
        least_s=part.number('least_s'),
        most_s=part.number('most_s'),
        inconclusive=part.choice('inconclusive', Inconclusive),
    )


def _judgement(path: str, value: object) -> Judgement:
    part = _object(path, value)
    return Judgement(
        verdict=part.choice('verdict', Verdict),
        signals=tuple(
            SignalVerdict(
                name=one.text('name'),
                effect=one.choice('effect', Effect),
                change_percent=one.typed('change', _optional(_number)),
                low_percent=one.typed('low', _optional(_number)),
                high_percent=one.typed('high', _optional(_number)),
            )
            for one in part.parts('signals')
        ),
        missing=tuple(part.strings('missing')),
        cause=part.optional_text('cause'),
    )


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
        'predicted': _predicted_document(record.predicted),
        'judgement': _judgement_document(record.judgement),
    }
    return _packed(document, f'the history record of {record.rollout_id}')


def decode_record(text: str) -> HistoryRecord:
    """The record that `encode_record` wrote; raises StoredStateError."""
    document = _unpacked(text)
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
        predicted=document.added_later('predicted', _predicted),
        judgement=document.added_later('judgement', _judgement),
    )


def encode_restarts(restarts: RestartLog) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    document = {'version': VERSION, 'times_s': [round(at_s) for at_s in restarts.times_s]}
    return _packed(document, 'the restarts of a day')


def decode_restarts(text: str) -> RestartLog:
    """The log that `encode_restarts` wrote, to the second; raises StoredStateError."""
    return RestartLog(tuple(_unpacked(text).column('times_s', None, _number)))


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
    return _packed(document, f'what the verdict on {evidence.rollout_id} is made of')


def decode_evidence(text: str) -> Evidence:
    """The evidence that `encode_evidence` wrote, to five digits; raises StoredStateError."""
    document = _unpacked(text)
    osds = document.integers('osds')
    if not osds or len(set(osds)) != len(osds):
        raise StoredStateError('"osds" is empty or names an OSD twice')
    signals = document.strings('signals')
    unknown = set(signals) - set(Measured._fields)
    if unknown or len(set(signals)) != len(signals):
        raise StoredStateError('"signals" are not those that this module measures')
    batch, changed = 0, 1
    if document.value('version') != _WITHOUT_BATCHES:
        batch, changed = document.typed('batch', _count), document.typed('changed', _count)
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
    document: _Part, name: str, osds: Sequence[int], signals: Sequence[str]
) -> tuple[Block, ...]:
    """``signals`` are those of the version that wrote it: what it did not measure is not known."""
    width = len(signals)

    def read(path: str, value: object) -> Block:
        values = _list(path, value)
        if len(values) != width * len(osds):
            _wrong(path, value, f'{width} values for each of {len(osds)} OSDs')
        numbers = [_optional(_number)(path, one) for one in values]
        return Block(
            {
                n: Measured(**dict(zip(signals, numbers[i * width : (i + 1) * width])))
                for i, n in enumerate(osds)
            }
        )

    return tuple(document.column(name, None, read))


# -- writing


def _soak_document(soak: SoakPlan) -> dict[str, object]:
    return {
        'least_s': soak.least_s,
        'most_s': soak.most_s,
        'inconclusive': soak.inconclusive.value,
    }


def _judgement_document(judgement: Optional[Judgement]) -> Optional[dict[str, object]]:
    if judgement is None:
        return None
    return {
        'verdict': judgement.verdict.value,
        'signals': [
            {
                'name': one.name,
                'effect': one.effect.value,
                'change': one.change_percent,
                'low': one.low_percent,
                'high': one.high_percent,
            }
            for one in judgement.signals
        ],
        'missing': list(judgement.missing),
        'cause': judgement.cause,
    }


def _predicted_document(predicted: Optional[Predicted]) -> Optional[dict[str, object]]:
    return None if predicted is None else asdict(predicted)


class _Table:
    """Strings by number, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def strings(self) -> list[str]:
        return list(self._numbers)

    def index(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def optional(self, text: Optional[str]) -> Optional[int]:
        return None if text is None else self.index(text)


def _packed(document: object, what: str) -> str:
    plain = json.dumps(document, ensure_ascii=False, separators=(',', ':'), allow_nan=False)
    raw = plain.encode('utf-8', 'backslashreplace')
    if len(raw) <= _PLAIN_MAX_BYTES:
        return raw.decode()
    packed = _COMPRESSED + base64.b64encode(zlib.compress(raw, 9)).decode('ascii')
    _refuse_above(len(packed), what)
    return packed


def _refuse_above(size_bytes: int, what: str) -> None:
    if size_bytes > LIMIT_BYTES:
        raise RolloutRefused(
            errno.E2BIG,
            f'{what} takes {size_bytes} bytes to remember, and a monitor keeps at most '
            f'{LIMIT_BYTES} under one key: apply it to fewer OSDs at a time',
        )


def _scattered(index: int) -> int:
    """32 bits without a pattern, the same for the same ``index``."""
    return zlib.crc32(f'{index} {index * 2654435761}'.encode())


# -- reading


def _wrong(path: str, found: object, wanted: str) -> NoReturn:
    shown = json.dumps(found, default=str)[:60]
    raise StoredStateError(f'"{path}" is {shown} instead of {wanted}')


def _unpacked(text: str) -> _Part:
    if text.startswith(_COMPRESSED):
        text = _decompressed(text[len(_COMPRESSED) :])
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f'it is not JSON, or only the beginning of it ({error})') from error
    if not isinstance(document, dict):
        raise StoredStateError('it is not a JSON object')
    version = document.get('version')
    if isinstance(version, bool) or version not in (_WITHOUT_SOAK, _WITHOUT_BATCHES, VERSION):
        raise StoredStateError(
            f'it was written in version {json.dumps(version)[:20]} of the format; this module '
            f'reads versions {_WITHOUT_SOAK} to {VERSION}'
        )
    return _Part(document, '')


def _decompressed(text: str) -> str:
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(text, validate=True), _UNPACKED_MAX_BYTES)
        if not unpacker.eof:
            raise StoredStateError('its compressed text is cut off or too long')
        return raw.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise StoredStateError(f'its compressed text is damaged ({error})') from error


def _count(path: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _wrong(path, value, 'a number from 0 up')
    return value


def _number(path: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
        _wrong(path, value, 'a number')
    return value


def _flag(path: str, value: object) -> bool:
    if not isinstance(value, bool):
        _wrong(path, value, 'true or false')
    return value


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        _wrong(path, value, 'a text')
    return value


def _list(path: str, value: object) -> list[object]:
    if not isinstance(value, list):
        _wrong(path, value, 'a list')
    return value


def _lookup(strings: Sequence[str]) -> Callable[[str, object], str]:
    def look_up(path: str, value: object) -> str:
        number = _count(path, value)
        if number >= len(strings):
            _wrong(path, value, f'one of {len(strings)} stored texts')
        return strings[number]

    return look_up


def _step(strings: Sequence[str]) -> Callable[[str, object], OsdStep]:
    text = _lookup(strings)
    return lambda path, value: _member(path, text(path, value), OsdStep)


def _optional(read: Callable[[str, object], _T]) -> Callable[[str, object], Optional[_T]]:
    return lambda path, value: None if value is None else read(path, value)


def _member(path: str, value: object, kind: type[_E]) -> _E:
    for member in kind:
        if member.value == value:
            return member
    _wrong(path, value, 'one of ' + ', '.join(str(member.value) for member in kind))


def _verdict(path: str, value: object) -> Verdict:
    return _member(path, value, Verdict)


def _ending(value: object) -> Ending:
    pair = _list('ending', value)
    if len(pair) != 2:
        _wrong('ending', value, 'an outcome and a reason')
    return Ending(_member('ending', pair[0], Outcome), _text('ending', pair[1]))


def _object(path: str, value: object) -> _Part:
    if not isinstance(value, dict):
        _wrong(path, value, 'an object')
    return _Part(value, f'{path}.')


class _Part:
    """One JSON object, read by name and type."""

    def __init__(self, values: dict[str, object], path: str) -> None:
        self._values = values
        self._path = path

    def value(self, name: str) -> object:
        if name not in self._values:
            raise StoredStateError(f'"{self._path}{name}" is missing')
        return self._values[name]

    def typed(self, name: str, read: Callable[[str, object], _T]) -> _T:
        return read(self._path + name, self.value(name))

    def added_later(self, name: str, read: Callable[[str, object], _T]) -> Optional[_T]:
        """None also where an older version of the module, which did not know of it, wrote this."""
        value = self._values.get(name)
        return None if value is None else read(self._path + name, value)

    def part(self, name: str) -> _Part:
        return self.typed(name, _object)

    def parts(self, name: str) -> list[_Part]:
        return self.column(name, None, _object)

    def text(self, name: str) -> str:
        return self.typed(name, _text)

    def optional_text(self, name: str) -> Optional[str]:
        return self.typed(name, _optional(_text))

    def number(self, name: str) -> float:
        return self.typed(name, _number)

    def choice(self, name: str, kind: type[_E]) -> _E:
        return _member(self._path + name, self.value(name), kind)

    def optional_choice(self, name: str, kind: type[_E]) -> Optional[_E]:
        return None if self.value(name) is None else self.choice(name, kind)

    def strings(self, name: str) -> list[str]:
        return self.column(name, None, _text)

    def integers(self, name: str) -> list[int]:
        return self.column(name, None, _count)

    def column(
        self, name: str, length: Optional[int], read: Callable[[str, object], _T]
    ) -> list[_T]:
        path = self._path + name
        values = _list(path, self.value(name))
        if length is not None and len(values) != length:
            raise StoredStateError(f'"{path}" has {len(values)} values for {length} OSDs')
        return [read(f'{path}[{index}]', value) for index, value in enumerate(values)]

    def pairs(self, name: str, read: Callable[[str, object], _T]) -> tuple[tuple[str, _T], ...]:
        path = self._path + name
        found = []
        for value in _list(path, self.value(name)):
            pair = _list(path, value)
            if len(pair) != 2:
                _wrong(path, value, 'a name and a value')
            found.append((_text(path, pair[0]), read(path, pair[1])))
        return tuple(found)

    def permutation(self, name: str, ids: Iterable[int]) -> list[int]:
        found = self.integers(name)
        if sorted(found) != sorted(ids):
            raise StoredStateError(f'"{self._path}{name}" does not hold the OSDs of the rollout')
        return found


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _refuse_contradictions(state: RolloutState) -> None:
    ids = state.request.order
    if not ids or len(set(ids)) != len(ids):
        raise StoredStateError('"osds.id" is empty or names an OSD twice')
    if state.stage is Phase.WAITING:
        raise StoredStateError('"stage" is "waiting", which is no stage to go on with')
    if state.direction is Direction.RECOVER and not state.ended and state.ending is None:
        raise StoredStateError('"ending" is missing for "direction" "recover"')
    known = {f'osd.{n}' for n in ids} | {who for who, _ in state.request.final_entries}
    if not known >= set(state.restoring):
        raise StoredStateError('"restoring" names an entry outside the request')
    if state.request.order[0] in state.controls or not set(ids) >= set(state.controls):
        raise StoredStateError('"soak.controls" names the canary, or an OSD outside the request')
    if len(state.verdicts) > count(state.request):
        raise StoredStateError('"soak.verdicts" are more than there are batches')
    if state.ended != (state.outcome is not None):
        raise StoredStateError('"outcome" and "stage" contradict each other')
