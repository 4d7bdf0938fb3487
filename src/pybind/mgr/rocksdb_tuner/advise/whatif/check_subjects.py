"""OSDs that an option string is checked for, with their hardware. Pure."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Optional

from ...options.advice import RELATED_OPTIONS
from ...options.hardware import Hardware
from ...options.releases import KnownRelease
from ...options.syntax import OptionSet
from ...options.verdict import BadQuestionError, Subject, find_release, releases_to_judge
from ..facts import release_of_osd
from ..records import OsdFacts
from .overrides import NO_OVERRIDES, Overrides
from .situation import osd_by_id

__all__ = ['hardware_of_osd', 'subjects']

#: For an OSD with the column family "default" only.
_UNSHARDED = (OptionSet(()),)


def subjects(
    osds: Sequence[OsdFacts],
    *,
    osd_id: Optional[int] = None,
    device_class: Optional[str] = None,
    release: Optional[str] = None,
    overrides: Overrides = NO_OVERRIDES,
) -> tuple[Subject, ...]:
    """Subjects of a check: one OSD, a device class, or all OSDs.

    ``overrides`` replace known values. OSDs with the same release and annex form one subject with
    the weakest hardware of them. For a release that no OSD runs, all selected OSDs are checked as
    after an upgrade. Raises BadQuestionError: ENOENT for unknown OSDs, else EINVAL.
    """
    chosen = _chosen(osds, osd_id, device_class)
    wanted = find_release(release) if release is not None else None
    running = [facts for facts in chosen if wanted in (None, release_of_osd(facts.info))]
    found = _by_release_and_annex(running, wanted, overrides)
    if found:
        return found
    if wanted is not None:
        # No OSD runs it yet: check as after an upgrade.
        planned = _by_release_and_annex(chosen, wanted, overrides)
        return planned or (Subject(wanted, hardware=_hardware(Hardware(), overrides)),)
    if osd_id is not None or device_class is not None:
        raise BadQuestionError(
            errno.EINVAL,
            'these OSDs run a release that is unknown to this module: name one with --release',
        )
    return tuple(
        Subject(r, hardware=_hardware(Hardware(), overrides)) for r in releases_to_judge(None, ())
    )


def _chosen(
    osds: Sequence[OsdFacts], osd_id: Optional[int], device_class: Optional[str]
) -> Sequence[OsdFacts]:
    if osd_id is not None and device_class is not None:
        raise BadQuestionError(errno.EINVAL, 'name an OSD or a device class, not both')
    if osd_id is not None:
        return [osd_by_id(osds, osd_id)]
    if device_class is None:
        return osds
    chosen = [facts for facts in osds if facts.info.device_class == device_class]
    if not chosen:
        classes = sorted({f.info.device_class for f in osds if f.info.device_class})
        raise BadQuestionError(
            errno.ENOENT,
            f'no OSD has the device class "{device_class}"; device classes: '
            f'{", ".join(classes) or "none yet"}',
        )
    return chosen


def _by_release_and_annex(
    osds: Iterable[OsdFacts], planned: Optional[KnownRelease], overrides: Overrides
) -> tuple[Subject, ...]:
    alike: dict[tuple[KnownRelease, str], list[OsdFacts]] = {}
    for facts in osds:
        release = planned or release_of_osd(facts.info)
        if release is not None:
            annex = facts.options.kept_annex if facts.options else ''
            alike.setdefault((release, annex), []).append(facts)
    return tuple(
        Subject(
            release,
            tuple(sorted(facts.info.osd_id for facts in members)),
            reduce(Hardware.weakest, (hardware_of_osd(facts, overrides) for facts in members)),
            annex,
        )
        for (release, annex), members in alike.items()
    )


def hardware_of_osd(facts: OsdFacts, overrides: Overrides = NO_OVERRIDES) -> Hardware:
    """Hardware of an OSD with an operator's overrides."""
    settings = facts.settings or {}
    return _hardware(
        Hardware(
            memory_target_bytes=facts.details.memory_target_bytes if facts.details else None,
            wal_device_bytes=facts.info.wal_device_bytes,
            db_device_bytes=facts.info.db_device_bytes,
            families=_UNSHARDED if facts.sharded is False else None,
            related_options=tuple(
                (name, settings[name].value) for name in RELATED_OPTIONS if name in settings
            ),
        ),
        overrides,
    )


def _hardware(known: Hardware, overrides: Overrides) -> Hardware:
    families = known.families
    if overrides.columns is not None:
        families = tuple(c.options for c in overrides.columns for _shard in range(c.shards))
    return replace(
        known,
        cores=overrides.cores,
        memory_target_bytes=overrides.memory_bytes or known.memory_target_bytes,
        # 0: there is no such device.
        wal_device_bytes=known.wal_device_bytes
        if overrides.wal_bytes is None
        else overrides.wal_bytes or None,
        db_device_bytes=known.db_device_bytes
        if overrides.db_bytes is None
        else overrides.db_bytes or None,
        families=families,
    )
