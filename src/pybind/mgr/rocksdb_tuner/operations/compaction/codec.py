"""Stored form of a campaign, and its consistency checks. Stored data is never trusted.

The first format was a head and chunks of 64 OSDs. A chunk was rewritten once all its OSDs were
finished; until then the head held their progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, Optional

from ...store.codec import decode
from ...store.errors import StoredStateError
from ...store.spread import Layout
from ...store.text import unpack
from ..phases import Phase
from .records import FINISHED, CampaignState, OsdCompaction

#: A change of the format keeps a fixture of the previous version.
VERSION = 4
FIRST_VERSION = 3

#: A step changes one OSD, or a few. The plan never changes.
LAYOUT: Layout[CampaignState] = Layout(
    kind=CampaignState,
    version=VERSION,
    parts=('request',),
    rows='osds',
    row=OsdCompaction,
    oldest=VERSION,
    upgraded=lambda document: document,
)

_Document = dict[str, Any]


def checked(state: CampaignState) -> CampaignState:
    """The same state; raises StoredStateError if it is inconsistent."""
    for wrong in _wrong(state):
        raise StoredStateError(wrong)
    return state


def _wrong(state: CampaignState) -> Iterator[str]:
    ids = [osd.osd_id for osd in state.osds]
    if not ids or len(set(ids)) != len(ids):
        yield '"osds" is empty or names an OSD twice'
    if [osd_id for osd_id, _ in state.request.osds] != ids:
        yield '"osds" does not match "request.osds"'
    if state.stage is Phase.WAITING:
        yield '"waiting" is not a valid "stage"'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'
    if state.request.parallel < 1:
        yield '"request.parallel" is less than 1'


def is_of_first_format(head: str) -> bool:
    """Raises StoredStateError for an unknown version."""
    return bool(unpack(head, FIRST_VERSION, VERSION)['version'] == FIRST_VERSION)


def of_first_format(head: str, chunk: Callable[[str, int], Optional[str]]) -> CampaignState:
    """The state stored in the first format; raises StoredStateError.

    ``chunk`` returns the text of a chunk by campaign id and number, None if missing.
    """
    document = unpack(head, FIRST_VERSION, FIRST_VERSION)
    try:
        osds = list(_osds(document, chunk))
        places = [[osd['osd_id'], {'host': osd['host'], 'domain': osd['domain']}] for osd in osds]
        document = {**document, 'request': {**document['request'], 'osds': places}, 'osds': osds}
    except KeyError as error:
        raise StoredStateError(f'"{error.args[0]}" is missing') from None
    except (AttributeError, TypeError, ValueError) as error:
        raise StoredStateError(f'it does not match version 3 of the format ({error})') from None
    return checked(decode(CampaignState, document))


def _osds(document: _Document, chunk: Callable[[str, int], Optional[str]]) -> Iterator[_Document]:
    started = {entry['osd_id']: entry for entry in document['osds']}
    for number in range(document['chunks']):
        text = chunk(document['campaign_id'], number)
        if text is None:
            raise StoredStateError(f'part {number} of {document["chunks"]} of its OSDs is missing')
        finished = number in document['finished_chunks']
        for entry in unpack(text, FIRST_VERSION, FIRST_VERSION)['osds']:
            if finished and entry['step'] not in _FINISHED:
                raise StoredStateError(f'part {number} of its OSDs is not finished')
            # A chunk written ahead of its head, which was lost, is read as pending.
            pending = {'osd_id': entry['osd_id'], **_PENDING, **_place(entry)}
            yield _osd(entry if finished else started.pop(entry['osd_id'], pending))
    if started:
        raise StoredStateError(f'osd.{min(started)} was started, but is not part of the campaign')


_FINISHED = frozenset(step.value for step in FINISHED)
_PENDING = {'step': 'pending', 'begun_before': 0, 'asked': 0}
#: Unknown values were omitted.
_OPTIONAL = ('nonce', 'used_before_bytes', 'used_after_bytes', 'latency_ms', 'reason')


def _place(entry: _Document) -> _Document:
    return {name: entry[name] for name in ('host', 'domain') if name in entry}


def _osd(entry: _Document) -> _Document:
    domain = entry.get('domain')
    if domain is not None:
        kind, name = domain
        domain = {'kind': kind, 'name': name}
    return {
        **dict.fromkeys(_OPTIONAL),
        **entry,
        'host': entry.get('host'),
        'domain': domain,
    }
