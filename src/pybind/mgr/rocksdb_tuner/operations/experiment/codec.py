"""Stored form of an experiment, and its consistency checks. Stored data is never trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from ...judge.evidence import Block, Measured
from ...store.codec import decode, encode
from ...store.errors import StoredStateError
from ...store.spread import Layout
from ...store.text import pack, unpack
from ..rollout.codec import checked as checked_leg
from ..rollout.record_codec import blocks_of, row_of
from .records import ExperimentOsd, ExperimentState

#: State of another version is quarantined.
VERSION = 1
_BLOCK_VERSION = 1

LAYOUT: Layout[ExperimentState] = Layout(
    kind=ExperimentState,
    version=VERSION,
    parts=('request', 'before', 'assigned', 'dropped', 'results', 'pairs', 'trace'),
    rows='osds',
    row=ExperimentOsd,
)


@dataclass(frozen=True)
class StoredBlock:
    """One block of one period."""

    experiment_id: str
    period: int
    osds: tuple[int, ...]
    signals: tuple[str, ...]
    #: The signals of the first OSD, those of the second, and so on.
    row: tuple[Optional[float], ...]


def encode_block(experiment_id: str, period: int, block: Block) -> str:
    osds = tuple(sorted(block.by_osd))
    stored = StoredBlock(experiment_id, period, osds, Measured._fields, row_of(block, osds))
    return pack({'version': _BLOCK_VERSION, **encode(stored)})


def decode_block(text: str) -> tuple[str, int, Block]:
    """Experiment, period and block that `encode_block` wrote; raises StoredStateError."""
    stored = decode(StoredBlock, unpack(text, _BLOCK_VERSION))
    if len(set(stored.osds)) != len(stored.osds):
        raise StoredStateError('"osds" names an OSD twice')
    if set(stored.signals) - set(Measured._fields):
        raise StoredStateError('"signals" has unknown names')
    (block,) = blocks_of('row', (stored.row,), stored.osds, stored.signals)
    return stored.experiment_id, stored.period, block


def checked(state: ExperimentState) -> ExperimentState:
    """The same state; raises StoredStateError if it is inconsistent."""
    for wrong in _wrong(state):
        raise StoredStateError(wrong)
    if state.leg is not None:
        checked_leg(state.leg)
    return state


def _wrong(state: ExperimentState) -> Iterator[str]:
    request, ids = state.request, [osd.osd_id for osd in state.osds]
    arms = {arm.name for arm in request.arms}
    periods = request.plan.periods
    planned = {n for period in periods for _, osds in period.arms for n in osds}
    if len(arms) != len(request.arms) or not arms:
        yield '"request.arms" is empty or names an arm twice'
    if {name for period in periods for name, _ in period.arms} - arms:
        yield '"request.plan" names an arm that is not in "request.arms"'
    if len(set(ids)) != len(ids) or set(ids) != planned | set(request.plan.controls):
        yield '"osds" does not match "request.plan"'
    if {before.osd_id for before in state.before.osds} != set(ids):
        yield '"before.osds" does not match "osds"'
    if {osd.arm for osd in state.osds} - arms - {None}:
        yield '"osds" names an arm that is not in "request.arms"'
    if not 0 <= state.period < len(periods) or len(state.assigned) != state.period + 1:
        yield '"period" does not match "request.plan" or "assigned"'
    if (state.leg is None) != (state.leg_kind is None):
        yield '"leg" and "leg_kind" contradict each other'
    if state.leg is not None and not set(state.leg.request.order) <= set(ids):
        yield '"leg" has OSDs outside the experiment'
    if state.ended != (state.outcome is not None) or (state.ended and state.leg is not None):
        yield '"outcome" and "stage" contradict each other'
