"""Rollouts and compaction campaigns by one name: to list, watch and steer."""

from __future__ import annotations

from ..present import render
from ..present.operations import LastOperations
from . import steering
from .command import Answer, changes, reads
from .context import Context


@reads('operation ls')
def operation_ls(context: Context) -> Answer:
    """List rollouts and compaction campaigns, newest first"""
    return lambda form: render.operation_list(context.snapshot, form)


@reads('operation status')
def operation_status(context: Context) -> Answer:
    """Show the operation under way, or the last one"""
    shown = context.snapshot
    last = LastOperations(shown.rollout, shown.campaign, shown.campaign_waits_for)
    return lambda form: render.operation(last, form)


@changes('operation pause')
def operation_pause(context: Context) -> Answer:
    """Pause the operation once the OSD in flight is safe"""
    steering.pause(context)
    return _now(context)


@changes('operation resume')
def operation_resume(context: Context) -> Answer:
    """Resume a paused operation"""
    steering.resume(context)
    return _now(context)


@changes('operation abort')
def operation_abort(context: Context) -> Answer:
    """End the operation once the OSD in flight is safe"""
    steering.abort(context)
    return _now(context)


@changes('operation ack')
def operation_ack(context: Context) -> Answer:
    """Acknowledge a failed or rolled-back rollout: its health check clears"""
    steering.acknowledge(context)
    return _now(context)


def _now(context: Context) -> Answer:
    last = steering.last_operations(context)
    return lambda form: render.operation(last, form)
