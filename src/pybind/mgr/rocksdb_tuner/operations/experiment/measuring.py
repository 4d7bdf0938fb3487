"""The state and the measurements of an experiment, preserved over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Callable, Optional

from ...judge.arms import Arm, compare
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

CURRENT = 'experiment/current'
BLOCKS = 'experiment/blocks'


@dataclass(frozen=True)
class Measurements:
    """The measured blocks of one experiment."""

    experiment_id: str
    #: The baseline.
    before: tuple[Block, ...] = ()
    after: tuple[Block, ...] = ()


def stored_experiment(store: Store) -> Stored[ExperimentState]:
    """Where the last experiment is stored."""
    return Stored(store, CURRENT, ExperimentState, contradictions)


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


#: Measured blocks, and all arms by those after the change; no arms: nothing to compare yet.
Found = tuple[int, tuple[Arm, ...]]
NOT_MEASURED: Found = (0, ())


class Measuring:
    """The blocks of one experiment at a time, and its arms compared by them."""

    def __init__(self, store: Store, quarantine: Quarantine) -> None:
        self._stored, self._quarantine = Stored(store, BLOCKS, Measurements), quarantine
        self._known = Measurements('')
        self._blocks = Blocks()
        #: As last compared.
        self._compared = NOT_MEASURED

    def begin(self, experiment_id: str) -> None:
        """Replace those of another experiment, also of a lost one with this id.

        Raises CommandError.
        """
        fresh = Measurements(experiment_id)
        self._stored.save(fresh)
        self._known, self._blocks, self._compared = fresh, Blocks(), NOT_MEASURED

    def known(self, state: ExperimentState) -> Measurements:
        """Nothing if they cannot be read, or are of another experiment."""
        if self._known.experiment_id != state.experiment_id:
            found = self._quarantine.read(self._stored)
            same = found is not None and found.experiment_id == state.experiment_id
            self._known = found if found and same else Measurements(state.experiment_id)
            self._compared = NOT_MEASURED
        return self._known

    def found(self, state: ExperimentState) -> Found:
        known, plan = self.known(state), state.request
        if state.stage is Stage.BASELINE:
            return len(known.before), ()
        if self._compared[0] != len(known.after):
            arms = compare(plan.arms, plan.terms, known.before, known.after)
            self._compared = len(known.after), arms
        return self._compared

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
        known, plan = self.known(state), state.request
        key = measured_now(state) if undisturbed else None
        osds = measured_osds(state) if key is not None else ()
        # After OSDs were changed, nothing is measured at first.
        settle_s = 0.0
        if state.stage is Stage.MEASURING:
            planned_s = 0.0 if state.blocks else plan.settle_blocks * plan.block_s
            settle_s = max(planned_s, warm_up_s(reports))
        block = self._blocks.add(
            key,
            {n: newest(n) for n in osds},
            now_s,
            block_s=block_length_s(plan.block_s, reports),
            warm_up_s=settle_s,
            slow_events=slow_events(osds) if osds else {},
        )
        if block is None:
            return
        if state.stage is Stage.BASELINE:
            self._known = replace(known, before=(*known.before, rounded(block)))
        else:
            self._known = replace(known, after=(*known.after, rounded(block)))
        try:
            self._stored.save(self._known)
        except CommandError as error:
            # A manager that takes over would have less evidence and measure longer.
            log.warning('cannot store a measured block: %s', error.message)
