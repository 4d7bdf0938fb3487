"""OSDs of a group that one change can reach, or why none can be changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

from ..mgr.records import ConfigEntry, OsdInfo
from ..options.releases import KnownRelease
from ..plan.commands import ShownSteps, removal
from ..plan.precedence import is_own_entry
from .facts import next_start, redundant_annex, release_of_osd
from .naming import name_osds
from .records import GroupFacts, NextStart, OsdFacts, OsdOptions


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
    if None in releases:
        return 'The release of at least one OSD is unknown to this module: no recommendations.'
    if len(releases) > 1:
        names = ', '.join(sorted({o.info.version or '?' for o, _ in known}))
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
    unknown = [o.osd_id for o in options if o.next_start is None]
    if unknown:
        return f'The options of {name_osds(unknown)} after a restart are unknown.'
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
        return 'The OSDs of the group run different options: make them the same first.'
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
    alike: dict[tuple[KnownRelease, str], list[OsdFacts]] = {}
    for osd in group.osds:
        release, options = release_of_osd(osd.info), osd.options
        if not osd.info.up or release is None or options is None or not options.own_entry_only:
            continue
        if options.overruled or options.annex or options.annex_who or options.pending_restart:
            continue
        if options.starts is False:
            continue
        alike.setdefault((release, options.running), []).append(osd)
    return tuple(
        Cohort(
            group=group,
            osds=tuple(osds),
            release=release,
            running=running,
            deciding_entries=tuple(f'osd.{osd.info.osd_id}' for osd in osds),
            is_everything=False,
            orchestrated=orchestrated,
            remarks=(),
            shown_steps=shown_steps,
            own_entries=True,
        )
        for (release, running), osds in alike.items()
    )


def redundant_annex_cohorts(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Cohort, ...]:
    """OSDs of a group with a redundant annex, by the entry that sets it.

    Entries of single OSDs with the same value form one cohort.
    """
    alike: dict[tuple[KnownRelease, str, str, Optional[str]], list[OsdFacts]] = {}
    for osd in group.osds:
        release, options = release_of_osd(osd.info), osd.options
        if not osd.info.up or release is None or options is None or options.annex_who is None:
            continue
        if redundant_annex(osd):
            wide = None if is_own_entry(options.annex_who) else options.annex_who
            alike.setdefault((release, options.running, options.annex, wide), []).append(osd)
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
