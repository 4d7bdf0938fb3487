"""Commands that start, control and roll back changes."""

from __future__ import annotations

import errno
from typing import Optional

from ..advise.records import Kind, Recommendation
from ..present import render
from ..present.answers.operations import LastOperations
from .command import PREFIX, Answer, changes, reads
from .context import OPERATOR, Context
from .errors import CommandRefusedError

#: Kinds of recommendations that a rollout or a compaction campaign can apply.
APPLICABLE = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})


@changes('apply')
def apply(context: Context, recommendation_id: str, dry_run: bool = False) -> Answer:
    """Apply a recommendation step by step; --dry-run only prints the plan"""
    recommendation = context.recommendation(recommendation_id)
    if recommendation.kind not in APPLICABLE:
        raise CommandRefusedError(
            errno.EINVAL,
            f'"{recommendation_id}" cannot be applied by the module; see "ceph rocksdb-tuner '
            f'recommend {recommendation_id}"',
        )
    if dry_run and recommendation.kind is Kind.COMPACT:
        return lambda form: render.show(recommendation, form)
    if dry_run:
        soak = context.settings().soak
        return lambda form: render.plan(recommendation, soak, form)
    actor = context.actor

    def start() -> None:
        change_id = _start(context, recommendation, actor)
        if actor == OPERATOR:
            wanted = {'prefix': f'{PREFIX} apply', 'recommendation_id': recommendation_id}
            context.tuner.actors.find(change_id, wanted)

    context.tuner.submit(start)
    return operation_now(context)


@changes('rollback')
def rollback(context: Context, rollout_id: Optional[str] = None) -> Answer:
    """Restore the configuration before a rollout (default: the last)"""
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.rollback(rollout_id, actor))
    return operation_now(context)


@reads('operation status')
def operation_status(context: Context) -> Answer:
    """Show the current or last operation"""
    last = LastOperations.of(context.snapshot)
    return lambda form: render.operation(last, form)


@changes('operation pause')
def operation_pause(context: Context) -> Answer:
    """Pause the operation once the OSD in flight is safe"""
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.pause(actor))
    return operation_now(context)


@changes('operation resume')
def operation_resume(context: Context) -> Answer:
    """Resume a paused operation, or acknowledge a failed one"""
    context.tuner.submit(context.tuner.operations.resume)
    return operation_now(context)


@changes('operation abort')
def operation_abort(context: Context) -> Answer:
    """End the operation once its OSD is safe; again: without waiting"""
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.abort(actor))
    return operation_now(context)


@reads('history')
def history(context: Context) -> Answer:
    """Show all changes, their actors and outcomes"""
    return lambda form: render.history(context.snapshot, form)


def _start(context: Context, recommendation: Recommendation, actor: str) -> str:
    """Start a rollout or campaign and return its id."""
    if recommendation.kind is Kind.COMPACT:
        return context.tuner.operations.compact(recommendation, actor).campaign_id
    return context.tuner.operations.start(recommendation, actor).rollout_id


def operation_now(context: Context) -> Answer:
    """The operation after the request, which the snapshot shows only after the next tick."""
    operations = context.tuner.operations
    last = LastOperations(
        *operations.changes, operations.campaign_waits_for, operations.experiment.state
    )
    return lambda form: render.operation(last, form)
