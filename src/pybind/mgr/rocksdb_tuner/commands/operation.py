"""Commands that start, control and roll back changes."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Callable, Optional

from ..advise.records import Kind
from ..operations.compaction.plan import recommended, requested
from ..operations.compaction.records import CampaignRequest
from ..operations.phases import OperationState
from ..present import render
from ..present.answers.operations import LastOperations
from ..requests import BusyError
from ..snapshot import Mode
from .command import PREFIX, Answer, changes, reads
from .context import OPERATOR, CommandRefusedError, Context, who_of

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
    sent = {'prefix': f'{PREFIX} apply', 'recommendation_id': recommendation_id}
    if recommendation.kind is Kind.COMPACT:
        parallel = context.settings().compaction_parallel
        return _compact(
            context, recommended(recommendation, context.actor, parallel), sent, dry_run
        )
    if dry_run:
        soak = context.settings().soak
        return lambda form: render.plan(recommendation, soak, form)
    actor, operations = context.actor, context.tuner.operations
    return _start(context, sent, lambda: operations.start(recommendation, actor))


@changes('compact')
def compact(context: Context, who: Optional[str] = None, dry_run: bool = False) -> Answer:
    """Compact OSDs one at a time, all of them or those of a group or host"""
    if context.mode() is Mode.OFF:
        raise CommandRefusedError(
            errno.EPERM, 'the mode is off; see "ceph rocksdb-tuner mode observe"'
        )
    snapshot = context.snapshot
    if context.tuner.published.inputs is None:
        raise BusyError('the module has not sampled the cluster yet; try again in a moment')
    if snapshot.release is None:
        raise CommandRefusedError(
            errno.EOPNOTSUPP, 'the module changes nothing under a manager of an unknown release'
        )
    section, chosen = who_of(who, snapshot.osds)
    osds = [osd for osd in chosen if osd.info.objectstore in {None, 'bluestore'}]
    if not osds:
        raise CommandRefusedError(errno.EOPNOTSUPP, f'no OSD of "{section}" runs BlueStore')
    ids = {osd.info.osd_id for osd in osds}
    parallel = context.settings().compaction_parallel
    request = next(
        (
            recommended(r, context.actor, parallel)
            for r in snapshot.recommendations
            if r.kind is Kind.COMPACT and r.who == section and set(r.osds) == ids
        ),
        requested(section, osds, context.actor, parallel),
    )
    return _compact(context, request, {'prefix': f'{PREFIX} compact', 'who': who}, dry_run)


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


def _compact(
    context: Context, request: CampaignRequest, sent: Mapping[str, object], dry_run: bool
) -> Answer:
    if dry_run:
        plan = context.tuner.submit(lambda: context.tuner.preview(request))
        return lambda form: render.campaign_plan(plan, form)
    return _start(context, sent, lambda: context.tuner.operations.campaign_of(request))


def _start(
    context: Context, sent: Mapping[str, object], begin: Callable[[], OperationState]
) -> Answer:
    """Start an operation. ``sent``: the arguments by which the audit log names the client."""
    actor = context.actor

    def start() -> None:
        change_id = begin().operation_id
        if actor == OPERATOR:
            context.tuner.actors.find(change_id, sent)

    context.tuner.submit(start)
    return operation_now(context)


def operation_now(context: Context) -> Answer:
    """The operation after the request, which the snapshot shows only after the next tick."""
    operations = context.tuner.operations
    last = LastOperations(
        *operations.changes, operations.campaign_waits_for, operations.experiment.state
    )
    return lambda form: render.operation(last, form)
