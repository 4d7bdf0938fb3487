"""The state and the measurements of an experiment, preserved over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from ...judge.arms import Comparison, Observed, compare
from ...judge.evidence import Block
from ...judge.records import block_length_s, warm_up_s
from ...mgr.protocols import CommandError, Store
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...store.stored import Quarantine, Stored
from ..rollout.recording import Blocks
from ..rollout.storage import contradictions as contradictions_of_leg
from ..rollout.storage import rounded
from .records import ExperimentState, Stage

log = logging.getLogger(__name__)

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

    def load(
        self, held: Callable[[ExperimentState], ExperimentState] = lambda state: state
    ) -> Optional[ExperimentState]:
        """The last experiment; None before the first, or if it cannot be read.

        ``held`` converts one that could not be read before, and is under way.
        """
        return self._quarantine.read(self._current, lambda s: s if s.ended else held(s))

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
    ids = [osd.osd_id for osd in state.osds]
    if len(set(ids)) != len(ids) or set(ids) != state.arm_of.keys():
        yield '"osds" does not match "request"'
    if {before.osd_id for before in state.before.osds} != {*ids, *state.request.controls}:
        yield '"before.osds" does not match "request"'
    if state.leg is not None and not set(state.leg.request.order) <= set(ids):
        yield '"leg" has OSDs outside the experiment'
    if state.ended != (state.outcome is not None) or (state.ended and state.leg is not None):
        yield '"outcome" and "stage" contradict each other'
    yield from contradictions_of_leg(state.leg) if state.leg is not None else ()


class Progress(NamedTuple):
    #: Measured blocks of the baseline or, once it is complete, after the change.
    blocks: int = 0
    #: All arms; None: nothing to compare yet.
    comparison: Optional[Comparison] = None


NOT_MEASURED = Progress()


def measured_now(state: ExperimentState) -> Optional[tuple[object, ...]]:
    """What a block measures; None: nothing is measured, or it is disturbed."""
    measures = state.stage in {Stage.BASELINE, Stage.MEASURING} and state.ending is None
    disturbed = (state.leg, state.paused_reason, state.pending_conflict) != (None, None, None)
    if not measures or disturbed:
        return None
    return state.experiment_id, state.stage, state.legs, measured_osds(state)


def measured_osds(state: ExperimentState) -> tuple[int, ...]:
    """OSDs whose measurements count: those of remaining arms and controls.

    In the baseline, all OSDs.
    """
    left = {n for arm in state.remaining for n in arm.osds} & state.changed
    baseline = state.stage is Stage.BASELINE
    of_arms = (osd.osd_id for osd in state.osds if baseline or osd.osd_id in left)
    return (*of_arms, *state.request.controls)


def settle_s(state: ExperimentState, reports: ReportInterval) -> float:
    """How long nothing is measured after OSDs were changed."""
    if state.stage is not Stage.MEASURING:
        return 0.0
    plan = state.request
    planned_s = 0.0 if state.blocks else plan.settle_blocks * plan.block_s
    return max(planned_s, warm_up_s(reports))


class Measuring:
    """The blocks of one experiment at a time."""

    def __init__(self, storage: ExperimentStorage) -> None:
        self._storage = storage
        self._known = Measurements('')
        self._blocks = Blocks()
        #: The last comparison, and the number of blocks in it.
        self._compared: tuple[int, Optional[Comparison]] = (0, None)

    def found(self, state: ExperimentState) -> Progress:
        known = self.known(state)
        if state.stage is Stage.BASELINE:
            return Progress(len(known.before))
        if self._compared[0] != len(known.after):
            asked = state.request
            observed = Observed(
                asked.arms,
                asked.controls,
                asked.objective,
                asked.min_effect,
                asked.blocks,
                known.before,
                known.after,
            )
            self._compared = len(known.after), compare(observed)
        return Progress(len(known.after), self._compared[1])

    def add(
        self,
        state: ExperimentState,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
        reports: ReportInterval = DEFAULT,
        *,
        undisturbed: bool = True,
    ) -> None:
        """Add the newest samples; ``slow_events`` is called for measured OSDs only.

        If not ``undisturbed``, nothing is measured, in any ``state``.
        """
        known, key = self.known(state), measured_now(state) if undisturbed else None
        osds = measured_osds(state) if key is not None else ()
        block = self._blocks.add(
            key,
            {n: newest(n) for n in osds},
            now_s,
            block_s=block_length_s(state.request.block_s, reports),
            warm_up_s=settle_s(state, reports),
            slow_events=slow_events(osds) if osds else {},
        )
        if block is None:
            return
        before, after = known.before, known.after
        if state.stage is Stage.BASELINE:
            before = (*before, rounded(block))
        else:
            after = (*after, rounded(block))
        self._known = Measurements(state.experiment_id, before, after)
        try:
            self._storage.save_blocks(self._known)
        except CommandError as error:
            # A manager that takes over would have less evidence and measure longer.
            log.warning('cannot store a measured block: %s', error.message)

    def begin(self, experiment_id: str) -> None:
        """Replace the measurements of an earlier experiment; raises CommandError."""
        fresh = Measurements(experiment_id)
        self._storage.save_blocks(fresh)
        self._known, self._blocks, self._compared = fresh, Blocks(), (0, None)

    def known(self, state: ExperimentState) -> Measurements:
        if self._known.experiment_id != state.experiment_id:
            self._known = self._storage.load_blocks(state.experiment_id)
            self._compared = (0, None)
        return self._known
