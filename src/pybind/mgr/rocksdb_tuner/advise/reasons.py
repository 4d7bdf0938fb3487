"""Reasons, predictions and costs of a change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Optional

from ..judge.signals import signal_named
from ..knowledge import loader
from ..lsm.records import Estimate
from ..units import format_bytes, format_change, format_effect, format_time
from ..workload.pressure import KV_FLUSH_MS, TRANSACTIONS
from .candidates import expected_usages, measured_usage
from .case import Case
from .choice import Target
from .profiles import PublishedEvidence
from .records import MeasuredArm, Prediction, Reason, Resource
from .usage import at_most
from .weighing import RESOURCES, Weighing, effect_of

#: Signals in `osd` that change with a judged signal.
SHOWN_AS = {
    'op_w_latency_ms': 'op_w_latency_ms',
    'kv_sync_ms_per_txn': 'kv_sync_busy',
    'db_bytes_per_txn': 'db_write_amp',
    'db_used_bytes': 'db_used_bytes',
}
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


def reason_from(arm: MeasuredArm) -> Reason:
    """The running options lost the experiment."""
    text = f'In experiment {arm.experiment_id} the new options changed the {change_by(arm)}.'
    return Reason(text, _source_of(arm))


def change_by(arm: MeasuredArm) -> str:
    """ "kv_sync time per write by -13% (-18 to -6%)" """
    effect = format_effect(arm.change_percent, arm.low_percent, arm.high_percent)
    return f'{signal_named(arm.signal).title} by {effect}'


def _source_of(arm: MeasuredArm) -> str:
    day = (format_time(arm.time_s) or '').partition('T')[0]
    return f'experiment {arm.experiment_id} on this cluster' + (f', {day}' if day else '')


def reasons_for(
    case: Case, target: Target, expected: Mapping[Resource, Estimate], weighed: Optional[Weighing]
) -> Iterator[Reason]:
    """Reasons besides the objections to the running options: for the target, then against it."""
    workload = case.group.workload
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
    elif target.profile and not case.is_default(target.options):
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
    running = case.effective(case.running)
    return tuple(
        figure
        for figure in (target.profile.evidence if target.profile else ())
        if figure.unit == 'IOPS'
        and figure.change_percent < 0
        and figure.baseline_value is not None
        and figure.applies(case.release, running)
        and (case.storage is None or case.storage in figure.hardware)
    )


def predictions_of(
    expected: Mapping[Resource, Estimate], case: Case, options: str
) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    measured = case.measured(case.running, options)
    found = []
    if measured is not None:
        found.append(
            Prediction(
                metric=signal_named(measured.signal).title,
                signal=SHOWN_AS[measured.signal],
                estimate_percent=measured.change_percent,
                low_percent=measured.low_percent,
                high_percent=measured.high_percent,
                basis=f'experiment: {_source_of(measured)}, measured on OSDs of this group',
            )
        )
    for name, shown in loader.load('choice')['predictions'].items():
        ratio = expected.get(Resource(name))
        if ratio is not None and _is_predicted(Resource(name), ratio, case, options):
            low, value, high = ((end - 1) * 100 for end in ratio.ends)
            basis = f'The model ("ceph rocksdb-tuner model") {shown["basis"]}'
            found.append(Prediction(shown['metric'], shown['signal'], value, low, high, basis))
    return tuple(found)


def _is_predicted(resource: Resource, ratio: Estimate, case: Case, options: str) -> bool:
    """Whether the model's figure is shown."""
    is_gain = at_most(ratio) <= 1 - case.known.bars.min_gain
    if resource is Resource.KV_SYNC:
        # The thread is the limit, or clearly gains, and was not measured.
        limits = case.limit.resource is Resource.KV_SYNC
        unmeasured = resource not in measured_usage(case, case.running, options)
        return unmeasured and round(ratio.value, 2) != 1 and (limits or is_gain)
    if resource is Resource.DB_SPACE:
        # Of a smaller WAL alone, no compaction saves anything.
        packings = {case.effective(text).get('compression') for text in (case.running, options)}
        return is_gain and len(packings) > 1
    return True


def effects(case: Case, target: Target) -> tuple[Optional[str], Optional[str]]:
    """Gains and losses of ``target`` in words; None if unknown."""
    if case.alike(case.running, target.options):
        return None, 'none: the options of the OSDs stay the same'
    arm = case.measured(case.running, target.options)
    gains: list[str] = []
    # Of a modeled resource the measurement has replaced the model.
    if arm is not None and not measured_usage(case, case.running, target.options):
        effect = format_effect(arm.change_percent, arm.low_percent, arm.high_percent)
        gains.append(f'{signal_named(arm.signal).title} {effect}')
    losses = [
        f'{f.metric} {format_change(f.change_percent)}, as published' for f in lost(case, target)
    ]
    expected = expected_usages(case, target.options)
    for resource, ratio in sorted(expected, key=lambda u: u.ratio.value):
        change = f'{RESOURCES[resource]} {effect_of(ratio)}'
        if ratio.high < 1 and ratio.value <= 1 - _NOTICEABLE:
            gains.append(change)
        elif ratio.value >= 1 + _NOTICEABLE or at_most(ratio) > 1 + case.known.bars.max_loss:
            losses.append(change)
    # Without a model of its writes too little is known of a workload.
    modeled = any(u.resource is Resource.KV_SYNC for u in expected)
    return ', '.join(gains) or None, ', '.join(losses) or ('none expected' if modeled else None)
