"""Contradictions within a stored rollout that is right by its types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ...plan.batches import count
from ..phases import Phase
from .records import Direction, RolloutState


def contradictions(state: RolloutState) -> Iterator[str]:
    yield from _wrong_request(state)
    yield from _wrong_progress(state)


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
