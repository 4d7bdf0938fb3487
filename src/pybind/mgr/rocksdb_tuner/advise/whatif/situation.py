"""Input of the model and the derivation for one OSD, with assumptions. Pure."""

from __future__ import annotations

import errno
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Mapping, Optional

from ...knowledge import loader
from ...lsm.amplification import LOG_ENTRIES
from ...lsm.calibration import calibration, workload_of_class
from ...lsm.model import Measured, TreeInputs, working_set
from ...lsm.records import Devices, Estimate, Load, VolumeSelection
from ...notes import Count, InPlace, Named, OsdId
from ...options.releases import KnownRelease
from ...options.syntax import Column, columns
from ...options.verdict import BadQuestionError, find_release, releases_to_judge
from ...units import natural
from ...workload.records import WorkloadClass, limit_thresholds
from ..facts import RESERVED, RESERVED_FACTOR, SELECTION_POLICY, name_osds, release_of_osd
from ..records import OsdFacts, Setting
from ..strings import parse
from .overrides import NO_OVERRIDES, KnownColumns, Overrides, column_families

MAX_PG_LOG = 'osd_max_pg_log_entries'
#: `mon_target_pg_per_osd` of all releases.
USUAL_PLACEMENT_GROUPS = 100
#: `osd_memory_target` of all releases.
DEFAULT_MEMORY_TARGET_BYTES = 4 << 30


@dataclass(frozen=True)
class Assumptions:
    """Assumptions as sentences, by their use."""

    common: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    derivation: tuple[str, ...] = ()


@dataclass(frozen=True)
class Situation:
    """One OSD, real or hypothetical; None: unknown."""

    release: Annotated[KnownRelease, InPlace('name', 'rocksdb_version')]
    workload: Annotated[Optional[WorkloadClass], 'Workload class of the clients.'] = None
    devices: Annotated[Devices, InPlace()] = field(default_factory=Devices)
    memory_target_bytes: Annotated[Optional[Count], 'osd_memory_target'] = None
    #: Not reported by any daemon, so known only from an operator's override.
    cores: Annotated[Optional[Count], 'CPU cores per OSD.'] = None
    #: None: the release's default.
    own_columns: Optional[tuple[Column, ...]] = None
    selection: VolumeSelection = field(default_factory=VolumeSelection)
    load: Annotated[Load, InPlace('workload', 'wal_bytes_per_s', 'bytes_per_key', 'data_bytes')] = (
        field(default_factory=Load)
    )
    osd_id: Annotated[Optional[OsdId], Named('osd'), 'Id of the OSD; null: none was given.'] = None
    #: The annex that the OSD joins with an option string.
    annex: str = ''
    objects: Annotated[
        Optional[Estimate],
        'Objects that clients write to, estimated from the writes of the OSD; null if these do '
        'not tell.',
    ] = None
    assumptions: Assumptions = field(default_factory=Assumptions)

    def tree_inputs(self, options: str) -> TreeInputs:
        """Input of the model; raises OptionSyntaxError."""
        return TreeInputs(
            options=parse(options),
            rocksdb_version=self.release.rocksdb_version,
            columns=self.columns,
            devices=self.devices,
            selection=self.selection,
            load=self.load,
            memory_target_bytes=self.memory_target_bytes,
            cores=self.cores,
            assumptions=(*self.assumptions.common, *self.assumptions.model),
        )

    @property
    def columns(
        self,
    ) -> Annotated[
        tuple[Column, ...],
        Named('column_families'),
        'Columns as in bluestore_rocksdb_cfs.',
    ]:
        return self.own_columns or _columns(self.release.default_cfs)

    @property
    def interval_ends(self) -> tuple[Situation, ...]:
        """With the fewest and the most written objects that measurements allow; () if unknown."""
        ends = () if self.objects is None else (self.objects.low, self.objects.high)
        return tuple(replace(self, load=replace(self.load, objects=end)) for end in ends)


# A handful of releases, called for every modeled option string.
_columns = lru_cache(maxsize=16)(columns)

#: Larger than any ratio of device to level; Ceph has no upper bound.
_MOST_RESERVED_FACTOR = 1e6


def find_situation(
    osds: Sequence[OsdFacts],
    osd_id: Optional[int],
    release: Optional[str],
    overrides: Overrides,
) -> Situation:
    """The situation for a command: one OSD, or a hypothetical one.

    Raises BadQuestionError: ENOENT for an unknown OSD, else EINVAL.
    """
    if osd_id is None:
        running = [release_of_osd(facts.info) for facts in osds]
        # The newest release if there are several or none, as after an upgrade.
        return situation_without_osd(releases_to_judge(release, running)[-1], overrides)
    facts = osd_by_id(osds, osd_id)
    of_osd = find_release(release) if release is not None else release_of_osd(facts.info)
    if of_osd is None:
        raise BadQuestionError(
            errno.EINVAL,
            f'osd.{osd_id} runs a release that is unknown to this module: name one with --release',
        )
    return situation_of_osd(facts, of_osd, overrides)


