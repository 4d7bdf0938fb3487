"""Commands that list and control operations."""

from __future__ import annotations

from ..present import render
from ..present.operations import LastOperations
from . import control
from .command import Answer, changes, reads
from .context import Context


@reads('operation ls')
def operation_ls(context: Context) -> Answer:
    """List rollouts, compactions and experiments, newest first"""
    return lambda form: render.operation_list(context.snapshot, form)


@reads('operation status')
def operation_status(context: Context) -> Answer:
    """Show the current or last operation"""
    shown = context.snapshot
    last = LastOperations(shown.rollout, shown.campaign, shown.campaign_waits_for, shown.experiment)
    return lambda form: render.operation(last, form)


@changes('operation pause')
def operation_pause(context: Context) -> Answer:
    """Pause the operation once the OSD in flight is safe"""
    control.pause(context)
    return _now(context)


@changes('operation resume')
def operation_resume(context: Context) -> Answer:
    """Resume a paused operation"""
    control.resume(context)
    return _now(context)


@changes('operation abort')
def operation_abort(context: Context) -> Answer:
    """End the operation once the OSD in flight is safe; again: without waiting until it is up"""
    control.abort(context)
    return _now(context)


@changes('operation ack')
def operation_ack(context: Context) -> Answer:
    """Acknowledge a failed operation: its health check clears"""
    control.acknowledge(context)
    return _now(context)


def _now(context: Context) -> Answer:
    last = control.last_operations(context)
    return lambda form: render.operation(last, form)
