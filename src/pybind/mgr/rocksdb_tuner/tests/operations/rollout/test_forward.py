"""Rollouts without failures, or with small ones."""

from __future__ import annotations

import errno

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, overridden, remove_override, set_profile


def test_removal_of_an_override_ends_on_osds_older_than_their_monitor() -> None:
    """The monitor's default is then another one than that of the OSDs."""
    cluster = overridden('osd')
    cluster.mon_defaults[OPTION] = DEFAULTS['reef']
    run = Run(cluster)
    run.start(remove_override(cluster))
    assert run.run_to_end().phase is Phase.DONE


def test_own_entry_stays_on_request() -> None:
    run = Run(FakeCluster(osds=2))
    run.start(
        set_profile(
            run.cluster,
            who='osd.1',
            targets=((1, NEW),),
            order=(1,),
            final_entries=(('osd.1', NEW),),
        )
    )
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {'osd.1': NEW}
    assert run.cluster.runs(0) == DEFAULTS['pacific']


def test_first_osd_is_the_canary_and_the_mask_comes_last(run: Run) -> None:
    run.start()
    phases: list[Phase] = []
    while not run.state.ended:
        run.tick()
        if run.state.phase not in phases[-1:]:
            phases.append(run.state.phase)
    assert [p for p in phases if p is not Phase.WAITING] == [
        Phase.CANARY,
        Phase.PROMOTING,
        Phase.COLLAPSING,
        Phase.DONE,
    ]


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


# -- gates


# -- the operator


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


@pytest.mark.parametrize(
    ('step', 'restarts'),
    [
        (OsdStep.PENDING, [1, 0, 0]),
        (OsdStep.SETTING, [1, 0, 0]),
        (OsdStep.RESTART_DUE, [1, 0, 0]),
        # The one on its way up may have read the entry: it comes up, and is restarted once more.
        (OsdStep.RESTARTING, [1, 2, 0]),
        (OsdStep.CHECKING, [1, 1, 0]),
        (OsdStep.SETTLING, [1, 1, 0]),
        (OsdStep.VERIFIED, [1, 1, 0]),
        (OsdStep.COLLAPSING, [1, 1, 1]),
        (OsdStep.COLLAPSED, [1, 1, 1]),
    ],
)
def test_rollback_halfway_restarts_only_affected_osds(
    one_step_a_tick: None, run: Run, step: OsdStep, restarts: list[int]
) -> None:
    """``step`` is how far the second of three OSDs is."""
    cluster = run.cluster
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.until(lambda s: s.osds[1].step is step)
    boots = [osd.boots for osd in cluster.osds.values()]
    to_rolled_back(run)
    assert cluster.entries_of() == {}
    assert {cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}
    assert [osd.boots - boots[n] for n, osd in cluster.osds.items()] == restarts


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
