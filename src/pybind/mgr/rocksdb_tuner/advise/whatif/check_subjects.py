"""Which OSDs an option string is judged for, and what is known of them. Pure."""

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
from .given import NOTHING, Given
from .situation import osd_by_id

__all__ = ['hardware_of_osd', 'subjects']

#: Of an OSD whose RocksDB has only the column family "default".
_UNSHARDED = (OptionSet(()),)


def subjects(
    osds: Sequence[OsdFacts],
    *,
    osd_id: Optional[int] = None,
    device_class: Optional[str] = None,
    release: Optional[str] = None,
    said: Given = NOTHING,
) -> tuple[Subject, ...]:
    """What an operator asks about: one OSD, those of a device class, or all.

    ``said`` comes before what is known of them. OSDs of one release and with one annex are one
    subject, with the least of what each has. For a release that no OSD runs, all that are asked
    about are taken as if they ran it. Raises BadQuestionError: ENOENT for OSDs that are not there,
    EINVAL for all else.
    """
    chosen = _chosen(osds, osd_id, device_class)
    wanted = find_release(release) if release is not None else None
    running = [facts for facts in chosen if wanted in (None, release_of_osd(facts.info))]
    found = _by_release_and_annex(running, wanted, said)
    if found:
        return found
    if wanted is not None:
        # Nobody runs it yet: judged as it would be after an upgrade.
        planned = _by_release_and_annex(chosen, wanted, said)
        return planned or (Subject(wanted, hardware=_hardware(Hardware(), said)),)
    if osd_id is not None or device_class is not None:
        raise BadQuestionError(
            errno.EINVAL,
            'these OSDs run a release that is not known to this module: name one with --release',
        )
    return tuple(
        Subject(r, hardware=_hardware(Hardware(), said)) for r in releases_to_judge(None, ())
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
    osds: Iterable[OsdFacts], planned: Optional[KnownRelease], said: Given
) -> tuple[Subject, ...]:
    alike: dict[tuple[KnownRelease, str], list[OsdFacts]] = {}
    for facts in osds:
        release = planned or release_of_osd(facts.info)
        if release is not None:
            annex = facts.options.annex if facts.options else ''
            alike.setdefault((release, annex), []).append(facts)
    return tuple(
        Subject(
            release,
            tuple(sorted(facts.info.osd_id for facts in members)),
            reduce(Hardware.weakest, (hardware_of_osd(facts, said) for facts in members)),
            annex,
        )
        for (release, annex), members in alike.items()
    )


def hardware_of_osd(facts: OsdFacts, said: Given = NOTHING) -> Hardware:
    """What is known of an OSD, and over it what an operator said."""
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
        said,
    )


def _hardware(known: Hardware, said: Given) -> Hardware:
    families = known.families
    if said.columns is not None:
        families = tuple(c.options for c in said.columns for _shard in range(c.shards))
    return replace(
        known,
        cores=said.cores,
        memory_target_bytes=said.memory_bytes or known.memory_target_bytes,
        # 0: said to have none.
        wal_device_bytes=known.wal_device_bytes
        if said.wal_bytes is None
        else said.wal_bytes or None,
        db_device_bytes=known.db_device_bytes if said.db_bytes is None else said.db_bytes or None,
        families=families,
    )
