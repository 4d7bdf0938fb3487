"""Reasons and costs of a change. Pure.

Model predictions of a recommendation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..lsm.records import Estimate
from ..units import format_bytes, format_change, format_effect
from ..workload.pressure import KV_FLUSH_MS, TRANSACTIONS
from .candidates import expected_usages
from .case import Case
from .choice import Target
from .experimented import measured_effect, measured_usage, prediction_from
from .objections import Name, Objection
from .profiles import PublishedEvidence
from .records import Prediction, Reason, Resource
from .usage import at_most
from .weighing import RESOURCES, Weighing, effect_of


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
    published = case.published(target.options, case.running)
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
        if e.signal not in {KV_FLUSH_MS, TRANSACTIONS}
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


def cautions(case: Case, target: Target, *, is_default: bool) -> tuple[Reason, ...]:
    styles = [case.effective(text).get(_STYLE) for text in (case.running, target.options)]
    if styles[0] != styles[1]:
        # Whatever the target is.
        return (
            Reason(
                f'Caution: {_STYLE} changes from {styles[0]} to {styles[1]} under live data: '
                'RocksDB rewrites all files at the next starts, or refuses to open them. Try one '
                'OSD that may be lost, and keep the undo command at hand.',
                'RocksDB wiki, Universal Compaction, and Compaction: changing the style',
            ),
        )
    if target.profile is None or is_default:
        return ()
    return tuple(
        Reason(f'Caution: {text}', target.profile.source) for text in target.profile.cautions
    )


_STYLE = 'compaction_style'


def relief(expected: Mapping[Resource, Estimate], case: Case) -> Optional[Estimate]:
    """Expected kv_sync time if the kv_sync thread is the limit, or clearly gains."""
    ratio = expected.get(Resource.KV_SYNC)
    if ratio is None or round(ratio.value, 2) == 1:
        return None
    limits = case.limit.resource is Resource.KV_SYNC
    return ratio if limits or _is_gain(ratio, case) else None


def _is_gain(ratio: Estimate, case: Case) -> bool:
    return at_most(ratio) <= 1 - case.bars.min_gain


#: Metric, signal, basis of the model's predictions.
_MODELED: Mapping[Resource, tuple[str, str, str]] = {
    Resource.KV_SYNC: (
        'kv_sync thread time per write',
        # For equal writes, the load of the thread changes by the same share.
        'kv_sync_busy',
        'of inserts into memtables, which gives the published IOPS of other memtables within 4%.',
    ),
    Resource.DB_DEVICE: (
        'write amplification of RocksDB',
        'db_write_amp',
        'of the tree; 80% of the comparisons with real OSDs were within this interval.',
    ),
    Resource.DB_SPACE: (
        'space taken by RocksDB',
        'db_used_bytes',
        'of the tree, for the present data once compactions have rewritten all of it.',
    ),
}


def predictions_of(
    expected: Mapping[Resource, Estimate], case: Case, options: str
) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    measured = measured_effect(case, case.running, options)
    found = [] if measured is None else [prediction_from(measured)]
    of_thread = Resource.KV_SYNC in measured_usage(case, case.running, options)
    for resource, (metric, signal, basis) in _MODELED.items():
        ratio = expected.get(resource)
        if resource is Resource.KV_SYNC:
            ratio = None if of_thread else relief(expected, case)
        if resource is Resource.DB_SPACE and (
            # Of a smaller WAL alone, no compaction saves anything.
            ratio is None or not _is_gain(ratio, case) or not _packs_otherwise(case, options)
        ):
            continue
        if ratio is not None:
            low, value, high = ((end - 1) * 100 for end in ratio.ends)
            of_model = f'The model ("ceph rocksdb-tuner model") {basis}'
            found.append(Prediction(metric, signal, value, low, high, of_model))
    return tuple(found)


def _packs_otherwise(case: Case, options: str) -> bool:
    before, after = (case.effective(text).get('compression') for text in (case.running, options))
    return before != after


def of_writes(ratio: Optional[Estimate]) -> tuple[Reason, ...]:
    """The predicted change of DB writes; its level is measured better than modeled."""
    if ratio is None:
        return ()
    alike = ratio.low <= 1 <= ratio.high
    return (
        Reason(
            f'The model predicts that RocksDB writes {effect_of(ratio)} for the same client writes'
            + (': too close for it to tell apart.' if alike else '.'),
            'model',
        ),
    )


def of_space(case: Case, ratio: Optional[Estimate]) -> tuple[Reason, ...]:
    """Whether the data fits its DB devices after the change, where it does not fit now."""
    known = [
        (s.db_used_bytes + (s.slow_used_bytes or 0), s.db_total_bytes)
        for osd in case.osds
        if (s := osd.signals) is not None and osd.info.dedicated_db
        if s.db_used_bytes is not None and s.db_total_bytes
    ]
    used, total = max(known, key=lambda sizes: sizes[0] / sizes[1], default=(0, 0))
    if ratio is None or used <= total:
        return ()
    after = used * ratio.value
    return (
        Reason(
            f'{format_bytes(used)} of RocksDB data exceed a DB device of {format_bytes(total)}; '
            f'by the model {format_bytes(after)} remain once all of it is compacted, which '
            + ('fits.' if after <= total else 'still exceeds it: enlarge the device too.'),
            'model',
        ),
    )


#: Smaller changes are within the rounding of the model.
_NOTICEABLE = 0.02


def effects(case: Case, target: Target) -> tuple[Optional[str], Optional[str]]:
    """Gains and losses of ``target`` in words; None if unknown."""
    if case.alike(case.running, target.options):
        return None, 'none: the options of the OSDs stay the same'
    arm = measured_effect(case, case.running, target.options)
    gains: list[str] = []
    # Of a modeled resource the measurement has replaced the model.
    if arm is not None and not measured_usage(case, case.running, target.options):
        p = prediction_from(arm)
        effect = format_effect(p.estimate_percent, p.low_percent, p.high_percent)
        gains.append(f'{p.metric} {effect}')
    losses = [
        f'{f.metric} {format_change(f.change_percent)}, as published' for f in lost(case, target)
    ]
    expected = expected_usages(case, target.options)
    for resource, ratio in sorted(expected, key=lambda u: u.ratio.value):
        change = f'{RESOURCES[resource]} {effect_of(ratio)}'
        if ratio.high < 1 and ratio.value <= 1 - _NOTICEABLE:
            gains.append(change)
        elif ratio.value >= 1 + _NOTICEABLE or at_most(ratio) > 1 + case.bars.max_loss:
            losses.append(change)
    # Without a model of its writes too little is known of a workload.
    modeled = any(u.resource is Resource.KV_SYNC for u in expected)
    return ', '.join(gains) or None, ', '.join(losses) or ('none expected' if modeled else None)
