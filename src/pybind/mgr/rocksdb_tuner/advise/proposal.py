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
from ..options.grammar import OptionSyntaxError, diff, in_force, parse
from ..plan.commands import Change, removal
from ..plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest, Purpose
from ..units import format_change_range, format_plural
from ..workload.records import limit_thresholds
from .candidates import expected_usages, set_name
from .case import Case
from .choice import Target, annex_for, down_osds, other_affected_osds
from .decision import nothing
from .facts import name_osds, places
from .objections import harmful
from .reasons import effects, predictions_of, reasons_for
from .records import (
    Decision,
    Kind,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Resource,
    Risk,
)
from .strings import check, safe_to_apply
from .weighing import Weighing
from .whatif.tree import fill_s

#: The most options that are named instead of the whole string.
_NAMED = 3
#: Config section of all OSDs of the cluster.
ALL_OSDS = 'osd'
#: In all other predicted signals lower is better.
_MORE_IS_BETTER = frozenset({'write_iops', 'rw_iops'})


def changed(
    case: Case,
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
    is_default = case.is_default(target.options)
    if refusals and not is_default:
        name = target.profile.title if target.profile else 'The derived option string'
        return nothing(
            case.group.who,
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
    if (case.deciding_entries and hazard) or case.misfits(case.running):
        return Priority.NOW
    if weighed is None or weighed.chosen is None:
        return Priority.PLANNED
    if case.limit.of_options in {usage.resource for usage in weighed.chosen.gains(weighed.bars)}:
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
    entries, everything = case.deciding_entries, len(case.osds) == len(case.known.all_osds)
    kind, who = Kind.SET_PROFILE, ALL_OSDS if everything else case.group.who
    if case.own_entries:
        who = entries[0] if len(case.osds) == 1 else case.group.who
    if entries and case.is_default(target.options):
        kind = Kind.REMOVE_OVERRIDE
    if kind is Kind.REMOVE_OVERRIDE and not case.own_entries:
        (entry,) = entries
        others = other_affected_osds(entry, case)
        unread = any(o.options is None for o in case.known.all_osds if o.info.osd_id in others)
        if others and (unread or case.alike(case.running, target.options)):
            return _by_hand(case, entry, reasons[0], others)
        if others:
            # A class-masked entry is ignored at OSD startup, so a group that is not the whole
            # cluster keeps an entry per OSD.
            kind = Kind.SET_PROFILE
            reasons = (*reasons, Reason.of('stays-for', who=entry, osds=name_osds(others)))
        else:
            who, reasons = entry, (*reasons, *down_osds(case))
    annex, options_to = case.annex, target.options
    if kind is Kind.SET_PROFILE:
        annex = annex_for(case, target.options)
        if annex is not None:
            options_to = in_force(case.running, annex)
            why = Reason.of('annex-for-one', annex=ANNEX, label=case.release.label)
            reasons = (*reasons, why)
    reasons = (*reasons, *(Reason.of('remark', text=remark) for remark in case.remarks))
    advice_id = recommendation_id(kind, who, options_to, annex)
    restart = not case.alike(case.running, options_to)
    where = places(case.osds)
    steps = case.known.shown_steps.of(
        Change(
            recommendation_id=advice_id,
            kind=ChangeKind(kind.value),
            who=who,
            options_from=case.running,
            options_to=options_to,
            deciding_entries=entries,
            restart=restart,
            orchestrated=case.known.orchestrated,
            places=where,
            annex=annex,
            daemons=tuple((o.info.osd_id, o.info.daemon) for o in case.osds),
        ),
        {o.info.osd_id: o.signals.write_iops if o.signals else None for o in case.osds},
    )
    prediction = next(iter(predictions), None)
    restarts = f'restarts {format_plural(len(case.osds), "OSD")}, one at a time'
    gains, costs = effects(case, target)
    gained = not case.objections and (gain or any(map(is_gain, predictions)))
    return Recommendation(
        recommendation_id=advice_id,
        kind=kind,
        who=who,
        osds=steps.request.order,
        profile=target.profile.name if target.profile else None,
        options_from=case.running,
        options_to=options_to,
        reasons=reasons,
        predictions=predictions,
        risk=risk,
        priority=priority,
        change=replace(
            steps.request,
            prediction=prediction_text(prediction),
            predicted=predicted_effect(prediction),
            strings=None if annex is None else (case.running, options_to),
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
            _do(case, kind, options_to, target, who),
            f'{reasons[0].statement.removesuffix(".")}.',
            gains,
            costs,
            f'{risk.value}: {restarts if restart else "no restart"}',
            f'ceph rocksdb-tuner apply {advice_id}',
        ),
    )


def _by_hand(case: Case, who: str, reason: Reason, others: Sequence[int]) -> Decision:
    """Remove an entry that equals the default, once that is right for ``others`` too."""
    command = removal(who, OPTION if case.annex is None else ANNEX)
    return Decision(
        case.group.who,
        f'Remove the options set for {who} manually',
        f'The entry for {who} should be removed ({reason.statement}) but it also applies '
        f'to {name_osds(others)}, which this change would not reach: '
        f'remove it manually with "{command}" once that is right for all of them.',
        next_command=command,
    )


def _do(case: Case, kind: Kind, options_to: str, target: Target, who: str) -> str:
    """The change in an imperative."""
    running = set_name(case, case.running)
    if kind is Kind.REMOVE_OVERRIDE:
        return (
            f'Remove the {"options" if case.annex is None else "annex"} set for '
            f'{who if len(case.deciding_entries) == 1 else "single OSDs"}'
            + ('' if running == 'default' else f', to return from {running} to default')
        )
    name = set_name(case, options_to, target.profile)
    if name != 'yours':
        return f'Change the options from {running} to {name}'
    try:
        changes = diff(parse(case.running), parse(options_to))
    except OptionSyntaxError:
        changes = ()
    if 0 < len(changes) <= _NAMED:
        return 'Set ' + ', '.join(f'{c.option}={c.value_to or "default"}' for c in changes)
    return f'Change the options from {running} to values derived for these OSDs'


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
