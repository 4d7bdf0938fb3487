"""A cluster of nine OSDs on three hosts, and a driver of experiments that tests let run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.judge.arms import Arm
from rocksdb_tuner.observe.details import read_slow_events
from rocksdb_tuner.operations.experiment.announce import record_of
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.records import (
    ExperimentState,
    Stage,
)
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits
from rocksdb_tuner.plan.experiment_design import ExperimentPlan
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import Run, one_step_a_tick
from rocksdb_tuner.tests.operations.simulation import TICK_S

FAST, SLOW, SAME = (
    'compression=kLZ4Compression,write_buffer_size=16777216',
    'compression=kSnappyCompression,write_buffer_size=8388608',
    'compression=kNoCompression,write_buffer_size=33554432',
)
__all__ = ['one_step_a_tick']
STRINGS = {'fast': FAST, 'slow': SLOW, 'same': SAME}
#: Time and bytes per write, relative to the old option string.
FACTORS = {FAST: 0.7, SLOW: 1.6, SAME: 1.0}
BLOCK_S = 60.0


def plan(
    arms: tuple[str, ...] = ('fast', 'slow', 'same'),
    *,
    columns: tuple[tuple[int, ...], ...] = ((0, 3), (1, 4), (2, 6)),
    controls: tuple[int, ...] = (5, 7, 8),
    blocks: int = 3,
    settle_blocks: int = 1,
    **changes: object,
) -> ExperimentPlan:
    planned = ExperimentPlan(
        who='osd',
        objective='kv_sync_ms_per_txn',
        max_duration_s=86400.0,
        from_options=DEFAULTS['pacific'],
        arms=tuple(Arm(name, STRINGS[name], osds=osds) for name, osds in zip(arms, columns)),
        controls=controls,
        blocks=blocks,
        settle_blocks=settle_blocks,
        block_s=BLOCK_S,
        detectable_percent=10.0,
        unsafe_percent=20.0,
    )
    return replace(planned, **changes)  # type: ignore[arg-type]


class ExperimentRun(Run):
    """One cluster with one manager at a time, over which experiments run."""

    def __init__(self, cluster: Optional[FakeCluster] = None) -> None:
        #: Conclusions that were handed on.
        self.winners: list[ExperimentState] = []
        super().__init__(cluster or FakeCluster(9, per_host=3))
        self.clients.factors = dict(FACTORS)

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        created = super().new_driver(limits)
        self.experiment = ExperimentDriver(
            created,
            self.cluster,
            self.store,
            on_end=lambda state: self.handed_on(created, state),
        )
        return created

    def handed_on(self, created: Driver, state: ExperimentState) -> None:
        created.add_record(record_of(state))
        if state.best is not None:
            self.winners.append(state)

    def fail_over(self) -> None:
        super().fail_over()
        self.experiment.load()

    def tick(self, seconds: float = TICK_S) -> None:
        self.driver.tick(self.cluster.now_s, self.allowed(), self.cluster.now_s)
        self.experiment.tick(self.cluster.now_s)
        if self.may_act:
            self.experiment.observed(
                self.clients.newest,
                self.cluster.now_s,
                lambda osd_ids: read_slow_events(self.cluster, osd_ids),
            )
        self.cluster.advance(seconds)
        self.clients.write(seconds)

    @property
    def now(self) -> ExperimentState:
        assert self.experiment.state is not None
        return self.experiment.state

    def begin(self, wanted: Optional[ExperimentPlan] = None) -> ExperimentState:
        now_s = self.cluster.now_s
        return self.experiment.start('E1', wanted or plan(), 'client.admin', now_s, adopt=False)

    def begun(
        self, when: Callable[[ExperimentState], bool], *args: Any, **changes: Any
    ) -> ExperimentState:
        """One of this `plan`, which has come so far."""
        self.begin(plan(*args, **changes))
        return self.come_to(when)

    def abort_it(self, actor: str = 'client.a') -> None:
        self.experiment.abort(actor, self.cluster.now_s)

    @property
    def leg(self) -> RolloutState:
        """The change of OSDs under way."""
        assert self.now.leg is not None
        return self.now.leg

    @property
    def why(self) -> str:
        """Why it failed or was aborted."""
        return self.now.failure or ''

    def come_to(
        self, condition: Callable[[ExperimentState], bool], within_s: float = 20000.0
    ) -> ExperimentState:
        """Let time pass until ``condition`` holds of the state."""
        end_s = self.cluster.now_s + within_s
        while not condition(self.now):
            assert self.cluster.now_s < end_s, f'never came to it: {self.now}'
            self.tick()
        return self.now

    def finish(self, within_s: float = 40000.0) -> ExperimentState:
        return self.come_to(lambda state: state.ended, within_s)


@pytest.fixture
def run() -> ExperimentRun:
    return ExperimentRun()


def at_step(state: ExperimentState, step: OsdStep) -> bool:
    """Whether an OSD gets the string of its arm, and is at this step."""
    flying = None if state.leg is None else state.leg.in_flight
    return changing(state) and flying is not None and flying.step is step


def changing(state: ExperimentState) -> bool:
    return state.leg is not None and state.stage is Stage.CHANGING


def dropping(state: ExperimentState) -> bool:
    return state.leg is not None and state.stage is Stage.MEASURING


def restoring(state: ExperimentState) -> bool:
    return state.leg is not None and state.stage is Stage.RESTORING


def dropped(state: ExperimentState) -> list[str]:
    return [arm.name for arm in state.arms if arm.dropped]


def crashed(state: ExperimentState) -> list[str]:
    return [arm.name for arm in state.arms if arm.crashed]


def measuring(state: ExperimentState) -> bool:
    return state.stage is Stage.MEASURING


def restored(run: ExperimentRun, *but: int) -> bool:
    """Whether OSDs have no entry and run what they ran."""
    osds = set(run.cluster.osds) - set(but)
    entries = {f'osd.{n}' for n in osds} & set(run.cluster.entries_of())
    return not entries and {run.cluster.runs(n) for n in osds} == {DEFAULTS['pacific']}
