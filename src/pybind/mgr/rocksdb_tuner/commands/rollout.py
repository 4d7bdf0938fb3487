"""Changes: to begin, watch, steer and undo them, and what became of them."""

from __future__ import annotations

import errno
from typing import Callable, Optional

from ..advise.records import Kind, Recommendation
from ..present import render
from .command import Answer, changes, reads
from .context import OPERATOR, Context
from .errors import CommandRefusedError

#: Kinds of recommendations that a rollout or a compaction campaign can carry out.
CARRIED_OUT = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})


@reads('history')
def history(context: Context) -> Answer:
    """Show every change that was made, by whom, and how it ended"""
    return lambda form: render.history(context.snapshot, form)


@reads('rollout status')
def rollout_status(context: Context) -> Answer:
    """Show the rollout or compaction campaign under way, or the last ones"""
    shown = context.snapshot
    return lambda form: render.rollout(
        shown.rollout, shown.campaign, form, shown.campaign_waits_for
    )


@changes('apply')
def apply(context: Context, recommendation_id: str, dry_run: bool = False) -> Answer:
    """Carry out a recommendation, step by step; --dry-run only prints the plan"""
    recommendation = context.recommendation(recommendation_id)
    if recommendation.kind not in CARRIED_OUT:
        raise CommandRefusedError(
            errno.EINVAL,
            f'"{recommendation_id}" is nothing that can be applied; "ceph rocksdb-tuner '
            f'show {recommendation_id}" says what to do',
        )
    if dry_run and recommendation.kind is Kind.COMPACT:
        return lambda form: render.show(recommendation, form)
    if dry_run:
        soak = context.settings().soak
        return lambda form: render.plan(recommendation, soak, form)
    actor = context.actor

    def begin() -> None:
        change_id = _begin(context, recommendation, actor)
        if actor == OPERATOR:
            command = {'prefix': 'rocksdb-tuner apply', 'recommendation_id': recommendation_id}
            context.tuner.actors.find(change_id, command)

    return _changed(context, begin)


@changes('rollback')
def rollback(context: Context, rollout_id: Optional[str] = None) -> Answer:
    """Restore exactly what was there before a rollout (default: the last one)"""
    actor = context.actor
    return _changed(context, lambda: context.tuner.operating.rollback(rollout_id, actor))


@changes('rollout pause')
def rollout_pause(context: Context) -> Answer:
    """Let the rollout stand still once the OSD in flight is safe"""
    actor = context.actor
    return _changed(context, lambda: context.tuner.operating.pause(actor))


@changes('rollout resume')
def rollout_resume(context: Context) -> Answer:
    """Go on with a paused rollout"""
    return _changed(context, context.tuner.operating.resume)


@changes('rollout abort')
def rollout_abort(context: Context) -> Answer:
    """End the rollout where it is, with the OSD in flight brought to safety"""
    actor = context.actor
    return _changed(context, lambda: context.tuner.operating.abort(actor))


@changes('rollout ack')
def rollout_ack(context: Context) -> Answer:
    """Take note of a rollout that failed or was rolled back: its health check clears"""
    return _changed(context, context.tuner.operating.acknowledge)


def _begin(context: Context, recommendation: Recommendation, actor: str) -> str:
    """The id of the rollout or campaign that begins."""
    if recommendation.kind is Kind.COMPACT:
        return context.tuner.operating.compact(recommendation, actor).campaign_id
    return context.tuner.operating.start(recommendation, actor).rollout_id


def _changed(context: Context, work: Callable[[], object]) -> Answer:
    """Have the serve thread do ``work``; answer with what is under way then."""
    context.tuner.submit(work)
    rollout, campaign = context.tuner.operating.changes
    waits_for = context.tuner.operating.campaign_waits_for
    return lambda form: render.rollout(rollout, campaign, form, waits_for)
