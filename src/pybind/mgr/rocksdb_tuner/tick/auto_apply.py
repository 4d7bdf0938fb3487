"""What an experiment's winner leads to: a custom profile, and with ``--adopt`` a rollout. Pure.

Its recommendation follows from the history (`advise/case.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..advise.custom_profiles import custom_profile
from ..advise.profiles import Profile, Provenance
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..operations.experiment.announce import in_words
from ..operations.experiment.records import ExperimentState
from ..operations.rollout.records import RolloutState
from ..units import format_time

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
    return custom_profile(
        f'{state.experiment_id.lower()}-winner',
        title=f'Winner of experiment {state.experiment_id}: {won.name}',
        options=won.options,
        releases=(request.release,),
        source=f'{where}, {started or "at an unknown time"}: {in_words(state)}',
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
