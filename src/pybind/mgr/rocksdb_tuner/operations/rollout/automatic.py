"""When auto-apply may apply a recommendation: never anything `apply` would refuse. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...advise.records import Recommendation, Risk
from ...advise.strings import same_meaning
from ...units import format_duration
from ..history import HistoryRecord
from .announce import why_failed
from .records import RolloutState

DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
_HOURS = re.compile(r'([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)')


@dataclass(frozen=True)
class MaintenanceWindow:
    """As configured; an empty text sets no bound."""

    #: "sat,sun" or "mon-fri": the days on which a window begins.
    days: str = ''
    #: "22:00-04:00": a window that ends before it starts ends on the next day.
    hours: str = ''


def outside(window: MaintenanceWindow, weekday: int, minute: int) -> Optional[str]:
    """Why nothing may start now; None inside the window.

    ``weekday`` counts from Monday, 0, ``minute`` from midnight, both in the manager's local time.
    An invalid window blocks every start until it is corrected.
    """
    days = _days(window.days)
    if days is None:
        return (
            f'invalid maintenance_days "{window.days}": use days as in "sat,sun" or "mon-fri" '
            f'({", ".join(DAYS)}), or leave it empty for every day'
        )
    hours = _minutes(window.hours)
    if hours is None:
        return (
            f'invalid maintenance_hours "{window.hours}": use hours as in "22:00-04:00", or leave '
            'it empty for all day'
        )
    begin, end = hours
    if begin < end:
        inside = weekday in days and begin <= minute < end
    else:
        began_yesterday = (weekday - 1) % 7 in days and minute < end
        inside = began_yesterday or (weekday in days and minute >= begin)
    if inside:
        return None
    window_text = ' '.join(text for text in (window.days, window.hours) if text.strip())
    return f"outside the maintenance window ({window_text}, the manager's local time)"


def _days(text: str) -> Optional[frozenset[int]]:
    """None for an invalid text."""
    found: set[int] = set()
    for part in text.lower().replace(' ', '').split(',') if text.strip() else ('mon-sun',):
        first, dash, last = part.partition('-')
        if first not in DAYS or (dash and last not in DAYS):
            return None
        begin = DAYS.index(first)
        count = (DAYS.index(last) - begin) % 7 if dash else 0
        found |= {(begin + i) % 7 for i in range(count + 1)}
    return frozenset(found)


def _minutes(text: str) -> Optional[tuple[int, int]]:
    """Start and end in minutes from midnight; None for an invalid text."""
    if not text.strip():
        return 0, 24 * 60
    match = _HOURS.fullmatch(text.replace(' ', ''))
    if match is None:
        return None
    begin_hour, begin_minute, end_hour, end_minute = map(int, match.groups())
    begin, end = begin_hour * 60 + begin_minute, end_hour * 60 + end_minute
    return None if begin == end else (begin, end)


class RecommendationAges:
    """How long each recommendation has been shown without interruption.

    By a monotonic clock: a wall clock that is set a day ahead does not count as a day.
    """

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}

    def update(self, recommendations: Sequence[Recommendation], now_s: float) -> None:
        self._since_s = {
            r.recommendation_id: self._since_s.get(r.recommendation_id, now_s)
            for r in recommendations
        }

    def since_s(self, recommendation_id: str) -> Optional[float]:
        return self._since_s.get(recommendation_id)


@dataclass(frozen=True)
class Policy:
    """What auto-apply waits for."""

    #: How long a recommendation must have been shown; a module option.
    after_s: float = 86400.0
    #: How long after any change nothing is started: a day of load shows what the last one did.
    cooldown_s: float = 86400.0
    #: Minimum confidence in the workload class, 0..1; for what does not depend on it, none.
    least_confidence: float = 0.9


@dataclass(frozen=True)
class Preconditions:
    """What decides besides the recommendation: previous changes, and the state of the module."""

    history: tuple[HistoryRecord, ...] = ()
    #: The rollout under way or the last one, and whether its end was acknowledged.
    last: Optional[RolloutState] = None
    acknowledged: bool = False
    #: Why no orchestrator can restart OSDs; None if one can.
    no_orchestrator: Optional[str] = None
    #: A compaction campaign is under way.
    campaign_under_way: bool = False
    #: The operation of any kind that ended last, and the time since, while managers were active;
    #: None: unknown.
    ended_id: Optional[str] = None
    ended_ago_s: Optional[float] = None
    experiment_under_way: bool = False
    #: Problems of the stored state, as sentences.
    broken: tuple[str, ...] = ()
    #: Why the module options rule out any change.
    impossible: Optional[str] = None


class Refusal(NamedTuple):
    """Why a recommendation is not applied automatically now."""

    recommendation_id: str
    reason: str


class Decision(NamedTuple):
    """At most one recommendation to apply now, and why each other one is not."""

    chosen: Optional[Recommendation]
    refusals: tuple[Refusal, ...]


def decide(
    recommendations: Sequence[Recommendation],
    ages: RecommendationAges,
    preconditions: Preconditions,
    now_s: float,
    policy: Policy,
) -> Decision:
    """The first recommendation that may be applied now.

    ``now_s`` is by the clock of ``ages``.
    """
    for_all = _why_nothing(preconditions, policy)
    chosen: Optional[Recommendation] = None
    refusals = []
    for recommendation in recommendations:
        reason = _why_not(recommendation, ages, preconditions.history, now_s, policy) or for_all
        if reason is None and chosen is None:
            chosen = recommendation
        else:
            one_at_a_time = 'only one recommendation is applied at a time'
            refusals.append(Refusal(recommendation.recommendation_id, reason or one_at_a_time))
    return Decision(chosen, tuple(refusals))


def _why_nothing(preconditions: Preconditions, policy: Policy) -> Optional[str]:
    last = preconditions.last
    if preconditions.broken:
        # The lost data may contain earlier attempts and their outcomes.
        return (
            f'auto-apply starts nothing while stored data is unreadable: {preconditions.broken[0]}'
        )
    if preconditions.impossible is not None:
        return preconditions.impossible
    if preconditions.no_orchestrator is not None:
        return f'no orchestrator can restart all OSDs: {preconditions.no_orchestrator}'
    if preconditions.experiment_under_way:
        return 'an experiment is under way'
    if preconditions.campaign_under_way:
        return 'a compaction campaign is under way'
    if last is not None and not last.ended:
        return f'rollout {last.rollout_id} is under way'
    if last is not None and why_failed(last) is not None and not preconditions.acknowledged:
        return (
            f'rollout {last.rollout_id} did not succeed: "ceph rocksdb-tuner operation resume" '
            'acknowledges it'
        )
    left_s = policy.cooldown_s - (preconditions.ended_ago_s or 0.0)
    if preconditions.ended_id is not None and left_s > 0:
        return (
            f'{preconditions.ended_id} ended less than {format_duration(policy.cooldown_s)} ago; '
            f'{format_duration(left_s)} left'
        )
    return None


def _why_not(
    recommendation: Recommendation,
    ages: RecommendationAges,
    history: Iterable[HistoryRecord],
    now_s: float,
    policy: Policy,
) -> Optional[str]:
    if recommendation.risk is not Risk.LOW:
        return (
            f'its risk is {recommendation.risk.value}, and auto-apply applies only low-risk changes'
        )
    confidence = recommendation.confidence
    if confidence is not None and confidence < policy.least_confidence:
        return (
            f'the confidence in the workload is {confidence:.2f}, below '
            f'{policy.least_confidence:.2f}'
        )
    tried = next((r for r in history if _is_same(r, recommendation)), None)
    if tried is not None:
        return (
            f'the same change was tried in {tried.rollout_id} ({tried.outcome.value}): applying it '
            'again requires operator action'
        )
    since_s = ages.since_s(recommendation.recommendation_id)
    shown_s = 0.0 if since_s is None else now_s - since_s
    if since_s is None or shown_s < policy.after_s:
        needed = format_duration(policy.after_s)
        return f'it has been recommended for {format_duration(shown_s)} of {needed}'
    return None


def _is_same(record: HistoryRecord, recommendation: Recommendation) -> bool:
    """Whether a change gave these OSDs these options, under this id or another.

    The id of a group that spans the cluster changes once an OSD of another class joins.
    """
    if record.recommendation_id == recommendation.recommendation_id:
        return True
    if not recommendation.restart_required:
        # OSDs run these options already, because of that earlier change.
        return False
    wider = {record.who, recommendation.who} & {'osd', 'global'}
    return (record.who == recommendation.who or bool(wider)) and same_meaning(
        record.options_to, recommendation.options_to, None
    )
