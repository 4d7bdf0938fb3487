"""Facts for recommendations, from the cluster map and the config store. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Mapping, Optional

from ..mgr.records import ConfigEntry, OsdInfo, Place, RunningOption
from ..options.advice import RELATED_OPTIONS
from ..options.grammar import in_force
from ..options.releases import KnownRelease, release_of
from ..plan.commands import removal
from ..plan.entries import UnknownMaskError, deciding_entry, entry_in_force, is_own_entry
from ..plan.records import ANNEX, OPTION
from ..workload.records import Workload
from .profiles import recognize
from .records import GroupFacts, NextStart, OsdFacts, OsdOptions, Setting
from .strings import check, same_meaning

#: Options checked by conditions, in addition to the option strings. Read when a column family is
#: opened.
COMPACT_ON_DELETION = 'rocksdb_cf_compact_on_deletion'
#: Takes effect at runtime.
BUFFERED_IO = 'bluefs_buffered_io'
#: Bounds omap iterators by their object; takes effect at runtime.
ITERATOR_BOUNDS = 'osd_rocksdb_iterator_bounds_enabled'
#: Read at OSD startup.
COMPACT_ON_START = 'osd_compact_on_start'
#: BlueFS's policy for the device of a file; read at OSD startup.
SELECTION_POLICY = 'bluestore_volume_selection_policy'
RESERVED_FACTOR = 'bluestore_volume_selection_reserved_factor'
RESERVED = 'bluestore_volume_selection_reserved'
WATCHED_IF_SET = (
    COMPACT_ON_DELETION,
    BUFFERED_IO,
    ITERATOR_BOUNDS,
    COMPACT_ON_START,
    SELECTION_POLICY,
    RESERVED_FACTOR,
    RESERVED,
    *RELATED_OPTIONS,
)


def name_osds(osd_ids: Iterable[int], limit: int = 8) -> str:
    """ "osd.1, osd.2 and 30 more": at most ``limit`` names."""
    ids = sorted(osd_ids)
    names = ', '.join(f'osd.{i}' for i in ids[:limit])
    return names if len(ids) <= limit else f'{names} and {len(ids) - limit} more'


# Called for every OSD at every tick, with a handful of versions.
_release_of = lru_cache(maxsize=64)(release_of)


def release_of_osd(osd: OsdInfo) -> Optional[KnownRelease]:
    return _release_of(osd.version, osd.release)


def osd_options(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> OsdOptions:
    """The options that ``osd`` runs, and those after its next restart.

    ``entries``: config store entries of OPTION and ANNEX. ``running``: the OSD's report of both.
    """
    release, main, annex = release_of_osd(osd), running[OPTION], running[ANNEX]
    text, configured = in_force(main.value, annex.value), next_start(osd, entries, running)
    version = release.rocksdb_version if release else None
    profile = recognize(text, release)
    own, by_entry = (_only_entry(name, osd, entries) for name in (OPTION, ANNEX))
    return OsdOptions(
        **vars(configured),
        osd_id=osd.osd_id,
        running=text,
        source=main.source,
        pending_restart=configured.next_start is not None
        and configured.starts is not False
        and not same_meaning(text, configured.next_start, version),
        overruled=main.beats_config_store,
        annex=annex.value,
        profile=profile.name if profile else None,
        own_entry_only=own is not None and is_own_entry(own.who),
        annex_by_entry_only=by_entry is not None
        and not annex.beats_config_store
        and by_entry.value == annex.value,
    )


def next_start(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> NextStart:
    """The configured options of ``osd``; ``running`` is empty for an OSD that was not queried."""
    try:
        main, annex = (_deciding(name, osd, entries) for name in (OPTION, ANNEX))
    except UnknownMaskError as error:
        unknown = (e for e in entries if e.who == error.who and e.name in {OPTION, ANNEX})
        return NextStart(None, '', None, None, None, (), next(unknown))
    found = _configured(osd, entries, running)
    accepted, culprits = _accepted(osd, found), []
    if accepted is not True:
        # A running option from ceph.conf or the like is no entry's.
        culprits = [e for e in (annex, main) if e and not _overruled(e.name, running)]
        for entry in culprits:
            without = _configured(osd, [o for o in entries if o is not entry], running)
            if _accepted(osd, without) is not accepted:
                culprits = [entry]
                break
    return NextStart(
        next_start=in_force(*found) if found else None,
        next_annex=found[1] if found else '',
        deciding_who=main.who if main else None,
        annex_who=annex.who if annex else None,
        # The OSD did start with what no entry sets.
        starts=accepted if accepted or culprits else None,
        culprits=tuple(culprits),
        unknown_entry=None,
    )


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


def _deciding(name: str, osd: OsdInfo, entries: Sequence[ConfigEntry]) -> Optional[ConfigEntry]:
    return deciding_entry((e for e in entries if e.name == name), osd)


def _overruled(name: str, running: Mapping[str, RunningOption]) -> bool:
    return name in running and running[name].beats_config_store


def _configured(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> Optional[tuple[str, str]]:
    """Option string and annex of the next start; None: unknown."""
    release, values = release_of_osd(osd), []
    for name, default in ((OPTION, release.default_options if release else None), (ANNEX, '')):
        entry, shown = _deciding(name, osd, entries), running.get(name)
        value = entry.value if entry else default
        if shown and (_overruled(name, running) or (entry is None and shown.source == 'default')):
            # The OSD's own default; the monitor may run another release.
            value = shown.value
        if value is None:
            return None
        values.append(value)
    return values[0], values[1]


def _accepted(osd: OsdInfo, strings: Optional[tuple[str, str]]) -> Optional[bool]:
    """The judgment of string and annex together: whether ``osd`` would start; None: unknown."""
    release = release_of_osd(osd)
    if release is None or strings is None:
        return None
    return check(in_force(*strings), release.rocksdb_version).accepted


def _only_entry(name: str, osd: OsdInfo, entries: Sequence[ConfigEntry]) -> Optional[ConfigEntry]:
    """The entry without which this OSD would start with the release's default."""
    of_name = [entry for entry in entries if entry.name == name]
    try:
        deciding = deciding_entry(of_name, osd)
        fallback = deciding_entry((e for e in of_name if e is not deciding), osd)
    except UnknownMaskError:
        return None
    return deciding if fallback is None else None


