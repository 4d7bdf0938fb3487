"""Rollouts, compaction campaigns and experiments are shown by one command."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.present import views

from . import samples

ROLLOUT = samples.rollout()
CAMPAIGN = samples.compacting()


def ended(state: Any, started_s: float) -> Any:
    return replace(state, stage=Phase.DONE, outcome=Outcome.DONE, started_s=started_s)


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
    """For both kinds, in plain, in JSON and in the status alike."""
    last = samples.operating(rollout, campaign)
    found = json.loads(views.show('operation', last))
    assert found['id'] == shown
    first = views.show('operation', last, 'plain').split('\n')[0]
    assert first.split()[:2] == [
        'Rollout:' if found['kind'] == 'rollout' else 'Campaign:', shown,
    ]  # fmt: skip
    snapshot = replace(samples.small_cluster(), rollout=rollout, campaign=campaign)
    summary = json.loads(views.show('status', snapshot))['operation']
    assert (summary['id'], summary['kind']) == (shown, found['kind'])
    assert f'{shown} for ' in views.show('status', snapshot, 'plain')


def test_operation_shows_the_progress_of_each_osd_and_the_next_step() -> None:
    last = samples.operating(None, CAMPAIGN, 'osd.0 has been compacting for 2h')
    found = json.loads(views.show('operation', last))
    assert [(osd['osd'], osd['phase']) for osd in found['osds']] == [
        (0, 'compacting'), (1, 'pending'),
    ]  # fmt: skip
    assert found['waits_for'] == 'osd.0 has been compacting for 2h'
    plain = views.show('operation', samples.operating(ROLLOUT), 'plain')
    assert plain.endswith('\nNext step: wait for osd.1 to restart and become clean')
    over = samples.operating(None, ended(CAMPAIGN, 1.0), 'osd.0 has been compacting for 2h')
    assert 'Next step' not in views.show('operation', over, 'plain')
    assert json.loads(views.show('operation', over))['waits_for'] is None
