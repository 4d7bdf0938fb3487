"""Commands that apply, control and roll back changes."""

from __future__ import annotations

import errno
from typing import Optional

from ..advise.records import Kind, Recommendation
from ..present import render
from . import control
from .command import PREFIX, Answer, changes, reads
from .context import OPERATOR, Context
from .errors import CommandRefusedError

#: Kinds of recommendations that a rollout or a compaction campaign can apply.
APPLICABLE = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})


@reads('history')
def history(context: Context) -> Answer:
    """Show all changes, their actors and outcomes"""
    return lambda form: render.history(context.snapshot, form)


@reads('rollout status')
def rollout_status(context: Context) -> Answer:
    """Show the current or last rollout and compaction campaign"""
    shown = context.snapshot
    return lambda form: render.rollout(
        shown.rollout, shown.campaign, form, shown.campaign_waits_for
    )


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
    return _now(context)


@changes('rollback')
def rollback(context: Context, rollout_id: Optional[str] = None) -> Answer:
    """Restore the configuration before a rollout (default: the last)"""
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.rollback(rollout_id, actor))
    return _now(context)


@changes('rollout pause')
def rollout_pause(context: Context) -> Answer:
    """Pause the rollout or campaign once the OSD in flight is safe"""
    control.pause(context)
    return _now(context)


@changes('rollout resume')
def rollout_resume(context: Context) -> Answer:
    """Resume a paused rollout or campaign"""
    control.resume(context)
    return _now(context)


@changes('rollout abort')
def rollout_abort(context: Context) -> Answer:
    """End the rollout or campaign once the OSD in flight is safe; again: without waiting for it"""
    control.abort(context)
    return _now(context)


@changes('rollout ack')
def rollout_ack(context: Context) -> Answer:
    """Acknowledge a failed or rolled-back rollout: its health check clears"""
    control.acknowledge(context)
    return _now(context)


def _start(context: Context, recommendation: Recommendation, actor: str) -> str:
    """Start a rollout or campaign and return its id."""
    if recommendation.kind is Kind.COMPACT:
        return context.tuner.operations.compact(recommendation, actor).campaign_id
    return context.tuner.operations.start(recommendation, actor).rollout_id


def _now(context: Context) -> Answer:
    """The operation after the request."""
    last = control.last_operations(context)
    return lambda form: render.rollout(last.rollout, last.campaign, form, last.campaign_waits_for)
