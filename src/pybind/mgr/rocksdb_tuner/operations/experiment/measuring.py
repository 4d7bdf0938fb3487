"""Measurements of an experiment, preserved over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable, NamedTuple, Optional

from ...judge.arms import Comparison, Observed, compare
from ...judge.records import block_length_s, warm_up_s
from ...mgr.protocols import CommandError
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ..rollout.recording import Blocks
from ..rollout.storage import rounded
from .records import ExperimentState, Stage
from .storage import ExperimentStorage, Measurements

log = logging.getLogger(__name__)


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
    left = state.remaining
    baseline = state.stage in {Stage.PLANNED, Stage.BASELINE}
    of_arms = (o.osd_id for o in state.osds if baseline or (o.changed and o.arm in left))
    return (*of_arms, *state.request.plan.controls)


def settle_s(state: ExperimentState, reports: ReportInterval) -> float:
    """How long nothing is measured after OSDs were changed."""
    if state.stage is not Stage.MEASURING:
        return 0.0
    plan = state.request.plan
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
        if state.stage in {Stage.PLANNED, Stage.BASELINE}:
            return Progress(len(known.before))
        if self._compared[0] != len(known.after):
            request = state.request
            observed = Observed(
                arms=dict(request.plan.arms),
                controls=request.plan.controls,
                objective=request.objective,
                min_effect=request.min_effect,
                looks=request.plan.blocks,
                before=known.before,
                after=known.after,
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
            block_s=block_length_s(state.request.plan.block_s, reports),
            warm_up_s=settle_s(state, reports),
            slow_events=slow_events(osds) if osds else {},
        )
        if block is None:
            return
        if state.stage is Stage.BASELINE:
            self._known = replace(known, before=(*known.before, rounded(block)))
        else:
            self._known = replace(known, after=(*known.after, rounded(block)))
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
