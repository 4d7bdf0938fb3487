"""Assembly of a complete recommendation. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..judge.predictions import shown_by
from ..judge.records import Predicted
from ..judge.signals import judged_signals
from ..plan.commands import Change
from ..plan.records import ChangeKind, ChangeRequest, Purpose
from ..units import format_change_range, format_plural
from .cohort import Cohort
from .decision import change_of
from .facts import daemons, places, write_iops
from .profiles import Profile
from .records import (
    Decision,
    Kind,
    Limit,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Risk,
)
from .strings import same_meaning

#: In all other predicted signals lower is better.
_MORE_IS_BETTER = frozenset({'write_iops', 'rw_iops'})


def recommendation(
    cohort: Cohort,
    kind: Kind,
    *,
    who: str,
    options_to: str,
    profile: Optional[Profile],
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    priority: Priority,
    confidence: Optional[float] = None,
    limit: Optional[Limit] = None,
    annex: Optional[str] = None,
    purpose: Optional[Purpose] = None,
    fill_s: Optional[float] = None,
    gain: Optional[str] = None,
    loss: Optional[str] = 'none expected',
) -> Recommendation:
    """The complete recommendation: order of the OSDs, exact commands and rollback commands.

    ``annex``: value of the annex if that changes the OSDs to ``options_to``.
    ``purpose`` None: depends on the predictions. ``gain``, ``loss``: of the decision.
    """
    advice_id = recommendation_id(kind, who, options_to, annex)
    restart = not same_meaning(cohort.running, options_to, cohort.release.rocksdb_version)
    where = places(cohort.osds)
    steps = cohort.shown_steps.of(
        Change(
            recommendation_id=advice_id,
            kind=ChangeKind(kind.value),
            who=who,
            options_from=cohort.running,
            options_to=options_to,
            deciding_entries=cohort.deciding_entries,
            restart=restart,
            orchestrated=cohort.orchestrated,
            places=where,
            annex=annex,
            daemons=daemons(cohort.osds),
        ),
        write_iops(cohort.osds),
    )
    prediction = predictions[0] if predictions else None
    restarts = f'restarts {format_plural(len(cohort.osds), "OSD")}, one at a time'
    change = replace(
        steps.request,
        prediction=prediction_text(prediction),
        predicted=predicted_effect(prediction),
        strings=None if annex is None else (cohort.running, options_to),
        purpose=purpose_of(predictions) if purpose is None else purpose,
        promised=predicted_signal(predictions),
        fill_s=fill_s,
    )
    return Recommendation(
        recommendation_id=advice_id,
        kind=kind,
        who=who,
        osds=steps.order,
        profile=profile.name if profile else None,
        options_from=cohort.running,
        options_to=options_to,
        reasons=reasons,
        predictions=predictions,
        risk=risk,
        priority=priority,
        change=change,
        places=where,
        confidence=confidence,
        limit=limit,
        annex=annex,
        commands=steps.commands,
        undo_commands=steps.undo_commands,
        decision=Decision(
            who,
            change_of(cohort, kind, options_to, profile, who),
            f'{reasons[0].statement.removesuffix(".")}.',
            gain,
            loss,
            f'{risk.value}: {restarts if restart else "no restart"}',
            f'ceph rocksdb-tuner apply {advice_id}',
        ),
    )


def change_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    """The change request of ``recommendation``, exactly as displayed."""
    assert recommendation.change is not None
    return replace(recommendation.change, actor=actor)


def purpose_of(
    predictions: Sequence[Prediction], *, expected: bool = False, objected: bool = False
) -> Purpose:
    """Purpose of a change with these predictions.

    ``expected``: it was chosen to relieve a resource, with or without a prediction.
    ``objected``: there is an objection to the running options, so no gain is needed.
    """
    gain = not objected and (expected or any(map(is_gain, predictions)))
    return Purpose.GAIN if gain else Purpose.SAFETY


def is_gain(prediction: Prediction) -> bool:
    """Whether it is predicted to be better, and its interval excludes worse."""
    if prediction.signal in _MORE_IS_BETTER:
        return prediction.estimate_percent > 0 and prediction.low_percent >= 0
    return prediction.estimate_percent < 0 and prediction.high_percent <= 0


def predicted_signal(predictions: Sequence[Prediction]) -> Optional[str]:
    """The judged signal of the first predicted gain; None if there is none."""
    first = next(filter(is_gain, predictions), None)
    shown = None if first is None else shown_by(first.metric)
    judged = {signal.name for signal in judged_signals()}
    return shown.signal if shown is not None and shown.signal in judged else None


def prediction_text(prediction: Optional[Prediction]) -> Optional[str]:
    """The prediction as text, for the history."""
    if prediction is None:
        return None
    change = format_change_range(prediction.low_percent, prediction.high_percent)
    return f'{prediction.metric}: {change}'


def predicted_effect(prediction: Optional[Prediction]) -> Optional[Predicted]:
    """The same in numbers."""
    if prediction is None:
        return None
    return Predicted(prediction.metric, prediction.low_percent, prediction.high_percent)


def recommendation_id(kind: Kind, who: str, options_to: str, annex: Optional[str] = None) -> str:
    """The same recommendation has the same id after a failover and on every mgr."""
    by_annex = '' if annex is None else f'\0{annex}'
    digest = hashlib.sha256(f'{kind.value}\0{who}\0{options_to}{by_annex}'.encode()).hexdigest()
    place = who.rpartition(':')[2].rpartition('/')[2]
    # It is typed in commands.
    return f'{re.sub("[^A-Za-z0-9._]+", "_", place)}-{digest[:6]}'
