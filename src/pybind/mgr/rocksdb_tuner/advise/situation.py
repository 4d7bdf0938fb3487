"""What the model and the derivation are to know of an OSD, and what is taken for granted. Pure."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Mapping, Optional

from ..lsm.calibration import workload_of_class
from ..lsm.columns import Column, columns
from ..lsm.records import Devices, Load, VolumeSelection
from ..options.releases import KnownRelease
from ..options.verdict import BadQuestionError, find_release, releases_to_judge
from ..workload.records import WorkloadClass
from .facts import RESERVED, RESERVED_FACTOR, SELECTION_POLICY, release_of_osd
from .naming import name_osds
from .records import OsdFacts, Setting

__all__ = [
    'DEFAULT_MEMORY_TARGET_BYTES',
    'Situation',
    'find_situation',
    'situation_of_osd',
    'situation_without_osd',
]

#: `osd_memory_target` of all releases.
DEFAULT_MEMORY_TARGET_BYTES = 4 << 30
_UNSHARDED = columns('')
_MOST_CORES = 1024


@dataclass(frozen=True)
class Situation:
    """One OSD, or one that is imagined; None is "not known"."""

    release: KnownRelease
    workload: Optional[WorkloadClass] = None
    devices: Devices = field(default_factory=Devices)
    memory_target_bytes: Optional[int] = None
    #: For one OSD; no daemon tells, so only where somebody said.
    cores: Optional[int] = None
    #: None: those of the release's default.
    own_columns: Optional[tuple[Column, ...]] = None
    selection: VolumeSelection = field(default_factory=VolumeSelection)
    load: Load = field(default_factory=Load)
    osd_id: Optional[int] = None
    #: In sentences.
    assumptions: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.own_columns or columns(self.release.default_cfs)


def find_situation(
    osds: Sequence[OsdFacts],
    osd_id: Optional[int],
    release: Optional[str],
    workload: Optional[str],
    cores: Optional[int],
) -> Situation:
    """The situation that an operator asks about: one OSD, or none in particular.

    Raises BadQuestionError, ENOENT for an OSD that is not there, EINVAL for all else.
    """
    wanted = _workload(workload)
    if cores is not None and not 1 <= cores <= _MOST_CORES:
        raise BadQuestionError(
            errno.EINVAL, f'cores must be 1 to {_MOST_CORES} for one OSD, not {cores}'
        )
    if osd_id is None:
        running = [release_of_osd(facts.info) for facts in osds]
        # The newest, where several run or none does: an upgrade ends there.
        chosen = releases_to_judge(release, running)[-1]
        return situation_without_osd(chosen, wanted, cores)
    facts = next((f for f in osds if f.info.osd_id == osd_id), None)
    if facts is None:
        known = name_osds([f.info.osd_id for f in osds]) if osds else 'none yet'
        raise BadQuestionError(
            errno.ENOENT, f'osd.{osd_id} does not exist; OSDs that are known: {known}'
        )
    of_osd = find_release(release) if release is not None else release_of_osd(facts.info)
    if of_osd is None:
        raise BadQuestionError(
            errno.EINVAL,
            f'osd.{osd_id} runs a release that is not known to this module: name one with '
            '--release',
        )
    return situation_of_osd(facts, of_osd, wanted, cores)


def _workload(text: Optional[str]) -> Optional[WorkloadClass]:
    if text is None:
        return None
    try:
        return WorkloadClass(text)
    except ValueError:
        known = ', '.join(w.value for w in WorkloadClass)
        raise BadQuestionError(
            errno.EINVAL, f'"{text}" is no workload; workloads: {known}'
        ) from None


def situation_without_osd(
    release: KnownRelease, workload: Optional[WorkloadClass], cores: Optional[int]
) -> Situation:
    """An OSD of this release of which nothing else is known."""
    measured = _measured_workload(workload)
    return Situation(
        release=release,
        workload=workload,
        cores=cores,
        memory_target_bytes=DEFAULT_MEMORY_TARGET_BYTES,
        load=Load(workload=measured),
        assumptions=(
            (
                f'No OSD was named: one of {release.label}, with the column families of that '
                'default and its volume selection, and no DB or WAL device that is known.'
            ),
            'osd_memory_target is taken to be 4 GiB, its default.',
            *_about_workload(workload, measured),
            *_about_cores(cores),
        ),
    )


def situation_of_osd(
    facts: OsdFacts,
    release: KnownRelease,
    workload: Optional[WorkloadClass],
    cores: Optional[int],
) -> Situation:
    """What is known of an OSD; ``workload`` and ``cores`` are an operator's word."""
    info, signals, details = facts.info, facts.signals, facts.details
    assumptions: list[str] = []
    chosen = workload or (facts.workload.workload_class if facts.workload else None)
    measured = _measured_workload(chosen)
    load = Load(workload=measured, wal_bytes_per_s=signals.wal_bytes_per_s if signals else None)
    used = signals.db_used_bytes if signals else None
    if used is not None and signals is not None:
        load = replace(load, data_bytes=float(used + (signals.slow_used_bytes or 0)))
        assumptions.append(
            'All that BlueFS uses is taken for SST files; what of it is the WAL is not told.'
        )
    target = details.memory_target_bytes if details else None
    if target is None:
        target = DEFAULT_MEMORY_TARGET_BYTES
        assumptions.append('osd_memory_target is not known yet: 4 GiB, its default, is assumed.')
    if facts.sharded is not False:
        known = (
            'Its column families are'
            if facts.sharded
            else 'Its sharding is not known: its column families are'
        )
        assumptions.append(f'{known} taken to be those of the default of {release.label}.')
    return Situation(
        release=release,
        workload=chosen,
        devices=Devices(
            dedicated_db=info.dedicated_db,
            dedicated_wal=info.dedicated_wal,
            db_bytes=info.db_device_bytes,
            wal_bytes=info.wal_device_bytes,
            main_bytes=info.main_device_bytes,
        ),
        memory_target_bytes=target,
        cores=cores,
        own_columns=_UNSHARDED if facts.sharded is False else None,
        selection=_selection(facts.settings or {}),
        load=load,
        osd_id=info.osd_id,
        assumptions=(
            *assumptions,
            *_about_workload(chosen, measured),
            *_about_cores(cores),
        ),
    )


def _selection(settings: Mapping[str, Setting]) -> VolumeSelection:
    def value(name: str) -> Optional[str]:
        return settings[name].value if name in settings else None

    found = VolumeSelection(policy=value(SELECTION_POLICY) or VolumeSelection.policy)
    try:
        return replace(
            found,
            reserved_factor=float(value(RESERVED_FACTOR) or found.reserved_factor),
            reserved_bytes=int(value(RESERVED) or found.reserved_bytes),
        )
    except ValueError:
        return found


def _measured_workload(workload: Optional[WorkloadClass]) -> Optional[str]:
    return None if workload is None else workload_of_class(workload.value)


def _about_workload(workload: Optional[WorkloadClass], measured: Optional[str]) -> tuple[str, ...]:
    if measured is not None:
        return (
            (
                f'The parts of the column families, and what of the writes lasts, are as measured '
                f'with {measured}.'
            ),
        )
    name = 'not known' if workload is None else f'{workload.value}, which was not measured'
    return (f'The workload is {name}: flushes and amplification by workload are not known.',)


def _about_cores(cores: Optional[int]) -> tuple[str, ...]:
    return () if cores else ('How many cores the OSD has is not known.',)
