"""Reasons, predictions and costs of a change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Optional

from ..lsm.records import Estimate
from ..units import format_bytes, format_change, format_effect
from ..workload.pressure import KV_FLUSH_MS, TRANSACTIONS
from .candidates import expected_usages
from .case import Case
from .choice import Target
from .experimented import measured_effect, measured_usage, prediction_from
from .profiles import PublishedEvidence
from .records import Prediction, Reason, Resource
from .usage import at_most
from .weighing import RESOURCES, Weighing, effect_of

_STYLE = 'compaction_style'
#: Smaller changes are within the rounding of the model.
_NOTICEABLE = 0.02


def outweighed(weighed: Weighing) -> Reason:
    """Another option string performs better."""
    assert weighed.chosen is not None
    gains = weighed.chosen.gains(weighed.bars)
    # Of the limit first.
    gain = min(gains, key=lambda u: (u.resource is not weighed.resource, u.ratio.value))
    limits = ', which limits these clients,' if gain.resource is weighed.resource else ''
    saved, resource = 1 - gain.ratio.value, RESOURCES[gain.resource]
    return Reason.of('outweighed', resource=resource, limits=limits, saved=saved)


def reasons_for(
    case: Case, target: Target, expected: Mapping[Resource, Estimate], weighed: Optional[Weighing]
) -> Iterator[Reason]:
    """Reasons besides the objections to the running options: for the target, then against it."""
    workload = case.cohort.group.workload
    if case.writer is not None and workload is not None:
        for e in workload.evidence:
            if e.signal not in {KV_FLUSH_MS, TRANSACTIONS}:
                yield Reason.of('remark', text=f'{e.statement.removesuffix(".")}.')
    yield from target.reasons
    if weighed is not None and weighed.chosen is not None:
        gains = weighed.chosen.gains(weighed.bars)
        yield Reason.of(
            'best-tested',
            considered=len(weighed.weighed) - 1,
            out=sum(bool(w.infeasible) for w in weighed.weighed),
            gains=', the '.join(RESOURCES[usage.resource] for usage in gains),
            bars=weighed.bars,
        )
    published = case.published(target.options, case.running)
    if published is not None:
        yield Reason.of('published', effect=published)
    writes = expected.get(Resource.DB_DEVICE)
    if writes is not None:
        alike = ': too close for it to tell apart' if writes.low <= 1 <= writes.high else ''
        yield Reason.of('db-writes', effect=effect_of(writes), alike=alike)
    yield from _of_space(case, expected.get(Resource.DB_SPACE))
    yield from _cautions(case, target)


def _cautions(case: Case, target: Target) -> Iterator[Reason]:
    for figure in lost(case, target):
        yield Reason.of('published-loss', figure=figure, before=figure.baseline_value or 0)
    styles = [case.effective(text).get(_STYLE) for text in (case.running, target.options)]
    if styles[0] != styles[1]:
        yield Reason.of('style-changes', style=_STYLE, before=styles[0], after=styles[1])
    elif target.profile and not case.alike(target.options, case.release.default_options):
        for text in target.profile.cautions:
            yield Reason.of('caution', text=text, profile=target.profile)


def _of_space(case: Case, ratio: Optional[Estimate]) -> Iterator[Reason]:
    """Whether the data fits its DB devices after the change, where it does not fit now."""
    known = [
        (s.db_used_bytes + (s.slow_used_bytes or 0), s.db_total_bytes)
        for osd in case.osds
        if (s := osd.signals) is not None and osd.info.dedicated_db
        if s.db_used_bytes is not None and s.db_total_bytes
    ]
    used, total = max(known, key=lambda sizes: sizes[0] / sizes[1], default=(0, 0))
    if ratio is not None and used > total:
        after = used * ratio.value
        fits = 'fits' if after <= total else 'still exceeds it: enlarge the device too'
        sizes = {'used': used, 'total': total, 'after': after}
        yield Reason.of('db-space', fits=fits, **{n: format_bytes(b) for n, b in sizes.items()})


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
