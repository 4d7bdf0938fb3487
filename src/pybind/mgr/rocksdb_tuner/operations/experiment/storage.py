"""Storage of experiments, so that they survive a manager failover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ...judge.evidence import Block
from ...mgr.protocols import Store
from ...store.stored import Quarantine, Stored
from ..rollout.storage import contradictions as contradictions_of_leg
from .records import ExperimentState

_PREFIX = 'experiment/'
CURRENT = 'experiment/current'
BLOCKS = 'experiment/blocks'


@dataclass(frozen=True)
class Measurements:
    """The measured blocks of one experiment."""

    experiment_id: str
    #: The baseline.
    before: tuple[Block, ...] = ()
    after: tuple[Block, ...] = ()


class ExperimentStorage:
    def __init__(self, store: Store) -> None:
        self._quarantine = Quarantine(store)
        self._current = Stored(store, CURRENT, ExperimentState, contradictions)
        self._blocks = Stored(store, BLOCKS, Measurements)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text."""
        return tuple(text for text in self._quarantine.problems() if f'"{_PREFIX}' in text)

    def restore_readable(self, held: Callable[[ExperimentState], ExperimentState]) -> None:
        """Restore quarantined data that is readable again, as once it was repaired.

        An unfinished experiment is converted by ``held``.
        """
        known: dict[str, Stored[Any]] = {CURRENT: self._current, BLOCKS: self._blocks}

        def converted(record: object) -> object:
            if isinstance(record, ExperimentState) and not record.ended:
                return held(record)
            return record

        self._quarantine.restore(known.get, converted)

    def load(self) -> Optional[ExperimentState]:
        """The last experiment; None before the first, or if it cannot be read."""
        return self._quarantine.read(self._current)

    def save(self, state: ExperimentState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)

    def load_blocks(self, experiment_id: str) -> Measurements:
        """Nothing if they cannot be read, or are of another experiment."""
        found = self._quarantine.read(self._blocks)
        if found is None or found.experiment_id != experiment_id:
            return Measurements(experiment_id)
        return found

    def save_blocks(self, found: Measurements) -> None:
        """Raises CommandError."""
        self._blocks.save(found)


def contradictions(state: ExperimentState) -> Iterator[str]:
    request, ids = state.request, [osd.osd_id for osd in state.osds]
    names = [arm.name for arm in request.arms]
    planned = {n: arm for arm, osds in request.plan.arms for n in osds}
    if not names or sorted(names) != sorted(name for name, _ in request.plan.arms):
        yield '"request.arms" does not match "request.plan"'
    if len(set(ids)) != len(ids) or {osd.osd_id: osd.arm for osd in state.osds} != planned:
        yield '"osds" does not match "request.plan"'
    if {before.osd_id for before in state.before.osds} != {*ids, *request.plan.controls}:
        yield '"before.osds" does not match "request.plan"'
    if (state.leg is None) != (state.leg_kind is None):
        yield '"leg" and "leg_kind" contradict each other'
    if state.leg is not None and not set(state.leg.request.order) <= set(ids):
        yield '"leg" has OSDs outside the experiment'
    if state.ended != (state.outcome is not None) or (state.ended and state.leg is not None):
        yield '"outcome" and "stage" contradict each other'
    yield from contradictions_of_leg(state.leg) if state.leg is not None else ()
