"""Stored form of rollouts: layout of their records, and consistency checks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ...plan.batches import count
from ...store.errors import StoredStateError
from ...store.spread import Layout, of_whole_text, whole_text
from ..phases import Phase
from .records import Direction, OsdProgress, RolloutState

#: State of another version is quarantined.
VERSION = 1

#: A step changes one OSD and little else. The plan never changes.
LAYOUT: Layout[RolloutState] = Layout(
    kind=RolloutState,
    version=VERSION,
    parts=('request', 'before', 'restoring', 'verdicts'),
    rows='osds',
    row=OsdProgress,
)


def encode_state(state: RolloutState) -> str:
    """The whole state as one text, of any length."""
    return whole_text(LAYOUT, state)


def decode_state(text: str) -> RolloutState:
    """The state that `encode_state` wrote; raises StoredStateError."""
    return checked(of_whole_text(LAYOUT, text))


def checked(state: RolloutState) -> RolloutState:
    """The same state; raises StoredStateError if it is inconsistent."""
    for wrong in (*_wrong_request(state), *_wrong_progress(state)):
        raise StoredStateError(wrong)
    return state


def _wrong_request(state: RolloutState) -> Iterator[str]:
    request = state.request
    ids = request.order
    if not ids or len(set(ids)) != len(ids):
        yield '"request.order" is empty or names an OSD twice'
    known = sorted(ids)
    if sorted(osd_id for osd_id, _ in request.targets) != known:
        yield '"request.targets" does not match "request.order"'
    if sorted(osd.osd_id for osd in state.before.osds) != known:
        yield '"before.osds" does not match "request.order"'
    batches = request.batches
    if batches and (() in batches or tuple(chain.from_iterable(batches)) != ids):
        yield '"request.batches" does not match "request.order"'
    if request.domains and len(request.domains) != len(batches):
        yield '"request.domains" does not match "request.batches"'
    if not set(ids[1:]) >= set(state.controls):
        yield '"request.controls" names the canary, or an OSD outside the request'


def _wrong_progress(state: RolloutState) -> Iterator[str]:
    ids = state.request.order
    if tuple(osd.osd_id for osd in state.osds) != ids:
        yield '"osds" does not match "request.order"'
    if state.stage is Phase.WAITING:
        yield '"waiting" is not a valid "stage"'
    if state.direction is Direction.RECOVER and not state.ended and state.ending is None:
        yield '"ending" is missing for "direction" "recover"'
    entries = {f'osd.{n}' for n in ids} | {who for who, _ in state.request.final_entries}
    if not entries >= set(state.restoring):
        yield '"restoring" names an entry outside the request'
    if len(state.verdicts) > count(state.request):
        yield 'there are more "verdicts" than batches'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'