def osd_by_id(osds: Sequence[OsdFacts], osd_id: int) -> OsdFacts:
    """The facts of one OSD; raises BadQuestionError (ENOENT) for an unknown one."""
    facts = next((f for f in osds if f.info.osd_id == osd_id), None)
    if facts is None:
        known = name_osds([f.info.osd_id for f in osds]) if osds else 'none yet'
        raise BadQuestionError(errno.ENOENT, f'osd.{osd_id} does not exist; known OSDs: {known}')
    return facts


def situation_without_osd(release: KnownRelease, overrides: Overrides = NO_OVERRIDES) -> Situation:
    """A hypothetical OSD of this release with overrides."""
    devices, label = devices_of(None, overrides), release.label
    measured, about_workload = _workload(overrides.workload)
    known_device = devices.dedicated_db is not None or devices.dedicated_wal is not None
    return Situation(
        release=release,
        workload=overrides.workload,
        devices=devices,
        memory_target_bytes=overrides.memory_bytes or DEFAULT_MEMORY_TARGET_BYTES,
        cores=overrides.cores,
        own_columns=overrides.columns,
        load=_load(Load(workload=measured), overrides),
        assumptions=Assumptions(
            (*_assume('no-osd', label=label), *_assume('no-devices', unless=known_device)),
            (
                *_assume('default-columns', unless=overrides.columns is not None, label=label),
                *about_workload,
                *_assume('default-memory', unless=overrides.memory_bytes is not None),
            ),
            _assume('unknown-cores', unless=overrides.cores is not None),
        ),
    )


def _assume(which: str, *, unless: bool = False, **fill: object) -> tuple[str, ...]:
    """An assumption of ``knowledge/derivation.json``; none if it is known."""
    text = loader.load('derivation')['assumptions'][which]
    return () if unless else (text.format_map(fill),)


def situation_of_osd(
    facts: OsdFacts, release: KnownRelease, overrides: Overrides = NO_OVERRIDES
) -> Situation:
    """The situation of an OSD, with overrides."""
    signals, settings = facts.signals, facts.settings or {}
    own = facts.workload.workload_class if facts.workload else None
    chosen = overrides.workload or own
    measured, about_workload = _workload(chosen)
    data_bytes = None
    if signals and signals.db_used_bytes is not None and overrides.data_bytes is None:
        data_bytes = float(signals.db_used_bytes + (signals.slow_used_bytes or 0))
    target, known = memory_target_of(facts, overrides), column_families(facts)
    round_ms = signals.kv_sync_ms if signals else None
    load = Load(
        workload=measured,
        wal_bytes_per_s=signals.wal_bytes_per_s if signals else None,
        data_bytes=data_bytes,
        log_entries=_log_entries(settings),
        write_bytes=_write_bytes(facts) if chosen is own else None,
        thread_waits=round_ms is not None and round_ms >= limit_thresholds().slow_round_ms,
    )
    situation = Situation(
        release=release,
        workload=chosen,
        devices=devices_of(facts, overrides),
        memory_target_bytes=target or DEFAULT_MEMORY_TARGET_BYTES,
        cores=overrides.cores,
        own_columns=overrides.columns or known.columns,
        selection=_selection(settings),
        load=_load(load, overrides),
        osd_id=facts.info.osd_id,
        annex=facts.options.kept_annex if facts.options else '',
        assumptions=Assumptions(
            (),
            (
                *_assume('bluefs-usage', unless=data_bytes is None),
                *_assume('unknown-memory', unless=target is not None),
                *(() if overrides.columns else _about_columns_of(facts, release, known)),
                *about_workload,
            ),
            _assume('unknown-cores', unless=overrides.cores is not None),
        ),
    )
    # Measurements are not for another workload or database than the overrides.
    measures = chosen is own and overrides.data_bytes is None
    return _fitted(situation, facts) if measures else situation


def _write_bytes(facts: OsdFacts) -> Optional[float]:
    """Mean write size, rounded to a power of two for stability between ticks."""
    mean = facts.signals.write_bytes_avg if facts.signals else None
    return None if not mean or mean < 1 else float(2 ** round(math.log2(mean)))


