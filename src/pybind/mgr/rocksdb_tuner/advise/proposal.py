"""The complete recommendation for a chosen option string. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Optional, Union

from ..judge.predictions import shown_by
from ..judge.records import Predicted
from ..judge.signals import judged_signals
from ..options.grammar import in_force
from ..plan.commands import Change, removal
from ..plan.records import OPTION, ChangeKind, ChangeRequest, Purpose
from ..units import format_change_range, format_plural
from ..workload.records import limit_thresholds
from .candidates import expected_usages
from .case import Case
from .choice import Target
from .cohort import annex_for, by_hand, down_osds, other_affected_osds, stays_for, why_annex
from .decision import change_of, nothing
from .facts import daemons, places, write_iops
from .objections import harmful
from .reasons import effects, predictions_of, reasons_for
from .records import (
    Decision,
    Kind,
    OsdFacts,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Resource,
    Risk,
)
from .strings import check, safe_to_apply, same_meaning
from .weighing import Weighing
from .whatif.tree import fill_s

#: Config section of all OSDs of the cluster.
ALL_OSDS = 'osd'
#: In all other predicted signals lower is better.
_MORE_IS_BETTER = frozenset({'write_iops', 'rw_iops'})


def changed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    because: Iterable[Reason],
    target: Target,
    weighed: Optional[Weighing] = None,
    *,
    measured: bool = False,
) -> Union[Recommendation, Decision]:
    """Recommend ``target`` because of what there is against the running options.

    ``measured``: an experiment on this cluster found it to be better.
    """
    refusals = safe_to_apply(target.options, case.release.rocksdb_version)
    is_default = case.alike(target.options, case.release.default_options)
    if refusals and not is_default:
        name = target.profile.title if target.profile else 'The derived option string'
        return nothing(
            case.cohort.group.who,
            f'{name} would suit, but does not pass the checks for RocksDB '
            f'{case.release.rocksdb_version}: {refusals[0].message}',
            case.limit,
        )
    expected = {u.resource: u.ratio for u in expected_usages(case, target.options)}
    writes = expected.get(Resource.DB_DEVICE)
    risk = Risk.MEDIUM
    if is_default and writes is not None and writes.high < 1 and not case.misfits(target.options):
        risk = Risk.LOW
    if writes is not None and writes.low > 1 and not is_default and not measured:
        risk = Risk.HIGH
    return recommended(
        case,
        all_osds,
        target,
        (*because, *reasons_for(case, target, expected, weighed)),
        predictions_of(expected, case, target.options),
        risk,
        _priority(case, weighed),
        gain=measured or weighed is not None,
    )


def _priority(case: Case, weighed: Optional[Weighing]) -> Priority:
    problems = check(case.running, case.release.rocksdb_version).problems
    hazard = any(p.severity == 'error' or harmful(p) for p in problems)
    if (case.cohort.deciding_entries and hazard) or case.misfits(case.running):
        return Priority.NOW
    if weighed is None or weighed.chosen is None:
        return Priority.PLANNED
    gained = {usage.resource for usage in weighed.chosen.gains(weighed.bars)}
    if case.limit.of_options in gained:
        return Priority.NOW
    busy = case.busy is not None and case.busy.value >= limit_thresholds().kv_sync_idle
    will_limit = {Resource.KV_SYNC} if busy else set()
    if case.db_space_short is not None:
        will_limit.add(Resource.DB_SPACE)
    # Relief of what may limit later is a reason to plan, if not one to change for readers.
    saved = weighed.chosen.gains(replace(weighed.bars, no_gain=frozenset()))
    planned = will_limit.intersection(usage.resource for usage in saved)
    return Priority.PLANNED if planned else Priority.OPTIONAL


def recommended(
    case: Case,
    all_osds: Sequence[OsdFacts],
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...] = (),
    risk: Risk = Risk.LOW,
    priority: Priority = Priority.OPTIONAL,
    *,
    gain: bool = False,
) -> Union[Recommendation, Decision]:
    """Recommend ``target``: the release's default by removing the entries.

    An entry that other OSDs need stays for them: a rollout compares OSDs of one group only.
    ``gain``: the target was chosen to relieve a resource, with or without a prediction.
    """
    cohort, entries = case.cohort, case.cohort.deciding_entries
    kind, who = Kind.SET_PROFILE, ALL_OSDS if cohort.is_everything else cohort.group.who
    if cohort.own_entries:
        who = entries[0] if len(cohort.osds) == 1 else cohort.group.who
    if entries and case.alike(target.options, case.release.default_options):
        kind = Kind.REMOVE_OVERRIDE
    if kind is Kind.REMOVE_OVERRIDE and not cohort.own_entries:
        (entry,) = entries
        others = other_affected_osds(entry, cohort, all_osds)
        unread = any(o.options is None for o in all_osds if o.info.osd_id in others)
        if others and (unread or case.alike(cohort.running, target.options)):
            return Decision(
                cohort.group.who,
                f'Remove the options set for {entry} manually',
                by_hand(entry, OPTION, reasons[0], others),
                next_command=removal(entry, OPTION),
            )
        if others:
            # A class-masked entry is ignored at OSD startup, so a group that is not the whole
            # cluster keeps an entry per OSD.
            kind, reasons = Kind.SET_PROFILE, (*reasons, stays_for(entry, others))
        else:
            who, reasons = entry, (*reasons, *down_osds(all_osds))
    annex = annex_for(cohort, target.options) if kind is Kind.SET_PROFILE else cohort.annex
    options_to = target.options
    if kind is Kind.SET_PROFILE and annex is not None:
        options_to = in_force(cohort.running, annex)
        reasons = (*reasons, why_annex(cohort))
    reasons = (*reasons, *(Reason.of('remark', text=remark) for remark in cohort.remarks))
    advice_id = recommendation_id(kind, who, options_to, annex)
    restart = not same_meaning(cohort.running, options_to, case.release.rocksdb_version)
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
    gains, costs = effects(case, target)
    gained = not case.objections and (gain or any(map(is_gain, predictions)))
    return Recommendation(
        recommendation_id=advice_id,
        kind=kind,
        who=who,
        osds=steps.order,
        profile=target.profile.name if target.profile else None,
        options_from=cohort.running,
        options_to=options_to,
        reasons=reasons,
        predictions=predictions,
        risk=risk,
        priority=priority,
        change=replace(
            steps.request,
            prediction=prediction_text(prediction),
            predicted=predicted_effect(prediction),
            strings=None if annex is None else (cohort.running, options_to),
            purpose=Purpose.GAIN if gained else Purpose.SAFETY,
            promised=predicted_signal(predictions),
            fill_s=fill_s(case.running, target.options, case.situation),
        ),
        places=where,
        confidence=case.writer.confidence if restart and case.writer else None,
        limit=case.limit if restart else None,
        annex=annex,
        commands=steps.commands,
        undo_commands=steps.undo_commands,
        decision=Decision(
            who,
            change_of(cohort, kind, options_to, target.profile, who),
            f'{reasons[0].statement.removesuffix(".")}.',
            gains,
            costs,
            f'{risk.value}: {restarts if restart else "no restart"}',
            f'ceph rocksdb-tuner apply {advice_id}',
        ),
    )


def change_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    """The change request of ``recommendation``, exactly as displayed."""
    assert recommendation.change is not None
    return replace(recommendation.change, actor=actor)


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
