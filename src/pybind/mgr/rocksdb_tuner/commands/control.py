"""Controls the operation in progress, for all commands that do so."""

from __future__ import annotations

from ..present.operations import LastOperations
from .context import Context


def pause(context: Context) -> None:
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.pause(actor))


def resume(context: Context) -> None:
    context.tuner.submit(context.tuner.operations.resume)


def abort(context: Context) -> None:
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operations.abort(actor))


def acknowledge(context: Context) -> None:
    context.tuner.submit(context.tuner.operations.acknowledge)


def last_operations(context: Context) -> LastOperations:
    """The current state, which the snapshot has only after the next tick."""
    operations = context.tuner.operations
    waits_for, experiment = operations.campaign_waits_for, operations.experiment.state
    return LastOperations(*operations.changes, waits_for, experiment)
