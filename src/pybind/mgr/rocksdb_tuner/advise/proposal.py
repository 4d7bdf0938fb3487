"""A recommendation in full, made from what was decided. Pure."""

from __future__ import annotations

import hashlib
from typing import Optional

from ..rollout.order import canary_first, in_batches, matched_controls
from ..rollout.plan import commands, forward_actions, undo_actions
from ..rollout.records import ChangeKind, ChangeRequest, Predicted
from ..rollout.verdict import limits
from .candidate import Candidate
from .precedence import is_for_a_class
from .profiles import Profile
from .records import Kind, Prediction, Reason, Recommendation, Risk
from .strings import same_meaning


def recommendation(
    candidate: Candidate,
    kind: Kind,
    *,
    who: str,
    options_to: str,
    profile: Optional[Profile],
    reasons: tuple[Reason, ...],
    prediction: Optional[Prediction],
    risk: Risk,
    confidence: Optional[float] = None,
) -> Recommendation:
    """The advice in full: the order of the OSDs, the exact commands and the exact undo."""
    load = {o.info.osd_id: o.signals.write_iops if o.signals else None for o in candidate.osds}
    order = canary_first((o.info for o in candidate.osds), load)
    advice_id = recommendation_id(kind, who, options_to)
    restart = not same_meaning(candidate.running, options_to, candidate.release.rocksdb_version)
    request = ChangeRequest(
        recommendation_id=advice_id,
        kind=ChangeKind(kind.value),
        who=who,
        targets=tuple((osd_id, options_to) for osd_id in order),
        order=order,
        final_entries=_final_entries(candidate, kind, who, options_to, order),
        actor='',
        restart=restart,
    )
    before = {
        entry: candidate.running
        for entry, _ in request.final_entries
        if entry in candidate.deciding_entries
    }
    hosts = {o.info.osd_id: o.info.host for o in candidate.osds}
    return Recommendation(
        recommendation_id=advice_id,
        kind=kind,
        who=who,
        osds=order,
        profile=profile.name if profile else None,
        options_from=candidate.running,
        options_to=options_to,
        targets=request.targets,
        final_entries=request.final_entries,
        reasons=reasons,
        prediction=prediction,
        risk=risk,
        restart_required=restart,
        controls=matched_controls(order, load, limits().most_controls),
        batches=in_batches(order, hosts),
        confidence=confidence,
        commands=commands(forward_actions(request), candidate.orchestrated, hosts),
        undo_commands=commands(undo_actions(request, before), candidate.orchestrated, hosts),
    )


def _final_entries(
    candidate: Candidate, kind: Kind, who: str, options_to: str, order: tuple[int, ...]
) -> tuple[tuple[str, Optional[str]], ...]:
    """What the config store holds at the end: entries that OSDs start with."""
    if kind is Kind.REMOVE_OVERRIDE:
        return tuple((entry, None) for entry in candidate.deciding_entries)
    if is_for_a_class(who):
        return tuple((f'osd.{osd_id}', options_to) for osd_id in order)
    return ((who, options_to),)


def change_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    """The rollout of ``recommendation``: what is carried out is what it shows."""
    return ChangeRequest(
        recommendation_id=recommendation.recommendation_id,
        kind=ChangeKind(recommendation.kind.value),
        who=recommendation.who,
        targets=recommendation.targets,
        order=recommendation.osds,
        final_entries=recommendation.final_entries,
        actor=actor,
        restart=recommendation.restart_required,
        controls=recommendation.controls,
        batches=recommendation.batches,
        prediction=prediction_text(recommendation.prediction),
        predicted=predicted_effect(recommendation.prediction),
    )


def prediction_text(prediction: Optional[Prediction]) -> Optional[str]:
    """For the history, in words."""
    if prediction is None:
        return None
    return f'{prediction.metric}: {prediction.low_percent:+.0f} to {prediction.high_percent:+.0f} %'


def predicted_effect(prediction: Optional[Prediction]) -> Optional[Predicted]:
    """The same in numbers."""
    if prediction is None:
        return None
    return Predicted(prediction.metric, prediction.low_percent, prediction.high_percent)


def recommendation_id(kind: Kind, who: str, options_to: str) -> str:
    """The same advice has the same id after a failover, and on every manager."""
    digest = hashlib.sha256(f'{kind.value}\0{who}\0{options_to}'.encode()).hexdigest()
    place = who.rpartition(':')[2].rpartition('/')[2]
    return f'{place}-{digest[:6]}'
