"""When a rollout needs the operator: raised then, not before, and gone when it is dealt with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.operations.announce import Line, with_remedy
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import transitions, why_waiting
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore

from .conftest import NEW, Run, set_profile
from .one_step import rollout
from .test_soak import SOAK


def noted(run: Run) -> bool:
    return run.driver.acknowledged


def waits(run: Run, for_s: float) -> object:
    return why_waiting(run.state, for_s)


def watch(run: Run, for_s: float) -> object:
    """The alarm of a manager that has seen it for so long."""
    for _ in range(int(for_s / 2)):
        run.tick()
    return run.driver.why_waiting()


def test_alarm_uses_the_uptime_of_the_manager_and_not_the_clock(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    assert watch(run, 1700) is None
    run.cluster.now_s += 86400
    assert watch(run, 4) is None
    run.fail_over()
    assert watch(run, 1700) is None
    assert 'noout' in str(watch(run, 120))
    run.cluster.flags.discard('noout')
    assert watch(run, 4) is None


@pytest.mark.parametrize(
    ('reason', 'remedy'),
    [
        ('osd.7 is down', 'ceph osd out 7'),
        ('flags set on the cluster: noout', 'ceph osd unset'),
        ('cluster health: MON_DOWN', 'ceph health detail'),
        ('placement groups are not all active+clean', 'ceph pg dump_stuck'),
        ('Ceph is being upgraded: 18', 'ceph orch upgrade status'),
        ('daemons run different versions, as in', 'ceph versions'),
        ('osd.3 is not ok-to-stop: unsafe', 'ceph osd ok-to-stop'),
        ('anything else', 'operation abort'),
    ],
)
def test_each_gate_names_its_remedy(reason: str, remedy: str) -> None:
    found = with_remedy(reason, 'rollout')
    assert found.startswith(f'{reason}; ')
    assert remedy in found
    assert found.endswith('"ceph rocksdb-tuner operation abort" ends the rollout')


def test_missing_verdict_raises_an_alarm_at_once_until_resume(run: Run) -> None:
    run.clients.writes_per_s = 0
    run.start(soak=SOAK)
    run.to_a_wait('the verdict on osd.0 is no-data')
    assert 'operation resume' in str(waits(run, 0.0))
    run.driver.resume(run.cluster.now_s)
    assert waits(run, 60.0) is None


def test_failure_is_acknowledged_until_the_next_rollout_and_across_managers(run: Run) -> None:
    assert not run.driver.acknowledge()
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    assert not run.driver.acknowledge()
    run.run_to_end()
    assert not noted(run)
    assert run.driver.acknowledge()
    assert not run.driver.acknowledge()
    run.fail_over()
    assert noted(run)
    for _ in range(10):
        run.tick()
    run.start(set_profile(run.cluster))
    assert not noted(run)
    run.run_to_end()
    assert not noted(run)


# -- the cluster log and `ceph -s` follow a rollout to any outcome


def lines(run: Run) -> list[str]:
    return [text for text, _ in run.cluster.logged]


# -- the announcement of one change of a rollout: lines of the cluster log, and progress

JUDGED = Judgement(Verdict.NO_WORSE, cause='not judged: no controls')


def at(*steps: OsdStep, **changes: object) -> RolloutState:
    return replace(rollout(FakeCluster(3), *steps), **changes)  # type: ignore[arg-type]


def end(stage: Phase, outcome: Outcome, **changes: object) -> dict[str, object]:
    return {'stage': stage, 'outcome': outcome, **changes}


@pytest.mark.parametrize(
    ('changes', 'reported'),
    [
        ({'judgement': JUDGED}, [Line('the verdict on osd.0: no worse: not judged: no controls')]),
        ({'stage': Phase.SOAKING}, [Line('canary -> soaking')]),
        (
            {'direction': Direction.RECOVER, 'ending': Ending(Outcome.FAILED, 'it died')},
            [Line('restoring an OSD: it died', warning=True)],
        ),
        (
            {'direction': Direction.BACK, 'stage': Phase.ROLLING_BACK, 'failure': 'by client.ann'},
            [
                Line('rolling back all OSDs: by client.ann', warning=True),
                Line('canary -> rolling-back'),
            ],
        ),
        ({'paused_reason': 'a gate'}, [Line('waiting: a gate')]),
        (end(Phase.DONE, Outcome.DONE), [Line('done')]),
        (end(Phase.DONE, Outcome.DONE, failure='osd.2 left'), [Line('done: osd.2 left')]),
        (
            end(Phase.DONE, Outcome.DONE, judgement=JUDGED),
            [
                Line('the verdict on osd.0: no worse: not judged: no controls'),
                Line('done: not judged: no controls'),
            ],
        ),
        (
            end(Phase.DONE, Outcome.DONE, failure='osd.2 left', judgement=JUDGED),
            [
                Line('the verdict on osd.0: no worse: not judged: no controls'),
                Line('done: osd.2 left'),
            ],
        ),
        (
            end(Phase.FAILED, Outcome.FAILED),
            [Line('failed: no reason was recorded', warning=True)],
        ),
        (
            end(Phase.FAILED, Outcome.FAILED, failure='it died', direction=Direction.RECOVER),
            [Line('failed: it died', warning=True)],
        ),
        (
            end(Phase.ROLLED_BACK, Outcome.ROLLED_BACK, failure='by client.ann'),
            [Line('rolled-back: by client.ann')],
        ),
        # An end implies that nothing is waited for any more.
        (end(Phase.DONE, Outcome.DONE, paused_reason='a gate'), [Line('done')]),
    ],
)
def test_announcement_of_each_transition(changes: dict[str, object], reported: list[Line]) -> None:
    before = at(OsdStep.SETTING)
    after = replace(before, **changes)  # type: ignore[arg-type]
    assert list(transitions(before, after)) == reported


# -- progress


def shown(state: RolloutState) -> tuple[str, float]:
    cluster = FakeCluster(3)
    Driver(cluster, FakeStore(), lambda *_: True)._announce(state, state)
    assert list(cluster.progress) == ['rocksdb_tuner-r1']
    return cluster.progress['rocksdb_tuner-r1']


DONE, BACK = OsdStep.COLLAPSED, OsdStep.RESTORED


@pytest.mark.parametrize(
    ('steps', 'changes', 'message', 'share'),
    [
        ((), {'stage': Phase.PLANNED}, 'Changing RocksDB options of osd (0 of 3 OSDs, planned)', 0),
        ((DONE,), {'stage': Phase.PREFLIGHT}, 'Changing {} (1 of 3 OSDs, preflight)', 0),
        ((DONE,), {}, 'Changing {} (1 of 3 OSDs, canary)', 1 / 3),
        ((OsdStep.VERIFIED, OsdStep.SETTLING), {}, 'Changing {} (1 of 3 OSDs, canary)', 1 / 3),
        (
            (OsdStep.COLLAPSING, OsdStep.COLLAPSED, OsdStep.LEFT_BEHIND),
            {'stage': Phase.COLLAPSING},
            'Changing {} (3 of 3 OSDs, collapsing)',
            0.99,
        ),
        ((DONE,), {'paused_reason': 'a gate'}, 'Changing {} (1 of 3 OSDs, waiting)', 1 / 3),
        (
            (BACK, DONE),
            {'direction': Direction.BACK, 'stage': Phase.ROLLING_BACK},
            'Restoring {} (2 of 3 OSDs, rolling-back)',
            2 / 3,
        ),
        (
            (OsdStep.VERIFIED, OsdStep.RESTORING),
            {'direction': Direction.RECOVER, 'stage': Phase.ROLLING_BACK},
            'Restoring {} (1 of 3 OSDs, rolling-back)',
            1 / 3,
        ),
    ],
)
def test_progress_is_the_number_of_finished_osds(
    steps: tuple[OsdStep, ...], changes: dict[str, object], message: str, share: float
) -> None:
    reported = shown(replace(at(*steps), **changes))  # type: ignore[arg-type]
    assert reported == (message.format('RocksDB options of osd'), share)
