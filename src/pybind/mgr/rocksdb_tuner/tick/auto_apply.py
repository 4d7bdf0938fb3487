"""Starts rollouts without being asked, the same way as `apply`: auto-apply, and ``--adopt``.

An experiment's winner also becomes a custom profile. Its recommendation follows from the history
(`advise/case.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable, Optional

from ..advise.custom_profiles import CustomProfiles
from ..advise.profiles import Hardware, Profile, Provenance
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..judge.records import contradiction
from ..mgr.protocols import Orchestrator
from ..operations.experiment.announce import in_words
from ..operations.experiment.records import ExperimentState
from ..operations.phases import OperationRefused
from ..operations.rollout import automatic
from ..operations.rollout.records import RolloutState
from ..options.verdict import BadQuestionError
from ..settings import Settings
from ..units import format_time
from .operation_control import OperationControl

log = logging.getLogger(__name__)


#: After this time a rollout of the winner is no longer expected.
ADOPT_WITHIN_S = 86400.0


def profile_of(state: ExperimentState, cluster: Optional[str]) -> Optional[Profile]:
    """The winner as a custom profile; None without a winner or a known release."""
    request, won = state.request, state.best
    if won is None or request.release is None:
        return None
    change, low, high = won.percents
    started = format_time(state.started_s)
    where = f'experiment {state.experiment_id} on {request.who}'
    if cluster is not None:
        where += f' of cluster {cluster}'
    return Profile(
        name=f'{state.experiment_id.lower()}-winner',
        title=f'Winner of experiment {state.experiment_id}: {won.name}',
        options=won.options,
        release_defaults=(),
        suitability=(),
        hardware=Hardware(None, ()),
        evidence=(),
        cautions=(),
        superseded=None,
        superseded_from_rocksdb=None,
        source=f'{where}, {started or "at an unknown time"}: {in_words(state)}',
        own_releases=(request.release,),
        provenance=Provenance(
            experiment_id=state.experiment_id,
            cluster=cluster,
            started=started,
            who=request.who,
            release=request.release,
            workload=request.workload,
            hardware=request.hardware,
            signal=request.objective,
            change_percent=change,
            low_percent=low,
            high_percent=high,
        ),
    )


def adoptable(
    state: Optional[ExperimentState],
    last_rollout: Optional[RolloutState],
    recommendations: Sequence[Recommendation],
    now_s: float,
) -> Optional[Recommendation]:
    """The recommendation that ``--adopt`` waits for; None if it waits for none."""
    if state is None or state.ended_s is None or not state.adopt:
        return None
    won = state.best
    if won is None or now_s - state.ended_s > ADOPT_WITHIN_S:
        return None
    if last_rollout is not None and last_rollout.started_s >= state.ended_s:
        # It was started, or an operator started something else.
        return None
    return next(
        (
            r
            for r in recommendations
            if r.change is not None
            and r.change.promised == state.request.objective
            and same_meaning(r.options_to, won.options, None)
        ),
        None,
    )


def remember(
    state: ExperimentState, fsid: Callable[[], Optional[str]], profiles: CustomProfiles
) -> None:
    """Store the winner of an experiment; raises CommandError.

    ``fsid`` asks for that of the cluster: an experiment without a winner needs no answer.
    """
    found = None if state.best is None else profile_of(state, fsid())
    try:
        if found is not None:
            profiles.remember(found)
    except BadQuestionError as error:
        # The result is in the history in any case.
        log.warning('cannot keep the winner of %s as a profile: %s', state.experiment_id, error)


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
        operations = self._operations
        driver, campaign, experiment = operations.driver, operations.campaign, operations.experiment
        decision = automatic.decide(
            recommendations,
            self._ages,
            automatic.Preconditions(
                driver.history,
                driver.state,
                driver.acknowledged,
                self._orchestrator.unavailable_reason(),
                campaign.under_way,
                experiment_under_way=experiment.under_way,
                ended_id=driver.time.ended_id,
                ended_ago_s=driver.time.since_end_s,
                broken=(*driver.broken, *campaign.problems, *experiment.problems),
                impossible=contradiction(settings.soak),
            ),
            self._monotonic(),
            settings.auto_apply,
        )
        self.refusals = decision.refusals
        if decision.chosen is not None:
            self._start(decision.chosen, 'auto-apply', 'auto-apply')

    def adopt(self, recommendations: Sequence[Recommendation], now_s: float) -> None:
        """Start the requested rollout of a winner, once, as soon as it is recommended."""
        experiment = self._operations.experiment.state
        chosen = adoptable(experiment, self._operations.driver.state, recommendations, now_s)
        if experiment is not None and chosen is not None:
            what = f'the winner of experiment {experiment.experiment_id}'
            self._start(chosen, experiment.actor, what)

    def _start(self, chosen: Recommendation, actor: str, what: str) -> None:
        log.info('%s: starting %s', what, chosen.recommendation_id)
        try:
            self._operations.start(chosen, actor)
        except OperationRefused as refusal:
            log.warning('%s: %s was refused: %s', what, chosen.recommendation_id, refusal)
