"""Reduces a failing schedule to the events that it needs to fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Callable

from rocksdb_tuner.judge.records import SoakPlan

from .rules import Rule
from .schedule import Delays, Loop, Planned, Schedule

#: The rule that a failure must still break to count as the same; None: any.
Fails = Callable[[Schedule], bool]

#: Schedules that are tried.
_MOST_TRIES = 120


def breaks(rule: Rule, broken_by: Callable[[Schedule], object]) -> Fails:
    """Whether a schedule breaks this rule; ``broken_by`` gives the rule that it breaks."""
    return lambda planned: broken_by(planned) is rule


def shrunk(planned: Schedule, fails: Fails) -> Schedule:
    """The simplest schedule that was found by leaving parts out, one after the other."""
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        for simpler in _simpler(planned):
            tries += 1
            if tries > _MOST_TRIES:
                return planned
            if fails(simpler):
                planned, smaller = simpler, True
                break
    return planned


def _simpler(planned: Schedule) -> Iterator[Schedule]:
    """Schedules with one part less, the largest parts first."""
    events = planned.events
    for size in (len(events) // 2, 1):
        for start in range(0, len(events), size) if size else ():
            yield replace(planned, events=_without(events, start, size))
    yield from _plainer(planned)
    for number, event in enumerate(events):
        earlier = (event._replace(after=0),) if event.after else ()
        nearer = (event._replace(osd=None),) if event.osd is not None else ()
        for simpler in (*earlier, *nearer):
            following = number + 1
            yield replace(planned, events=(*events[:number], simpler, *events[following:]))


def _plainer(planned: Schedule) -> Iterator[Schedule]:
    """Schedules with the same acts, in plainer surroundings."""
    if planned.soak.most_s:
        yield replace(planned, soak=SoakPlan())
    if planned.soak.batches is not None:
        yield replace(planned, soak=replace(planned.soak, batches=None))
    if planned.delays != Delays():
        yield replace(planned, delays=Delays())
    if planned.loop is Loop.TUNER:
        yield replace(planned, loop=Loop.DRIVER)
    if planned.orchestrator_forgets:
        yield replace(planned, orchestrator_forgets=False)
    if planned.sample_every_s != 2.0:
        yield replace(planned, sample_every_s=2.0)


def _without(events: tuple[Planned, ...], start: int, size: int) -> tuple[Planned, ...]:
    """Without some events; the event after one of them stays by itself."""
    end = start + size
    kept = events[:start] + events[end:]
    # What follows the first of all has nothing to follow.
    if kept and kept[0].follows:
        kept = (kept[0]._replace(follows=False), *kept[1:])
    return kept
