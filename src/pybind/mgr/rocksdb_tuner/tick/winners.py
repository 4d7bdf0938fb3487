"""Consequences of an experiment's winner: a custom profile, and a rollout if requested.

The recommendation itself follows from the history (`advise/experimented.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable, Optional

from ..advise.custom_profiles import CustomProfiles
from ..advise.profiles import Hardware, Profile, Provenance
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..operations.errors import OperationRefused
from ..operations.experiment.records import ExperimentState
from ..operations.experiment.results import in_words, record_of
from ..operations.rollout.records import RolloutState
from ..options.verdict import BadQuestionError
from ..units import format_time

log = logging.getLogger(__name__)

#: After this time a rollout of the winner is no longer expected.
ADOPT_WITHIN_S = 86400.0


def profile_of(state: ExperimentState, cluster: Optional[str]) -> Optional[Profile]:
    """The winner as a custom profile; None without a winner or a known release."""
    request, result = state.request, record_of(state).experiment
    if result is None or result.winner is None or request.release is None:
        return None
    started = format_time(state.started_s)
    where = f'experiment {state.experiment_id} on {request.who}'
    if cluster is not None:
        where += f' of cluster {cluster}'
    return Profile(
        name=f'{state.experiment_id.lower()}-winner',
        title=f'Winner of experiment {state.experiment_id}: {result.winner}',
        options=request.options(result.winner),
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
            change_percent=result.gain_percent,
            low_percent=result.gain_low_percent,
            high_percent=result.gain_high_percent,
        ),
    )


def adoptable(
    state: Optional[ExperimentState],
    last_rollout: Optional[RolloutState],
    recommendations: Sequence[Recommendation],
    now_s: float,
) -> Optional[Recommendation]:
    """The recommendation that ``--adopt`` waits for; None if it waits for none."""
    if state is None or state.ended_s is None or not state.request.adopt:
        return None
    found = state.conclusion
    if found is None or found.winner is None or now_s - state.ended_s > ADOPT_WITHIN_S:
        return None
    if last_rollout is not None and last_rollout.started_s >= state.ended_s:
        # It was started, or an operator started something else.
        return None
    options = state.request.options(found.winner)
    return next(
        (
            r
            for r in recommendations
            if r.change is not None
            and r.change.promised == state.request.objective
            and same_meaning(r.options_to, options, None)
        ),
        None,
    )


class Winners:
    """Remembers winners, and starts the rollout that ``--adopt`` requested."""

    def __init__(
        self,
        profiles: CustomProfiles,
        fsid: Callable[[], Optional[str]],
        start: Callable[[Recommendation, str], RolloutState],
    ) -> None:
        self._profiles, self._fsid, self._start = profiles, fsid, start

    def remember(self, state: ExperimentState) -> None:
        """Store the winner of an experiment; raises CommandError."""
        found = profile_of(state, self._fsid())
        if found is None:
            return
        try:
            self._profiles.remember(found)
        except BadQuestionError as error:
            # The result is in the history in any case.
            log.warning('cannot keep the winner of %s as a profile: %s', state.experiment_id, error)

    def adopt(
        self,
        state: Optional[ExperimentState],
        last_rollout: Optional[RolloutState],
        recommendations: Sequence[Recommendation],
        now_s: float,
    ) -> None:
        """Start the requested rollout of a winner, once, as soon as it is recommended."""
        chosen = adoptable(state, last_rollout, recommendations, now_s)
        if state is None or chosen is None:
            return
        log.info('applying the winner of experiment %s', state.experiment_id)
        try:
            self._start(chosen, state.request.actor)
        except OperationRefused as refusal:
            log.warning(
                'cannot apply the winner of experiment %s: %s', state.experiment_id, refusal
            )
