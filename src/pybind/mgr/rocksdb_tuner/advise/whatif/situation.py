"""Input of the model and the derivation for one OSD, real or not, with assumptions. Pure.

An operator's overrides are parsed from command arguments. An OSD reads `bluestore_rocksdb_cfs` only
when it is created: upgrades keep its column families, which only `ceph-bluestore-tool reshard`
changes.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Mapping, NamedTuple, Optional

from ...knowledge import loader
from ...lsm.amplification import LOG_ENTRIES
from ...lsm.calibration import calibration, workload_of_class
from ...lsm.model import Measured, TreeInputs, working_set
from ...lsm.records import Devices, Estimate, Load, VolumeSelection
from ...notes import Count, InPlace, Named, OsdId
from ...options.releases import KnownRelease, release_of
from ...options.syntax import Column, OptionSyntaxError, ShardingSyntaxError, columns
from ...options.verdict import BadQuestionError, find_release, releases_to_judge
from ...units import natural
from ...workload.records import WorkloadClass, limit_thresholds
from ..facts import RESERVED, RESERVED_FACTOR, SELECTION_POLICY, name_osds, release_of_osd
from ..records import OsdFacts
from ..strings import parse

MAX_PG_LOG = 'osd_max_pg_log_entries'
#: `mon_target_pg_per_osd` of all releases.
USUAL_PLACEMENT_GROUPS = 100
#: `osd_memory_target` of all releases.
DEFAULT_MEMORY_TARGET_BYTES = 4 << 30
#: Larger than any ratio of device to level; Ceph has no upper bound.
_MOST_RESERVED_FACTOR = 1e6
_SIZE = re.compile(r'(\d{1,20}(?:\.\d{1,9})?) ?([kmgtp]?)(?:i?b)?', re.ASCII | re.IGNORECASE)
_FACTORS = {'': 1, 'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40, 'p': 1 << 50}
_MOST_CORES = 1024
_MOST = '1024P'
#: Field, minimum and maximum by argument.
_SIZES = {
    'db_size': ('db_bytes', '0', _MOST),
    'wal_size': ('wal_bytes', '0', _MOST),
    #: Ceph refuses less for `osd_memory_target`.
    'memory': ('memory_bytes', '896M', _MOST),
    'data': ('data_bytes', '1', _MOST),
    'ingest': ('wal_bytes_per_s', '1', '1T'),
    'key_size': ('bytes_per_key', '1', '1G'),
}


@dataclass(frozen=True)
class Overrides:
    """An operator's overrides of known values. None: no override."""

    workload: Optional[WorkloadClass] = None
    cores: Optional[int] = None
    #: Size of a dedicated device; 0: none.
    db_bytes: Optional[int] = None
    wal_bytes: Optional[int] = None
    #: `osd_memory_target`
    memory_bytes: Optional[int] = None
    #: SST files of all column families.
    data_bytes: Optional[int] = None
    wal_bytes_per_s: Optional[int] = None
    bytes_per_key: Optional[int] = None
    #: `bluestore_rocksdb_cfs`, "default" first.
    columns: Optional[tuple[Column, ...]] = None


NO_OVERRIDES = Overrides()


def read_overrides(
    *,
    workload: Optional[WorkloadClass] = None,
    cores: Optional[int] = None,
    cfs: Optional[str] = None,
    **sizes: Optional[str],
) -> Overrides:
    """Parse command arguments.

    ``sizes`` are bytes with or without a suffix ("60G" is 60 GiB). Raises BadQuestionError (EINVAL)
    with the argument, the error and a valid example.
    """
    if cores is not None and not 1 <= cores <= _MOST_CORES:
        raise _invalid(f'cores must be 1 to {_MOST_CORES} for one OSD, not {cores}')
    found = {}
    for name, text in sizes.items():
        field_name, least, most = _SIZES[name]
        size, shown = None if text is None else _bytes(text), name.replace('_', '-')
        if text is not None and size is None:
            raise _invalid(f'{shown}: "{text}" is not a size: use bytes, or a suffix as in "60G"')
        if size is not None and not (_bytes(least) or 0) <= size <= (_bytes(most) or 0):
            raise _invalid(f'{shown} must be {least} to {most}, not "{text}"')
        found[field_name] = size
    try:
        own_columns = None if cfs is None else columns(cfs)
    except (ShardingSyntaxError, OptionSyntaxError) as error:
        raise _invalid(f'cfs: {error}') from None
    return Overrides(workload=workload, cores=cores, columns=own_columns, **found)


def _invalid(message: str) -> BadQuestionError:
    return BadQuestionError(errno.EINVAL, message)


def _bytes(text: str) -> Optional[int]:
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * _FACTORS[match[2].lower()])


class KnownColumns(NamedTuple):
    """Column families; None: unknown."""

    columns: Optional[tuple[Column, ...]] = None
    #: The sharding definition, as in `bluestore_rocksdb_cfs`.
    definition: Optional[str] = None
    #: The release whose default is assumed; None if the OSD reports them.
    made_by: Optional[KnownRelease] = None


# A handful of releases and definitions, called for every modeled option string.
_columns = lru_cache(maxsize=16)(columns)


