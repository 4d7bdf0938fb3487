"""When a rollout needs the operator: raised then, not before, and gone when it is dealt with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.operations.announce import Line
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import transitions, why_waiting
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import Ending, OsdStep, RolloutState
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore

from .conftest import Run
from .one_step import (
    BACK,
    COLLAPSED,
    COLLAPSING,
    LEFT,
    RECOVER,
    RESTORED,
    RESTORING,
    SETTING,
    SETTLING,
    SOAK,
    VERIFIED,
    rollout,
)


def test_missing_verdict_raises_an_alarm_at_once_until_resume(run: Run) -> None:
    run.clients.writes_per_s = 0
    run.start(soak=SOAK)
    run.to_a_wait('the verdict on osd.0 is no-data')
    assert 'operation resume' in str(why_waiting(run.state, 0.0))
    run.driver.resume(run.cluster.now_s)
    assert why_waiting(run.state, 60.0) is None


# -- the announcement of one change of a rollout: lines of the cluster log, and progress

JUDGED = Judgement(Verdict.NO_WORSE, cause='not judged: no controls')


def at(*steps: OsdStep, **changes: Any) -> RolloutState:
    return rollout(*steps, osds=3, **changes)


def end(stage: Phase, outcome: Outcome, **changes: object) -> dict[str, object]:
    return {'stage': stage, 'outcome': outcome, **changes}


@pytest.mark.parametrize(
    ('changes', 'reported'),
    [
        ({'judgement': JUDGED}, [Line('the verdict on osd.0: no worse: not judged: no controls')]),
        ({'stage': Phase.SOAKING}, [Line('canary -> soaking')]),
        (
            {'direction': RECOVER, 'ending': Ending(Outcome.FAILED, 'it died')},
            [Line('restoring an OSD: it died', warning=True)],
        ),
        (
            {'direction': BACK, 'stage': Phase.ROLLING_BACK, 'failure': 'by client.ann'},
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
            end(Phase.FAILED, Outcome.FAILED, failure='it died', direction=RECOVER),
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
def test_announcement_of_each_transition(changes: dict[str, Any], reported: list[Line]) -> None:
    before = at(SETTING)
    assert list(transitions(before, replace(before, **changes))) == reported


# -- progress


def shown(state: RolloutState) -> tuple[str, float]:
    cluster = FakeCluster(3)
    Driver(cluster, FakeStore(), lambda *_: True)._announce(state, state)
    assert list(cluster.progress) == ['rocksdb_tuner-r1']
    return cluster.progress['rocksdb_tuner-r1']


@pytest.mark.parametrize(
    ('steps', 'changes', 'message', 'share'),
    [
        ((), {'stage': Phase.PLANNED}, 'Changing RocksDB options of osd (0 of 3 OSDs, planned)', 0),
        ((COLLAPSED,), {'stage': Phase.PREFLIGHT}, 'Changing {} (1 of 3 OSDs, preflight)', 0),
        ((COLLAPSED,), {}, 'Changing {} (1 of 3 OSDs, canary)', 1 / 3),
        ((VERIFIED, SETTLING), {}, 'Changing {} (1 of 3 OSDs, canary)', 1 / 3),
        (
            (COLLAPSING, COLLAPSED, LEFT),
            {'stage': Phase.COLLAPSING},
            'Changing {} (3 of 3 OSDs, collapsing)',
            0.99,
        ),
        ((COLLAPSED,), {'paused_reason': 'a gate'}, 'Changing {} (1 of 3 OSDs, waiting)', 1 / 3),
        (
            (RESTORED, COLLAPSED),
            {'direction': BACK, 'stage': Phase.ROLLING_BACK},
            'Restoring {} (2 of 3 OSDs, rolling-back)',
            2 / 3,
        ),
        (
            (VERIFIED, RESTORING),
            {'direction': RECOVER, 'stage': Phase.ROLLING_BACK},
            'Restoring {} (1 of 3 OSDs, rolling-back)',
            1 / 3,
        ),
    ],
)
def test_progress_is_the_number_of_finished_osds(
    steps: tuple[OsdStep, ...], changes: dict[str, Any], message: str, share: float
) -> None:
    assert shown(at(*steps, **changes)) == (message.format('RocksDB options of osd'), share)
