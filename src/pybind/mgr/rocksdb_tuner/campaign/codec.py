"""A campaign as stored text, and back. Nothing that is read is trusted."""

from __future__ import annotations

import errno
import json
from dataclasses import asdict
from enum import Enum
from typing import Any, Optional, TypeVar

from ..rollout.codec import LIMIT_BYTES
from ..rollout.errors import RolloutRefused, StoredStateError
from ..rollout.records import Outcome, Phase, Predicted
from ..shapes import NUMBER, Shape, ShapeError, require
from .records import CampaignRequest, CampaignState, CompactionStep, OsdCompaction

VERSION = 1

_E = TypeVar('_E', bound=Enum)

_OSD: Shape = {
    'osd_id': int,
    'host?': str,
    'step': str,
    'nonce?': int,
    'begun_before': int,
    'asked': int,
    'used_before_bytes?': int,
    'used_after_bytes?': int,
    'latency_ms?': NUMBER,
    'reason?': str,
}
_STATE: Shape = {
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


def encode(state: CampaignState) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
    document = asdict(state)
    # The OSDs of the request are those of the state.
    del document['request']['osds']
    # What is not known takes no room: most OSDs of a large campaign are pending or done.
    document['osds'] = [
        {name: value for name, value in osd.items() if value is not None}
        for osd in document['osds']
    ]
    text = json.dumps(
        {'version': VERSION, **document},
        separators=(',', ':'),
        ensure_ascii=False,
        allow_nan=False,
    )
    size = len(text.encode('utf-8', 'backslashreplace'))
    if size > LIMIT_BYTES:
        raise RolloutRefused(
            errno.E2BIG,
            f'a campaign of {len(state.osds)} OSDs takes {size} bytes to remember, and a monitor '
            f'keeps at most {LIMIT_BYTES} under one key: compact a part of them by hand',
        )
    return text.encode('utf-8', 'backslashreplace').decode()


def largest(state: CampaignState) -> CampaignState:
    """The same campaign as large as it can become on its way."""
    wide = 2**62
    osds = tuple(
        OsdCompaction(
            osd.osd_id,
            osd.host,
            CompactionStep.COMPACTING,
            nonce=2**32 - 1,
            begun_before=10**6,
            asked=2,
            used_before_bytes=wide,
            used_after_bytes=wide,
            latency_ms=12345.678,
        )
        for osd in state.osds
    )
    text = 'x' * 600
    return CampaignState(
        state.campaign_id,
        state.request,
        osds,
        state.started_s,
        state.updated_s,
        paused_reason=text,
        ending=text,
        last_error=text,
    )


def decode(text: str) -> CampaignState:
    """The state that `encode` wrote; raises StoredStateError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f'it is not JSON, or only the beginning of it ({error})') from error
    if isinstance(document, dict) and document.get('version') != VERSION:
        found = json.dumps(document.get('version'))[:20]
        raise StoredStateError(
            f'it was written in version {found} of the format; this module reads version {VERSION}'
        )
    try:
        require(document, _STATE)
    except ShapeError as error:
        raise StoredStateError(str(error)) from error
    try:
        state = _state(document)
    except TypeError as error:
        # A name that no version of this format had.
        raise StoredStateError(str(error)) from error
    _refuse_contradictions(state)
    return state


def _state(document: dict[str, Any]) -> CampaignState:
    osds = tuple(_osd(entry) for entry in document['osds'])
    return CampaignState(
        **{
            **{name: value for name, value in document.items() if name != 'version'},
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
            'osds': tuple((osd.osd_id, osd.host) for osd in osds),
            'predicted': None if predicted is None else Predicted(**predicted),
        }
    )


def _osd(entry: dict[str, Any]) -> OsdCompaction:
    return OsdCompaction(
        **{'host': None, **entry, 'step': _member('step', entry['step'], CompactionStep)}
    )


def _member(name: str, value: str, kind: type[_E]) -> _E:
    for member in kind:
        if member.value == value:
            return member
    raise StoredStateError(f'"{name}" is {json.dumps(value)[:40]}, which it cannot be')


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
