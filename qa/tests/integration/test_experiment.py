"""An experiment on a real cluster: two arms, one of them faster and one slower, under a client.

The sync speed of an OSD's disk follows its option string: the strings themselves make no difference
within minutes. The experiment is stored as by a manager that was killed just after starting it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from shared_cluster import new_cluster

from fault_scenario import LIKE_FLASH, FaultScenario, MonitorKeys, Shape
from harness import ClusterSpec, integrity
from harness.fault_injection import FaultInjection
from harness.slow_sync import slow_down
from harness.workloads.overwriter import Overwriter
from module_client import OPTION
from rocksdb_tuner.judge.arms import Answer, Arm
from rocksdb_tuner.operations.experiment.measuring import stored_experiment
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import (
    Before,
    OsdBefore,
    OsdProgress,
    OsdStep,
)
from rocksdb_tuner.plan.experiment_design import ExperimentPlan

pytestmark = [pytest.mark.integration, pytest.mark.experiment]

#: OSD n is on host n modulo 3.
SHAPE = Shape(
    'experiment',
    ClusterSpec(
        osds=9, mgrs=3, crush_hosts=3, slow_sync=True, few_mgr_modules=True, osd_conf=LIKE_FLASH
    ),
)
COLUMNS = ((0, 1), (2, 3))
CONTROLS = (4, 5, 6, 7, 8)
BLOCK_S, BLOCKS = 45.0, 4
#: How much longer each sync takes: of the release default, and of each arm.
OLD_PERCENT = 200.0
PERCENT = {'faster': 0.0, 'slower': 1000.0}
#: Module options.
QUICK = {'sample_interval': '2', 'restart_timeout': '120', 'log_level': 'info'}
WRITES_PER_S, READS_PER_S = 150, 20
LIMIT_S = 3200.0


def strings(default: str) -> dict[str, str]:
    """The release default with a value that changes nothing within minutes."""
    return {
        name: f'{default},max_manifest_file_size={size}'
        for name, size in zip(PERCENT, (500000000, 600000000))
    }


def planned(default: str, release: str) -> ExperimentState:
    options = strings(default)
    plan = ExperimentPlan(
        who='osd',
        arms=tuple(Arm(name, options[name], osds=osds) for name, osds in zip(PERCENT, COLUMNS)),
        objective='kv_sync_ms_per_txn',
        from_options=default,
        block_s=BLOCK_S,
        max_duration_s=LIMIT_S,
        controls=CONTROLS,
        blocks=BLOCKS,
        settle_blocks=1,
        detectable_percent=50.0,
        unsafe_percent=50.0,
    )
    return ExperimentState(
        experiment_id='E1',
        request=plan,
        actor='client.admin',
        adopt=False,
        before=Before(
            entries=(),
            osds=tuple(OsdBefore(n, default, 'default', release) for n in range(9)),
            other_entries=(),
        ),
        osds=tuple(map(OsdProgress, plan.changed)),
        started_s=time.time(),
        updated_s=time.time(),
    )


@pytest.fixture
def scenario(release: str) -> Iterator[FaultScenario]:
    with new_cluster(replace(SHAPE.spec, release=release), often=True, **QUICK) as tuner:
        # The module is the one of the checkout: nothing is changed in it.
        found = FaultScenario(tuner.cluster, tuner, cast('FaultInjection', None), SHAPE)
        (found.default,) = set(found.running().values())
        yield found


@contextlib.contextmanager
def disks_follow(scenario: FaultScenario) -> Iterator[None]:
    """Each OSD's disk is as fast as the arm whose entry the OSD has."""
    arms = {string: name for name, string in strings(scenario.default).items()}
    over = threading.Event()

    def follow() -> None:
        last: dict[int, float] = {}
        while not over.wait(2.0):
            with contextlib.suppress(Exception):
                entries = {who: value for who, _, value in scenario.tuner.entries()}
                now = {
                    n: PERCENT.get(arms.get(entries.get(f'osd.{n}', ''), ''), OLD_PERCENT)
                    for n in range(9)
                }
                if now != last:
                    slow_down(scenario.cluster.dir, now)
                    last = now

    slow_down(scenario.cluster.dir, dict.fromkeys(range(9), OLD_PERCENT))
    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def stored(scenario: FaultScenario) -> ExperimentState:
    state = stored_experiment(MonitorKeys(scenario.cluster)).load()
    assert state is not None
    return state


def begin(scenario: FaultScenario) -> None:
    """Store the experiment while no manager runs."""
    with scenario.without_managers():
        state = planned(scenario.default, scenario.cluster.release.name)
        stored_experiment(MonitorKeys(scenario.cluster)).save(state)
    scenario.wait_until_answered()


def come_to(
    scenario: FaultScenario, what: str, reached: Any, timeout_s: float = 1500.0
) -> ExperimentState:
    def there() -> ExperimentState | None:
        state = stored(scenario)
        assert not state.ended or what == 'the end', state
        return state if reached(state) else None

    found = scenario.tuner.wait_for(there, timeout_s, what, every_s=2.0)
    assert isinstance(found, ExperimentState)
    scenario.cluster.progress.say(f'{what}: {found.stage.value}, block {found.blocks}')
    return found


def changes_an_osd(state: ExperimentState) -> bool:
    """Whether an OSD after the first is being restarted for its arm."""
    flying = None if state.leg is None else state.leg.in_flight
    return (
        state.stage is Stage.CHANGING
        and flying is not None
        and flying.step is OsdStep.RESTARTING
        and flying.osd_id != state.osds[0].osd_id
    )


def test_better_string_wins_slower_arm_is_dropped_and_everything_is_restored(
    scenario: FaultScenario,
) -> None:
    """Two managers are killed meanwhile: one while an OSD restarts, one while arms are compared."""
    writer, epoch = Overwriter(scenario.cluster, WRITES_PER_S, READS_PER_S), scenario.epoch()
    writer.start()
    try:
        with disks_follow(scenario):
            begin(scenario)
            come_to(scenario, 'an OSD restarts', changes_an_osd)
            scenario.kill_active_manager()
            scenario.wait_until_answered()
            come_to(
                scenario,
                'a block is compared',
                lambda state: state.stage is Stage.MEASURING and state.blocks > 0,
            )
            before = stored(scenario)
            scenario.kill_active_manager()
            scenario.wait_until_answered()
            after = stored(scenario)
            assert after.stage is not before.stage or after.blocks >= before.blocks
            state = come_to(scenario, 'the end', lambda state: state.ended, LIMIT_S)
        written = writer.stop()
    finally:
        writer.kill()
    effects = {arm.name: arm.gain for arm in state.arms}
    scenario.cluster.progress.say(
        f'{state.outcome}, {effects}, {state.conclusion}, {state.failure}'
    )
    assert state.outcome is Outcome.DONE, state.failure
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.conclusion.winner) == (Answer.WINNER, 'faster')
    assert [arm.name for arm in state.arms if arm.dropped] == ['slower']
    assert scenario.tuner.entries() == []
    assert set(scenario.running().values()) == {scenario.default}
    scenario.tuner.wait_for_clean()
    down = [set(down) for _, down, _ in integrity.osd_maps(scenario.cluster, epoch)]
    assert max(map(len, down)) <= 1
    assert written.errors == 0, written.messages
    assert written.verified.failed == 0
    assert written.overwrites > 0
    record = scenario.cluster.ceph_json('rocksdb-tuner', 'history')
    assert [(one['id'], one['outcome']) for one in record] == [('E1', 'done')]
    assert OPTION not in str(scenario.cluster.ceph('config', 'dump'))
