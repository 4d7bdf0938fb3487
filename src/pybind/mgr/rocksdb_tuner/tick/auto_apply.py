"""What the module begins by itself, in mode auto-apply: only what `apply` would, and as it does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable

from ..advise.records import Recommendation
from ..judge.soak import contradiction
from ..mgr.protocols import Orchestrator
from ..operations.errors import OperationRefused
from ..operations.rollout import automatic
from ..settings import Settings
from .operating import Operating

log = logging.getLogger(__name__)


class AutoApply:
    """Remembers since when each recommendation has stood."""

    def __init__(
        self,
        operating: Operating,
        orchestrator: Orchestrator,
        monotonic: Callable[[], float],
    ) -> None:
        self._operating, self._orchestrator = operating, orchestrator
        self._monotonic = monotonic
        self._standing = automatic.Standing()
        #: Why it leaves what is recommended; empty in other modes.
        self.refusals: tuple[automatic.Refusal, ...] = ()

    def advised(self, recommendations: Sequence[Recommendation]) -> None:
        """Note what is recommended now, in any mode."""
        self._standing.update(recommendations, self._monotonic())

    def begin_what_is_due(
        self, settings: Settings, recommendations: Sequence[Recommendation]
    ) -> None:
        """Begin one recommendation at most."""
        decision = self._decide(settings, recommendations)
        self.refusals = decision.refusals
        if decision.chosen is not None:
            self._begin(decision.chosen)

    def _decide(
        self, settings: Settings, recommendations: Sequence[Recommendation]
    ) -> automatic.Decision:
        driver, campaign = self._operating.driver, self._operating.campaign
        past = automatic.Past(
            driver.history,
            driver.state,
            driver.acknowledged,
            self._orchestrator.unavailable_reason(),
            campaign.under_way,
            ended_ago_s=driver.since_end_s,
            broken=(*driver.broken, *campaign.problems),
            impossible=contradiction(settings.soak),
        )
        steady_s = self._monotonic()
        return automatic.decide(
            recommendations, self._standing, past, steady_s, settings.auto_apply
        )

    def _begin(self, chosen: Recommendation) -> None:
        log.info('auto-apply starts %s', chosen.recommendation_id)
        try:
            self._operating.start(chosen, actor='auto-apply')
        except OperationRefused as refusal:
            log.warning('auto-apply of %s was refused: %s', chosen.recommendation_id, refusal)
