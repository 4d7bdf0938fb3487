"""Rollouts without failures, or with small ones."""

from __future__ import annotations

import errno

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, set_profile

# -- without an orchestrator


def test_restarts_are_requested_one_by_one_without_an_orchestrator(run: Run) -> None:
    run.cluster.orchestrator_reason = 'No orchestrator configured (try `ceph orch set backend`)'
    run.start()
    for n in range(3):
        state = run.to_a_wait(f'"systemctl restart ceph-osd@{n}" on node{n}')
        assert state.phase is Phase.WAITING
        assert 'No orchestrator configured' in (state.paused_reason or '')
        assert run.cluster.entries_of()[f'osd.{n}'] == NEW
        run.cluster.restart_by_hand(n)
    assert run.run_to_end().phase is Phase.DONE
    assert not [c for c in run.cluster.commands if 'orch' in c]


# -- rollback


def to_rolled_back(run: Run) -> RolloutState:
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    return state


def test_rollback_restores_masks_and_expects_no_osd_to_start_with_them(run: Run) -> None:
    run.cluster.operator_sets(CLASS, OLD)
    run.start(set_profile(run.cluster, final_entries=((CLASS, None), (ALL, NEW))))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {ALL: NEW}
    to_rolled_back(run)
    assert run.cluster.entries_of() == {CLASS: OLD}
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_masked_entry_of_before_says_nothing_about_a_plan_of_own_entries() -> None:
    """No own entry goes, so none has to be kept; and to remove them would undo the change."""
    cluster = FakeCluster(4)
    cluster.osds[3].device_class = 'hdd'
    cluster.operator_sets(CLASS, OLD)
    run = Run(cluster)
    run.start()
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (Outcome.DONE, None)
    assert {f'osd.{n}' for n in range(3)} <= set(cluster.entries_of())


def test_own_entry_stays_if_the_shared_one_is_changed_before_it_goes() -> None:
    """The OSD would start with a value that the rollout has not checked."""
    cluster = FakeCluster(3)
    run = Run(cluster)
    run.start()
    run.until(lambda state: state.stage is Phase.PROMOTING)
    cluster.errors['config rm'] = CommandError(errno.EBUSY, 'busy')
    run.until(lambda state: any(osd.step is OsdStep.COLLAPSING for osd in state.osds))
    cluster.operator_sets(ALL, 'compression=kZSTD')
    before = len(cluster.commands)
    cluster.errors.clear()
    assert run.run_to_end().ended
    assert not [c for c in cluster.commands[before:] if c.startswith('ceph config rm')]
    assert 'osd.0' in cluster.entries_of()
