"""Experiments in words, tables and JSON: every state, and nothing that was not measured."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.operations.experiment.announce import record_of
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.plan.experiment_design import Refusal
from rocksdb_tuner.present import views
from rocksdb_tuner.present.experiment import (
    ArmVerdict,
    arm_verdict,
    summary_of,
    unknowns,
    would_take,
)

from . import experiment_samples as experiments
from .experiment_samples import BEST, OBJECTIVE
from .samples import operating, small_cluster
from .test_documents import validator

#: DESIGN: names that others read.
CONTRACT = {
    'id',
    'phase',
    'who',
    'arms',
    'controls',
    'winner',
    'conclusion',
    'detectable_percent',
    'duration_s',
    'started',
    'ended',
}


def operation(state: ExperimentState, form: str) -> str:
    return views.show('operation', operating(experiment=state), form)


def shown(name: str, form: str = 'json') -> Any:
    text = operation(experiments.all_states()[name], form)
    return json.loads(text) if form == 'json' else text


@pytest.mark.parametrize('name', sorted(experiments.all_states()))
def test_every_state_matches_the_schema_and_fits_80_columns(name: str) -> None:
    found = shown(name)
    validator('operation').validate(found)
    assert set(found) >= CONTRACT
    assert set(found['arms'][0]) >= {'name', 'options', 'osds', 'verdict', 'effect'}
    assert [line for line in shown(name, 'plain').splitlines() if len(line) > 80] == []


@pytest.mark.parametrize('planned', [experiments.possible(), experiments.impossible()])
def test_plans_match_the_schema_and_fit_80_columns(planned: Any) -> None:
    """Except for the command, which is pasted unchanged."""
    found = json.loads(views.show('experiment-plan', planned))
    validator('experiment-plan').validate(found)
    assert set(found) >= CONTRACT
    plain = views.show('experiment-plan', planned, 'plain').partition('To start it')[0]
    assert [line for line in plain.splitlines() if len(line) > 80] == []


def test_plan_shows_costs_risks_and_limits() -> None:
    found = json.loads(views.show('experiment-plan', experiments.possible()))
    assert (found['id'], found['phase'], found['refusal']) == (None, 'planned', None)
    assert found['arms'][0]['osds']
    assert found['restarts'] == 8
    assert found['duration_s'] > 0
    assert found['gates']
    assert 'restarts of OSDs' in found['risk'][0]
    assert any('not measured' in text for text in found['unknown'])
    assert found['command'] == (
        'ceph rocksdb-tuner experiment start --who osd/class:ssd --arms '
        'variant-2022-d,variant-2022-c --signal kv_sync_ms_per_txn --min-effect 10 '
        '--max-duration 43200'
    )
    text = views.show('experiment-plan', experiments.possible(), 'plain')
    assert 'not started' in text
    assert 'To start it:\nceph rocksdb-tuner experiment start' in text
    assert 'variant-2022-d: ' in text


def test_refusal_shows_its_requirements() -> None:
    found = json.loads(views.show('experiment-plan', experiments.impossible()))
    assert found['refusal'] == {
        'reason': '2 arms of 2 OSDs would be more than 10% of the 24 OSDs of the group',
        'osds': 40,
        'duration_s': None,
    }
    assert (found['risk'], found['unknown'], found['planned_blocks']) == ([], [], None)
    assert (found['duration_s'], found['restarts'], found['detectable_percent']) == (None,) * 3
    text = views.show('experiment-plan', experiments.impossible(), 'plain')
    assert 'Not possible here: 2 arms of 2 OSDs' in text
    assert 'a group of 40 OSDs' in text
    assert 'To start it' not in text
    unknown = replace(experiments.impossible(), refusal=Refusal('why'), detectable=0.3)
    assert 'no number of OSDs or hours is known to suffice' in views.show(
        'experiment-plan', unknown, 'plain'
    )


@pytest.mark.parametrize(
    ('refusal', 'text'),
    [
        (Refusal('why'), ''),
        (Refusal('why', osds=24), 'a group of 24 OSDs'),
        (Refusal('why', duration_s=7200), '2h with these OSDs'),
        (Refusal('why', osds=24, duration_s=7200), 'a group of 24 OSDs or 2h with these OSDs'),
        (Refusal('why', osds=24, min_effect=0.31), 'a group of 24 OSDs or --min-effect 31'),
    ],
)
def test_requirements_are_osds_or_hours(refusal: Refusal, text: str) -> None:
    assert would_take(refusal) == text


def test_unknown_plan_values_are_reported() -> None:
    planned = experiments.possible()
    assert len(unknowns(planned)) == 1
    less = replace(planned, history_s=600.0, fill_s=None, unmeasured=('op_w_latency_ms',))
    text = ' '.join(unknowns(less))
    assert 'measured over 10m, less than the experiment takes' in text
    assert 'memtable flushes is unknown' in text
    assert 'The noise of the client write latency is unknown' in text


def test_arms_have_their_osds_verdicts_and_drops() -> None:
    first, second = shown('measuring')['arms']
    assert (first['osds'], first['verdict'], first['dropped']) == ([1, 4], 'unclear', None)
    assert [effect['signal'] for effect in first['effect']] == [
        'kv_sync_ms_per_txn',
        'op_w_latency_ms',
        'slow_ops',
    ]
    assert first['effect'][2]['estimate_percent'] is None
    assert first['predicted']['low_percent'] == -30
    assert (second['osds'], second['verdict'], second['predicted']) == ([2, 7], 'worse', None)
    assert second['dropped'] == {
        'reason': 'worse: kv_sync time per write +31% (+18 to +46%)',
        'signals': ['kv_sync_ms_per_txn'],
        'block': 4,
    }
    assert [arm['osds'] for arm in shown('baseline')['arms']] == [[1, 4], [2, 7]]
    assert [arm['verdict'] for arm in shown('baseline')['arms']] == [None, None]


@pytest.mark.parametrize(
    ('name', 'summary'),
    [
        ('baseline', 'Measuring the baseline, block 2 of 6.'),
        ('measuring', 'Measuring the arms, block 5 of 6.'),
        ('changing', 'Changing the OSDs of the arms.'),
        ('restoring', 'Restoring the OSDs.'),
        ('paused', 'Waiting: paused by client.admin.'),
        (
            'winner',
            (
                'lz4-64x16m-2025 is better than the old options: kv_sync time per write -12% '
                '(-18 to -6%). It is ahead of merged. Not shown to be no worse: spans with slow '
                'requests.'
            ),
        ),
        ('no-difference', 'No arm differs from the old options by more than 7%.'),
        ('no-gain', 'No arm is better than the old options by 10% or more.'),
        ('unclear', 'The measurements do not show which option string is better.'),
        ('failed', 'Failed: osd.2 did not come back within 300 s.'),
        ('aborted', 'Aborted: aborted by client.admin.'),
    ],
)
def test_state_or_result_is_a_sentence(name: str, summary: str) -> None:
    assert shown(name)['summary'] == summary


def test_winner_is_announced_before_its_osds_are_restored() -> None:
    state = replace(experiments.ended(), ended_s=None, stage=Stage.RESTORING)
    assert summary_of(state).endswith('The OSDs are being restored.')
    without = replace(experiments.aborted(), failure=None)
    assert summary_of(without) == 'Aborted without a result.'


def test_uncertain_lead_is_not_claimed() -> None:
    state = experiments.ended()
    assert state.conclusion is not None
    close = replace(state.conclusion, lead=experiments.contrast(-3.0, -9.0, 4.0))
    text = summary_of(replace(state, conclusion=close))
    assert 'The measurements do not show whether it is better than merged.' in text
    alone = replace(state.conclusion, lead=None, runner_up=None)
    assert 'merged' not in summary_of(replace(state, conclusion=alone))


def test_next_step_is_named() -> None:
    assert 'Next step: wait for block 3 of 6 of the baseline' in shown('baseline', 'plain')
    assert 'Next step: see the recommendation with "ceph rocksdb-tuner recommend"' in shown(
        'winner', 'plain'
    )
    assert 'Next step' not in shown('no-gain', 'plain')
    assert 'Dropped:' in shown('measuring', 'plain')
    assert 'applied to the group' in operation(
        replace(experiments.measuring(), adopt=True),
        'plain',
    )


def test_verdicts_of_arms() -> None:
    best, other = experiments.ended(Answer.FAILED).arms
    assert arm_verdict(other, OBJECTIVE) is ArmVerdict.FAILED
    assert arm_verdict(best, OBJECTIVE) is ArmVerdict.BETTER
    state = experiments.measuring()
    assert arm_verdict(state.arms[1], OBJECTIVE) is ArmVerdict.WORSE
    assert arm_verdict(replace(best, signals=()), OBJECTIVE) is None
    assert state.measured_blocks == 11
    assert experiments.baseline().measured_blocks == 2


def test_history_has_the_result_of_an_experiment() -> None:
    snapshot = small_cluster()
    snapshot = replace(snapshot, history=(*snapshot.history, record_of(experiments.ended())))
    document = json.loads(views.show('history', snapshot.history))
    validator('history').validate(document)
    assert document[0]['experiment'] is None
    found = document[-1]['experiment']
    assert (found['winner'], found['conclusion'], found['min_effect_percent']) == (
        BEST,
        'winner',
        10,
    )
    assert found['arms'][0]['low_percent'] == pytest.approx(-18.1)
    assert found['arms'][1]['dropped'] == 'worse: kv_sync time per write +31% (+18 to +46%)'
    text = views.show('history', snapshot.history, 'plain')
    assert 'Arms:      lz4-64x16m-2025, merged' in text
    assert 'Dropped:   merged: worse' in text
