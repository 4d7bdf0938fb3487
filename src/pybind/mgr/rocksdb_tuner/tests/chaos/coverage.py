"""Which acts came at which moments: what schedules tried, and what they never did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .chaos_events import AFTER_THE_END, ChaosEvent
from .invariants import Left
from .schedule import RARE, Moment
from .schedule_run import Happened


def summary(happened: Counter[Happened], planned: int) -> Iterator[str]:
    """Lines for people; ``planned`` is how many acts there were in all schedules."""
    total = sum(happened.values())
    by_moment: Counter[Moment] = Counter()
    for (_, moment), times in happened.items():
        by_moment[moment] += times
    pairs = {pair for pair in happened if pair.moment is not Moment.ENDED}
    possible = len(ChaosEvent) * (len(Moment) - 1)
    ended = by_moment[Moment.ENDED]
    rare = sum(by_moment[moment] for moment in RARE)
    yield (
        f'{planned} acts planned, {total} happened: {_percent(ended, total)} after the end, '
        f'{_percent(rare, total)} in a rollback or collapse'
    )
    yield f'{len(pairs)} pairs of act and moment of {possible} ({_percent(len(pairs), possible)})'
    for moment in Moment:
        events = len({pair.event for pair in happened if pair.moment is moment})
        most = len(AFTER_THE_END) if moment is Moment.ENDED else len(ChaosEvent)
        yield f'  {moment.value:30} {by_moment[moment]:6} times, {events:3} of {most} acts'
    never = sorted({event.name for event in ChaosEvent} - {pair.event.name for pair in happened})
    if never:
        yield f'  never: {", ".join(never)}'


def of_remaining(left: Counter[Left]) -> Iterator[str]:
    """Lines about OSDs that rollouts went on without."""
    yield f'{sum(left.values())} OSDs left behind'
    for found, times in sorted(left.items()):
        yield f'  {found.where:30} {times:6} times: {found.how}'


def _percent(part: int, whole: int) -> str:
    return f'{100 * part / whole:.0f}%' if whole else 'none'
