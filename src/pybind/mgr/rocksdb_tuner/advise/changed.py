"""The recommendation for a chosen option string. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from ..options.grammar import in_force
from ..plan.commands import removal
from ..plan.records import OPTION
from ..units import format_change
from .candidates import expected_usages
from .case import Case
from .choice import Target
from .cohort import annex_for, why_annex
from .decision import effects, nothing
from .experimented import measured_effect, measured_usage, prediction_from
from .limit import limit_thresholds
from .objections import Objection, harmful
from .overrides import by_hand, down_osds, other_affected_osds, stays_for
from .proposal import purpose_of, recommendation
from .reasons import (
    cautions,
    losses,
    lost,
    of_choice,
    of_publication,
    of_space,
    of_workload,
    of_writes,
    predictions_of,
)
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
from .strings import check, safe_to_apply
from .weighing import Weighing
from .whatif.derive import agreement
from .whatif.tree import fill_s

#: Config section of all OSDs of the cluster.
ALL_OSDS = 'osd'


def changed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    objections: Sequence[Objection],
    target: Target,
    weighed: Optional[Weighing] = None,
    *,
    measured: bool = False,
) -> Union[Recommendation, Decision]:
    """Recommend ``target`` because of ``objections`` to the running options.

    ``measured``: an experiment on this cluster found it to be better.
    """
    gain = measured or weighed is not None
    cohort = case.cohort
    refusals = safe_to_apply(target.options, case.release.rocksdb_version)
    is_default = case.alike(target.options, case.release.default_options)
    if refusals and not is_default:
        name = target.profile.title if target.profile else 'The derived option string'
        return nothing(
            cohort.group.who,
            f'{name} would suit, but does not pass the checks for RocksDB '
            f'{case.release.rocksdb_version}: {refusals[0].message}',
            case.limit,
        )
    expected = {u.resource: u.ratio for u in expected_usages(case, target.options)}
    writes = expected.get(Resource.DB_DEVICE)
    reasons = (
        *(o.reason for o in objections),
        *of_workload(case),
        *target.reasons,
        *(
            (agreement(case.situation, target.profile),)
            if target.profile is not None and not is_default
            else ()
        ),
        *of_choice(weighed),
        *of_publication(case, target),
        *of_writes(writes),
        *of_space(case, expected.get(Resource.DB_SPACE)),
        *losses(case, target),
        *cautions(case, target, is_default=is_default),
    )
    predictions, risk = predictions_of(expected, case, target.options), Risk.MEDIUM
    if is_default and writes is not None and writes.high < 1 and not case.misfits(target.options):
        risk = Risk.LOW
    if writes is not None and writes.low > 1 and not is_default and not measured:
        risk = Risk.HIGH
    if is_default and cohort.deciding_entries:
        return removed(
            case,
            all_osds,
            target,
            reasons,
            predictions,
            risk,
            priority=_priority(case, weighed),
            gain=gain,
        )
    return proposed(
        case,
        Kind.SET_PROFILE,
        target,
        reasons,
        predictions,
        risk,
        priority=_priority(case, weighed),
        gain=gain,
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
    return Priority.PLANNED if gained & will_limit else Priority.OPTIONAL


def removed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    *,
    priority: Priority,
    gain: bool = False,
) -> Union[Recommendation, Decision]:
    """Recommend to remove the entries.

    One that other OSDs need stays for them: a rollout compares OSDs of one group only.
    """
    cohort = case.cohort
    kind = Kind.REMOVE_OVERRIDE
    if not cohort.own_entries:
        (who,) = cohort.deciding_entries
        others = other_affected_osds(who, cohort, all_osds)
        if others:
            unread = any(o.options is None for o in all_osds if o.info.osd_id in others)
            if unread or case.alike(cohort.running, target.options):
                return Decision(
                    cohort.group.who,
                    f'Remove the options set for {who} manually',
                    by_hand(who, OPTION, reasons[0], others),
                    next_command=removal(who, OPTION),
                )
            kind = Kind.SET_PROFILE
            reasons = (*reasons, stays_for(who, others))
        else:
            reasons = (*reasons, *down_osds(all_osds))
    return proposed(case, kind, target, reasons, predictions, risk, priority=priority, gain=gain)


def proposed(
    case: Case,
    kind: Kind,
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    *,
    priority: Priority,
    gain: bool = False,
) -> Recommendation:
    cohort = case.cohort
    entries = cohort.deciding_entries
    if cohort.own_entries:
        who = entries[0] if len(cohort.osds) == 1 else cohort.group.who
    elif kind is Kind.REMOVE_OVERRIDE:
        (who,) = entries
    else:
        # A class-masked entry is ignored at OSD startup, so a group that is not the whole cluster
        # keeps an entry per OSD.
        who = ALL_OSDS if cohort.is_everything else cohort.group.who
    annex = annex_for(cohort, target.options) if kind is Kind.SET_PROFILE else None
    gains, costs = _effects(case, target)
    return recommendation(
        cohort,
        kind,
        who=who,
        options_to=target.options if annex is None else in_force(cohort.running, annex),
        profile=target.profile,
        reasons=(
            *reasons,
            *(() if annex is None else (why_annex(cohort),)),
            *(Reason(remark, 'measured') for remark in cohort.remarks),
        ),
        predictions=predictions,
        risk=risk,
        priority=priority,
        confidence=None if case.writer is None else case.writer.confidence,
        limit=case.limit,
        annex=annex,
        purpose=purpose_of(predictions, expected=gain, objected=bool(case.objections)),
        fill_s=fill_s(case.running, target.options, case.situation),
        gain=gains,
        loss=costs,
    )


def _effects(case: Case, target: Target) -> tuple[Optional[str], Optional[str]]:
    """Gains and losses of ``target``."""
    if case.alike(case.running, target.options):
        return None, 'none: the options of the OSDs stay the same'
    arm = measured_effect(case, case.running, target.options)
    # Of a modeled resource it has replaced the model.
    modeled = measured_usage(case, case.running, target.options)
    return effects(
        expected_usages(case, target.options),
        () if arm is None or modeled else (prediction_from(arm),),
        [f'{f.metric} {format_change(f.change_percent)}, as published' for f in lost(case, target)],
        case.bars.max_loss,
    )
