"""OSDs of a group that one change can reach, or why none can be changed. Pure.

Changes that are better made in the annex than in the option string, and entries that are redundant.

OSD names in texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from ..mgr.records import ConfigEntry, OsdInfo
from ..options.grammar import combine, diff, in_force
from ..options.releases import KnownRelease
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..plan.commands import ShownSteps, removal
from ..plan.entries import is_own_entry
from ..plan.records import ANNEX, OPTION, starts_alike
from .facts import next_start, redundant_annex, release_of_osd
from .records import GroupFacts, NextStart, OsdFacts, OsdOptions, Reason
from .strings import check, safe_to_apply, same_meaning


def name_osds(osd_ids: Iterable[int], limit: int = 8) -> str:
    """ "osd.1, osd.2 and 30 more": at most ``limit`` names."""
    ids = sorted(osd_ids)
    names = ', '.join(f'osd.{i}' for i in ids[:limit])
    return names if len(ids) <= limit else f'{names} and {len(ids) - limit} more'


@dataclass(frozen=True)
class Cohort:
    """OSDs of a group that one change can reach, with their common properties."""

    group: GroupFacts
    osds: tuple[OsdFacts, ...]
    release: KnownRelease
    running: str
    #: The config store entries in force for these OSDs: a common one, or one per OSD.
    deciding_entries: tuple[str, ...]
    #: True if these are all OSDs of the cluster.
    is_everything: bool
    orchestrated: bool
    #: OSDs that were left out, and why.
    remarks: tuple[str, ...]
    #: Steps of the displayed recommendations.
    shown_steps: ShownSteps
    #: Each entry is for a single OSD and is its only entry.
    own_entries: bool = False
    #: Value of the annex if the entries are for the annex; None: for the option string.
    annex: Optional[str] = None


def group_cohort(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    orchestrated: bool,
    shown_steps: ShownSteps,
) -> Union[Cohort, str]:
    """The OSDs of a group that a change can reach, or the reason why there are none."""
    known = [(o, o.options) for o in group.osds if o.info.up and o.options is not None]
    if not known:
        return 'No OSD of the group is up with known options.'
    unstartable = [(o.info.osd_id, options) for o, options in known if options.starts is False]
    if unstartable:
        return f'{first_remove([n for n, _ in unstartable], unstartable[0][1])}.'
    releases = {release_of_osd(o.info) for o, _ in known}
    names = ', '.join(sorted({o.info.version or '?' for o, _ in known}))
    if None in releases:
        return f'This module does not know the release of all OSDs ({names}): no recommendations.'
    if len(releases) > 1:
        return f'The OSDs run different releases ({names}): finish the upgrade first.'
    overruled = [o.info.osd_id for o, options in known if options.overruled]
    shadowed = [
        o.info.osd_id
        for o, options in known
        if options.deciding_who is not None and is_own_entry(options.deciding_who)
    ]
    usable = [
        (o, options)
        for o, options in known
        if o.info.osd_id not in overruled and o.info.osd_id not in shadowed
    ]
    remarks = tuple(
        text
        for ids, text in (
            (
                overruled,
                'ceph.conf, the environment or the command line overrides the config store for {}.',
            ),
            (shadowed, 'Entries for single OSDs apply to {}.'),
        )
        if ids
        for text in [text.format(name_osds(ids))]
    )
    if not usable:
        return ' '.join(('No entry for the group would reach any of its OSDs.', *remarks))
    blocker = _blocker([options for _, options in usable])
    if blocker:
        return ' '.join((blocker, *remarks))
    (release,) = releases
    assert release is not None
    return Cohort(
        group=group,
        osds=tuple(o for o, _ in usable),
        release=release,
        running=usable[0][1].running,
        deciding_entries=(usable[0][1].deciding_who,) if usable[0][1].deciding_who else (),
        is_everything=len(usable) == len(all_osds),
        orchestrated=orchestrated,
        remarks=remarks,
        shown_steps=shown_steps,
    )


def _blocker(options: Sequence[OsdOptions]) -> Optional[str]:
    """Why these OSDs cannot share a recommendation; None if they can."""
    annexed = [o.osd_id for o in options if o.annex]
    if annexed:
        return _annex_is_set(annexed)
    unknown = [o for o in options if o.next_start is None]
    if unknown:
        text = f'The options of {name_osds(o.osd_id for o in unknown)} after a restart are unknown.'
        masked = dict.fromkeys(o.unknown_entry for o in unknown if o.unknown_entry)
        return text + ''.join(
            f' It is unknown whether OSDs apply the entry for {e.who} when they start: set the '
            f'option for osd or single OSDs instead, then run "{removal(e.who, e.name)}".'
            for e in masked
        )
    pending = [o.osd_id for o in options if o.pending_restart]
    if pending:
        return (
            f'{name_osds(pending)}: the configured options take effect only after a restart, so '
            'current measurements do not apply to them.'
        )
    # Entries without a current effect.
    annexed = [o.osd_id for o in options if o.annex_who]
    if annexed:
        return _annex_is_set(annexed)
    if len({(o.running, o.deciding_who) for o in options}) > 1:
        return 'The OSDs of the group run different options ({}): make them the same first.'.format(
            ', '.join(sorted({o.deciding_who or 'no entry' for o in options}))
        )
    return None


def why_unstartable(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> Optional[str]:
    """Why ``osd`` must not be restarted with these entries; None if it may be."""
    options = next_start(osd, entries, {})
    return first_remove([osd.osd_id], options) if options.starts is False else None


def first_remove(osd_ids: Sequence[int], options: NextStart) -> str:
    """Which entries keep OSDs from starting, as a command."""
    removed = ' and '.join(f'"{removal(e.who, e.name)}"' for e in options.culprits)
    return (
        f'{name_osds(osd_ids)} would not start again with the configured options: first run '
        f'{removed}'
    )


def _annex_is_set(osd_ids: Sequence[int]) -> str:
    return (
        f'bluestore_rocksdb_options_annex is set for {name_osds(osd_ids)}: it is appended to any '
        'option string, so nothing else is recommended while it is set.'
    )


def own_entry_cohorts(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Cohort, ...]:
    """OSDs of a group whose only entry is their own, by running options."""
    return _alike(
        group,
        orchestrated,
        shown_steps,
        lambda _, options: (
            (None, None)
            if options.own_entry_only
            and not (options.overruled or options.annex or options.annex_who)
            and not options.pending_restart
            and options.starts is not False
            else None
        ),
    )


def redundant_annex_cohorts(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Cohort, ...]:
    """OSDs of a group with a redundant annex, by the entry that sets it.

    Entries of single OSDs with the same value form one cohort.
    """
    return _alike(
        group,
        orchestrated,
        shown_steps,
        lambda osd, options: (
            (options.annex, None if is_own_entry(options.annex_who) else options.annex_who)
            if options.annex_who is not None and redundant_annex(osd)
            else None
        ),
    )


def _alike(
    group: GroupFacts,
    orchestrated: bool,
    shown_steps: ShownSteps,
    entry: Callable[[OsdFacts, OsdOptions], Optional[tuple[Optional[str], Optional[str]]]],
) -> tuple[Cohort, ...]:
    """Cohorts by release, running options, and the annex and common entry that ``entry`` finds."""
    alike: dict[tuple[KnownRelease, str, Optional[str], Optional[str]], list[OsdFacts]] = {}
    for osd in group.osds:
        release, options = release_of_osd(osd.info), osd.options
        found = entry(osd, options) if osd.info.up and release and options else None
        if release is not None and options is not None and found is not None:
            alike.setdefault((release, options.running, *found), []).append(osd)
    return tuple(
        Cohort(
            group=group,
            osds=tuple(osds),
            release=release,
            running=running,
            deciding_entries=(wide,)
            if wide is not None
            else tuple(f'osd.{osd.info.osd_id}' for osd in osds),
            is_everything=False,
            orchestrated=orchestrated,
            remarks=(),
            shown_steps=shown_steps,
            own_entries=wide is None,
            annex=annex,
        )
        for (release, running, annex, wide), osds in alike.items()
    )


#: A larger change is a complete tuning, kept together in the option string.
MOST_OPTIONS = 2
#: Options that are tuned together: a single one combined with a later default changes the tree.
TUNED_TOGETHER = frozenset(
    {
        'arena_block_size',
        'compaction_style',
        'db_write_buffer_size',
        'level0_file_num_compaction_trigger',
        'level0_slowdown_writes_trigger',
        'level0_stop_writes_trigger',
        'level_compaction_dynamic_level_bytes',
        'max_bytes_for_level_base',
        'max_bytes_for_level_multiplier',
        'max_total_wal_size',
        'max_write_buffer_number',
        'min_write_buffer_number_to_merge',
        'num_levels',
        'target_file_size_base',
        'target_file_size_multiplier',
        'write_buffer_size',
    }
)


def annex_for(cohort: Cohort, options_to: str) -> Optional[str]:
    """Annex with which these OSDs run ``options_to``; None: change the option string.

    Only for OSDs that run their release's default without any entry: all other options then follow
    the default, also of the next release.
    """
    default, version = cohort.release.default_options, cohort.release.rocksdb_version
    if cohort.deciding_entries or not same_meaning(cohort.running, default, version):
        return None
    try:
        changes = diff(parse(default), parse(options_to))
    except OptionSyntaxError:
        return None
    values = {change.option: change.value_to for change in changes}
    # An option that the string leaves out has RocksDB's default, which an annex cannot restore.
    if not 0 < len(values) <= MOST_OPTIONS or None in values.values():
        return None
    if TUNED_TOGETHER & set(values):
        return None
    annex = format(parse('').replaced(values))
    if not same_meaning(combine(default, annex), options_to, version):
        return None
    return None if safe_to_apply(in_force(default, annex), version) else annex


def why_annex(cohort: Cohort) -> Reason:
    return Reason.of('annex-for-one', annex=ANNEX, label=cohort.release.label)


def redundant_entry(cohort: Cohort) -> Optional[Reason]:
    """Why an entry with the default should be removed; None if it has another value."""
    release, entries = cohort.release, cohort.deciding_entries
    alike = same_meaning(cohort.running, release.default_options, release.rocksdb_version)
    # Options that cannot be checked may have an effect.
    if not alike or not check(cohort.running, release.rocksdb_version).accepted:
        return None
    holder = entries[0] if len(entries) == 1 else f'Each entry of {len(entries)} single OSDs'
    return Reason.of('redundant-entry', holder=holder, label=release.label)


def redundant_annex_entry(cohort: Cohort) -> Reason:
    """Why an annex that equals the default should be removed."""
    (first, *others), label = cohort.deciding_entries, cohort.release.label
    holder = 'Each entry for a single OSD' if others else f'The entry for {first}'
    return Reason.of(
        'redundant-annex', holder=holder, option=ANNEX, annex=cohort.annex, label=label
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
    return (Reason.of('down-osds', osds=name_osds(down)),) if down else ()


def stays_for(who: str, others: Sequence[int]) -> Reason:
    """Why this group gets entries of single OSDs with the default instead."""
    return Reason.of('stays-for', who=who, osds=name_osds(others))


def by_hand(who: str, option: str, reason: Reason, others: Sequence[int]) -> str:
    return (
        f'The entry for {who} should be removed ({reason.statement}) but it also applies '
        f'to {name_osds(others)}, which this change would not reach: '
        f'remove it manually with "{removal(who, option)}" once that is right for all of '
        'them.'
    )
