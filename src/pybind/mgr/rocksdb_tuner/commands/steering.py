"""What is done to the operation under way, whichever name it was asked by."""

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
    """As they are now: the snapshot has them from the next tick on."""
    operating = context.tuner.operating
    return LastOperations(*operating.changes, operating.campaign_waits_for)
