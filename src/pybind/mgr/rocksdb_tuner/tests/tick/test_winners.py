"""A winner becomes a custom profile; with --adopt its rollout starts, once."""

from __future__ import annotations

import errno
import json
import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Optional, cast

import pytest

from rocksdb_tuner.advise.custom_profiles import CustomProfiles, decode_custom_profile
from rocksdb_tuner.advise.records import Recommendation
from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.experiment.records import ExperimentState
from rocksdb_tuner.present import views
from rocksdb_tuner.tick.auto_apply import (
    ADOPT_WITHIN_S,
    AutoApply,
    adoptable,
    profile_of,
    remember,
)

from ..fake_cluster import FSID, FakeCluster, FakeStore
from ..present import experiment_samples as experiments
from ..present import samples
from ..present.test_documents import validator


class Operations:
    """What `AutoApply` uses of the operations."""

    def __init__(
        self, experiment: Optional[ExperimentState], refusal: Optional[str] = None
    ) -> None:
        self.experiment = SimpleNamespace(state=experiment)
        self.driver = SimpleNamespace(state=None)
        self.refusal = refusal
        self.started: list[Any] = []

    def start(self, recommendation: Recommendation, actor: str) -> None:
        if self.refusal is not None:
            raise OperationRefused(errno.EBUSY, self.refusal)
        self.started.append((recommendation.recommendation_id, actor))


def automatic(operations: Operations) -> AutoApply:
    # Any: only what it needs.
    return AutoApply(cast('Any', operations), FakeCluster(1), lambda: 0.0)


def adopted(answer: Answer = Answer.WINNER) -> ExperimentState:
    state = experiments.ended(answer)
    return replace(state, request=replace(state.request, adopt=True))


def advice() -> Recommendation:
    return samples.changing(samples.recommendation(), promised=experiments.OBJECTIVE)


def test_winner_is_stored_with_its_provenance() -> None:
    store = CustomProfiles(FakeStore())
    for _ in range(2):
        # A manager taking over may receive it again.
        remember(experiments.ended(), FSID, store)
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
def test_nothing_is_stored_without_a_winner(answer: Answer) -> None:
    assert profile_of(experiments.ended(answer), FSID) is None
    state = experiments.ended()
    unknown = replace(state, request=replace(state.request, release=None))
    assert profile_of(unknown, FSID) is None
    remember(unknown, FSID, CustomProfiles(FakeStore()))


def test_custom_profile_of_an_operator_is_not_replaced(caplog: pytest.LogCaptureFixture) -> None:
    store = CustomProfiles(FakeStore())
    own = profile_of(experiments.ended(), None)
    assert own is not None
    store.add(replace(own, provenance=None))
    with caplog.at_level(logging.WARNING):
        remember(experiments.ended(), None, store)
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
    operations, now_s = Operations(adopted()), samples.NOW_S
    automatic(operations).adopt((), now_s)
    assert operations.started == []
    automatic(operations).adopt((advice(),), now_s)
    assert operations.started == [('ssd-1a2b3c', 'client.admin')]
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
    with caplog.at_level(logging.WARNING):
        operations = Operations(adopted(), 'a rollout is under way')
        automatic(operations).adopt((advice(),), samples.NOW_S)
    assert 'the winner of experiment E7' in caplog.text
    assert 'was refused: a rollout is under way' in caplog.text