def redundant_annex(osd: OsdFacts) -> bool:
    """Whether this OSD starts with its release's default, with and without its annex.

    False if an option string is set, since the annex may belong to it.
    """
    options, release = osd.options, release_of_osd(osd.info)
    if options is None or release is None or not options.annex_by_entry_only:
        return False
    if options.overruled or options.deciding_who is not None or options.next_start is None:
        return False
    default, version = release.default_options, release.rocksdb_version
    # Options that cannot be checked may have an effect.
    return bool(check(options.running, version).accepted) and all(
        same_meaning(text, default, version) for text in (options.running, options.next_start)
    )


def settings_in_force(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> Mapping[str, Setting]:
    """The options of WATCHED_IF_SET that are set for ``osd``, by name."""
    found = {}
    for name in WATCHED_IF_SET:
        shown = running.get(name)
        if shown is not None and shown.beats_config_store:
            found[name] = Setting(shown.value, None)
            continue
        # The OSD reports its values at startup; later changes are in the entries.
        entry = entry_in_force((e for e in entries if e.name == name), osd)
        if entry is not None:
            found[name] = Setting(entry.value, entry.who)
    return found


#: Free space on a DB device that any WAL fits into.
_ROOM_FOR_WAL_BYTES = 2 << 30


def with_wal_room(osd: OsdFacts) -> OsdFacts:
    """``osd`` without its WAL device if its DB device has room for what outgrows that.

    BlueFS continues a WAL on the DB device, which costs nothing.
    """
    info, seen = osd.info, osd.signals
    free = (seen.db_total_bytes or 0) - (seen.db_used_bytes or 0) if seen else 0
    if not (info.dedicated_wal and info.dedicated_db and free >= _ROOM_FOR_WAL_BYTES):
        return osd
    return osd._replace(info=replace(info, dedicated_wal=False, wal_device_bytes=None))


def places(osds: Iterable[OsdFacts]) -> tuple[tuple[int, Place], ...]:
    """Id and place of each OSD."""
    return tuple((o.info.osd_id, o.info.place) for o in osds)


def groups(osds: Iterable[OsdFacts], workloads: Mapping[str, Workload]) -> tuple[GroupFacts, ...]:
    """OSDs by device class, sorted; an OSD without a class is in no group."""
    members: dict[str, list[OsdFacts]] = {}
    for osd in osds:
        if osd.info.device_class:
            members.setdefault(osd.info.device_class, []).append(osd)
    return tuple(
        GroupFacts(device_class, workloads.get(device_class), tuple(members[device_class]))
        for device_class in sorted(members)
    )
