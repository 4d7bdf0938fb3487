"""Redundant config store entries, and the OSDs that they apply to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..plan.records import ANNEX
from .cohort import Cohort
from .naming import name_osds
from .records import OsdFacts, OsdOptions, Reason
from .strings import check, same_meaning

__all__ = ['by_hand', 'other_affected_osds', 'redundant_annex_entry', 'redundant_entry']

RELEASE_DEFAULT_SOURCE = (
    'Ceph documentation, and M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Conclusion: the '
    'defaults have had years of QA that no other string has had'
)


def redundant_entry(cohort: Cohort) -> Optional[Reason]:
    """Why an entry with the default should be removed; None if it has another value."""
    release, entries = cohort.release, cohort.deciding_entries
    if not same_meaning(cohort.running, release.default_options, release.rocksdb_version):
        return None
    if not check(cohort.running, release.rocksdb_version).accepted:
        # Options that cannot be checked may have an effect.
        return None
    holder = entries[0] if len(entries) == 1 else f'Each entry of {len(entries)} single OSDs'
    return Reason(
        f'{holder} equals the default of {release.label}: it changes nothing now, and would keep '
        'the OSDs from the better default of a later release.',
        RELEASE_DEFAULT_SOURCE,
    )


def redundant_annex_entry(cohort: Cohort) -> Reason:
    """Why an annex that equals the default should be removed."""
    entries = cohort.deciding_entries
    holder = f'The entry for {entries[0]}' if len(entries) == 1 else 'Each entry for a single OSD'
    return Reason(
        f'{holder} sets {ANNEX} to {cohort.annex}, the default of {cohort.release.label}: it '
        'changes nothing now, and would silently override the better default of a later release.',
        RELEASE_DEFAULT_SOURCE,
    )


def other_affected_osds(who: str, cohort: Cohort, all_osds: Sequence[OsdFacts]) -> list[int]:
    """Other OSDs whose options would change without the entry, outside of any rollout.

    OSDs that are down and out do not count.
    """
    reached = {osd.info.osd_id for osd in cohort.osds}
    return [
        osd.info.osd_id
        for osd in all_osds
        if osd.info.osd_id not in reached
        and (osd.info.up or osd.info.in_cluster)
        and (osd.options is None or _decides(who, cohort, osd.options))
    ]


def _decides(who: str, cohort: Cohort, options: OsdOptions) -> bool:
    if cohort.annex is not None:
        return options.annex_who == who
    return options.deciding_who == who and not options.overruled


def by_hand(who: str, option: str, reason: Reason, others: Sequence[int]) -> str:
    return (
        f'The entry for {who} should be removed ({reason.statement}) but it also applies, or may '
        f'apply once they are up, to {name_osds(others)}, which this change would not reach: '
        f'remove it manually with "ceph config rm {who} {option}" once that is right for all of '
        'them.'
    )
