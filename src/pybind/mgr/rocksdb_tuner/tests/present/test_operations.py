"""Rollouts and compaction campaigns are listed and shown as one kind of thing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.present import render
from rocksdb_tuner.present.operations import LastOperations, OperationKind, operations

from . import samples

ROLLOUT = samples.rollout()
CAMPAIGN = samples.compacting()
EARLIER, CURRENT = samples.HISTORY


def ended(state: Any, started_s: float) -> Any:
    return replace(state, stage=Phase.DONE, outcome=Outcome.DONE, started_s=started_s)


def test_running_operation_comes_first_then_the_newest() -> None:
    """The state is shown for the running operation and the last of each kind, and the history for
    others.
    """
    compacted = replace(EARLIER, rollout_id='c3', time_s=EARLIER.time_s + 60)
    last = LastOperations(ROLLOUT, ended(CAMPAIGN, ROLLOUT.started_s + 9))
    found = operations(last, (EARLIER, compacted, CURRENT))
    assert [one.operation_id for one in found] == [
        ROLLOUT.rollout_id, CAMPAIGN.campaign_id, 'c3', EARLIER.rollout_id,
    ]  # fmt: skip
    assert [one.under_way for one in found] == [True, False, False, False]
    assert [one.kind for one in found] == [
        OperationKind.ROLLOUT,
        *[OperationKind.COMPACTION] * 2,
        OperationKind.ROLLOUT,
    ]
    assert [one.outcome for one in found] == [
        None, Outcome.DONE, Outcome.ROLLED_BACK, Outcome.ROLLED_BACK,
    ]  # fmt: skip
    assert [one.osds is None for one in found] == [False, False, True, True]


def test_end_of_an_operation_running_only_in_history_is_unknown() -> None:
    """As after the loss of a rollout's state: it is not reported as running."""
    (lost,) = operations(LastOperations(None, None), (CURRENT,))
    assert (lost.under_way, lost.outcome, lost.phase) == (False, None, None)


@pytest.mark.parametrize(
    ('rollout', 'campaign', 'shown'),
    [
        (ROLLOUT, None, ROLLOUT.rollout_id),
        (None, CAMPAIGN, CAMPAIGN.campaign_id),
        (ROLLOUT, ended(CAMPAIGN, 5e9), ROLLOUT.rollout_id),
        (ended(ROLLOUT, 5e9), CAMPAIGN, CAMPAIGN.campaign_id),
        # A rollback while the compactions in flight end.
        (ROLLOUT, CAMPAIGN, ROLLOUT.rollout_id),
        (ended(ROLLOUT, 1.0), ended(CAMPAIGN, 2.0), CAMPAIGN.campaign_id),
        (ended(ROLLOUT, 2.0), ended(CAMPAIGN, 1.0), ROLLOUT.rollout_id),
    ],
)
def test_running_operation_is_shown_or_else_the_last(
    rollout: Any, campaign: Any, shown: str
) -> None:
    """For both kinds, in plain and in JSON alike."""
    last = LastOperations(rollout, campaign)
    found = json.loads(render.operation(last, 'json'))
    assert found['id'] == shown
    first = render.operation(last, 'plain').split('\n')[0]
    assert first.split()[:2] == [
        'Rollout:' if found['kind'] == 'rollout' else 'Campaign:', shown,
    ]  # fmt: skip


def test_operation_shows_the_progress_of_each_osd_and_the_next_step() -> None:
    """In the words that both kinds have."""
    last = LastOperations(None, CAMPAIGN, 'osd.0 has been compacting for 2h')
    found = json.loads(render.operation(last, 'json'))
    assert (found['kind'], found['under_way'], found['osds_finished']) == ('compaction', True, 0)
    assert [(osd['osd'], osd['step']) for osd in found['osds']] == [
        (0, 'compacting'), (1, 'pending'),
    ]  # fmt: skip
    assert found['waits_for'] == 'osd.0 has been compacting for 2h'
    plain = render.operation(LastOperations(ROLLOUT, None), 'plain')
    assert plain.endswith('\nNext step: wait for osd.1 to restart and become clean')
    over = LastOperations(None, ended(CAMPAIGN, 1.0), 'osd.0 has been compacting for 2h')
    assert 'Next step' not in render.operation(over, 'plain')
    assert json.loads(render.operation(over, 'json'))['waits_for'] is None


def test_no_operation_is_null_and_an_empty_list() -> None:
    """And in plain a sentence."""
    assert render.operation(LastOperations(None, None), 'json') == 'null'
    assert render.operation_list(samples.empty_cluster(), 'json') == '[]'
    for text in (
        render.operation(LastOperations(None, None), 'plain'),
        render.operation_list(samples.empty_cluster(), 'plain'),
    ):
        assert text == 'No operations yet.'


def test_list_has_a_row_per_operation() -> None:
    """With the id that `rollback` takes, and how it ended or how far it is."""
    last = replace(EARLIER, rollout_id='r1')
    under_way = replace(ROLLOUT, rollout_id='r2')
    snapshot = replace(samples.small_cluster(), rollout=under_way, history=(last,))
    rows = [line.split() for line in render.operation_list(snapshot, 'plain').split('\n')]
    assert rows == [
        ['ID', 'KIND', 'WHO', 'OSDS', 'STATE', 'STARTED'],
        ['r2', 'rollout', 'osd/class:ssd', '1/3', 'promoting', '2026-02-02T02:38:30Z'],
        ['r1', 'rollout', 'osd/class:ssd', '-', 'rolled-back', '2026-01-31T02:40:00Z'],
    ]
