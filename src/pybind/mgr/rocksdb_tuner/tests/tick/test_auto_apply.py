"""auto-apply depends on elapsed time and on intact stored state; a winner is adopted once."""

from __future__ import annotations

import errno
import json
import logging
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.custom_profiles import CustomProfiles, decode_custom_profile
from rocksdb_tuner.advise.records import Recommendation
from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.operations.experiment.records import ExperimentState
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import OperationRefused, Outcome
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tick.auto_apply import ADOPT_WITHIN_S, adoptable, profile_of

from ..fake_cluster import FSID, FakeStore
from ..present import experiment_samples as experiments
from ..present import samples
from ..present.test_documents import validator
from ..test_tuner import World, automatically, world

__all__ = ['world']

DAY_S = 86400.0


def with_override(world: World, after_s: float) -> None:
    world.cluster.operator_sets('osd', world.cluster.mon_defaults['bluestore_rocksdb_options'])
    for n in world.cluster.osds:
        world.cluster.restart_by_hand(n)
    world.run(120)
    world.settings = replace(
        world.settings, mode=Mode.AUTO_APPLY, auto_apply=automatically(after_s)
    )


@pytest.mark.parametrize('jump_s', [DAY_S, 30 * DAY_S, -DAY_S])
def test_advice_of_a_minute_is_not_applied_after_a_clock_jump(world: World, jump_s: float) -> None:
    with_override(world, DAY_S)
    assert world.tuner.snapshot.recommendations
    for offset_s in (jump_s, 0.0, jump_s):
        world.clock_offset_s = offset_s
        world.run(30)
        assert world.tuner.snapshot.rollout is None


def test_nothing_starts_automatically_while_stored_state_is_broken(world: World) -> None:
    world.store.values['history/r7'] = 'no JSON'
    world.takeover()
    with_override(world, 60.0)
    world.run(300)
    assert world.tuner.snapshot.rollout is None
    (refusal, *_) = world.tuner.snapshot.auto_apply_refusals
    assert 'while stored data is unreadable: the stored "history/r7" could not be read' in (
        refusal.reason
    )
    del world.store.values['broken/history/r7']
    world.run(120)
    assert world.tuner.snapshot.rollout is not None


def test_contradictory_options_are_reported_and_nothing_is_applied(world: World) -> None:
    world.settings = replace(world.settings, soak=SoakPlan(600.0, 60.0))
    with_override(world, 60.0)
    world.run(300)
    snapshot = world.tuner.snapshot
    reported = 'soak_min (600 s) is greater than soak_max (60 s)'
    assert reported in snapshot.auto_apply_refusals[0].reason
    assert snapshot.rollout is None
    assert reported in views.show('status', snapshot, 'plain').replace('\n  ', ' ')
    raised = health_checks(snapshot)['ROCKSDB_TUNER_OPTIONS_CONFLICT']
    assert reported in str(raised['detail'])
    with pytest.raises(BadQuestionError, match='soak_min'):
        views.show('plan', plan_of(snapshot.recommendations[0], world.settings.soak), 'plain')
    with pytest.raises(OperationRefused, match='soak_min'):
        world.tuner.operations.start(snapshot.recommendations[0], 'client.ann')
    world.settings = replace(world.settings, soak=SoakPlan())
    world.run(60)
    assert world.tuner.snapshot.rollout is not None
    assert health_checks(world.tuner.snapshot) == {}


@pytest.mark.parametrize('ended', ['c1', 'e1'])
def test_cooldown_starts_at_the_end_of_any_operation(world: World, ended: str) -> None:
    """A campaign or an experiment, with no rollout before it."""
    with_override(world, 60.0)
    world.settings = replace(world.settings, auto_apply=automatically(60.0, cooldown_s=600.0))
    record = HistoryRecord(
        ended, 0.0, 'osd-abc', 'osd', 'ttl=1', 'ttl=1', 'operator', Outcome.DONE, None, None, None
    )
    world.submit(lambda: world.tuner.operations.driver.add_record(record))
    world.run(300)
    (refusal,) = world.tuner.snapshot.auto_apply_refusals
    assert refusal.reason.startswith(f'{ended} ended less than 10m ago; ')
    world.run(250)
    assert world.tuner.snapshot.rollout is None
    world.run(100)
    assert world.tuner.snapshot.rollout is not None


def control(experiment: Optional[ExperimentState] = None) -> Any:
    """Of a manager after an experiment; Any: tests replace parts of it."""
    made = World().tuner.operations
    made.experiment._state = experiment
    return made


def remember(state: ExperimentState, store: FakeStore) -> None:
    """The end of an experiment."""
    made = control(state)
    made._profiles = CustomProfiles(store)
    made._experiment_ended(state)


def adopted(answer: Answer = Answer.WINNER) -> ExperimentState:
    return replace(experiments.ended(answer), adopt=True)


def advice() -> Recommendation:
    return samples.changing(samples.recommendation(), promised=experiments.OBJECTIVE)