def _fitted(situation: Situation, facts: OsdFacts) -> Situation:
    """Fit the number of written objects to the measured write amplification."""
    signals, options = facts.signals, facts.options
    if signals is None or options is None:
        return situation
    # Rounded for the cache.
    written = _rounded(signals.db_write_amp, 3)
    window_s = _rounded(signals.db_write_amp_window_s, 1)
    if written is None or window_s is None:
        return situation
    load, rate = situation.load, _rounded(situation.load.wal_bytes_per_s, 1)
    rounded = replace(load, wal_bytes_per_s=rate, data_bytes=_rounded(load.data_bytes, 2))
    asked = replace(situation, load=rounded, assumptions=Assumptions())
    try:
        found = working_set(asked.tree_inputs(options.running), Measured(written, window_s))
    except ValueError:
        # There is no model for options without levels.
        return situation
    if found is None:
        return situation
    load = replace(load, written_ratio=found.written_ratio)
    if found.objects is not None:
        load = replace(load, objects=found.objects.value, log_entries=found.log_entries)
    return replace(situation, objects=found.objects, load=load)


def _rounded(value: Optional[float], digits: int) -> Optional[float]:
    return None if value is None else float(f'{value:.{digits}g}')


def memory_target_of(facts: Optional[OsdFacts], overrides: Overrides) -> Optional[int]:
    details = facts.details if facts else None
    return overrides.memory_bytes or (details.memory_target_bytes if details else None)


def devices_of(facts: Optional[OsdFacts], overrides: Overrides) -> Devices:
    """The devices of an OSD, or of none; 0 in an override: there is no such device."""
    db, wal, known = overrides.db_bytes, overrides.wal_bytes, Devices()
    if facts is not None:
        info = facts.info
        known = Devices(
            info.dedicated_db,
            info.dedicated_wal,
            info.db_device_bytes,
            info.wal_device_bytes,
            info.main_device_bytes,
        )
    if db is not None:
        known = replace(known, dedicated_db=db > 0, db_bytes=db or None)
    if wal is not None:
        known = replace(known, dedicated_wal=wal > 0, wal_bytes=wal or None)
    elif known.dedicated_wal is None and db is not None:
        # An operator's DB device without a WAL device means that there is none.
        known = replace(known, dedicated_wal=False)
    return known


_LOAD = ('wal_bytes_per_s', 'data_bytes', 'bytes_per_key')


def _load(known: Load, overrides: Overrides) -> Load:
    named = {name: getattr(overrides, name) for name in _LOAD}
    given: dict[str, Any] = {n: float(value) for n, value in named.items() if value is not None}
    return replace(known, **given)


def _selection(settings: Mapping[str, Setting]) -> VolumeSelection:
    def value(name: str) -> Optional[str]:
        return settings[name].value if name in settings else None

    try:
        factor = float(value(RESERVED_FACTOR) or math.nan)
    except ValueError:
        factor = math.nan
    usual = not 0 <= factor <= _MOST_RESERVED_FACTOR
    return VolumeSelection(
        policy=value(SELECTION_POLICY) or VolumeSelection.policy,
        reserved_factor=VolumeSelection.reserved_factor if usual else factor,
        reserved_bytes=natural(value(RESERVED)) or VolumeSelection.reserved_bytes,
    )


def _log_entries(settings: Mapping[str, Setting]) -> Optional[float]:
    """Entries of shortened PG logs; None for the default length."""
    most = natural(settings[MAX_PG_LOG].value) if MAX_PG_LOG in settings else None
    if most is None:
        return None
    # The number of PGs does not matter at the usual length.
    return min(LOG_ENTRIES, float(most * USUAL_PLACEMENT_GROUPS))


def _about_columns_of(
    facts: OsdFacts, release: KnownRelease, known: KnownColumns
) -> tuple[str, ...]:
    if known.made_by is not None:
        its = 'Its sharding is unknown: its' if facts.sharded is None else 'Its'
        return _assume('made-by', its=its, label=known.made_by.label)
    made, unknown = facts.info.created_version, 'The release that created it is unknown'
    if made is not None:
        unknown = f'It was created by {made}, whose default is unknown'
    elif facts.sharded is None:
        unknown = 'Neither its sharding nor the release that created it is known'
    reported = known.columns is not None
    return _assume('made-by-unknown', unless=reported, unknown=unknown, label=release.label)


def _workload(workload: Optional[WorkloadClass]) -> tuple[Optional[str], tuple[str, ...]]:
    """The measured workload that represents this class, and the assumption in it."""
    measured = None if workload is None else workload_of_class(workload.value)
    if measured is not None:
        return measured, _assume('measured', measured=measured)
    name = 'unknown' if workload is None else f'{workload.value}, which was not measured'
    classes = ', '.join(c for known in calibration().workloads.values() for c in known.classes)
    return None, _assume('unmeasured', name=name, classes=classes)
