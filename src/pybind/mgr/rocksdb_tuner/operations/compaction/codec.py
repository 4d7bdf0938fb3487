"""How a campaign is stored, and what contradicts itself. Nothing that is read is trusted.

The first format was a head and chunks of 64 OSDs, which were written anew once all of them were
finished: the head had what became of the others.
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

#: Whoever changes what is stored keeps a fixture of the version before.
VERSION = 4
FIRST_VERSION = 3

#: A step changes one OSD, or a few. What was planned never changes.
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
    """The same state; raises StoredStateError for one that contradicts itself."""
    for wrong in _wrong(state):
        raise StoredStateError(wrong)
    return state


def _wrong(state: CampaignState) -> Iterator[str]:
    ids = [osd.osd_id for osd in state.osds]
    if not ids or len(set(ids)) != len(ids):
        yield '"osds" is empty or names an OSD twice'
    if [osd_id for osd_id, _ in state.request.osds] != ids:
        yield '"osds" are not those of "request.osds"'
    if state.stage is Phase.WAITING:
        yield '"stage" is "waiting", which is no stage to go on with'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'
    if state.request.parallel < 1:
        yield '"request.parallel" is less than 1'


def is_of_first_format(head: str) -> bool:
    """Raises StoredStateError for a version that is not known."""
    return bool(unpack(head, FIRST_VERSION, VERSION)['version'] == FIRST_VERSION)


def of_first_format(head: str, chunk: Callable[[str, int], Optional[str]]) -> CampaignState:
    """The state that a head of the first format stands for; raises StoredStateError.

    ``chunk`` gives the text of one chunk, by the campaign's id and its number; None if there is
    none.
    """
    document = unpack(head, FIRST_VERSION, FIRST_VERSION)
    try:
        osds = list(_osds(document, chunk))
        places = [[osd['osd_id'], {'host': osd['host'], 'domain': osd['domain']}] for osd in osds]
        document = {**document, 'request': {**document['request'], 'osds': places}, 'osds': osds}
    except KeyError as error:
        raise StoredStateError(f'"{error.args[0]}" is missing') from None
    except (AttributeError, TypeError, ValueError) as error:
        raise StoredStateError(f'it is not what version 3 of the format stored ({error})') from None
    return checked(decode(CampaignState, document))


def _osds(document: _Document, chunk: Callable[[str, int], Optional[str]]) -> Iterator[_Document]:
    begun = {entry['osd_id']: entry for entry in document['osds']}
    for number in range(document['chunks']):
        text = chunk(document['campaign_id'], number)
        if text is None:
            raise StoredStateError(f'part {number} of {document["chunks"]} of its OSDs is missing')
        finished = number in document['finished_chunks']
        for entry in unpack(text, FIRST_VERSION, FIRST_VERSION)['osds']:
            if finished and entry['step'] not in _FINISHED:
                raise StoredStateError(f'part {number} of its OSDs is not finished')
            # A chunk that was written ahead of a head that never came is read as before it.
            pending = {'osd_id': entry['osd_id'], **_NOT_BEGUN, **_place(entry)}
            yield _osd(entry if finished else begun.pop(entry['osd_id'], pending))
    if begun:
        raise StoredStateError(f'osd.{min(begun)} was begun, but is not among its OSDs')


_FINISHED = frozenset(step.value for step in FINISHED)
_NOT_BEGUN = {'step': 'pending', 'begun_before': 0, 'asked': 0}
#: What is not known took no room.
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
