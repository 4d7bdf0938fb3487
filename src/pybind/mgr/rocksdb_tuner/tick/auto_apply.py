"""Starts rollouts in mode auto-apply, the same way as `apply`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable

from ..advise.records import Recommendation
from ..judge.records import contradiction
from ..mgr.protocols import Orchestrator
from ..operations.errors import OperationRefused
from ..operations.rollout import automatic
from ..settings import Settings
from .operation_control import OperationControl

log = logging.getLogger(__name__)


class AutoApply:
    """Tracks how long each recommendation has been stable."""

    def __init__(
        self,
        operations: OperationControl,
        orchestrator: Orchestrator,
        monotonic: Callable[[], float],
    ) -> None:
        self._operations, self._orchestrator = operations, orchestrator
        self._monotonic = monotonic
        self._ages = automatic.RecommendationAges()
        #: Why recommendations are skipped; empty in other modes.
        self.refusals: tuple[automatic.Refusal, ...] = ()

    def update(self, recommendations: Sequence[Recommendation]) -> None:
        """Record the current recommendations, in any mode."""
        self._ages.update(recommendations, self._monotonic())

    def start_due(self, settings: Settings, recommendations: Sequence[Recommendation]) -> None:
        """Start at most one recommendation."""
        decision = self._decide(settings, recommendations)
        self.refusals = decision.refusals
        if decision.chosen is not None:
            self._start(decision.chosen)

    def _decide(
        self, settings: Settings, recommendations: Sequence[Recommendation]
    ) -> automatic.Decision:
        operations = self._operations
        driver, campaign, experiment = (
            operations.driver,
            operations.campaign,
            operations.experiment,
        )
        preconditions = automatic.Preconditions(
            driver.history,
            driver.state,
            driver.acknowledged,
            self._orchestrator.unavailable_reason(),
            campaign.under_way,
            experiment_under_way=experiment.under_way,
            ended_id=driver.ended_id,
            ended_ago_s=driver.since_end_s,
            broken=(*driver.broken, *campaign.problems, *experiment.problems),
            impossible=contradiction(settings.soak),
        )
        steady_s = self._monotonic()
        return automatic.decide(
            recommendations, self._ages, preconditions, steady_s, settings.auto_apply
        )

    def _start(self, chosen: Recommendation) -> None:
        log.info('auto-apply starts %s', chosen.recommendation_id)
        try:
            self._operations.start(chosen, actor='auto-apply')
        except OperationRefused as refusal:
            log.warning('auto-apply of %s was refused: %s', chosen.recommendation_id, refusal)