def column_families(facts: OsdFacts) -> KnownColumns:
    """Column families reported by the OSD, or else the default of the release that created it."""
    reported = '' if facts.sharded is False else facts.info.sharding
    if reported is not None:
        try:
            return KnownColumns(_columns(reported), reported)
        except (ShardingSyntaxError, OptionSyntaxError):
            # Unknown syntax.
            return KnownColumns()
    made_by = release_of(facts.info.created_version, None)
    if made_by is None:
        return KnownColumns()
    return KnownColumns(_columns(made_by.default_cfs), made_by.default_cfs, made_by)


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
        return situation_of_osd(None, releases_to_judge(release, running)[-1], overrides)
    facts = osd_by_id(osds, osd_id)
    of_osd = find_release(release) if release is not None else release_of_osd(facts.info)
    if of_osd is None:
        raise _invalid(
            f'osd.{osd_id} runs a release that is unknown to this module: name one with --release'
        )
    return situation_of_osd(facts, of_osd, overrides)


def osd_by_id(osds: Sequence[OsdFacts], osd_id: int) -> OsdFacts:
    """The facts of one OSD; raises BadQuestionError (ENOENT) for an unknown one."""
    facts = next((f for f in osds if f.info.osd_id == osd_id), None)
    if facts is None:
        known = name_osds([f.info.osd_id for f in osds]) if osds else 'none yet'
        raise BadQuestionError(errno.ENOENT, f'osd.{osd_id} does not exist; known OSDs: {known}')
    return facts


def situation_of_osd(
    facts: Optional[OsdFacts], release: KnownRelease, overrides: Overrides = NO_OVERRIDES
) -> Situation:
    """The situation of an OSD, or of a hypothetical one, with overrides."""
    signals = facts.signals if facts else None
    settings = {name: s.value for name, s in ((facts and facts.settings) or {}).items()}
    own = facts.workload.workload_class if facts and facts.workload else None
    chosen = overrides.workload or own
    measured, about_workload = _workload(chosen)
    used_bytes = rate = write_bytes = round_ms = None
    if signals is not None:
        rate, round_ms = signals.wal_bytes_per_s, signals.kv_sync_ms
        if signals.db_used_bytes is not None:
            used_bytes = signals.db_used_bytes + (signals.slow_used_bytes or 0)
        if chosen is own and (signals.write_bytes_avg or 0) >= 1:
            # Rounded to a power of two for stability between ticks.
            write_bytes = 2.0 ** round(math.log2(signals.write_bytes_avg or 1))
    load = Load(
        workload=measured,
        wal_bytes_per_s=_float(overrides.wal_bytes_per_s or rate),
        bytes_per_key=_float(overrides.bytes_per_key),
        data_bytes=_float(overrides.data_bytes or used_bytes),
        log_entries=_log_entries(settings),
        write_bytes=write_bytes,
        thread_waits=round_ms is not None and round_ms >= limit_thresholds().slow_round_ms,
    )
    target, devices = memory_target_of(facts, overrides), devices_of(facts, overrides)
    known = column_families(facts) if facts else KnownColumns()
    situation = Situation(
        release=release,
        workload=chosen,
        devices=devices,
        memory_target_bytes=target or DEFAULT_MEMORY_TARGET_BYTES,
        cores=overrides.cores,
        own_columns=overrides.columns or known.columns,
        selection=_selection(settings),
        load=load,
        osd_id=facts.info.osd_id if facts else None,
        annex=facts.options.kept_annex if facts and facts.options else '',
    )
    of_cores = _assume('unknown-cores', unless=overrides.cores is not None)
    if facts is None:
        known_device = devices.dedicated_db is not None or devices.dedicated_wal is not None
        common = (
            *_assume('no-osd', label=release.label),
            *_assume('no-devices', unless=known_device),
        )
        of_model = (
            *_assume('default-columns', unless=overrides.columns is not None, label=release.label),
            *about_workload,
            *_assume('default-memory', unless=target is not None),
        )
        return replace(situation, assumptions=Assumptions(common, of_model, of_cores))
    own_data = used_bytes is not None and overrides.data_bytes is None
    of_model = (
        *_assume('bluefs-usage', unless=not own_data),
        *_assume('unknown-memory', unless=target is not None),
        *(() if overrides.columns else _about_columns(facts, release, known)),
        *about_workload,
    )
    situation = replace(situation, assumptions=Assumptions((), of_model, of_cores))
    # Measurements are not for another workload or database than the overrides.
    measures = chosen is own and overrides.data_bytes is None
    return _fitted(situation, facts) if measures else situation


def _float(value: Optional[float]) -> Optional[float]:
    return None if value is None else float(value)


def _assume(which: str, *, unless: bool = False, **fill: object) -> tuple[str, ...]:
    """An assumption of ``knowledge/derivation.json``; none if it is known."""
    text = loader.load('derivation')['assumptions'][which]
    return () if unless else (text.format_map(fill),)


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


def _selection(settings: Mapping[str, str]) -> VolumeSelection:
    try:
        factor = float(settings.get(RESERVED_FACTOR) or math.nan)
    except ValueError:
        factor = math.nan
    usual = not 0 <= factor <= _MOST_RESERVED_FACTOR
    return VolumeSelection(
        policy=settings.get(SELECTION_POLICY) or VolumeSelection.policy,
        reserved_factor=VolumeSelection.reserved_factor if usual else factor,
        reserved_bytes=natural(settings.get(RESERVED)) or VolumeSelection.reserved_bytes,
    )


def _log_entries(settings: Mapping[str, str]) -> Optional[float]:
    """Entries of shortened PG logs; None for the default length."""
    most = natural(settings.get(MAX_PG_LOG))
    # The number of PGs does not matter at the usual length.
    return None if most is None else min(LOG_ENTRIES, float(most * USUAL_PLACEMENT_GROUPS))


def _about_columns(facts: OsdFacts, release: KnownRelease, known: KnownColumns) -> tuple[str, ...]:
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
