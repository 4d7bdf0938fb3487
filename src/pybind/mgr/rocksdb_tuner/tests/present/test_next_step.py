"""`status` shows what an operator waits for, or the next command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.operations.compaction.machine import SLOW_WRITES
from rocksdb_tuner.operations.compaction.records import CampaignState, CompactionStep
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.present import views
from rocksdb_tuner.present.operations import next_step
from rocksdb_tuner.snapshot import Snapshot
from rocksdb_tuner.version import VERSION

from . import samples

STATUS, RESUME, ABORT = (
    f'"ceph rocksdb-tuner operation {verb}"' for verb in ('status', 'resume', 'abort')
)


def with_rollout(state: Optional[RolloutState]) -> Snapshot:
    return replace(samples.small_cluster(), rollout=state)


def with_campaign(state: CampaignState, waits_for: Optional[str] = None) -> Snapshot:
    return replace(
        samples.small_cluster(), rollout=None, campaign=state, campaign_waits_for=waits_for
    )


def watched(number: int) -> RolloutState:
    """The OSDs of this batch, and of those before, are changed; it is watched."""
    state = samples.rollout()
    request = replace(state.request, batches=((0,), (1, 2)), controls=(1, 2))
    steps = [OsdStep.VERIFIED, *[OsdStep.VERIFIED if number else OsdStep.PENDING] * 2]
    return replace(
        state,
        request=request,
        osds=tuple(OsdProgress(osd_id, step) for osd_id, step in enumerate(steps)),
        stage=Phase.PROMOTING if number else Phase.SOAKING,
        soak=samples.SOAK,
        soaked_s=120.0,
        batch_soaked_s=60.0,
        verdicts=(Verdict.BETTER,) * number,
    )


ROLLOUTS = {
    'restarting': (samples.rollout(), 'wait for osd.1 to restart and become clean'),
    'canary watched': (watched(0), 'wait for the verdict on batch 1, after 2m of 10m to 1h'),
    'batch watched': (watched(1), 'wait for the verdict on batch 2, after 60s of 5m'),
    'begun': (
        replace(samples.rollout(), osds=(OsdProgress(0),), stage=Phase.PREFLIGHT),
        'wait for osd.0 to be changed',
    ),
    'paused': (
        replace(samples.rollout(), paused_by='operator', paused_reason='paused by operator'),
        f'{RESUME} continues it, {ABORT} ends it',
    ),
    'undecided': (
        replace(
            watched(0),
            judgement=Judgement(Verdict.INCONCLUSIVE, missing=('client writes',)),
            paused_reason='the verdict on osd.0 is inconclusive',
        ),
        f'{RESUME} changes the other OSDs, "ceph rocksdb-tuner rollback" restores the old one',
    ),
    'closed gate': (
        replace(samples.rollout(), paused_reason='flags set on the cluster: noout'),
        f'"ceph osd unset <flag>" once it is no longer needed; {ABORT} ends it',
    ),
    'by hand': (
        samples.waiting_rollout(),
        f'it continues by itself after that; {ABORT} ends it',
    ),
    'switched off': (
        replace(samples.rollout(), paused_reason=NOT_ALLOWED),
        f'"ceph rocksdb-tuner mode recommend" continues it, {ABORT} ends it',
    ),
    'going back': (
        replace(
            samples.rollout(),
            direction=Direction.BACK,
            osds=(OsdProgress(0, OsdStep.RESTORING), OsdProgress(1, OsdStep.RESTORED)),
        ),
        'wait for osd.0 to be restored',
    ),
    'failed': (
        samples.failed_rollout(),
        f'see why with {STATUS}, then acknowledge with {RESUME}',
    ),
    'done': (replace(samples.rollout(), stage=Phase.DONE), None),
    'none': (None, None),
}


@pytest.mark.parametrize('name', ROLLOUTS)
def test_each_rollout_state_has_its_next_step(name: str) -> None:
    """The wait with its duration, or the possible commands."""
    state, message = ROLLOUTS[name]
    assert next_step(with_rollout(state)) == message


def test_acknowledged_failure_has_no_next_step() -> None:
    failed = with_rollout(samples.failed_rollout())
    assert next_step(replace(failed, rollout_acknowledged=True)) is None


CAMPAIGN = samples.compacting()
CAMPAIGNS = {
    'compacting': (CAMPAIGN, None, 'wait for osd.0 to be compacted'),
    'slowly': (
        CAMPAIGN,
        'osd.0 has been compacting for 2h',
        'wait: osd.0 has been compacting for 2h',
    ),
    'between two': (
        replace(
            CAMPAIGN,
            osds=tuple(replace(osd, step=CompactionStep.PENDING) for osd in CAMPAIGN.osds),
        ),
        None,
        'wait for the next OSD to be compacted',
    ),
    'paused': (
        replace(CAMPAIGN, paused_by='operator', paused_reason='paused by operator'),
        None,
        f'{RESUME} continues it, {ABORT} ends it',
    ),
    'slow writes': (
        replace(CAMPAIGN, paused_reason=f'{SLOW_WRITES} 1.5 times the 2.0 ms before'),
        None,
        f'{RESUME} accepts the current latency, {ABORT} ends it',
    ),
    'ended': (replace(CAMPAIGN, stage=Phase.DONE), None, None),
}


@pytest.mark.parametrize('name', CAMPAIGNS)
def test_each_campaign_state_has_its_next_step(name: str) -> None:
    """The same of compactions."""
    state, waits_for, message = CAMPAIGNS[name]
    assert next_step(with_campaign(state, waits_for)) == message


def test_status_has_the_module_version() -> None:
    """A bug report then has the version of the code."""
    snapshot = samples.empty_cluster()
    assert re.search(rf'Module version: +{VERSION}\n', views.show('status', snapshot, 'plain'))
    assert json.loads(views.show('status', snapshot))['version'] == VERSION
