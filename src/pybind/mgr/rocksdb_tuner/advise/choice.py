"""Which option string a group of OSDs should run, and why not another. Pure.

The best published set for what clients write is the beginning; the devices, the memory and the
findings of these OSDs change it, or keep it from being recommended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Mapping, NamedTuple, Optional

from ..options.hardware import Hardware
from ..options.releases import KnownRelease
from ..options.syntax import OptionSet, OptionSyntaxError, format, parse  # noqa: A004
from ..units import format_plural
from ..workload.records import Evidence, WorkloadClass
from ..workload.writer import Writer, writer_of
from .candidate import Candidate
from .check_subjects import hardware_of_osd
from .conditions.build import deferred_write_regression, unoptimised_build
from .conditions.catalogue import condition
from .conditions.facts import ClusterFacts
from .derive import Choice, derive, wal_bound_bytes
from .given import Given
from .limit import kv_sync_busy, limit_of, limit_thresholds
from .naming import name_osds
from .objections import (
    Objection,
    harmful,
    misfit_objections,
    standing_objections,
    workload_objections,
)
from .profiles import Profile, Storage, few_cores, profiles
from .records import UNKNOWN_LIMIT, Limit, OsdFacts, Reason
from .situation import Situation, situation_of_osd
from .storage import common_storage
from .strings import check, recognise, safe_to_apply, same_meaning, suits

__all__ = [
    'MIN_CONFIDENCE',
    'MIN_GAIN',
    'Case',
    'Target',
    'best_profile',
    'default_target',
    'score',
    'target_for',
]

#: Below this confidence what clients write is not a reason to restart OSDs.
MIN_CONFIDENCE = 0.8
#: A profile must suit better than the release default by this much of the scale 0..1 to take its
#: place: published gains over a modern default are single-digit percents, and a default has had QA.
MIN_GAIN = 0.2
_LZ4 = 'kLZ4Compression'
_NO_COMPRESSION = 'kNoCompression'


class Target(NamedTuple):
    """What to change to."""

    options: str
    #: None where it is no known one.
    profile: Optional[Profile]
    #: Why this one.
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Case:
    """OSDs that one change can reach, and all that the choice goes by; looked at where needed."""

    candidate: Candidate

    @property
    def release(self) -> KnownRelease:
        return self.candidate.release

    @property
    def running(self) -> str:
        return self.candidate.running

    @property
    def osds(self) -> Sequence[OsdFacts]:
        return self.candidate.osds

    @cached_property
    def writer(self) -> Optional[Writer]:
        """Who writes metadata, as surely as advice needs it."""
        found = writer_of(self.candidate.group.workload)
        return found if found is not None and found.confidence >= MIN_CONFIDENCE else None

    @cached_property
    def busy(self) -> Optional[Evidence]:
        return kv_sync_busy(self.candidate.group)

    @cached_property
    def limit(self) -> Limit:
        group = self.candidate.group
        return limit_of(group) if group.limit == UNKNOWN_LIMIT else group.limit

    @cached_property
    def storage(self) -> Optional[Storage]:
        return common_storage(self.osds)

    @cached_property
    def situation(self) -> Situation:
        """Of the OSD with the least of each: what is recommended must fit them all."""
        workload = self.writer.workload_class if self.writer else None
        given = Given(workload=workload, cores=self.candidate.group.cores)
        first, *others = self._alike
        found = situation_of_osd(first, self.release, given)
        for osd in others:
            found = _tighter(found, situation_of_osd(osd, self.release, given))
        return found

    @cached_property
    def _alike(self) -> tuple[OsdFacts, ...]:
        """One OSD of each kind."""
        return tuple({_resources(osd): osd for osd in self.osds}.values())

    def effective(self, text: str) -> Mapping[str, str]:
        """Empty where an OSD would not start with it."""
        return check(text, self.release.rocksdb_version).effective

    def standing(self, text: str) -> tuple[Objection, ...]:
        return standing_objections(text, self.release)

    def misfits(self, text: str) -> tuple[Objection, ...]:
        """What one or another of these OSDs has too little room for."""
        version = self.release.rocksdb_version
        problems = {
            problem.rule: problem
            for osd in self._alike
            # What stands beside the string speaks for or against no string.
            for hardware in [replace(hardware_of_osd(osd), neighbours=())]
            for problem in check(text, version, hardware).problems
        }
        return misfit_objections(problems.values())

    def under_workload(self, text: str) -> tuple[Objection, ...]:
        if self.writer is None:
            return ()
        return workload_objections(self.effective(text), self.writer, self.busy)

    @cached_property
    def why_no_tuning(self) -> Optional[Reason]:
        """Why no option set brings these OSDs anything; None where one may."""
        cores = self.candidate.group.cores
        cluster = ClusterFacts(tuple(self.osds), ())
        for name, look in (
            ('unoptimised-build', unoptimised_build),
            ('deferred-write-regression', deferred_write_regression),
        ):
            for found in look(cluster, condition(name)):
                return Reason(f'{found.summary}: no option set helps. {found.remedy}', found.source)
        if self.storage is Storage.HDD:
            return Reason(
                'Their RocksDB is on hard disks: each commit waits for a disk, whatever the '
                'options; a DB device on flash is what helps.',
                'https://docs.ceph.com/en/latest/rados/configuration/bluestore-config-ref/',
            )
        if cores is not None and few_cores(cores):
            return Reason(
                f'An OSD has {format_plural(cores, "core")}: with 2 cores all tuned sets were '
                'about as fast as the default, and slower at listing buckets.',
                'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, The Effects of Limiting CPU',
            )
        return None

    @cached_property
    def db_space_short(self) -> Optional[str]:
        """What says that room on DB devices is short; None where nothing does."""
        least = limit_thresholds().db_full_share
        spilled = []
        full = 0.0
        for osd in self.osds:
            signals = osd.signals
            if signals is None or not osd.info.dedicated_db:
                continue
            if signals.slow_used_bytes:
                spilled.append(osd.info.osd_id)
            if signals.db_total_bytes and signals.db_used_bytes is not None:
                full = max(full, signals.db_used_bytes / signals.db_total_bytes)
        if spilled:
            return f'RocksDB data of {name_osds(spilled)} spilled over to the slow device.'
        # A full compaction needs room for what it writes anew.
        if full >= least - _ROOM_TO_COMPACT:
            return f'The fullest DB device is {full:.0%} full.'
        return None


#: What is chosen for the room that there is, and of these what is told of each.
_SIZES = (
    'max_total_wal_size',
    'write_buffer_size',
    'max_write_buffer_number',
    'min_write_buffer_number_to_merge',
    'level0_file_num_compaction_trigger',
    'max_bytes_for_level_base',
    'max_bytes_for_level_multiplier',
)
_TOLD = ('max_total_wal_size', 'write_buffer_size', 'min_write_buffer_number_to_merge')
#: Of the DB device, beyond which room is short before it is nearly full.
_ROOM_TO_COMPACT = 0.15


def _resources(osd: OsdFacts) -> tuple[object, ...]:
    """OSDs that are alike in these have the same situation but for their data."""
    target = osd.details.memory_target_bytes if osd.details else None
    info = osd.info
    return (
        target,
        info.dedicated_db,
        info.dedicated_wal,
        info.db_device_bytes,
        info.wal_device_bytes,
        osd.sharded,
    )


def _tighter(a: Situation, b: Situation) -> Situation:
    """``a`` with the limits of ``b`` where those are tighter."""
    if wal_bound_bytes(b) < wal_bound_bytes(a):
        return replace(
            a, devices=b.devices, memory_target_bytes=b.memory_target_bytes, osd_id=b.osd_id
        )
    return a


def target_for(case: Case) -> Target:
    """The best known option string for these OSDs, whatever they run now."""
    default = default_target(case)
    writer = case.writer
    if writer is None or case.why_no_tuning is not None:
        return default
    best, suits_best = best_profile(writer.workload_class, case.release)
    of_default = score(
        recognise(case.release.default_options, case.release), writer.workload_class, case.release
    )
    if suits_best - of_default < MIN_GAIN:
        best = default.profile
    if best is None:
        return default
    found = _of_profile(case, best, writer)
    return _that_fits(case, _compressed(case, found, writer))


def default_target(case: Case) -> Target:
    """What these OSDs run where nobody chose anything."""
    text = case.release.default_options
    return Target(text, recognise(text, case.release), ())


def _of_profile(case: Case, best: Profile, writer: Writer) -> Target:
    suitability = suits(best, writer.workload_class, case.release)
    texts = suitability.reasons if suitability else ()
    return Target(best.options, best, tuple(Reason(text, best.source) for text in texts))


def _compressed(case: Case, found: Target, writer: Writer) -> Target:
    """A compressed set in place of one that is not, where room is short or metadata would grow."""
    if case.effective(found.options).get('compression') != _NO_COMPRESSION:
        return found
    if case.effective(case.running).get('compression', _NO_COMPRESSION) != _NO_COMPRESSION:
        short = 'What runs is compressed, and would grow without.'
    elif case.db_space_short is not None:
        short = case.db_space_short
    else:
        return found
    candidates = [
        p
        for p in profiles()
        if suits(p, writer.workload_class, case.release)
        and case.effective(p.options).get('compression') == _LZ4
    ]
    if not candidates:
        return found
    best = max(candidates, key=lambda p: (score(p, writer.workload_class, case.release), p.name))
    why = Reason(
        f'{short} LZ4 keeps metadata small, so a compressed set is chosen.',
        'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025',
    )
    chosen = _of_profile(case, best, writer)
    return chosen._replace(reasons=(why, *chosen.reasons))


def fits(case: Case, text: str) -> bool:
    """Whether WAL and memtables have the room that the published sets were made for.

    The default of the release is taken to fit unless the checks warn of it: all OSDs run it that
    nobody tuned.
    """
    version = case.release.rocksdb_version
    if same_meaning(text, case.release.default_options, version):
        problems = check(text, version, _hardware(case.situation)).problems
        return not any(harmful(problem) for problem in problems)
    limit = int(case.effective(text).get('max_total_wal_size', '0'))
    return 0 < limit <= wal_bound_bytes(case.situation)


def _hardware(situation: Situation) -> Hardware:
    devices = situation.devices
    return Hardware(
        memory_target_bytes=situation.memory_target_bytes,
        wal_device_bytes=devices.wal_bytes if devices.dedicated_wal else None,
        db_device_bytes=devices.db_bytes if devices.dedicated_db else None,
    )


def _that_fits(case: Case, found: Target) -> Target:
    """What the published goals lead to here, where a published set is too large."""
    if not case.effective(found.options) or fits(case, found.options):
        return found
    return _derived(case, found) or found


def fitting(case: Case, found: Target) -> Optional[Target]:
    """``found``, or what the goals lead to where these OSDs have no room for it; None: nothing."""
    if not case.misfits(found.options):
        return found
    derived = _derived(case, found)
    return None if derived is None or case.misfits(derived.options) else derived


def resized(case: Case) -> Optional[Target]:
    """What runs with the sizes that fit, and nothing else changed; None where it is a known set.

    Whoever wrote the rest had a reason, and nothing speaks against it.
    """
    if recognise(case.running, case.release) is not None:
        return None
    goals = {choice.option: choice for choice in derive(case.situation).choices}
    sizes: dict[str, Optional[str]] = {
        name: goals[name].value if name in goals else None for name in _SIZES
    }
    try:
        sized = parse(case.running).replaced(sizes)
    except OptionSyntaxError:
        return None
    for text in (format(sized), _with_compression(sized)):
        if safe_to_apply(text, case.release.rocksdb_version):
            continue
        against = (*case.standing(text), *case.misfits(text))
        if not against and not case.under_workload(text):
            why = Reason(
                'Only sizes change, to those that the published goals lead to on these OSDs; all '
                'else stays as it was set.',
                'ceph rocksdb-tuner profile derive',
            )
            whys = tuple(_why(goals[name]) for name in _TOLD)
            return Target(text, recognise(text, case.release), (why, *whys))
    return None


def _why(choice: Choice) -> Reason:
    return Reason(f'{choice.option}={choice.value}: {choice.why}', choice.source)


def _derived(case: Case, found: Target) -> Optional[Target]:
    """What the published goals lead to; None where that may not be applied."""
    derived = derive(case.situation)
    compressed = _to_be_compressed(case, found)
    text = _with_compression(parse(derived.options)) if compressed else derived.options
    if safe_to_apply(text, case.release.rocksdb_version):
        return None
    choices = {choice.option: choice for choice in derived.choices}
    whys = tuple(_why(choices[name]) for name in _TOLD)
    name = found.profile.title if found.profile else 'The published set'
    why = Reason(
        f'{name} would not fit these OSDs, so an option set derived from the same goals is '
        'proposed; it was not tested as a whole.',
        'ceph rocksdb-tuner profile derive',
    )
    return Target(text, recognise(text, case.release), (why, *whys))


def _to_be_compressed(case: Case, found: Target) -> bool:
    """Where metadata would grow without, or find no room."""
    if case.db_space_short is not None:
        return True
    compressions = [
        case.effective(text).get('compression', _NO_COMPRESSION)
        for text in (found.options, case.running)
    ]
    if few_cores(case.candidate.group.cores):
        # The work that can be left out.
        return False
    return compressions[0] == _LZ4 or compressions[1] != _NO_COMPRESSION


def _with_compression(options: OptionSet) -> str:
    """``options`` with LZ4 and nothing else changed."""
    return format(options.replaced({'compression': _LZ4}))


def only_compressed(case: Case) -> Optional[Target]:
    """What runs with LZ4 and nothing else changed; None where that may not be applied."""
    try:
        text = _with_compression(parse(case.running))
    except OptionSyntaxError:
        return None
    if safe_to_apply(text, case.release.rocksdb_version):
        return None
    profile = recognise(text, case.release)
    if profile is not None and profile.superseded:
        return None
    why = Reason(
        'Nothing else speaks against what runs, so only compression changes.',
        'rule of this module',
    )
    return Target(text, profile, (why,))


def repaired(case: Case, objections: Sequence[Objection]) -> Optional[Target]:
    """What runs, with each option that is warned of as the release has it; None: no way."""
    names = [o.option for o in objections if o.option is not None]
    if len(names) < len(objections):
        return None
    try:
        mine, default = parse(case.running), parse(case.release.default_options)
        text = format(mine.replaced({name: default.get(name) for name in names}))
    except OptionSyntaxError:
        return None
    version = case.release.rocksdb_version
    if same_meaning(text, case.release.default_options, version):
        return default_target(case)
    if safe_to_apply(text, version) or case.standing(text):
        return None
    why = Reason(
        'Only what is warned of changes, to what the release has; all else stays as it was set.',
        'rule of this module',
    )
    return Target(text, recognise(text, case.release), (why,))


def best_profile(
    workload_class: WorkloadClass, release: KnownRelease
) -> tuple[Optional[Profile], float]:
    """The published set that suits best; (None, 0.0) where none does."""
    scored = [(score(p, workload_class, release), p) for p in profiles()]
    # max() keeps the first of equals: the catalogue lists the best-tested one first.
    best_score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return (best, best_score) if best_score > 0 else (None, 0.0)


def score(
    profile: Optional[Profile], workload_class: WorkloadClass, release: KnownRelease
) -> float:
    """How well a published set suits, to compare published sets only: 0 says nothing."""
    if profile is None:
        return 0.0
    suitability = suits(profile, workload_class, release)
    return suitability.score if suitability else 0.0
