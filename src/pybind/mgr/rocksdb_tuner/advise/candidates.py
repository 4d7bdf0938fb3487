"""Candidate option strings of a cohort, and what rules them out. Pure.

Candidates are the running options, the default of later releases and of this one, the published
profiles for the workload, and the options derived for these OSDs. They are compared with the
running options: a bound that these break as well rules out only what makes it worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Callable, Mapping, Optional

from ..lsm.records import Estimate, TreeModel
from ..options.releases import KnownRelease, known_releases
from ..options.syntax import format, parse  # noqa: A004
from ..units import format_bytes
from .case import Case
from .decision import set_name
from .experimented import measured_effect, measured_usage, of_case
from .limit import read_share
from .profiles import PublishedEvidence, predict, profiles
from .records import Resource
from .strings import recognize, safe_to_apply, suits
from .usage import Usage, choice_thresholds, comparable, fused, trees, usages
from .weighing import RESOURCES, OptionCandidate, Origin, Weighed, Weighing, weigh
from .whatif.derive import derive, wal_bound_bytes
from .whatif.situation import Situation

#: Published metrics and the resource that they measure.
_PUBLISHED = {
    '4 KiB random write IOPS': Resource.KV_SYNC,
    'BlueFS db_used_bytes': Resource.DB_SPACE,
    'DB writes': Resource.DB_DEVICE,
}
#: Savings that readers pay for: each get asks all unflushed memtables, and smaller ones are more.
_PAID_BY_READERS = frozenset({Resource.KV_SYNC, Resource.CORES})
#: Where flushes and syncs of devices limit, only space is worth a restart.
_SPACE = frozenset({Resource.DB_SPACE, Resource.WAL_SPACE})


def successor_of(release: KnownRelease) -> str:
    """The default of the newest release if this one may run it, or else its own default."""
    text = known_releases()[-1].default_options
    return release.default_options if safe_to_apply(text, release.rocksdb_version) else text


def weighing(case: Case, running: Optional[str] = None) -> Weighing:
    """All candidates against ``running``, by default the running options."""
    found = _weighing(case, case.running if running is None else running)
    if found.chosen is None:
        return found
    # One change is enough: what would be recommended next takes its place.
    next_one = _weighing(case, found.chosen.candidate.options).chosen
    if next_one is None:
        return found
    return weigh(found.weighed, found.resource, found.bars, next_one.candidate)


#: Added to the default, each alone.
_ONE_OPTION = (('compression', 'kLZ4Compression'), ('min_write_buffer_number_to_merge', '8'))
#: Weighings by everything that they depend on: called at every tick for every group.
_KNOWN: dict[tuple[object, ...], Weighing] = {}
_MOST_KNOWN = 32


def _weighing(case: Case, base: str) -> Weighing:
    limit = case.limit.of_options if case.limit.of_options in RESOURCES else None
    bars = case.bars
    if case.cohort.group.cores is None and case.limit.resource is not Resource.CORES:
        # No daemon reports its number of cores; too few of them show up as the limit.
        bars = replace(bars, plenty=frozenset({Resource.CORES}))
    if case.db_space_plentiful:
        bars = replace(bars, plenty=bars.plenty | {Resource.DB_SPACE})
    if case.reads:
        bars = replace(bars, no_gain=_PAID_BY_READERS)
    if case.thread_share is not None:
        bars = replace(bars, no_gain=frozenset(RESOURCES) - _SPACE)
    key = (
        *(base, limit, case.thread_share, case.reads, bars, case.release),
        comparable(case.situation),
        *(case.storage, case.writer and case.writer.workload_class, case.db_space_short),
        *(case.hardware, of_case(case)),
    )
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        own, name = recognize(base, case.release), set_name(case.cohort, base)
        running = OptionCandidate(name, Origin.RUNNING, base, own, _suitability(case, base))
        others = [_weighed(case, candidate, base) for candidate in _candidates(case, base)]
        _KNOWN[key] = weigh([Weighed(running), *others], limit, bars)
    return _KNOWN[key]


def _candidates(case: Case, base: str) -> Iterator[OptionCandidate]:
    """Each distinct option string once, by its first name."""
    release, taken = case.release, [base]
    suitable = [p.options for p in profiles() if p.options and _suitability(case, p.options)]
    default = parse(release.default_options)
    with_one = {format(default.replaced({n: v})): f'default with {n}={v}' for n, v in _ONE_OPTION}
    for origin, texts in (
        (Origin.SUCCESSOR, [successor_of(release)]),
        (Origin.DEFAULT, [release.default_options]),
        (Origin.PROFILE, suitable),
        (Origin.PROFILE, with_one),
        (Origin.DERIVED, [derive(case.situation).options]),
    ):
        for text in texts:
            if any(case.alike(text, other) for other in taken):
                continue
            taken.append(text)
            known = recognize(text, release)
            name = set_name(case.cohort, text) if known else with_one.get(text, origin.value)
            yield OptionCandidate(name, origin, text, known, _suitability(case, text))


def _suitability(case: Case, text: str) -> float:
    known = recognize(text, case.release)
    if known is None or case.writer is None:
        return 0.0
    found = suits(known, case.writer.workload_class, case.release)
    return found.score if found else 0.0


def _weighed(case: Case, candidate: OptionCandidate, base: str) -> Weighed:
    against = infeasible(case, candidate.options, base) or _slow_gets(case, candidate.options, base)
    if against:
        return Weighed(candidate, against)
    used = _usages(case, base, candidate.options)
    arm = measured_effect(case, base, candidate.options)
    found = Weighed(
        candidate,
        usages=_with_published(case, candidate, base, used),
        measured_in=None if arm is None else arm.experiment_id,
        suits_better=_suits_better(case, candidate, base),
    )
    grows, short = found.of(Resource.DB_SPACE), case.db_space_short
    if short is not None and grows is not None and grows.value > 1:
        return Weighed(candidate, (f'{short} It would take {grows.value - 1:.0%} more.',))
    return found


#: Gets ask all unflushed memtables: with smaller ones than this they take three times as long.
_SMALL_MEMTABLE_BYTES = 16 << 20


def _slow_gets(case: Case, text: str, base: str) -> tuple[str, ...]:
    """Why clients that read would lose by smaller memtables."""
    sizes = [int(case.effective(t).get('write_buffer_size', 0)) for t in (base, text)]
    if not case.reads or sizes[1] >= min(sizes[0], _SMALL_MEMTABLE_BYTES):
        return ()
    share = read_share(case.cohort.group.workload)
    text = (
        f'{share:.0%} of the client operations read, and each get would ask more memtables, of '
        f'{format_bytes(sizes[1])} each.'
    )
    return (text,)


#: Required difference in suitability (0..1) where only publications are known.
_SUITS_BETTER = 0.2


def _suits_better(case: Case, candidate: OptionCandidate, base: str) -> bool:
    """Whether publications alone are a reason for a change, for a workload without a model."""
    if case.situation.load.workload is not None:
        return False
    left = {o.name for o in case.under_workload(candidate.options)}
    solves = any(o.name not in left for o in case.under_workload(base))
    return solves and candidate.suitability - _suitability(case, base) >= _SUITS_BETTER


def expected_usages(case: Case, options: str) -> tuple[Usage, ...]:
    """Resource usage after a change from the running options."""
    candidate = OptionCandidate('', Origin.PROFILE, options, recognize(options, case.release))
    used = _usages(case, case.running, options)
    return _with_published(case, candidate, case.running, used)


def _usages(case: Case, base: str, options: str) -> tuple[Usage, ...]:
    """Of the kv_sync thread only as far as it does not wait for devices."""
    share = case.thread_share
    found = usages(base, options, case.situation)
    if share is None:
        return found
    return tuple(
        u._replace(ratio=Estimate(*(1 - share * (1 - end) for end in u.ratio.ends)))
        if u.resource is Resource.KV_SYNC
        else u
        for u in found
    )


def _published_effect(
    case: Case, candidate: OptionCandidate, base: str
) -> Optional[PublishedEvidence]:
    """The published effect of this change on such OSDs; None if there is none."""
    if candidate.profile is None or case.writer is None:
        return None
    return predict(
        candidate.profile,
        case.writer.workload_class,
        release=case.release,
        storage=case.storage,
        running=case.effective(base),
    )


def _with_published(
    case: Case, candidate: OptionCandidate, base: str, used: tuple[Usage, ...]
) -> tuple[Usage, ...]:
    """Combine the model with the published effect of this change; a measured one replaces both."""
    used = _published(case, candidate, base, used)
    measured = measured_usage(case, base, candidate.options)
    return tuple(u._replace(ratio=measured.get(u.resource, u.ratio)) for u in used)


def _published(
    case: Case, candidate: OptionCandidate, base: str, used: tuple[Usage, ...]
) -> tuple[Usage, ...]:
    effect = _published_effect(case, candidate, base) if used else None
    resource = None if effect is None else _PUBLISHED.get(effect.metric)
    if effect is None or resource is None:
        return used
    if resource is Resource.KV_SYNC and case.thread_share is not None:
        # Published where no device limited.
        return used
    ratio = 1 + effect.change_percent / 100
    if resource is Resource.KV_SYNC:
        # More operations in the same thread time.
        ratio = 1 / ratio
    deviation = choice_thresholds().published_deviation
    return tuple(
        u._replace(ratio=fused(u.ratio, ratio, deviation)) if u.resource is resource else u
        for u in used
    )


def infeasible(case: Case, text: str, base: str) -> tuple[str, ...]:
    """Why these OSDs, which run ``base``, should not run ``text``; empty if they may."""
    found = [o.reason.statement for o in case.standing(text)]
    if not case.alike(text, case.release.default_options):
        found += [p.message for p in safe_to_apply(text, case.release.rocksdb_version)]
    before, after = trees(base, text, comparable(case.situation))
    if found or after is None:
        return tuple(dict.fromkeys(found)) or ('It cannot be modeled.',)
    broken = case.broken(base)
    found += [
        problem.message
        for rule, problem in case.broken(text).items()
        if before is None or rule not in broken or _DEMANDS[rule](after) > _DEMANDS[rule](before)
    ]
    upper, room = _upper_bytes(after, case.situation), case.situation.devices.db_bytes
    if (
        not found
        and room
        and upper > max(room, 0 if before is None else _upper_bytes(before, case.situation))
    ):
        # The rules check WAL and levels each alone.
        found.append(
            f'Its WAL files, level 0 and level 1 of {format_bytes(upper)} together exceed the DB '
            f'device of {format_bytes(room)}.'
        )
    room, limit = wal_bound_bytes(case.situation), after.wal.limit_bytes
    if not found and limit > room and (before is None or limit > before.wal.limit_bytes):
        found.append(
            f'Its WAL of up to {format_bytes(limit)} exceeds the {format_bytes(room)} available '
            'on these OSDs.'
        )
    if before is not None and _holds_data(before) and _holds_data(after) is False:
        found.append('A level that is on the DB device now would no longer fit.')
    return tuple(found)


def _upper_bytes(tree: TreeModel, situation: Situation) -> float:
    """WAL files on the DB device, and the levels that are written most often."""
    levels = _DEMANDS['levels-beyond-device'](tree)
    return levels + (0 if situation.devices.dedicated_wal else tree.wal.device_bytes.value)


#: What a rule about hardware bounds, in bytes.
_DEMANDS: Mapping[str, Callable[[TreeModel], float]] = {
    'levels-beyond-device': lambda tree: (
        tree.levels.level0_bytes + sum(level.target_bytes for level in tree.levels.levels[:1])
    ),
    'memtables-beyond-memory': lambda tree: tree.memtables.bounded_bytes.value,
    'wal-beyond-device': lambda tree: tree.wal.device_bytes.value,
}


def _holds_data(tree: TreeModel) -> Optional[bool]:
    return None if tree.db_device is None else tree.db_device.holds_data
