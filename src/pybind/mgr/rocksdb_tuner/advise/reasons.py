"""Reasons and costs of a change. Pure.

Model predictions of a recommendation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..lsm.records import Estimate
from .case import Case
from .choice import Target
from .effect import Change, kv_sync_prediction, prediction_of, space_prediction
from .experimented import measured_effect, measured_usage, prediction_from
from .objections import Name, Objection
from .profiles import PublishedEffect, PublishedEvidence, predict
from .records import Prediction, Reason, Resource
from .usage import at_most
from .weighing import RESOURCES, Weighing


def outweighed(weighed: Weighing) -> Objection:
    """The objection that another option string performs better."""
    assert weighed.chosen is not None
    gains = weighed.chosen.gains(weighed.bars)
    # Of the limit first.
    gain = min(gains, key=lambda u: (u.resource is not weighed.resource, u.ratio.value))
    limits = ', which limits these clients,' if gain.resource is weighed.resource else ''
    return Objection(
        Name.OUTWEIGHED,
        Reason(
            'The model predicts that another option string lowers the '
            f'{RESOURCES[gain.resource]}{limits} by {1 - gain.ratio.value:.0%}.',
            'model',
        ),
    )


def of_choice(weighed: Optional[Weighing]) -> tuple[Reason, ...]:
    """Why this candidate was chosen."""
    if weighed is None or weighed.chosen is None:
        return ()
    out = sum(bool(w.infeasible) for w in weighed.weighed)
    what = ', the '.join(RESOURCES[u.resource] for u in weighed.chosen.gains(weighed.bars))
    return (
        Reason(
            f'Of {len(weighed.weighed) - 1} option strings considered, {out} of them ruled out, it '
            f'is the best-tested that lowers the {what} by at least '
            f'{weighed.bars.min_gain:.0%} and raises no other resource by more than '
            f'{weighed.bars.max_loss:.0%}, with 80% probability: see "ceph rocksdb-tuner '
            'recommend --all".',
            'model',
        ),
    )


def of_publication(case: Case, target: Target) -> tuple[Reason, ...]:
    """The published effect of this change."""
    published = _published(case, target)
    if published is None:
        return ()
    return (
        Reason(
            f'Published for this change: {published.metric} {published.change_percent:+.1f}%.',
            published.basis,
        ),
    )


def of_workload(case: Case) -> tuple[Reason, ...]:
    """The measured workload, if it determined the choice."""
    workload = case.cohort.group.workload
    if case.writer is None or workload is None:
        return ()
    return tuple(
        Reason(f'{e.statement}.' if not e.statement.endswith('.') else e.statement, 'measured')
        for e in workload.evidence
    )


def _published(case: Case, target: Target) -> Optional[PublishedEffect]:
    if target.profile is None or case.writer is None:
        return None
    return predict(
        target.profile,
        case.writer.workload_class,
        release=case.release,
        storage=case.storage,
        running=case.effective(case.running),
    )


def losses(case: Case, target: Target) -> tuple[Reason, ...]:
    return tuple(
        Reason(
            f'Possible loss: {figure.metric} {figure.change_percent:+.1f}% in the published '
            f'test ({figure.baseline_value or 0:,.0f} to {figure.value:,.0f}).',
            f'{figure.source.author}, {figure.source.title}, {figure.source.year}, '
            f'{figure.source.section}',
        )
        for figure in lost(case, target)
    )


def lost(case: Case, target: Target) -> tuple[PublishedEvidence, ...]:
    """Published losses of this change on such OSDs, for any workload."""
    if target.profile is None:
        return ()
    running = case.effective(case.running)
    return tuple(
        figure
        for figure in target.profile.evidence
        if figure.unit == 'IOPS'
        and figure.change_percent < 0
        and figure.baseline_value is not None
        and figure.baseline_options
        and case.release.name in figure.releases
        and (case.storage is None or case.storage in figure.hardware)
        and all(running.get(name) == v for name, v in figure.baseline_options.items())
    )


def cautions(target: Target, *, is_default: bool) -> tuple[Reason, ...]:
    if target.profile is None or is_default:
        return ()
    return tuple(
        Reason(f'Caution: {text}', target.profile.source) for text in target.profile.cautions
    )


def relief(expected: Mapping[Resource, Estimate], case: Case) -> Optional[Estimate]:
    """Expected kv_sync time if the kv_sync thread is the limit, or clearly gains."""
    ratio = expected.get(Resource.KV_SYNC)
    if ratio is None or round(ratio.value, 2) == 1:
        return None
    limits = case.limit.resource is Resource.KV_SYNC
    return ratio if limits or _is_gain(ratio, case) else None


def _is_gain(ratio: Estimate, case: Case) -> bool:
    return at_most(ratio) <= 1 - case.bars.min_gain


def predictions_of(
    expected: Mapping[Resource, Estimate],
    change: Optional[Change],
    case: Case,
    options: str,
) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    kv_sync, space = relief(expected, case), expected.get(Resource.DB_SPACE)
    measured = measured_effect(case, case.running, options)
    found = [] if measured is None else [prediction_from(measured)]
    if kv_sync is not None and Resource.KV_SYNC not in measured_usage(case, case.running, options):
        found.append(kv_sync_prediction(kv_sync))
    found += [] if change is None else [prediction_of(change)]
    if space is not None and _is_gain(space, case):
        found.append(space_prediction(space))
    return tuple(found)
