"""What should change for a group of OSDs, or why nothing should. Pure.

The order of the questions is the order of trust: first whether anything may be advised at all,
then whether something speaks against what runs, and only then what should run instead. Without a
named objection what runs stays, whoever wrote it: "nothing to change" is an answer with reasons of
its own. What is advised is what these OSDs should run whatever they run now, so one change is
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Mapping, Optional, Union

from ..lsm.records import Estimate
from ..options.grammar import in_force
from ..plan.records import ANNEX, OPTION
from ..workload.records import WorkloadClass
from ..workload.writer import Writer, writer_of
from .annex import annex_for, why_annex
from .assessment import Assessment
from .candidates import BEYOND_ROCKSDB, expected_usages, objectives, weighed_for
from .case import MIN_CONFIDENCE, Case, fits
from .choice import (
    Target,
    default_target,
    fitting,
    only_compressed,
    published_target,
    repaired,
    resized,
    target_for,
    target_of,
)
from .cohort import (
    Cohort,
    group_cohort,
    own_entry_cohorts,
    redundant_annex_cohorts,
)
from .derive import agreement
from .effect import (
    Change,
    kv_sync_prediction,
    kv_sync_reason,
    predicted_write_amplification,
    prediction_of,
    reason_of,
    space_prediction,
)
from .fill import fill_s
from .limit import limit_thresholds
from .naming import name_osds
from .objections import Name, Objection, has_large_memtables
from .overrides import others_it_decides_for, redundant_annex_entry, redundant_entry
from .profiles import Profile, PublishedEffect, predict
from .proposal import purpose_of, recommendation
from .records import (
    GroupFacts,
    Kind,
    Limit,
    OsdFacts,
    Prediction,
    Reason,
    Recommendation,
    Resource,
    Risk,
)
from .steps import ShownSteps
from .strings import recognise, safe_to_apply, same_meaning
from .usage import at_most
from .weighing import RESOURCES, Bars, Weighing

__all__ = ['ALL_OSDS', 'NO_ADVICE_FOR', 'assess']

#: Whom an entry for the whole cluster addresses.
ALL_OSDS = 'osd'
#: Workloads that are no client's work, or no clear one: no reason to change anything for them,
#: unless it is known who writes in them.
NO_ADVICE_FOR = frozenset(
    {
        WorkloadClass.IDLE,
        WorkloadClass.RECOVERY,
        WorkloadClass.MIXED,
        WorkloadClass.UNKNOWN,
    }
)
#: What keeps an entry of a single OSD from being left alone: it may be somebody's experiment.
_AGAINST_OWN_ENTRIES = frozenset({Name.SUPERSEDED, Name.UNSAFE})


def assess(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool = True,
    rollout_under_way: bool = False,
    shown_steps: Optional[ShownSteps] = None,
    own_profiles: Sequence[Profile] = (),
    bars: Optional[Bars] = None,
) -> Assessment:
    """What to do for ``group``.

    ``all_osds`` shows whom an entry wider than the group serves; ``orchestrated`` is whether an
    orchestrator can restart daemons, which decides how the commands read. While a rollout is
    under way the entries of single OSDs may be its own: nothing is said of them. ``shown_steps``
    remembers how what was recommended before would be done; ``own_profiles`` are operators';
    ``bars`` are what a change for gain must bring and what it may cost.
    """
    shown = shown_steps or ShownSteps()
    own: tuple[Recommendation, ...] = ()
    told: tuple[str, ...] = ()
    if not rollout_under_way:
        own = _own_entries_advice(group, orchestrated=orchestrated, shown_steps=shown)
        going, told = _annex_advice(group, all_osds, orchestrated=orchestrated, shown_steps=shown)
        own = (*going, *own)
    cohort = group_cohort(group, all_osds, orchestrated, shown)
    if isinstance(cohort, str):
        return Assessment(group.who, ' '.join((cohort, *told)), own)
    case = Case(cohort, bars or Bars())
    weighed = _weighed(case)
    advice = _advice(case, all_osds, own_profiles, weighed)
    if isinstance(advice, str):
        return Assessment(group.who, _with_remarks(advice, cohort), own, weighed)
    return Assessment(
        group.who, _with_remarks('A change is recommended.', cohort), (advice, *own), weighed
    )


def _weighed(case: Case) -> Optional[Weighing]:
    """None where nothing is to be relieved, or no option set may be chosen."""
    if case.why_no_tuning is not None or case.misfits(case.running):
        return None
    if not case.effective(case.running):
        # What RocksDB makes of it cannot be told.
        return None
    return weighed_for(case, objectives(case))


def _with_remarks(text: str, cohort: Cohort) -> str:
    return ' '.join((text, *cohort.remarks))


def _advice(
    case: Case,
    all_osds: Sequence[OsdFacts],
    own_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    cohort = case.cohort
    chosen = bool(cohort.deciding_entries)
    redundant = redundant_entry(cohort) if chosen else None
    if redundant is not None:
        gain = _gain(case, all_osds, own_profiles, weighed)
        if not isinstance(gain, str):
            # What sets another string needs the entry: without it there would be two changes.
            return gain
        return _removed(case, all_osds, default_target(case), (redundant,), (), Risk.LOW)
    standing = case.standing(case.running) if chosen else ()
    if standing:
        found = _in_place_of(case, standing)
        if not isinstance(found, str):
            return _changed(case, all_osds, standing, fitting(case, found) or found)
        if not case.misfits(case.running):
            return found
    return _gain(case, all_osds, own_profiles, weighed)


def _gain(
    case: Case,
    all_osds: Sequence[OsdFacts],
    own_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    """What would serve what clients write better than what runs, or why nothing is known to."""
    misfits = case.misfits(case.running)
    if misfits:
        return _fitted(case, all_osds, misfits)
    objections = case.under_workload(case.running)
    if weighed is None and not objections:
        return _why_nothing(case, own_profiles)
    if case.why_no_tuning is not None:
        return f'Nothing to change: {case.why_no_tuning.statement}'
    if case.limit.resource in BEYOND_ROCKSDB:
        return _beyond_rocksdb(case.limit)
    if weighed is None or not weighed.knows:
        if not objections or case.writer is None:
            return _why_nothing(case, own_profiles)
        return _by_publication(case, all_osds, objections, case.writer)
    if weighed.chosen is None:
        return _none_gains(weighed)
    target = target_of(case, weighed.chosen.candidate)
    solved = _solved(case, objections, target)
    return _changed(case, all_osds, solved or (_outweighed(weighed),), target, weighed=weighed)


def _solved(case: Case, objections: Sequence[Objection], target: Target) -> tuple[Objection, ...]:
    left = {o.name for o in case.under_workload(target.options)}
    return tuple(o for o in objections if o.name not in left)


def _by_publication(
    case: Case, all_osds: Sequence[OsdFacts], objections: Sequence[Objection], writer: Writer
) -> Union[Recommendation, str]:
    """Where there is no model of what clients write."""
    target = None
    runs_default = _same(case, case.running, case.release.default_options)
    if not runs_default and [o.name for o in objections] == [Name.UNCOMPRESSED]:
        target = only_compressed(case)
    target = target or published_target(case, writer)
    solved = _solved(case, objections, target)
    if not solved or _same(case, target.options, case.running):
        return _suits_best(case)
    return _changed(case, all_osds, solved, target)


def _beyond_rocksdb(limit: Limit) -> str:
    what = {
        Resource.DATA_DEVICE: 'the data devices bound these clients',
        Resource.NETWORK: 'the network bounds these clients',
    }[limit.resource]
    evidence = ' '.join(e.statement for e in limit.evidence)
    return f'Nothing to change: {what}, and no option of RocksDB relieves those. {evidence}'.strip()


def _none_gains(weighed: Weighing) -> str:
    """The best of the candidates, and by how much it falls short."""
    what = RESOURCES[weighed.resource]
    text = (
        f'Nothing to change: of {len(weighed.weighed) - 1} option sets that were weighed, none is '
        f'sure to lower the {what} by {weighed.bars.min_gain:.0%} at the cost of at most '
        f'{weighed.bars.max_loss:.0%} of anything else.'
    )
    best = weighed.best
    if best is None:
        return f'{text} None that fits lowers it at all.'
    return f'{text} The best is {best.candidate.name}: {best.short}'


def _outweighed(weighed: Weighing) -> Objection:
    """That something else is expected to do better is an objection too."""
    assert weighed.chosen is not None
    ratio = weighed.chosen.of(weighed.resource)
    assert ratio is not None
    return Objection(
        Name.OUTWEIGHED,
        Reason(
            f'By the model another option set lowers the {RESOURCES[weighed.resource]}, which '
            f'bounds these clients, by {1 - ratio.value:.0%}.',
            'model',
        ),
    )


def _of_choice(weighed: Optional[Weighing]) -> tuple[Reason, ...]:
    """Why this one of all that were weighed."""
    if weighed is None or weighed.chosen is None:
        return ()
    out = sum(bool(w.infeasible) for w in weighed.weighed)
    return (
        Reason(
            f'Of {len(weighed.weighed) - 1} option sets weighed, {out} of them ruled out, it is '
            f'the simplest that lowers the {RESOURCES[weighed.resource]} by at least '
            f'{weighed.bars.min_gain:.0%} and raises nothing else by more than '
            f'{weighed.bars.max_loss:.0%}, with 80% probability: see "ceph rocksdb-tuner '
            'candidates".',
            'model',
        ),
    )


def _fitted(
    case: Case, all_osds: Sequence[OsdFacts], misfits: Sequence[Objection]
) -> Union[Recommendation, str]:
    """A set with the room that there is, in place of one that has too little of it.

    That is no gain that must be expected: what it costs is told, and makes the risk.
    """
    target = resized(case) or fitting(case, target_for(case))
    if target is None:
        return (
            f'Nothing is recommended: {misfits[0].reason.statement}; no option set fits: give '
            'the OSDs more room.'
        )
    objections = (*misfits, *case.under_workload(case.running))
    left = {o.name for o in case.under_workload(target.options)}
    return _changed(case, all_osds, [o for o in objections if o.name not in left], target)


def _same(case: Case, a: str, b: str) -> bool:
    return same_meaning(a, b, case.release.rocksdb_version)


def _in_place_of(case: Case, standing: Sequence[Objection]) -> Union[Target, str]:
    """What to run instead of a string that something speaks against, or why nothing is known."""
    if Name.SUPERSEDED not in {o.name for o in standing}:
        found = repaired(case, standing)
        if found is not None and _is_settled(case, found.options):
            return found
        if all(o.name is Name.HARMFUL for o in standing) and found is None:
            return (
                'Nothing is recommended: the checks warn of what runs '
                f'({standing[0].reason.statement}), and what else is in it is not known to be '
                'worse than any other set: mend it by hand, see "ceph rocksdb-tuner findings".'
            )
    return target_for(case)


def _is_settled(case: Case, options: str) -> bool:
    """Whether nothing better would be advised once these run."""
    if case.under_workload(options):
        return False
    weighed = weighed_for(case, objectives(case), options)
    return weighed is None or weighed.chosen is None


def _own_entries_advice(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Recommendation, ...]:
    """Advice on entries of single OSDs, in one recommendation for all that run the same."""
    return tuple(
        advice
        for cohort in own_entry_cohorts(group, orchestrated=orchestrated, shown_steps=shown_steps)
        for advice in [_own_entry_advice(Case(cohort))]
        if advice is not None
    )


def _annex_advice(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool,
    shown_steps: ShownSteps,
) -> tuple[tuple[Recommendation, ...], tuple[str, ...]]:
    """Annexes that changed something in an earlier release and change nothing in this one.

    Beside them, in words, what an operator has to see to before such an entry can go.
    """
    found: list[Recommendation] = []
    told: list[str] = []
    for cohort in redundant_annex_cohorts(
        group, orchestrated=orchestrated, shown_steps=shown_steps
    ):
        reason = redundant_annex_entry(cohort)
        text = cohort.release.default_options
        who = cohort.deciding_entries[0]
        others = [] if cohort.own_entries else others_it_decides_for(who, cohort, all_osds)
        if others:
            told.append(_by_hand(who, ANNEX, reason, others))
            continue
        found.append(
            recommendation(
                cohort,
                Kind.REMOVE_OVERRIDE,
                who=cohort.group.who if len(cohort.deciding_entries) > 1 else who,
                options_to=text,
                profile=recognise(text, cohort.release),
                reasons=(reason,),
                predictions=(),
                risk=Risk.LOW,
                annex=cohort.annex,
            )
        )
    return tuple(found), tuple(told)


def _by_hand(who: str, option: str, reason: Reason, others: Sequence[int]) -> str:
    return (
        f'The entry for {who} should go ({reason.statement}) but it also decides, or may decide '
        f'once they are up, for {name_osds(others)}, which this change would not reach: remove it '
        f'by hand, with "ceph config rm {who} {option}", once that is right for all of them.'
    )


def _own_entry_advice(case: Case) -> Optional[Recommendation]:
    cohort = case.cohort
    redundant = redundant_entry(cohort)
    if redundant is not None:
        return _proposed(
            case, Kind.REMOVE_OVERRIDE, default_target(case), (redundant,), (), Risk.LOW
        )
    standing = tuple(o for o in case.standing(case.running) if o.name in _AGAINST_OWN_ENTRIES)
    if not standing:
        return None
    target = target_for(case)
    advice = _changed(case, (), case.standing(case.running), fitting(case, target) or target)
    return None if isinstance(advice, str) else advice


def _why_nothing(case: Case, own_profiles: Sequence[Profile]) -> str:
    """Nothing speaks against what runs: in words, with what would have to be so."""
    workload = case.cohort.group.workload
    title = _title(case, own_profiles)
    writer = writer_of(workload)
    if writer is None:
        if workload is None or workload.workload_class is WorkloadClass.UNKNOWN:
            return 'Nothing to change yet: no workload was recognised that lasted.'
        name = workload.workload_class.value
        if workload.workload_class in NO_ADVICE_FOR:
            return (
                f'Nothing to change: the workload is {name}, which no option set is known to help.'
            )
        return _no_better(case, title, name)
    name = writer.workload_class.value
    if writer.confidence < MIN_CONFIDENCE:
        return (
            f'Nothing to change yet: the workload looks like {name}, with a confidence of '
            f'{writer.confidence:.2f}; advice needs {MIN_CONFIDENCE:.2f}.'
        )
    effective = case.effective(case.running)
    small_writes = writer.workload_class is WorkloadClass.RBD_SMALL_WRITE
    if small_writes and has_large_memtables(effective):
        if case.busy is None:
            return (
                'Nothing to change yet: how busy the kv_sync threads are is not known, and '
                'smaller memtables relieve nothing else.'
            )
        return (
            f'Nothing to change: the kv_sync threads are {case.busy.value:.0%} busy, and smaller '
            'memtables relieve nothing else. From '
            f'{limit_thresholds().kv_sync_idle:.0%} on clients would notice.'
        )
    return _no_better(case, title, name)


def _title(case: Case, own_profiles: Sequence[Profile]) -> str:
    known = recognise(case.running, case.release)
    if known is not None:
        return known.title
    for own in own_profiles:
        if _same(case, own.options, case.running):
            return f'the custom profile {own.name}'
    return 'the running option string'


def _no_better(case: Case, title: str, workload: str) -> str:
    if recognise(case.running, case.release) is None:
        return f'Nothing to change: nothing known speaks against {title} for {workload}.'
    return f'Nothing to change: {title} suits {workload} best of what is known.'


def _suits_best(case: Case) -> str:
    assert case.writer is not None
    name = case.writer.workload_class.value
    return f'Nothing to change: {_title(case, ())} suits {name} best of what is known.'


def _changed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    objections: Sequence[Objection],
    target: Target,
    weighed: Optional[Weighing] = None,
) -> Union[Recommendation, str]:
    """From what runs to ``target``, for ``objections`` against what runs."""
    cohort = case.cohort
    refusals = safe_to_apply(target.options, case.release.rocksdb_version)
    is_default = _same(case, target.options, case.release.default_options)
    if refusals and not is_default:
        name = target.profile.title if target.profile else 'The derived option set'
        return (
            f'{name} would suit, but does not pass the checks for RocksDB '
            f'{case.release.rocksdb_version}: {refusals[0].message}'
        )
    change = predicted_write_amplification(case.running, target.options, case.situation)
    expected = {u.resource: u.ratio for u in expected_usages(case, target.options)}
    reasons = (
        *(o.reason for o in objections),
        *_of_workload(case),
        *target.reasons,
        *_of_block(case, objections),
        *(
            (agreement(case.situation, target.profile),)
            if target.profile is not None and not is_default
            else ()
        ),
        *_of_choice(weighed),
        *_of_publication(case, target),
        *_of_kv_sync(expected, case),
        *_of_cores(expected, case),
        *(() if change is None else (reason_of(change),)),
        *_losses(case, target),
        *_cautions(target, is_default=is_default),
    )
    predictions = _predictions(expected, change, case, weighed)
    risk = Risk.MEDIUM
    if is_default and change is not None and change.is_better and fits(case, target.options):
        risk = Risk.LOW
    if change is not None and change.is_worse and not is_default:
        risk = Risk.HIGH
    if is_default and cohort.deciding_entries:
        return _removed(
            case, all_osds, target, reasons, predictions, risk, gain=weighed is not None
        )
    return _proposed(
        case, Kind.SET_PROFILE, target, reasons, predictions, risk, gain=weighed is not None
    )


def _of_kv_sync(expected: Mapping[Resource, Estimate], case: Case) -> tuple[Reason, ...]:
    ratio = _relief(expected, case)
    return () if ratio is None else (kv_sync_reason(ratio),)


def _of_cores(expected: Mapping[Resource, Estimate], case: Case) -> tuple[Reason, ...]:
    """What it costs where nobody can tell whether there are cores for it."""
    ratio = expected.get(Resource.CORES)
    if ratio is None or at_most(ratio) <= 1 + case.bars.max_loss:
        return ()
    low, value, high = (100 * (end - 1) for end in ratio.ends)
    return (
        Reason(
            f'Caution: the {RESOURCES[Resource.CORES]} changes by {value:+.0f}% ({low:+.0f}% to '
            f'{high:+.0f}%), for which the OSDs need cores to spare.',
            'model',
        ),
    )


def _relief(expected: Mapping[Resource, Estimate], case: Case) -> Optional[Estimate]:
    """What is expected of the kv_sync thread, where that is what limits."""
    ratio = expected.get(Resource.KV_SYNC)
    if case.limit.resource is not Resource.KV_SYNC or ratio is None:
        return None
    return None if round(ratio.value, 2) == 1 else ratio


def _predictions(
    expected: Mapping[Resource, Estimate],
    change: Optional[Change],
    case: Case,
    weighed: Optional[Weighing],
) -> tuple[Prediction, ...]:
    """What limits first."""
    kv_sync, space = _relief(expected, case), expected.get(Resource.DB_SPACE)
    found = [] if kv_sync is None else [kv_sync_prediction(kv_sync)]
    found += [] if change is None else [prediction_of(change)]
    if weighed is not None and weighed.resource is Resource.DB_SPACE and space is not None:
        found.append(space_prediction(space))
    return tuple(found)


def _of_publication(case: Case, target: Target) -> tuple[Reason, ...]:
    """What was published of just this change."""
    published = _published(case, target)
    if published is None:
        return ()
    return (
        Reason(
            f'Published of this change: {published.metric} {published.change_percent:+.1f}%.',
            published.basis,
        ),
    )


def _removed(
    case: Case,
    all_osds: Sequence[OsdFacts],
    target: Target,
    reasons: tuple[Reason, ...],
    predictions: tuple[Prediction, ...],
    risk: Risk,
    *,
    gain: bool = False,
) -> Union[Recommendation, str]:
    """Without their entries the OSDs run the default; not if that changes others unwatched."""
    cohort = case.cohort
    if not cohort.own_entries:
        (who,) = cohort.deciding_entries
        others = others_it_decides_for(who, cohort, all_osds)
        if others:
            return _by_hand(who, OPTION, reasons[0], others)
    return _proposed(case, Kind.REMOVE_OVERRIDE, target, reasons, predictions, risk, gain=gain)


def _proposed(
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
        # An entry for the device class would be shown by the config store and ignored by every
        # OSD at its start, so a group that is not the whole cluster keeps an entry for each OSD.
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
    """Whether something speaks against what runs, whatever there is to gain."""
    chosen = bool(case.cohort.deciding_entries)
    return bool((chosen and case.standing(case.running)) or case.misfits(case.running))


def _of_workload(case: Case) -> tuple[Reason, ...]:
    """What was measured of clients, where that decided what should run."""
    workload = case.cohort.group.workload
    if case.writer is None or workload is None:
        return ()
    return tuple(
        Reason(f'{e.statement}.' if not e.statement.endswith('.') else e.statement, 'measured')
        for e in workload.evidence
    )


def _of_block(case: Case, objections: Sequence[Objection]) -> tuple[Reason, ...]:
    """Why what runs goes to the default, where another set would suit what clients write."""
    names = {o.name for o in objections}
    if case.writer is None or not names & _AGAINST_OWN_ENTRIES or case.why_no_tuning is None:
        return ()
    return (case.why_no_tuning,)


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


def _losses(case: Case, target: Target) -> tuple[Reason, ...]:
    """What was published to be slower after this very change on such OSDs, whatever clients do."""
    if target.profile is None:
        return ()
    running = case.effective(case.running)
    return tuple(
        Reason(
            f'What may be lost: {figure.metric} {figure.change_percent:+.1f}% in the published '
            f'test ({figure.baseline_value:,.0f} to {figure.value:,.0f}).',
            f'{figure.source.author}, {figure.source.title}, {figure.source.year}, '
            f'{figure.source.section}',
        )
        for figure in target.profile.evidence
        if figure.unit == 'IOPS'
        and figure.change_percent < 0
        and figure.baseline_value is not None
        and figure.baseline_options
        and case.release.name in figure.releases
        and (case.storage is None or case.storage in figure.hardware)
        and all(running.get(name) == v for name, v in figure.baseline_options.items())
    )


def _cautions(target: Target, *, is_default: bool) -> tuple[Reason, ...]:
    if target.profile is None or is_default:
        return ()
    return tuple(
        Reason(f'Caution: {text}', target.profile.source) for text in target.profile.cautions
    )