def test_winner_is_stored_with_its_provenance() -> None:
    stored = FakeStore()
    for _ in range(2):
        # A manager taking over may receive it again.
        remember(experiments.ended(), stored)
    store = CustomProfiles(stored)
    (own,) = store.all()
    assert (own.name, own.options, own.own_releases) == ('e7-winner', samples.LZ4, ('pacific',))
    found = own.provenance
    assert found is not None
    assert (found.experiment_id, found.cluster, found.who) == ('E7', FSID, 'osd/class:ssd')
    assert (found.release, found.workload, found.hardware) == (
        'pacific',
        'rbd-small-write',
        'nvme',
    )
    assert found.signal == experiments.OBJECTIVE
    assert found.low_percent == pytest.approx(-18.1)
    assert found.high_percent == pytest.approx(-6.3)
    assert f'experiment E7 on osd/class:ssd of cluster {FSID}' in own.source
    assert store.get('e7-winner') == own


def test_stored_winner_is_shown_with_its_experiment() -> None:
    own = profile_of(experiments.ended(), None)
    assert own is not None
    assert 'of cluster' not in own.source
    validator('profile-show').validate(json.loads(views.show('profile-show', own)))


@pytest.mark.parametrize('answer', [answer for answer in Answer if answer is not Answer.WINNER])
def test_nothing_is_stored_or_asked_without_a_winner(answer: Answer) -> None:
    assert profile_of(experiments.ended(answer), FSID) is None
    state, store = experiments.ended(answer), FakeStore()
    made = control(state)
    # An unreadable monitor map would hold up the record of the end.
    made._cluster.fsid = pytest.fail
    made._experiment_ended(state)
    assert [r.rollout_id for r in made.driver.history] == [state.experiment_id]
    won = experiments.ended()
    remember(replace(won, request=replace(won.request, release=None)), store)
    assert store.keys('') == []


def test_custom_profile_of_an_operator_is_not_replaced(caplog: pytest.LogCaptureFixture) -> None:
    stored = FakeStore()
    store = CustomProfiles(stored)
    own = profile_of(experiments.ended(), None)
    assert own is not None
    store.add(replace(own, provenance=None))
    with caplog.at_level(logging.WARNING):
        remember(experiments.ended(), stored)
    assert 'cannot keep the winner of E7 as a profile' in caplog.text
    assert [p.provenance for p in store.all()] == [None]


def test_operators_cannot_write_provenance() -> None:
    text = (
        '{"name": "x", "title": "t", "options": "ttl=1", "releases": ["pacific"], "source": "s",'
        ' "provenance": {"experiment_id": "E1", "cluster": null, "started": null, "who": "osd",'
        ' "release": null, "workload": null, "hardware": null, "signal": "x",'
        ' "change_percent": null, "low_percent": null, "high_percent": null}}'
    )
    with pytest.raises(ValueError, match='written by experiments only'):
        decode_custom_profile(text)


def test_winner_is_adopted_as_soon_as_it_is_recommended() -> None:
    made, now_s = control(adopted()), samples.NOW_S
    started: list[tuple[str, str]] = []

    def start(found: Recommendation, actor: str) -> Any:
        started.append((found.recommendation_id, actor))

    made.start = start
    made.adopt((), now_s)
    assert started == []
    made.adopt((advice(),), now_s)
    assert started == [('ssd-1a2b3c', 'client.admin')]
    earlier = replace(samples.rollout(), started_s=now_s - 9000)
    assert adoptable(adopted(), earlier, (advice(),), now_s) == advice()


def test_winner_is_adopted_once_and_only_on_request() -> None:
    now_s = samples.NOW_S
    later = replace(samples.rollout(), started_s=now_s)
    assert adoptable(adopted(), later, (advice(),), now_s) is None
    assert adoptable(experiments.ended(), None, (advice(),), now_s) is None
    assert adoptable(None, None, (advice(),), now_s) is None
    assert adoptable(adopted(Answer.UNCLEAR), None, (advice(),), now_s) is None
    assert adoptable(experiments.measuring(), None, (advice(),), now_s) is None
    assert adoptable(replace(adopted(), conclusion=None), None, (advice(),), now_s) is None
    too_late_s = now_s + ADOPT_WITHIN_S + 1
    assert adoptable(adopted(), None, (advice(),), too_late_s) is None


def test_another_recommendation_is_not_adopted() -> None:
    now_s = samples.NOW_S
    other = replace(advice(), options_to='ttl=7')
    unproven = samples.changing(advice(), promised=None)
    by_hand = replace(advice(), change=None)
    assert adoptable(adopted(), None, (other, unproven, by_hand), now_s) is None


def test_refused_rollout_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    made = control(adopted())

    def refuse(*_: Any) -> Any:
        raise OperationRefused(errno.EBUSY, 'a rollout is under way')

    made.start = refuse
    with caplog.at_level(logging.WARNING):
        made.adopt((advice(),), samples.NOW_S)
    assert 'the winner of experiment E7' in caplog.text
    assert 'was refused: a rollout is under way' in caplog.text
