"""A manager may end between any two operations: the next one goes on rightly."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Callable, Optional

import pytest

from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.present.health import HealthChecks
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster
from rocksdb_tuner.tests.chaos.invariants import Watch
from rocksdb_tuner.tests.chaos.topology import small
from rocksdb_tuner.tests.chaos.world import Killed, health_of
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import OLD, Run, remove_override, set_profile

BAD = 'write_buffer_size=foo'


class MortalRun(Run):
    """A run whose manager dies at the n-th operation that changes anything, before or after it."""

    cluster: ChaosCluster
    next_writes = ()
    store_refuses = False
    slow_monitors = False
    questions_of_all = 0
    auto_apply_after_s = 0.0
    has_reports = True
    silent_since_s: Mapping[int, float] = MappingProxyType({})

    def __init__(self, cluster: ChaosCluster) -> None:
        super().__init__(cluster)
        self.operations = 0
        self.die_at: Optional[int] = None
        self.fail_after = False
        self.died = False
        for owner, name in (
            (self.store, 'set'),
            (self.cluster, 'set'),
            (self.cluster, 'remove'),
            (self.cluster, 'restart_osd'),
        ):
            setattr(owner, name, self._mortal(getattr(owner, name)))

    def _mortal(self, operation: Callable[..., None]) -> Callable[..., None]:
        def operate(*args: object) -> None:
            self.operations += 1
            dies = self.operations == self.die_at
            self.died |= dies
            if dies and not self.fail_after:
                raise Killed
            operation(*args)
            if dies:
                raise Killed

        return operate

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        self.active_since_s = self.cluster.now_s
        return super().new_driver(limits)

    @property
    def seen_at_s(self) -> float:
        return self.cluster.now_s

    def health(self) -> HealthChecks:
        return health_of(self.driver, self.cluster.now_s)

    def tick(self, seconds: float = 2.0) -> None:
        try:
            super().tick(seconds)
        except Killed:
            self.fail_over()
            super().tick(seconds)


def _forward(cluster: FakeCluster) -> ChangeRequest:
    return set_profile(cluster)


def _overridden(cluster: FakeCluster) -> ChangeRequest:
    cluster.operator_sets('osd', OLD)
    for n in cluster.osds:
        cluster.restart_by_hand(n)
        cluster.advance(60)
    return remove_override(cluster)


def _bad(cluster: FakeCluster) -> ChangeRequest:
    return set_profile(cluster, BAD)


def _execute(
    prepare: Callable[[FakeCluster], ChangeRequest],
    back: bool,
    die_at: Optional[int] = None,
    fail_after: bool = False,
) -> tuple[MortalRun, RolloutState]:
    cluster = ChaosCluster(small(osds=2))
    request = prepare(cluster)
    before = cluster.entries_of()
    run = MortalRun(cluster)
    watch = Watch(run)
    run.start(request)
    run.operations = 0
    run.die_at, run.fail_after = die_at, fail_after
    state = run.run_to_end()
    if back:
        watch.check_end(before)
        try:
            run.driver.rollback(None, 'client.admin', cluster.now_s)
        except Killed:
            run.fail_over()
            run.tick()
            if run.state.ended:
                run.driver.rollback(None, 'client.admin', cluster.now_s)
        state = run.run_to_end()
    watch.check_end(before)
    assert run.driver.history[-1].outcome is state.outcome
    return run, state


def _boots(run: Run) -> list[int]:
    return [osd.boots for osd in run.cluster.osds.values()]


@pytest.mark.parametrize(
    ('prepare', 'back', 'ends'),
    [
        (_forward, False, Phase.DONE),
        (_overridden, False, Phase.DONE),
        (_forward, True, Phase.ROLLED_BACK),
        (_bad, False, Phase.FAILED),
    ],
)
@pytest.mark.parametrize('fail_after', [False, True])
def test_takeover_at_any_operation_does_not_change_the_result(
    prepare: Callable[[FakeCluster], ChangeRequest], back: bool, ends: Phase, fail_after: bool
) -> None:
    undisturbed, state = _execute(prepare, back)
    assert state.phase is ends
    wanted = undisturbed.cluster.entries_of()
    running = [undisturbed.cluster.runs(n) for n in undisturbed.cluster.osds]
    # Between two operations is after the one or before the other
    for die_at in range(1 + fail_after, undisturbed.operations + 1, 2):
        run, state = _execute(prepare, back, die_at, fail_after)
        assert run.died
        assert state.phase is ends, f'killed at operation {die_at}'
        assert run.cluster.entries_of() == wanted, f'killed at operation {die_at}'
        assert [run.cluster.runs(n) for n in run.cluster.osds] == running
        assert not run.cluster.down
        assert _boots(run) == _boots(undisturbed), f'killed at operation {die_at}'
