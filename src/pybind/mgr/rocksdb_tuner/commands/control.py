"""Controls the operation in progress, for all commands that do so."""

from __future__ import annotations

from ..present.operations import LastOperations
from .context import Context


def pause(context: Context) -> None:
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operating.pause(actor))


def resume(context: Context) -> None:
    context.tuner.submit(context.tuner.operating.resume)


def abort(context: Context) -> None:
    actor = context.actor
    context.tuner.submit(lambda: context.tuner.operating.abort(actor))


def acknowledge(context: Context) -> None:
    context.tuner.submit(context.tuner.operating.acknowledge)


def last_operations(context: Context) -> LastOperations:
    """The current state, which the snapshot has only after the next tick."""
    operating = context.tuner.operating
    return LastOperations(*operating.changes, operating.campaign_waits_for)
