"""Reduces a failing schedule to the events that it needs to fail, in plain surroundings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Callable

from rocksdb_tuner.judge.records import SoakPlan

from .schedule import Delays, Loop, Schedule

#: Schedules that are tried until one is simpler.
_MOST_TRIES = 120


def shrunk(planned: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """The simplest schedule that was found by leaving parts out, one after the other."""
    for candidate in islice(_simpler(planned), _MOST_TRIES):
        if candidate != planned and fails(candidate):
            return shrunk(candidate, fails)
    return planned


def _simpler(planned: Schedule) -> Iterator[Schedule]:
    """Schedules with one part less, the largest parts first."""
    events = planned.events
    for size in (len(events) // 2, 1):
        for start in range(0, len(events), size) if size else ():
            end = start + size
            first, *rest = (*events[:start], *events[end:]) or (None,)
            # What follows the first of all has nothing to follow.
            kept = () if first is None else (first._replace(follows=False), *rest)
            yield replace(planned, events=kept)
    yield replace(planned, soak=SoakPlan())
    yield replace(planned, soak=replace(planned.soak, batches=None))
    yield replace(planned, delays=Delays())
    yield replace(planned, orchestrator_forgets=False, sample_every_s=2.0)
    if planned.loop is Loop.TUNER:
        yield replace(planned, loop=Loop.DRIVER)
