"""Redundant config store entries, and the OSDs that they apply to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..mgr.records import OsdInfo
from ..plan.commands import removal
from ..plan.records import ANNEX, OPTION, starts_alike
from .cohort import Cohort, name_osds
from .records import OsdFacts, OsdOptions, Reason
from .strings import check, same_meaning

RELEASE_DEFAULT_SOURCE = (
    'Ceph documentation, and M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Conclusion: the '
    'defaults have had years of QA that no other string has had'
)


def redundant_entry(cohort: Cohort) -> Optional[Reason]:
    """Why an entry with the default should be removed; None if it has another value."""
    release, entries = cohort.release, cohort.deciding_entries
    alike = same_meaning(cohort.running, release.default_options, release.rocksdb_version)
    # Options that cannot be checked may have an effect.
    if not alike or not check(cohort.running, release.rocksdb_version).accepted:
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
    """Other OSDs that would start with other options without the entry, outside of any rollout.

    Not those that are down: see `down_osds`.
    """
    reached = {osd.info.osd_id for osd in cohort.osds}
    return [
        osd.info.osd_id
        for osd in all_osds
        if osd.info.osd_id not in reached
        and osd.info.up
        and (osd.options is None or not _starts_alike_without(who, cohort, osd.info, osd.options))
    ]


def _starts_alike_without(who: str, cohort: Cohort, osd: OsdInfo, options: OsdOptions) -> bool:
    option, value, holder = OPTION, cohort.running, options.deciding_who
    if cohort.annex is not None:
        option, value, holder = ANNEX, cohort.annex, options.annex_who
    # With an option string the annex may belong to it.
    alone = options.deciding_who is None and not options.overruled
    before = {who: value} if holder == who else {}
    return starts_alike(option, osd, before, {}, {} if alone else None)


def down_osds(all_osds: Sequence[OsdFacts]) -> tuple[Reason, ...]:
    """OSDs that may start without the entry later; those down and out do not count."""
    down = [o.info.osd_id for o in all_osds if o.info.in_cluster and not o.info.up]
    return (
        ()
        if not down
        else (
            Reason(
                f'Down: {name_osds(down)}. What they run is unknown; without an entry of their own '
                'they will start with the default of their release. A rollout waits until they are '
                'up or out.',
                RELEASE_DEFAULT_SOURCE,
            ),
        )
    )


def stays_for(who: str, others: Sequence[int]) -> Reason:
    """Why this group gets entries of single OSDs with the default instead."""
    return Reason(
        f'The entry for {who} also applies to {name_osds(others)}: it stays for them, and each OSD '
        'of this group gets the default by an entry of its own, which is removed once the other '
        'one is gone.',
        RELEASE_DEFAULT_SOURCE,
    )


def by_hand(who: str, option: str, reason: Reason, others: Sequence[int]) -> str:
    return (
        f'The entry for {who} should be removed ({reason.statement}) but it also applies '
        f'to {name_osds(others)}, which this change would not reach: '
        f'remove it manually with "{removal(who, option)}" once that is right for all of '
        'them.'
    )
