"""The next step of the operation in progress: a command, or what to wait for. Pure."""

from __future__ import annotations

from typing import Optional

from ...operations.compaction.records import CampaignState
from ...operations.compaction.rules import SLOW_WRITES
from ...operations.experiment.alarm import why_failed as why_experiment_failed
from ...operations.experiment.records import ExperimentState, Stage
from ...operations.gates import NOT_ALLOWED, remedy_for
from ...operations.phases import Phase
from ...operations.rollout.alarm import why_failed
from ...operations.rollout.batches import unmeasured_batch, watched_batch
from ...operations.rollout.records import Direction, RolloutState
from ...operations.rollout.soak import undecided
from ...operations.rollout.states import in_flight
from ...snapshot import Snapshot
from ...units import format_duration, format_ids
from .phrases import COMMAND

_RESUME = f'"{COMMAND} operation resume"'
_ABORT = f'"{COMMAND} operation abort"'


def next_step(snapshot: Snapshot) -> Optional[str]:
    """A phrase without a full stop; None if no operation is in progress."""
    rollout, campaign, experiment = snapshot.rollout, snapshot.campaign, snapshot.experiment
    if rollout is not None and not rollout.ended:
        return next_step_of_rollout(rollout)
    if experiment is not None and not experiment.ended:
        return next_step_of_experiment(experiment)
    if campaign is not None and not campaign.ended:
        return next_step_of_campaign(campaign, snapshot.campaign_waits_for)
    failed = rollout is not None and why_failed(rollout) and not snapshot.rollout_acknowledged
    if failed or (
        experiment is not None and why_experiment_failed(experiment) and not experiment.acknowledged
    ):
        return (
            f'see why with "{COMMAND} operation status", then acknowledge with '
            f'"{COMMAND} operation resume"'
        )
    return None


def next_step_of_rollout(state: RolloutState) -> Optional[str]:
    """None if it has ended."""
    if state.ended:
        return None
    recovering = state.direction is Direction.RECOVER
    if state.paused_by is not None and not recovering:
        return _paused()
    if undecided(state):
        return f'{_RESUME} changes the other OSDs, "{COMMAND} rollback" restores the old one'
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    return f'wait for {_step_of(state)}'


def _step_of(state: RolloutState) -> str:
    """What the rollout is doing."""
    at_work = in_flight(state)
    if state.direction is not Direction.FORWARD:
        return 'the rollback' if at_work is None else f'osd.{at_work.osd_id} to be restored'
    if at_work is not None:
        return f'osd.{at_work.osd_id} to restart and become clean'
    watched = watched_batch(state)
    if watched is not None:
        soaked_s = state.batch_soaked_s if watched.number else state.soaked_s
        least, most = (format_duration(s) for s in (watched.soak.least_s, watched.soak.most_s))
        times = f'{least} to {most}' if watched.judged else least
        return (
            f'the verdict on batch {watched.number + 1}, after {format_duration(soaked_s)} of '
            f'{times}'
        )
    unmeasured = unmeasured_batch(state)
    if unmeasured is not None:
        return (
            f'the baseline of osd.{format_ids(unmeasured.osds)}, after '
            f'{format_duration(state.baseline_s)} of {format_duration(unmeasured.baseline_s)}'
        )
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return f'osd.{state.request.order[0]} to be changed'
    if state.stage is Phase.COLLAPSING:
        return 'the settings of single OSDs to be merged'
    return 'the next OSD'


def next_step_of_experiment(state: ExperimentState) -> Optional[str]:
    """None if it has ended without a winner."""
    leg = state.leg
    if state.ended:
        won = state.conclusion is not None and state.conclusion.winner is not None
        return f'see the recommendation with "{COMMAND} recommend"' if won else None
    recovering = leg is not None and leg.direction is Direction.RECOVER
    if state.paused_by is not None and not recovering:
        return _paused()
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    if state.stage is Stage.RESTORING:
        return 'wait for every OSD to be restored'
    if leg is not None:
        return f'wait for {_step_of(leg)}'
    planned = state.request.plan.periods[state.period]
    return (
        f'wait for block {state.blocks + 1} of {planned.blocks} of '
        f'{"the baseline" if state.period == 0 else f"period {state.period}"}'
    )


def next_step_of_campaign(state: CampaignState, waits_for: Optional[str]) -> Optional[str]:
    """None if it has ended."""
    if state.ended:
        return None
    if state.paused_by is not None:
        return _paused()
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    if waits_for is not None:
        return f'wait: {waits_for}'
    busy = ', '.join(f'osd.{osd.osd_id}' for osd in state.in_flight)
    return f'wait for {busy or "the next OSD"} to be compacted'


def _paused() -> str:
    return f'{_RESUME} continues it, {_ABORT} ends it'


def _waiting(reason: str) -> str:
    """What ends a wait that requires no operator action."""
    if reason == NOT_ALLOWED:
        return f'"{COMMAND} mode recommend" continues it, {_ABORT} ends it'
    if reason.startswith(SLOW_WRITES):
        return f'{_RESUME} accepts the current latency, {_ABORT} ends it'
    opened_by = remedy_for(reason)
    hint = 'it continues by itself after that' if opened_by is None else opened_by
    return f'{hint}; {_ABORT} ends it'
