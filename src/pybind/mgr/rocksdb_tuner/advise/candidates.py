"""Candidate option strings of a case, and what rules them out. Pure.

Candidates are the running options, the default of later releases and of this one, the published
profiles for the workload, and the options derived for these OSDs. They are compared with the
running options: a bound that these break as well rules out only what makes it worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Callable, Mapping, Optional

from ..judge.signals import objective_of
from ..lsm.records import Estimate, TreeModel
from ..options.releases import KnownRelease, known_releases
from ..options.syntax import format, parse  # noqa: A004
from ..units import format_bytes
from .case import Case
from .limit import read_share
from .profiles import Profile, profiles, recognize, suits
from .records import Resource
from .strings import safe_to_apply
from .weighing import (
    RESOURCES,
    Bars,
    Origin,
    Usage,
    Weighed,
    Weighing,
    choice_thresholds,
    fused,
    trees,
    usages,
    weigh,
)
from .whatif.derive import derive
from .whatif.situation import Situation

#: Published metrics and the resource that they measure.
_PUBLISHED = {
    '4 KiB random write IOPS': Resource.KV_SYNC,
    'BlueFS db_used_bytes': Resource.DB_SPACE,
    'DB writes': Resource.DB_DEVICE,
}
#: Modeled resources whose use is a judged signal.
JUDGED_RESOURCES = (Resource.KV_SYNC, Resource.DB_DEVICE, Resource.DB_SPACE)
#: Savings that readers pay for: each get asks all unflushed memtables, and smaller ones are more.
_PAID_BY_READERS = frozenset({Resource.KV_SYNC, Resource.CORES})
#: Where flushes and syncs of devices limit, only space is worth a restart.
_SPACE = frozenset({Resource.DB_SPACE, Resource.WAL_SPACE})
#: Gets ask all unflushed memtables: with smaller ones than this they take three times as long.
_SMALL_MEMTABLE_BYTES = 16 << 20
#: Added to the default, each alone.
_ONE_OPTION = (('compression', 'kLZ4Compression'), ('min_write_buffer_number_to_merge', '8'))


def successor_of(release: KnownRelease) -> str:
    """The default of the newest release if this one may run it, or else its own default."""
    text = known_releases()[-1].default_options
    return release.default_options if safe_to_apply(text, release.rocksdb_version) else text


def set_name(case: Case, options: str, profile: Optional[Profile] = None) -> str:
    """The name of an option string: "default", a profile, or "yours"."""
    if case.is_default(options):
        return 'default'
    known = profile or recognize(options, case.release)
    return known.name if known else 'yours'


def weighing(case: Case, running: Optional[str] = None) -> Weighing:
    """All candidates against ``running``, by default the running options."""
    found = _weighing(case, case.running if running is None else running)
    # One change is enough: what would be recommended next takes its place.
    after = found.chosen and _weighing(case, found.chosen.options).chosen
    return weigh(found.weighed, found.resource, found.bars, after.options) if after else found


def _weighing(case: Case, base: str) -> Weighing:
    limit = case.limit.of_options if case.limit.of_options in RESOURCES else None
    known = recognize(base, case.release)
    running = Weighed(set_name(case, base), Origin.RUNNING, base, known.name if known else None)
    others = [_weighed(case, candidate, base) for candidate in _candidates(case, base)]
    return weigh([running, *others], limit, _bars(case))


def _bars(case: Case) -> Bars:
    """What counts as a gain and as a loss on these OSDs."""
    bars = case.known.bars
    if case.limit.resource is not Resource.CORES:
        # No daemon reports its number of cores; too few of them show up as the limit.
        bars = replace(bars, plenty=frozenset({Resource.CORES}))
    if case.db_space_plentiful:
        bars = replace(bars, plenty=bars.plenty | {Resource.DB_SPACE})
    if case.reads:
        bars = replace(bars, no_gain=_PAID_BY_READERS)
    if case.thread_share is not None:
        bars = replace(bars, no_gain=frozenset(RESOURCES) - _SPACE)
    return bars


def _candidates(case: Case, base: str) -> Iterator[Weighed]:
    """Each distinct option string once, by its first name."""
    release, taken = case.release, [base]
    suitable = [p.options for p in profiles() if p.options and _suits(case, p.options)]
    default = parse(release.default_options)
    with_one = {format(default.replaced({n: v})): f'default with {n}={v}' for n, v in _ONE_OPTION}
    for origin, texts in (
        (Origin.SUCCESSOR, [successor_of(release)]),
        (Origin.DEFAULT, [release.default_options]),
        (Origin.PROFILE, [*suitable, *with_one]),
        (Origin.DERIVED, [derive(case.situation).options]),
    ):
        for text in texts:
            if any(case.alike(text, other) for other in taken):
                continue
            taken.append(text)
            known = recognize(text, release)
            name = set_name(case, text) if known else with_one.get(text, origin.value)
            yield Weighed(name, origin, text, known.name if known else None)


def _suits(case: Case, text: str) -> bool:
    """Whether publications recommend it for the workload."""
    known = recognize(text, case.release)
    if known is None or case.writer is None:
        return False
    return suits(known, case.writer.workload_class, case.release) is not None


def _weighed(case: Case, candidate: Weighed, base: str) -> Weighed:
    options = candidate.options
    against = infeasible(case, options, base) or _slow_gets(case, options, base)
    if against:
        return replace(candidate, infeasible=against)
    arm = case.measured(base, options)
    found = replace(
        candidate,
        usages=expected_usages(case, options, base),
        measured_in=None if arm is None else arm.experiment_id,
        suits_better=_suits_better(case, options, base),
    )
    grows, short = found.of(Resource.DB_SPACE), case.db_space_short
    if short is not None and grows is not None and grows.value > 1:
        return replace(
            candidate, infeasible=(f'{short} It would take {grows.value - 1:.0%} more.',)
        )
    return found


def _slow_gets(case: Case, text: str, base: str) -> tuple[str, ...]:
    """Why clients that read would lose by smaller memtables."""
    before, after = (int(case.effective(t).get('write_buffer_size', 0)) for t in (base, text))
    if not case.reads or after >= min(before, _SMALL_MEMTABLE_BYTES):
        return ()
    text = (
        f'{read_share(case.group.workload):.0%} of the client operations read, and each get would '
        f'ask more memtables, of {format_bytes(after)} each.'
    )
    return (text,)


def _suits_better(case: Case, options: str, base: str) -> bool:
    """Whether publications alone are a reason for a change, for a workload without a model."""
    if case.situation.load.workload is not None:
        return False
    return bool(case.solved(base, options)) and _suits(case, options) and not _suits(case, base)


def expected_usages(case: Case, options: str, base: Optional[str] = None) -> tuple[Usage, ...]:
    """Use after a change from ``base``, by default the running options.

    Of the kv_sync thread the part that does not wait for devices changes.

    The model is combined with the published effect of this change; a measured one replaces both.
    """
    base = case.running if base is None else base
    share, effect = case.thread_share, case.published(options, base)
    published = None if effect is None else _PUBLISHED.get(effect.metric)
    measured, found = measured_usage(case, base, options), []
    for resource, modeled in usages(base, options, case.situation):
        ratio = modeled
        if resource is Resource.KV_SYNC and share is not None:
            # No publication has its thread wait for devices.
            ratio = Estimate(*(1 - share * (1 - end) for end in ratio.ends))
        elif effect is not None and resource is published:
            change = 1 + effect.change_percent / 100
            # More operations in the same thread time.
            change = 1 / change if resource is Resource.KV_SYNC else change
            ratio = fused(ratio, change, choice_thresholds().published_deviation)
        found.append(Usage(resource, measured.get(resource, ratio)))
    return tuple(found)


def measured_usage(case: Case, options_from: str, options_to: str) -> dict[Resource, Estimate]:
    """The measured use of a resource relative to ``options_from``; empty if there is none."""
    arm = case.measured(options_from, options_to)
    if arm is None:
        return {}
    ends = (1 + p / 100 for p in (arm.low_percent, arm.change_percent, arm.high_percent))
    measured = Estimate(*ends)
    return {r: measured for r in JUDGED_RESOURCES if objective_of(r.value) == arm.signal}


def infeasible(case: Case, text: str, base: str) -> tuple[str, ...]:
    """Why these OSDs, which run ``base``, should not run ``text``; empty if they may."""
    found = [o.reason.statement for o in case.standing(text)]
    if not case.is_default(text):
        found += [p.message for p in safe_to_apply(text, case.release.rocksdb_version)]
    before, after = trees(base, text, case.situation)
    if found or after is None:
        return tuple(dict.fromkeys(found)) or ('It cannot be modeled.',)
    found += [
        problem.message
        for rule, problem in case.broken(text).items()
        if before is None
        or _DEMANDS[rule](after, case.situation) > _DEMANDS[rule](before, case.situation)
    ]
    fits = [tree and tree.db_device and tree.db_device.holds_data for tree in (before, after)]
    if fits[0] and fits[1] is False:
        found.append('A level that is on the DB device now would no longer fit.')
    return tuple(found)


def _upper_bytes(tree: TreeModel, situation: Situation) -> float:
    """WAL files on the DB device, and the levels that are written most often."""
    levels = sum(level.target_bytes for level in tree.levels.levels[:1])
    log = 0 if situation.devices.dedicated_wal else tree.wal.device_bytes.value
    return tree.levels.level0_bytes + levels + log


#: What a rule about hardware bounds, in bytes.
_DEMANDS: Mapping[str, Callable[[TreeModel, Situation], float]] = {
    'levels-beyond-device': _upper_bytes,
    'memtables-beyond-memory': lambda tree, _: tree.memtables.bounded_bytes.value,
    'wal-beyond-device': lambda tree, _: tree.wal.device_bytes.value,
}
