"""Entries and OSDs of a change request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..mgr.records import OsdInfo, RunningOption
from ..options.grammar import in_force, same_meaning
from ..options.releases import release_of
from .entries import own, starts_with
from .records import OPTION, ChangeRequest


def target(request: ChangeRequest, osd_id: int) -> str:
    return request.target_by_osd[osd_id]


def end_value(request: ChangeRequest, osd_id: int) -> Optional[str]:
    """Final value of the OSD's own entry; None if it is removed."""
    return request.final_by_who.get(own(osd_id))


def starts_alike(
    option: str,
    osd: OsdInfo,
    before: Mapping[str, str],
    after: Mapping[str, str],
    other_entries: Optional[Mapping[str, str]],
) -> bool:
    """Whether ``osd`` starts with the same options by these entries of ``option``.

    ``other_entries``: of the other option, None if unknown. Without an entry the default of the
    OSD's release applies.
    """
    found = [starts_with(entries, osd.osd_id) for entries in (before, after)]
    old, new = (None if started is None else started[1] for started in found)
    release = release_of(osd.version, osd.release)
    version = release.rocksdb_version if release else None
    if old == new or (old is not None and new is not None and same_meaning(old, new, version)):
        return True
    if release is None:
        return False
    if option == OPTION:
        default = release.default_options
        return same_meaning(
            default if old is None else old, default if new is None else new, version
        )
    if other_entries is None:
        return False
    started = starts_with(other_entries, osd.osd_id)
    main = release.default_options if started is None else started[1]
    one, other = (in_force(main, release.default_annex if a is None else a) for a in (old, new))
    return same_meaning(one, other, version)


def overruled(request: ChangeRequest, osd_id: int, running: RunningOption) -> str:
    origin = {
        'file': 'its ceph.conf',
        'env': 'its environment',
        'cmdline': 'its command line',
    }.get(running.source, 'a value set in the running daemon')
    return (
        f'{request.option} of osd.{osd_id} comes from {origin}, which the config store '
        'does not override: remove it there first, and restart the OSD'
    )
