"""Entries of the config store that decide, and whom they decide for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..plan.records import ANNEX
from .cohort import Cohort
from .naming import name_osds
from .records import OsdFacts, OsdOptions, Reason
from .strings import check, same_meaning

__all__ = ['by_hand', 'others_it_decides_for', 'redundant_annex_entry', 'redundant_entry']

RELEASE_DEFAULT_SOURCE = (
    'Ceph documentation, and M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Conclusion: the '
    'defaults have had years of QA that no other string has had'
)


def redundant_entry(cohort: Cohort) -> Optional[Reason]:
    """Why an entry that holds the default should go; None where it holds something else."""
    release, entries = cohort.release, cohort.deciding_entries
    if not same_meaning(cohort.running, release.default_options, release.rocksdb_version):
        return None
    if not check(cohort.running, release.rocksdb_version).accepted:
        # Of what cannot be judged nobody knows that it changes nothing.
        return None
    holder = entries[0] if len(entries) == 1 else f'Each entry of {len(entries)} single OSDs'
    return Reason(
        f'{holder} holds what {release.label} uses without it: the entry changes nothing now, '
        'and would keep the OSDs from the better default of a later release.',
        RELEASE_DEFAULT_SOURCE,
    )


def redundant_annex_entry(cohort: Cohort) -> Reason:
    """Why an annex that leaves the default as it is should go."""
    entries = cohort.deciding_entries
    holder = f'The entry for {entries[0]}' if len(entries) == 1 else 'Each of their own entries'
    return Reason(
        f'{holder} sets {ANNEX} to {cohort.annex}, which {cohort.release.label} has by '
        'default: it changes nothing now, and would silently override the better default of a '
        'later release.',
        RELEASE_DEFAULT_SOURCE,
    )


def others_it_decides_for(who: str, cohort: Cohort, all_osds: Sequence[OsdFacts]) -> list[int]:
    """OSDs that would start with something else, unwatched, if the entry went.

    One that is down and out comes back only by somebody's hand, if ever: it holds nothing up.
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
        f'The entry for {who} should go ({reason.statement}) but it also decides, or may decide '
        f'once they are up, for {name_osds(others)}, which this change would not reach: remove it '
        f'by hand, with "ceph config rm {who} {option}", once that is right for all of them.'
    )
