"""When auto-apply may take a recommendation: never anything that `apply` would not do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Optional

from .records import Recommendation, Risk


class Standing:
    """Since when each recommendation has stood without interruption."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}

    def update(self, recommendations: Sequence[Recommendation], now_s: float) -> None:
        self._since_s = {
            r.recommendation_id: self._since_s.get(r.recommendation_id, now_s)
            for r in recommendations
        }

    def since_s(self, recommendation_id: str) -> Optional[float]:
        return self._since_s.get(recommendation_id)


def next_automatic(
    recommendations: Sequence[Recommendation],
    standing: Standing,
    tried: Collection[str],
    now_s: float,
    after_s: float,
) -> Optional[Recommendation]:
    """The recommendation to carry out now without being asked, None if there is none.

    Only one of low risk that has stood for ``after_s`` seconds, and none that was tried before:
    a change that had no effect, or was rolled back, is the operator's to decide.
    """
    for recommendation in recommendations:
        since_s = standing.since_s(recommendation.recommendation_id)
        if (
            recommendation.risk is Risk.LOW
            and recommendation.recommendation_id not in tried
            and since_s is not None
            and now_s - since_s >= after_s
        ):
            return recommendation
    return None
