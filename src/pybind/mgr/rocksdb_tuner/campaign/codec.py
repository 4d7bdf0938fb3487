"""A campaign as stored texts, and back. Nothing that is read is trusted.

The monitor keeps at most 64 KiB under one key, and a campaign may be of ten thousand OSDs. So it
is stored in chunks of OSDs and one head. The head has all that one transition changes: the state of
the campaign and the OSDs that were begun, until all OSDs of their chunk are finished. Then the
chunk is written anew, with what became of them, and after it the head, which no longer has them but
says that the chunk does. A chunk that was written ahead of a head that never came is read without
what became of its OSDs: as that head would have it. So a transition is one write, that of the head.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import Enum
from typing import Any, Callable, Optional, TypeVar

from ..judge.records import Predicted
from ..mgr.records import FailureDomain, Place
from ..rollout.errors import StoredStateError
from ..rollout.records import Outcome, Phase
from ..rollout.stored import packed, unpacked_values
from ..shapes import NUMBER, Shape, ShapeError, require
from .records import FINISHED, CampaignRequest, CampaignState, CompactionStep, OsdCompaction

VERSION = 3
#: All OSDs stand in the head.
_WITHOUT_CHUNKS = 1
#: The host of an OSD was taken for its failure domain.
_WITHOUT_DOMAINS = 2

#: OSDs of one chunk: so few that the longest texts of strangers about each of them fit.
CHUNK_OSDS = 64
_REMEDY = 'compact a part of the OSDs by hand first ("ceph tell osd.N compact")'

_E = TypeVar('_E', bound=Enum)

_OSD: Shape = {
    'osd_id': int,
    'host?': str,
    'domain?': [str],
    'step': str,
    'nonce?': int,
    'begun_before': int,
    'asked': int,
    'used_before_bytes?': int,
    'used_after_bytes?': int,
    'latency_ms?': NUMBER,
    'reason?': str,
}
_CHUNK: Shape = {'version': int, 'osds': [{'osd_id': int, 'host?': str, 'domain?': [str]}]}
_FINISHED_CHUNK: Shape = {'version': int, 'osds': [_OSD]}
_STATE: dict[str, Shape] = {
    'version': int,
    'campaign_id': str,
    'request': {
        'recommendation_id': str,
        'who': str,
        'options': str,
        'actor': str,
        'parallel': int,
        'prediction?': str,
        'predicted?': {'metric': str, 'low_percent': NUMBER, 'high_percent': NUMBER},
    },
    'osds': [_OSD],
    'started_s': NUMBER,
    'updated_s': NUMBER,
    'stage': str,
    'paused_reason?': str,
    'paused_by?': str,
    'baseline_ms?': NUMBER,
    'ending?': str,
    'errors': int,
    'last_error?': str,
    'outcome?': str,
    'failure?': str,
}
_HEAD: Shape = {**_STATE, 'chunks': int, 'finished_chunks': [int]}

# -- writing


def chunk_count(state: CampaignState) -> int:
    return -(-len(state.osds) // CHUNK_OSDS)


def chunk_finished(state: CampaignState, number: int) -> bool:
    """Whether nothing follows for any OSD of the chunk."""
    return all(osd.step in FINISHED for osd in _chunk(state, number))


def encode_chunk(state: CampaignState, number: int) -> str:
    """One chunk of the OSDs; raises RolloutRefused with E2BIG."""
    osds = _chunk(state, number)
    if chunk_finished(state, number):
        documents = [_osd_document(osd) for osd in osds]
    else:
        documents = [_osd_document(_not_begun(osd)) for osd in osds]
    what = f'a part of {len(osds)} OSDs of a compaction campaign'
    return packed({'version': VERSION, 'osds': documents}, what, _REMEDY)


def encode_head(state: CampaignState) -> str:
    """All that is not in the chunks; raises RolloutRefused with E2BIG."""
    chunks = range(chunk_count(state))
    finished = [number for number in chunks if chunk_finished(state, number)]
    begun = [
        _osd_document(osd)
        for number in chunks
        if number not in finished
        for osd in _chunk(state, number)
        if osd != _not_begun(osd)
    ]
    # Not `asdict` of the whole, which would copy ten thousand OSDs at every step.
    document = asdict(replace(state, osds=(), request=replace(state.request, osds=())))
    del document['request']['osds']
    document.update(version=VERSION, osds=begun, chunks=len(chunks), finished_chunks=finished)
    return packed(document, f'a compaction campaign of {len(state.osds)} OSDs', _REMEDY)


def refuse_if_too_large(state: CampaignState) -> None:
    """Raise RolloutRefused (E2BIG) if the campaign could outgrow its keys on its way."""
    wide = 2**62
    osds = tuple(
        replace(
            osd,
            step=CompactionStep.DONE,
            nonce=2**32 - 1,
            begun_before=10**6,
            asked=2,
            used_before_bytes=wide,
            used_after_bytes=wide,
            latency_ms=12345.678,
        )
        for osd in state.osds
    )
    done = replace(state, osds=osds)
    for number in range(chunk_count(done)):
        encode_chunk(done, number)
    # One in the middle of its compaction keeps its chunk in the head while its host goes on.
    last = 3 * CHUNK_OSDS
    begun = tuple(replace(osd, step=CompactionStep.COMPACTING) for osd in osds[:last])
    text = 'x' * 600
    encode_head(
        replace(
            state,
            osds=(*begun, *state.osds[last:]),
            paused_reason=text,
            ending=text,
            last_error=text,
        )
    )


def _chunk(state: CampaignState, number: int) -> tuple[OsdCompaction, ...]:
    return state.osds[number * CHUNK_OSDS : (number + 1) * CHUNK_OSDS]


def _not_begun(osd: OsdCompaction) -> OsdCompaction:
    return OsdCompaction(osd.osd_id, *osd.place)


def _osd_document(osd: OsdCompaction) -> dict[str, object]:
    # What is not known takes no room.
    return {name: value for name, value in asdict(osd).items() if value is not None}


# -- reading


def decode(head: str, chunk: Callable[[str, int], Optional[str]]) -> CampaignState:
    """The state that was written; raises StoredStateError.

    ``chunk`` gives the text of one chunk, by the campaign's id and its number; None if there is
    none.
    """
    document = unpacked_values(head, _WITHOUT_CHUNKS, VERSION)
    if document['version'] == _WITHOUT_CHUNKS:
        _require(document, _STATE)
        osds = tuple(_osd(entry, document['version']) for entry in document['osds'])
    else:
        _require(document, _HEAD)
        osds = _from_chunks(document, chunk)
    try:
        state = _state(document, osds)
    except TypeError as error:
        # A name that no version of this format had.
        raise StoredStateError(str(error)) from error
    _refuse_contradictions(state)
    return state


def _from_chunks(
    head: dict[str, Any], chunk: Callable[[str, int], Optional[str]]
) -> tuple[OsdCompaction, ...]:
    osds: list[OsdCompaction] = []
    begun = {entry['osd_id']: _osd(entry, head['version']) for entry in head['osds']}
    for number in range(head['chunks']):
        text = chunk(head['campaign_id'], number)
        if text is None:
            raise StoredStateError(f'part {number} of {head["chunks"]} of its OSDs is missing')
        # A head may be newer than a chunk in which nothing has changed.
        document = unpacked_values(text, _WITHOUT_DOMAINS, VERSION)
        version = document['version']
        if number in head['finished_chunks']:
            _require(document, _FINISHED_CHUNK)
            there = [_osd(entry, version) for entry in document['osds']]
            if not all(osd.step in FINISHED for osd in there):
                raise StoredStateError(f'part {number} of its OSDs is not finished')
            osds += there
            continue
        _require(document, _CHUNK)
        for entry in document['osds']:
            pending = OsdCompaction(entry['osd_id'], *_place(entry, version))
            osds.append(begun.pop(pending.osd_id, pending))
    if begun:
        raise StoredStateError(f'osd.{min(begun)} was begun, but is not among its OSDs')
    return tuple(osds)


def _require(document: dict[str, Any], shape: Shape) -> None:
    try:
        require(document, shape)
    except ShapeError as error:
        raise StoredStateError(str(error)) from error


def _state(document: dict[str, Any], osds: tuple[OsdCompaction, ...]) -> CampaignState:
    of_the_format = {'version', 'chunks', 'finished_chunks'}
    return CampaignState(
        **{
            **{name: value for name, value in document.items() if name not in of_the_format},
            'request': _request(document['request'], osds),
            'osds': osds,
            'stage': _member('stage', document['stage'], Phase),
            'outcome': _optional_member('outcome', document.get('outcome'), Outcome),
        }
    )


def _request(entry: dict[str, Any], osds: tuple[OsdCompaction, ...]) -> CampaignRequest:
    predicted = entry.get('predicted')
    return CampaignRequest(
        **{
            **entry,
            'osds': tuple((osd.osd_id, osd.place) for osd in osds),
            'predicted': None if predicted is None else Predicted(**predicted),
        }
    )


def _osd(entry: dict[str, Any], version: int) -> OsdCompaction:
    place = _place(entry, version)
    try:
        return OsdCompaction(
            **{
                **entry,
                'host': place.host,
                'domain': place.domain,
                'step': _member('step', entry['step'], CompactionStep),
            }
        )
    except TypeError as error:
        # A name that no version of this format had.
        raise StoredStateError(str(error)) from error


def _place(entry: dict[str, Any], version: int) -> Place:
    host, domain = entry.get('host'), entry.get('domain')
    if version <= _WITHOUT_DOMAINS:
        domain = None if host is None else ['host', host]
    if domain is not None and len(domain) != 2:
        raise StoredStateError(f'"domain" of osd.{entry["osd_id"]} is not a type and a name')
    return Place(host, None if domain is None else FailureDomain(*domain))


def _member(name: str, value: str, kind: type[_E]) -> _E:
    for member in kind:
        if member.value == value:
            return member
    raise StoredStateError(f'"{name}" is "{value[:40]}", which it cannot be')


def _optional_member(name: str, value: Optional[str], kind: type[_E]) -> Optional[_E]:
    return None if value is None else _member(name, value, kind)


def _refuse_contradictions(state: CampaignState) -> None:
    ids = [osd.osd_id for osd in state.osds]
    if not ids or len(set(ids)) != len(ids):
        raise StoredStateError('"osds" is empty or names an OSD twice')
    if state.stage is Phase.WAITING:
        raise StoredStateError('"stage" is "waiting", which is no stage to go on with')
    if state.ended != (state.outcome is not None):
        raise StoredStateError('"outcome" and "stage" contradict each other')
    if state.request.parallel < 1:
        raise StoredStateError('"request.parallel" is less than 1')
