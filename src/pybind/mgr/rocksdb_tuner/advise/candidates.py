"""Candidate option strings of a cohort, and objections that rule them out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Optional

from ..options.compression import NO_COMPRESSION
from ..options.hardware import Hardware
from ..options.releases import KnownRelease
from ..options.syntax import format, parse  # noqa: A004
from ..units import format_bytes
from ..workload.records import WorkloadClass
from .case import Case, fits
from .experimented import measured_effect, measured_usage, of_case
from .limit import limit_thresholds
from .objections import METADATA, Name
from .profiles import PublishedEffect, Storage, predict, profiles
from .records import MeasuredArm, Resource
from .strings import recognize, safe_to_apply, same_meaning, suits
from .usage import Usage, choice_thresholds, comparable, fused, holds_data, usages
from .weighing import RESOURCES, Bars, OptionCandidate, Origin, Weighed, Weighing, neighbors, weigh
from .whatif.derive import derive, wal_bound_bytes
from .whatif.situation import Situation

__all__ = [
    'BEYOND_ROCKSDB',
    'expected_usages',
    'objectives',
    'packs',
    'resource_of_writer',
    'weighed_for',
    'weighing',
]

#: Published metrics and the resource that they measure.
_PUBLISHED = {
    '4 KiB random write IOPS': Resource.KV_SYNC,
    'BlueFS db_used_bytes': Resource.DB_SPACE,
    'DB writes': Resource.DB_DEVICE,
}
#: Limits that RocksDB does not cause.
BEYOND_ROCKSDB = frozenset({Resource.DATA_DEVICE, Resource.NETWORK})


def objectives(case: Case) -> tuple[Resource, ...]:
    """The resources to relieve, in order: the limit, then the objections' resources."""
    limit = case.limit.resource
    if case.writer is None or limit in BEYOND_ROCKSDB:
        return ()
    names = {objection.name for objection in case.under_workload(case.running)}
    found = [limit] if limit in RESOURCES else []
    found += [Resource.KV_SYNC] if Name.LARGE_MEMTABLES in names else []
    found += [Resource.DB_SPACE] if Name.UNCOMPRESSED in names else []
    return tuple(dict.fromkeys(found))


def weighed_for(
    case: Case, resources: Sequence[Resource], running: Optional[str] = None
) -> Optional[Weighing]:
    """The first of ``resources`` that a candidate relieves, else the first; None without any."""
    first: Optional[Weighing] = None
    for resource in resources:
        found = weighing(case, resource, running)
        if found.chosen is not None:
            return found
        if first is None or not first.knows:
            first = found
    return first


def resource_of_writer(case: Case) -> Optional[Resource]:
    """The resource that such clients use most."""
    if case.writer is None:
        return None
    found = {WorkloadClass.RBD_SMALL_WRITE: Resource.KV_SYNC}
    found.update(dict.fromkeys(METADATA, Resource.DB_SPACE))
    return found.get(case.writer.workload_class)


def weighing(case: Case, resource: Resource, running: Optional[str] = None) -> Weighing:
    """All candidates against ``running``, by default the running options."""
    base = case.running if running is None else running
    bars = case.bars
    are_short = Resource.CORES in {resource, case.limit.resource}
    if case.cohort.group.cores is None and not are_short:
        # No daemon reports its number of cores; too few of them show up as the limit.
        bars = replace(bars, plenty=frozenset({Resource.CORES}))
    is_packed = packs(case, case.running)
    return _cached(
        _Key(
            base,
            resource,
            bars,
            case.release,
            comparable(case.situation),
            case.storage,
            case.writer.workload_class if case.writer else None,
            case.busy is not None and case.busy.value >= limit_thresholds().kv_sync_idle,
            case.db_space_short,
            case.hardware,
            is_packed,
            of_case(case),
            case,
        )
    )


def packs(case: Case, text: str) -> bool:
    """Whether ``text`` enables compression; False if unknown."""
    return case.effective(text).get('compression', NO_COMPRESSION) != NO_COMPRESSION


@dataclass(frozen=True)
class _Key:
    """Cache key: everything that a weighing depends on."""

    base: str
    resource: Resource
    bars: Bars
    release: KnownRelease
    situation: Situation
    storage: Optional[Storage]
    workload: Optional[WorkloadClass]
    busy: bool
    db_space_short: Optional[str]
    hardware: tuple[Hardware, ...]
    #: Whether the OSDs run with compression, independent of ``base``.
    is_packed: bool
    measured: tuple[MeasuredArm, ...]
    case: Case = field(compare=False)


# Called at every tick for every group.
@lru_cache(maxsize=32)
def _cached(key: _Key) -> Weighing:
    case, base, resource = key.case, key.base, key.resource
    first = _weighed(case, _known_sets(case, base), base)
    bars = key.bars
    best = weigh(first, resource, bars).best
    centers = [best.candidate.options] if best is not None else []
    found = (*first, *_weighed(case, _neighbors(case, base, centers, first), base))
    doubted = _with_uncertainty(case, weigh(found, resource, bars))
    return weigh(doubted, resource, bars)


