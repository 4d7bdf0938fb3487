"""The recommendation for a chosen option string. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from ..options.grammar import in_force
from ..plan.records import OPTION
from .annex import annex_for, why_annex
from .candidates import expected_usages
from .case import Case, fits
from .choice import Target
from .effect import predicted_write_amplification, reason_of
from .objections import Objection
from .overrides import by_hand, down_osds, other_affected_osds, stays_for
from .predictions import predictions_of
from .proposal import purpose_of, recommendation
from .reasons import (
    cautions,
    losses,
    of_block,
    of_choice,
    of_cores,
    of_kv_sync,
    of_publication,
    of_workload,
)
from .records import Kind, OsdFacts, Prediction, Reason, Recommendation, Risk
from .strings import safe_to_apply
from .weighing import Weighing
from .whatif.derive import agreement
from .whatif.fill import fill_s

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
) -> Union[Recommendation, str]:
    """Recommend ``target`` because of ``objections`` to the running options.

    ``measured``: an experiment on this cluster found it to be better.
    """
    gain = measured or weighed is not None
    cohort = case.cohort
    refusals = safe_to_apply(target.options, case.release.rocksdb_version)
    is_default = case.alike(target.options, case.release.default_options)
    if refusals and not is_default:
        name = target.profile.title if target.profile else 'The derived option string'
        return (
            f'{name} would suit, but does not pass the checks for RocksDB '
            f'{case.release.rocksdb_version}: {refusals[0].message}'
        )
    change = predicted_write_amplification(case.running, target.options, case.situation)
    expected = {u.resource: u.ratio for u in expected_usages(case, target.options)}
    reasons = (
        *(o.reason for o in objections),
        *of_workload(case),
        *target.reasons,
        *of_block(case, objections),
        *(
            (agreement(case.situation, target.profile),)
            if target.profile is not None and not is_default
            else ()
        ),
        *of_choice(weighed),
        *of_publication(case, target),
        *of_kv_sync(expected, case),
        *of_cores(expected, case),
        *(() if change is None else (reason_of(change),)),
        *losses(case, target),
        *cautions(target, is_default=is_default),
    )
    predictions = predictions_of(expected, change, case, weighed, target.options)
    risk = Risk.MEDIUM
    if is_default and change is not None and change.is_better and fits(case, target.options):
        risk = Risk.LOW
    if change is not None and change.is_worse and not is_default and not measured:
        risk = Risk.HIGH
    if is_default and cohort.deciding_entries:
        return removed(case, all_osds, target, reasons, predictions, risk, gain=gain)
    return proposed(case, Kind.SET_PROFILE, target, reasons, predictions, risk, gain=gain)


def removed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    *,
    gain: bool = False,
) -> Union[Recommendation, str]:
    """Recommend to remove the entries.

    One that other OSDs need stays for them: a rollout compares OSDs of one group only.
    """
    cohort = case.cohort
    if not cohort.own_entries:
        (who,) = cohort.deciding_entries
        others = other_affected_osds(who, cohort, all_osds)
        if others:
            unread = any(o.options is None for o in all_osds if o.info.osd_id in others)
            if unread or case.alike(cohort.running, target.options):
                return by_hand(who, OPTION, reasons[0], others)
            reasons = (*reasons, stays_for(who, others))
            return proposed(case, Kind.SET_PROFILE, target, reasons, predictions, risk, gain=gain)
        reasons = (*reasons, *down_osds(all_osds))
    return proposed(case, Kind.REMOVE_OVERRIDE, target, reasons, predictions, risk, gain=gain)


def proposed(
    case: Case,
    kind: Kind,
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    *,
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
    return recommendation(
        cohort,
        kind,
        who=who,
        options_to=target.options if annex is None else in_force(cohort.running, annex),
        profile=target.profile,
        reasons=reasons if annex is None else (*reasons, why_annex(cohort)),
        predictions=predictions,
        risk=risk,
        confidence=None if case.writer is None else case.writer.confidence,
        limit=case.limit,
        annex=annex,
        purpose=purpose_of(predictions, expected=gain, objected=_objected(case)),
        fill_s=fill_s(case.running, target.options, case.situation),
    )


def _objected(case: Case) -> bool:
    """Whether there is an objection to the running options, independent of any gain."""
    chosen = bool(case.cohort.deciding_entries)
    return bool((chosen and case.standing(case.running)) or case.running_misfits)
