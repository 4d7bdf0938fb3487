"""The complete recommendation for an option string: reasons, predictions, costs, steps. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional, Union

from ..judge.predictions import shown_by
from ..judge.signals import judged_signals, signal_named
from ..knowledge import loader
from ..options.grammar import OptionSyntaxError, diff, in_force, parse
from ..plan.commands import Change, removal
from ..plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest, Purpose
from ..units import (
    format_bytes,
    format_change,
    format_effect,
    format_plural,
    format_time,
)
from ..workload.pressure import KV_FLUSH_MS, TRANSACTIONS
from ..workload.records import limit_thresholds
from .candidates import expected_usages, measured_usage, set_name
from .case import Case
from .choice import Target, annex_for, down_osds, other_affected_osds
from .decision import nothing
from .facts import name_osds, places
from .objections import harmful
from .profiles import PublishedEvidence, Storage
from .records import (
    Decision,
    Kind,
    MeasuredArm,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Resource,
    Risk,
)
from .strings import check, safe_to_apply
from .weighing import RESOURCES, Usage, Weighing
from .whatif.tree import fill_s

#: Signals in `osd` that change with a judged signal.
SHOWN_AS = {
    'op_w_latency_ms': 'op_w_latency_ms',
    'kv_sync_ms_per_txn': 'kv_sync_busy',
    'db_bytes_per_txn': 'db_write_amp',
    'db_used_bytes': 'db_used_bytes',
}
#: The most options that are named instead of the whole string.
_NAMED = 3
#: Config section of all OSDs of the cluster.
ALL_OSDS = 'osd'
_STYLE = 'compaction_style'
#: Smaller changes are within the rounding of the model.
_NOTICEABLE = 0.02
Expected = Mapping[Resource, Usage]


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
    expected = {usage.resource: usage for usage in expected_usages(case, target.options)}
    writes, risk = expected.get(Resource.DB_DEVICE), Risk.MEDIUM
    if is_default and writes and writes.ratio.high < 1 and not case.misfits(target.options):
        risk = Risk.LOW
    loses = writes and writes.ratio.low > 1 and not is_default and not measured
    if loses or len(_styles(case, target)) > 1:
        risk = Risk.HIGH
    return recommended(
        case,
        target,
        (*because, *_reasons(case, target, expected, weighed)),
        expected,
        risk,
        _priority(case, expected, weighed),
        gain=measured or weighed is not None,
    )


def _priority(case: Case, expected: Expected, weighed: Optional[Weighing]) -> Priority:
    problems = check(case.running, case.release.rocksdb_version).problems
    hazard = any(p.severity == 'error' or harmful(p) for p in problems)
    broken = set(case.broken(case.running))
    # What a device has no room for costs little where it goes to flash.
    beyond = broken - {'memtables-beyond-memory'} if case.storage is Storage.NVME else set()
    if (case.deciding_entries and hazard) or broken - beyond:
        return Priority.NOW
    if weighed is None or weighed.chosen is None:
        gained = {r for r, u in expected.items() if u.at_most <= 1 - case.known.bars.min_gain}
        limit = expected.get(case.limit.resource)
        if case.limit.of_options in gained and not case.reads:
            return Priority.NOW
        # Clients should not pay for a string that is merely no longer recommended.
        pays = limit is not None and limit.ratio.low > 1 and not gained
        return Priority.OPTIONAL if pays else Priority.PLANNED
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
    expected: Optional[Expected] = None,
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
    restart, where = not case.alike(case.running, options_to), places(case.osds)
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
    predictions = () if expected is None else _predictions(expected, case, target.options)
    restarts = f'restarts {format_plural(len(case.osds), "OSD")}, one at a time'
    gains, losses = _effects(case, target, expected or {})
    gained = not case.objections and (gain or any(p.is_gain for p in predictions))
    first = predictions[0] if predictions else None
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
            prediction=first.text if first else None,
            predicted=first.predicted if first else None,
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
            losses,
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


def predicted_signal(predictions: Sequence[Prediction]) -> Optional[str]:
    """The judged signal of the first predicted gain; None if there is none."""
    first = next((p for p in predictions if p.is_gain), None)
    shown = None if first is None else shown_by(first.metric)
    judged = {signal.name for signal in judged_signals()}
    return shown.signal if shown is not None and shown.signal in judged else None


def recommendation_id(kind: Kind, who: str, options_to: str, annex: Optional[str] = None) -> str:
    """The same recommendation has the same id after a failover and on every mgr."""
    by_annex = '' if annex is None else f'\0{annex}'
    digest = hashlib.sha256(f'{kind.value}\0{who}\0{options_to}{by_annex}'.encode()).hexdigest()
    place = who.rpartition(':')[2].rpartition('/')[2]
    # It is typed in commands.
    return f'{re.sub("[^A-Za-z0-9._]+", "_", place)}-{digest[:6]}'


def outweighed(weighed: Weighing) -> Reason:
    """Another option string performs better."""
    assert weighed.chosen is not None
    gains = weighed.chosen.gains(weighed.bars)
    # Of the limit first.
    gain = min(gains, key=lambda u: (u.resource is not weighed.resource, u.ratio.value))
    limits = ', which limits these clients,' if gain.resource is weighed.resource else ''
    saved, resource = 1 - gain.ratio.value, RESOURCES[gain.resource]
    return Reason.of('outweighed', resource=resource, limits=limits, saved=saved)


def lost_experiment(arm: MeasuredArm) -> Reason:
    """The running options lost the experiment."""
    text = f'In experiment {arm.experiment_id} the new options changed the {change_by(arm)}.'
    return Reason(text, _source_of(arm))


def change_by(arm: MeasuredArm, by: str = ' by') -> str:
    """ "kv_sync time per write by -13% (-18 to -6%)" """
    effect = format_effect(arm.change_percent, arm.low_percent, arm.high_percent)
    return f'{signal_named(arm.signal).title}{by} {effect}'


def _source_of(arm: MeasuredArm) -> str:
    day = (format_time(arm.time_s) or '').partition('T')[0]
    return f'experiment {arm.experiment_id} on this cluster' + (f', {day}' if day else '')


def _reasons(
    case: Case, target: Target, expected: Expected, weighed: Optional[Weighing]
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
        unsure = writes.ratio.low <= 1 <= writes.ratio.high
        alike = ': too close for it to tell apart' if unsure else ''
        yield Reason.of('db-writes', effect=writes.effect, alike=alike)
    yield from _of_space(case, expected.get(Resource.DB_SPACE))
    yield from _cautions(case, target)


def _cautions(case: Case, target: Target) -> Iterator[Reason]:
    for figure in lost(case, target):
        yield Reason.of('published-loss', figure=figure, before=figure.baseline_value or 0)
    styles = _styles(case, target)
    if len(styles) > 1:
        yield Reason.of('style-changes', style=_STYLE, before=styles[0], after=styles[1])
    elif target.profile and not case.is_default(target.options):
        for text in target.profile.cautions:
            yield Reason.of('caution', text=text, profile=target.profile)


def _styles(case: Case, target: Target) -> Sequence[Optional[str]]:
    """The compaction style of the running options, and the new one if it differs."""
    texts = (case.running, target.options)
    return tuple(dict.fromkeys(case.effective(text).get(_STYLE) for text in texts))


def _of_space(case: Case, space: Optional[Usage]) -> Iterator[Reason]:
    """Whether the data fits its DB devices after the change, where it does not fit now."""
    known = [
        (s.db_used_bytes + (s.slow_used_bytes or 0), s.db_total_bytes)
        for osd in case.osds
        if (s := osd.signals) is not None and osd.info.dedicated_db
        if s.db_used_bytes is not None and s.db_total_bytes
    ]
    used, total = max(known, key=lambda sizes: sizes[0] / sizes[1], default=(0, 0))
    if space is not None and used > total:
        after = used * space.ratio.value
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


def _predictions(expected: Expected, case: Case, options: str) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    measured, found = case.measured(case.running, options), []
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
        usage = expected.get(Resource(name))
        if usage is not None and _is_predicted(usage, case, options):
            ends = usage.estimate_percent, usage.low_percent, usage.high_percent
            basis = f'The model ("ceph rocksdb-tuner model") {shown["basis"]}'
            found.append(Prediction(shown['metric'], shown['signal'], *ends, basis))
    return tuple(found)


def _is_predicted(usage: Usage, case: Case, options: str) -> bool:
    """Whether the model's figure is shown."""
    is_gain = usage.at_most <= 1 - case.known.bars.min_gain
    if usage.resource is Resource.KV_SYNC:
        # The thread is the limit, or clearly gains, and was not measured.
        limits = case.limit.resource is Resource.KV_SYNC
        unmeasured = usage.resource not in measured_usage(case, case.running, options)
        shown = (limits or is_gain) and not (case.reads and usage.ratio.value < 1)
        return unmeasured and shown and round(usage.ratio.value, 2) != 1
    if usage.resource is Resource.DB_SPACE:
        # Of a smaller WAL alone, no compaction saves anything.
        packings = {case.effective(text).get('compression') for text in (case.running, options)}
        return is_gain and len(packings) > 1
    return True


def _effects(case: Case, target: Target, expected: Expected) -> tuple[Optional[str], Optional[str]]:
    """Gains and losses of ``target`` in words; None if unknown."""
    if case.alike(case.running, target.options):
        return None, 'none: the options of the OSDs stay the same'
    arm = case.measured(case.running, target.options)
    gains: list[str] = []
    # Of a modeled resource the measurement has replaced the model.
    if arm is not None and not measured_usage(case, case.running, target.options):
        gains.append(change_by(arm, by=''))
    losses = [
        f'{f.metric} {format_change(f.change_percent)}, as published' for f in lost(case, target)
    ]
    for usage in sorted(expected.values(), key=lambda u: u.ratio.value):
        change, ratio = f'{RESOURCES[usage.resource]} {usage.effect}', usage.ratio
        if ratio.high < 1 and ratio.value <= 1 - _NOTICEABLE:
            gains.append(change)
        elif ratio.value >= 1 + _NOTICEABLE or usage.at_most > 1 + case.known.bars.max_loss:
            losses.append(change)
    # Without a model of its writes too little is known of a workload.
    modeled = Resource.KV_SYNC in expected
    return ', '.join(gains) or None, ', '.join(losses) or ('none expected' if modeled else None)
