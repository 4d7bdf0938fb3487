"""When auto-apply may take a recommendation: never anything that `apply` would not do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...advise.records import Recommendation, Risk
from ...advise.strings import same_meaning
from ...units import format_duration
from ..history import HistoryRecord
from .alarm import why_failed
from .records import RolloutState


class Standing:
    """Since when each recommendation has stood without interruption.

    By a clock that nobody sets: a day ahead for some seconds is no day.
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
    """Module options."""

    #: How long a recommendation must have stood.
    after_s: float = 86400.0
    #: How long nothing is begun after a change has ended, whoever asked for that one.
    cooldown_s: float = 86400.0
    #: Of the workload that is the reason, 0..1.
    least_confidence: float = 0.9


@dataclass(frozen=True)
class Past:
    """What was changed before, by whomever."""

    history: tuple[HistoryRecord, ...] = ()
    #: The rollout under way or the last one, and whether somebody took note of its end.
    last: Optional[RolloutState] = None
    acknowledged: bool = False
    #: Why no orchestrator restarts OSDs; None where one does.
    no_orchestrator: Optional[str] = None
    #: OSDs are being compacted.
    campaign_under_way: bool = False
    #: How long ago it ended, as far as managers saw time pass; None: that is unknown.
    ended_ago_s: Optional[float] = None
    experiment_under_way: bool = False
    #: What is wrong with the stored state, in sentences.
    broken: tuple[str, ...] = ()
    #: Why nothing can be applied as the module options are.
    impossible: Optional[str] = None


class Refusal(NamedTuple):
    """Why a recommendation is not carried out now without being asked."""

    recommendation_id: str
    reason: str


class Decision(NamedTuple):
    """At most one recommendation to carry out now, and why each other is not."""

    chosen: Optional[Recommendation]
    refusals: tuple[Refusal, ...]


def decide(
    recommendations: Sequence[Recommendation],
    standing: Standing,
    past: Past,
    now_s: float,
    policy: Policy,
) -> Decision:
    """The one to begin with now, the first that nothing speaks against.

    ``now_s`` is by the clock of ``standing``.
    """
    for_all = _why_nothing(past, policy)
    chosen: Optional[Recommendation] = None
    refusals = []
    for recommendation in recommendations:
        reason = _why_not(recommendation, standing, past.history, now_s, policy) or for_all
        if reason is None and chosen is None:
            chosen = recommendation
        else:
            one_at_a_time = 'one recommendation is applied at a time'
            refusals.append(Refusal(recommendation.recommendation_id, reason or one_at_a_time))
    return Decision(chosen, tuple(refusals))


def _why_nothing(past: Past, policy: Policy) -> Optional[str]:
    last = past.last
    if past.broken:
        # What was tried, and how it ended, may be in what is lost.
        return f'auto-apply starts nothing while stored state is broken: {past.broken[0]}'
    if past.impossible is not None:
        return past.impossible
    if past.no_orchestrator is not None:
        return f'nothing restarts OSDs: {past.no_orchestrator}'
    if past.experiment_under_way:
        return 'an experiment is under way'
    if past.campaign_under_way:
        return 'a compaction campaign is under way'
    if last is None:
        return None
    if not last.ended:
        return f'rollout {last.rollout_id} is under way'
    if why_failed(last) is not None and not past.acknowledged:
        return (
            f'rollout {last.rollout_id} did not succeed: "ceph rocksdb-tuner rollout ack" '
            'acknowledges it'
        )
    left_s = policy.cooldown_s - (past.ended_ago_s or 0.0)
    if left_s > 0:
        return (
            f'rollout {last.rollout_id} ended less than {format_duration(policy.cooldown_s)} ago; '
            f'{format_duration(left_s)} are left'
        )
    return None


def _why_not(
    recommendation: Recommendation,
    standing: Standing,
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
            f'the same was tried in {tried.rollout_id} ({tried.outcome.value}): applying it '
            'again requires operator action'
        )
    since_s = standing.since_s(recommendation.recommendation_id)
    stood_s = 0.0 if since_s is None else now_s - since_s
    if since_s is None or stood_s < policy.after_s:
        return f'it has stood for {format_duration(stood_s)} of {format_duration(policy.after_s)}'
    return None


def _is_same(record: HistoryRecord, recommendation: Recommendation) -> bool:
    """Whether a change made these OSDs run these options, under this name or another.

    A group that is the whole cluster today is called otherwise once an OSD of another class joins.
    """
    if record.recommendation_id == recommendation.recommendation_id:
        return True
    if not recommendation.restart_required:
        # OSDs run these options already: that an earlier release was changed to them is why.
        return False
    wider = {record.who, recommendation.who} & {'osd', 'global'}
    return (record.who == recommendation.who or bool(wider)) and same_meaning(
        record.options_to, recommendation.options_to, None
    )
