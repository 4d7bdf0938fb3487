"""Storage of experiments, so that they survive a manager failover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ...judge.evidence import Block
from ...mgr.protocols import Store
from ...store.stored import Quarantine, Stored
from ..rollout.storage import contradictions as contradictions_of_leg
from ..rollout.storage import rounded
from .records import ExperimentState

_PREFIX = 'experiment/'
CURRENT = 'experiment/current'
#: Measurements, by period number and block number within it.
BLOCKS = 'experiment/blocks/'


@dataclass(frozen=True)
class _StoredBlock:
    experiment_id: str
    period: int
    block: Block


class ExperimentStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._current = Stored(store, CURRENT, ExperimentState, contradictions)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text."""
        return tuple(text for text in self._quarantine.problems() if f'"{_PREFIX}' in text)

    def restore_readable(self, held: Callable[[ExperimentState], ExperimentState]) -> None:
        """Restore quarantined data that is readable again, as once it was repaired.

        An unfinished experiment is converted by ``held``.
        """

        def stored(key: str) -> Optional[Stored[Any]]:
            if key == CURRENT:
                return self._current
            return self._block(key) if key.startswith(BLOCKS) else None

        def converted(record: object) -> object:
            if isinstance(record, ExperimentState) and not record.ended:
                return held(record)
            return record

        self._quarantine.restore(stored, converted)

    def load(self) -> Optional[ExperimentState]:
        """The last experiment; None before the first, or if it cannot be read."""
        return self._quarantine.read(self._current)

    def save(self, state: ExperimentState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)

    def load_blocks(self, experiment_id: str) -> dict[int, tuple[Block, ...]]:
        """The measurements of each period; unreadable blocks are omitted."""
        found: dict[int, tuple[Block, ...]] = {}
        for key in sorted(self._store.keys(BLOCKS)):
            known = self._quarantine.read(self._block(key))
            if known is not None and known.experiment_id == experiment_id:
                found[known.period] = (*found.get(known.period, ()), known.block)
        return found

    def save_block(self, experiment_id: str, period: int, number: int, block: Block) -> None:
        """Raises CommandError."""
        key = f'{BLOCKS}{period}/{number:06d}'
        self._block(key).save(_StoredBlock(experiment_id, period, rounded(block)))

    def forget_blocks(self) -> None:
        """Raises CommandError."""
        for key in self._store.keys(BLOCKS):
            self._block(key).save(None)

    def _block(self, key: str) -> Stored[_StoredBlock]:
        return Stored(self._store, key, _StoredBlock)


def _contradictions(state: ExperimentState) -> Iterator[str]:
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


def contradictions(state: ExperimentState) -> Iterator[str]:
    yield from _contradictions(state)
    yield from contradictions_of_leg(state.leg) if state.leg is not None else ()
