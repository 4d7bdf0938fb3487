"""Measurements of an experiment, preserved over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Callable, NamedTuple, Optional

from ...judge.arms import Comparison, Observed, Period, compare
from ...judge.evidence import Block
from ...judge.records import block_length_s, warm_up_s
from ...mgr.protocols import CommandError
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ..rollout.recording import Blocks
from .records import ExperimentState, Stage
from .states import controls, taking_part, wanted
from .storage import ExperimentStorage

log = logging.getLogger(__name__)


class PeriodProgress(NamedTuple):
    """Progress of the current period."""

    blocks: int = 0
    #: All arms over all periods; None: nothing to compare yet.
    comparison: Optional[Comparison] = None


NOT_MEASURED = PeriodProgress()


def measured_now(state: ExperimentState) -> Optional[tuple[object, ...]]:
    """What a block measures; None: nothing is measured, or it is disturbed."""
    measures = state.stage in {Stage.BASELINE, Stage.MEASURING} and state.ending is None
    disturbed = (state.leg, state.paused_reason, state.pending_conflict) != (None, None, None)
    if not measures or disturbed:
        return None
    return state.experiment_id, state.period, state.legs, measured_osds(state)


def measured_osds(state: ExperimentState) -> tuple[int, ...]:
    """OSDs whose measurements count: those of remaining arms and controls.

    In the baseline, all OSDs.
    """
    if state.period == 0:
        return tuple(osd.osd_id for osd in taking_part(state))
    arms = wanted(state)
    of_arms = (o.osd_id for o in taking_part(state) if o.arm is not None and o.osd_id in arms)
    return (*of_arms, *controls(state))


def settle_s(state: ExperimentState, reports: ReportInterval) -> float:
    """How long nothing is measured after OSDs were changed."""
    if state.period == 0:
        return 0.0
    plan = state.request.plan
    planned_s = plan.periods[state.period].settle_blocks * plan.block_s
    return max(planned_s if state.settle_due else 0.0, warm_up_s(reports))


class Measuring:
    """The blocks of one experiment at a time."""

    def __init__(self, storage: ExperimentStorage) -> None:
        self._storage = storage
        self._experiment_id: Optional[str] = None
        self._periods: dict[int, tuple[Block, ...]] = {}
        self._blocks = Blocks()
        #: The last comparison, and its inputs.
        self._compared: tuple[object, Optional[Comparison]] = (None, None)

    def found(self, state: ExperimentState) -> PeriodProgress:
        periods = self._of(state)
        return PeriodProgress(len(periods.get(state.period, ())), self._comparison(state))

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
        periods, key = self._of(state), measured_now(state) if undisturbed else None
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
        kept = periods.get(state.period, ())
        periods[state.period] = (*kept, block)
        try:
            self._storage.save_block(state.experiment_id, state.period, len(kept), block)
        except CommandError as error:
            # A manager that takes over would have less evidence and measure longer.
            log.warning('cannot store a measured block: %s', error.message)

    def begin(self, experiment_id: str) -> None:
        """Delete the measurements of an earlier experiment; raises CommandError."""
        self._storage.forget_blocks()
        self._experiment_id, self._periods = experiment_id, {}
        self._blocks = Blocks()

    def _of(self, state: ExperimentState) -> dict[int, tuple[Block, ...]]:
        if self._experiment_id != state.experiment_id:
            self._experiment_id = state.experiment_id
            self._periods = self._storage.load_blocks(state.experiment_id)
        return self._periods

    def _comparison(self, state: ExperimentState) -> Optional[Comparison]:
        if not self._periods.get(0) or not any(self._periods.get(n) for n in self._after(state)):
            return None
        made_of = (
            state.experiment_id,
            state.assigned,
            tuple(len(self._periods.get(n, ())) for n in range(state.period + 1)),
        )
        if self._compared[0] != made_of:
            self._compared = made_of, compare(self._observed(state))
        return self._compared[1]

    def _after(self, state: ExperimentState) -> range:
        return range(1, state.period + 1)

    def _observed(self, state: ExperimentState) -> Observed:
        request = state.request
        return Observed(
            arms=tuple(arm.name for arm in request.arms),
            controls=request.plan.controls,
            objective=request.objective,
            min_effect=request.min_effect,
            periods=tuple(
                Period(dict(arms), self._periods.get(number, ()))
                for number, arms in enumerate(state.assigned)
            ),
        )
