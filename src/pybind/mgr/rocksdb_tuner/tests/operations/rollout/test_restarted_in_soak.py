"""A canary that is restarted in its soak: with others it is measured again, alone it failed."""

from __future__ import annotations

import pytest

from rocksdb_tuner.judge.records import SoakPlan, Verdict
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.rules import RESTARTED_TOGETHER_S
from rocksdb_tuner.operations.rollout.soak import MOST_RESTARTS
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import NEW, Run

SOAK = SoakPlan(300.0, 600.0)
DEFAULT = DEFAULTS['pacific']


def soaking_for(run: Run, seconds: float) -> None:
    run.start(soak=SOAK)
    run.until(lambda s: s.soaked_s >= seconds)


def upgraded(run: Run) -> None:
    run.cluster.upgrades_to = 'quay.io/ceph/ceph:v16.2.16'
    run.cluster.restart_by_hand(0)


def rebooted(run: Run) -> None:
    """A control is restarted by the same hand some seconds before."""
    run.cluster.restart_by_hand(1)
    for _ in range(15):
        run.tick()
    run.cluster.restart_by_hand(0)


@pytest.mark.parametrize('restart', [upgraded, rebooted])
def test_canary_restarted_with_others_is_measured_again(restart: object) -> None:
    run = Run(FakeCluster(4))
    soaking_for(run, 120)
    restart(run)  # type: ignore[operator]
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.upgrades_to = None
    assert run.state.soaked_s == 0.0
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    began_s = run.cluster.now_s
    state = run.until(lambda s: bool(s.verdicts))
    assert run.cluster.now_s - began_s >= SOAK.least_s
    assert state.verdicts == (Verdict.NO_WORSE,)
    assert run.run_to_end(12000).outcome is Outcome.DONE


def test_canary_restarted_alone_failed() -> None:
    """It went down and came up by itself."""
    run = Run(FakeCluster(4))
    soaking_for(run, 120)
    run.cluster.restart_by_hand(0)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.WORSE)
    assert run.cluster.runs(0) == DEFAULT


def test_restarts_of_others_before_the_soak_excuse_no_crash() -> None:
    """A control went down and came back while the canary was changed, a minute before that died."""
    run = Run(FakeCluster(4))
    run.start(soak=SOAK)
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.restart_by_hand(1)
    restarted_s = run.cluster.now_s
    run.until(lambda s: s.soaked_s > 0)
    run.cluster.restart_by_hand(0)
    assert run.cluster.now_s - restarted_s < RESTARTED_TOGETHER_S
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.WORSE)
    assert run.cluster.runs(0) == DEFAULT


def test_canary_that_does_not_return_from_an_upgrade_is_given_up() -> None:
    run = Run(FakeCluster(4))
    soaking_for(run, 120)
    run.cluster.refuses_to_start = lambda value: value == NEW
    upgraded(run)
    state = run.run_to_end()
    assert state.phase is Phase.FAILED
    assert 'osd.0 did not come back up' in (state.failure or '')
    assert run.cluster.runs(0) == DEFAULT


def test_repeatedly_restarted_canary_requires_operator_action() -> None:
    run = Run(FakeCluster(4))
    soaking_for(run, 60)
    for _ in range(MOST_RESTARTS):
        upgraded(run)
        run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
        run.cluster.upgrades_to = None
        run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
        for _ in range(90):
            run.tick()
    upgraded(run)
    state = run.to_a_wait('missing: a soak without restarts: osd.0 was restarted again')
    assert state.verdict is Verdict.NO_DATA
    assert run.cluster.runs(0) == NEW


def test_canary_purged_in_its_soak_ends_it_without_a_verdict() -> None:
    run = Run(FakeCluster(4))
    soaking_for(run, 60)
    run.cluster.purge(0)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.FAILED, None)
    assert 'osd.0 was removed from the cluster' in (state.failure or '')
    assert run.cluster.entries_of() == {}