def _known_sets(case: Case, base: str) -> Iterator[OptionCandidate]:
    """Each distinct option string once, by its first name."""
    release, taken = case.release, [base]
    own = recognize(base, release)
    yield OptionCandidate(
        own.name if own else 'running options', Origin.RUNNING, base, own, _suitability(case, base)
    )

    def is_new(text: str) -> bool:
        return not any(same_meaning(text, other, release.rocksdb_version) for other in taken)

    default = release.default_options
    derived = parse(derive(case.situation).options)
    packed = derived.replaced({'compression': 'kLZ4Compression'})
    for origin, texts in (
        (Origin.DEFAULT, [default]),
        (Origin.PROFILE, [p.options for p in profiles() if p.options]),
        (Origin.DERIVED, [format(derived), format(packed)]),
    ):
        for number, text in enumerate(texts):
            if not case.effective(text) or not is_new(text):
                continue
            taken.append(text)
            known = recognize(text, release)
            name = known.name if known else ('derived', 'derived with LZ4')[number]
            only_packed = base != default and _only_compression_differs(case, base, text)
            yield OptionCandidate(
                name,
                origin,
                text,
                known,
                _suitability(case, text),
                only_compression=only_packed,
                objections=len(case.under_workload(text)),
            )


def _neighbors(
    case: Case, base: str, centers: Sequence[str], known: Iterable[Weighed]
) -> Iterator[OptionCandidate]:
    """Neighbors of ``centers``, and a custom running string with other compression."""
    taken = [w.candidate.options for w in known]
    version = case.release.rocksdb_version
    own = [base] if recognize(base, case.release) is None else []
    for center in (*own, *centers):
        for name, text in neighbors(center, case.effective(center)):
            only_packed = center in own and name.startswith('compression=')
            if center in own and center not in centers and not only_packed:
                continue
            if not case.effective(text) or any(same_meaning(text, t, version) for t in taken):
                continue
            taken.append(text)
            yield OptionCandidate(
                name,
                Origin.NEIGHBOR,
                text,
                only_compression=only_packed,
                objections=len(case.under_workload(text)),
                untried=not only_packed,
            )


def _only_compression_differs(case: Case, a: str, b: str) -> bool:
    values = case.effective(a), case.effective(b)
    names = {
        name for name in {*values[0], *values[1]} if values[0].get(name) != values[1].get(name)
    }
    return bool(names) and all('compression' in name for name in names)


def _suitability(case: Case, text: str) -> float:
    known = recognize(text, case.release)
    if known is None or case.writer is None:
        return 0.0
    found = suits(known, case.writer.workload_class, case.release)
    return found.score if found else 0.0


def _weighed(case: Case, candidates: Iterable[OptionCandidate], base: str) -> tuple[Weighed, ...]:
    found = []
    for candidate in candidates:
        if candidate.origin is Origin.RUNNING:
            found.append(Weighed(candidate))
            continue
        against = _infeasible(case, candidate, base)
        used = () if against else usages(base, candidate.options, case.situation, surely=False)
        arm = measured_effect(case, base, candidate.options)
        known = _with_published(case, candidate, base, used)
        weighed = Weighed(
            candidate, against, known, measured_in=None if arm is None else arm.experiment_id
        )
        grows = weighed.of(Resource.DB_SPACE)
        short = case.db_space_short
        if short is not None and grows is not None and grows.value > 1:
            more = f'{short} It would take {grows.value - 1:.0%} more.'
            weighed = Weighed(candidate, (more,))
        found.append(weighed)
    return tuple(found)


def _with_uncertainty(case: Case, found: Weighing) -> tuple[Weighed, ...]:
    """Weigh the eligible candidates again, including the uncertainty about the written objects."""
    base = found.weighed[0].candidate.options
    return tuple(
        replace(
            w,
            usages=_with_published(
                case, w.candidate, base, usages(base, w.candidate.options, case.situation)
            ),
        )
        if w.usages and (w.qualifies(found.resource, found.bars) or w == found.best)
        else w
        for w in found.weighed
    )


def expected_usages(case: Case, options: str) -> tuple[Usage, ...]:
    """Resource usage after a change from the running options."""
    candidate = OptionCandidate('', Origin.PROFILE, options, recognize(options, case.release))
    used = usages(case.running, options, case.situation)
    return _with_published(case, candidate, case.running, used)


def _published_effect(
    case: Case, candidate: OptionCandidate, base: str
) -> Optional[PublishedEffect]:
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
    ratio = 1 + effect.change_percent / 100
    if resource is Resource.KV_SYNC:
        # More operations in the same thread time.
        ratio = 1 / ratio
    deviation = choice_thresholds().published_deviation
    return tuple(
        u._replace(ratio=fused(u.ratio, ratio, deviation)) if u.resource is resource else u
        for u in used
    )


def _infeasible(case: Case, candidate: OptionCandidate, base: str) -> tuple[str, ...]:
    text, version = candidate.options, case.release.rocksdb_version
    is_default = same_meaning(text, case.release.default_options, version)
    found = [o.reason.statement for o in case.standing(text)]
    if not is_default:
        found += [problem.message for problem in safe_to_apply(text, version)]
    found += [o.reason.statement for o in case.misfits(text)]
    if base != case.running and packs(case, case.running) and not packs(case, text):
        found.append('The running data is compressed, and would grow without compression.')
    if not found and not fits(case, text):
        limit = int(case.effective(text).get('max_total_wal_size', '0'))
        room = format_bytes(wal_bound_bytes(case.situation))
        found.append(
            f'Its WAL of up to {format_bytes(limit)} exceeds the {room} available on these OSDs.'
            if limit
            else f'It does not limit the WAL, and these OSDs have only {room} for it.'
        )
    situation = case.situation
    if holds_data(text, situation, base) is False and holds_data(base, situation, base):
        found.append('A level that is on the DB device now would no longer fit.')
    return tuple(dict.fromkeys(found))
