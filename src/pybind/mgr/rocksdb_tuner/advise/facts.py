"""Facts to advise on, put together from what the cluster and the config store say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Mapping, Optional

from ..mgr.records import ConfigEntry, OsdInfo, Place, RunningOption
from ..options.advice import RELATED_OPTIONS
from ..options.grammar import in_force
from ..options.releases import KnownRelease, release_of
from ..plan.precedence import UnknownMaskError, deciding_entry, entry_in_force, is_own_entry
from ..plan.records import ANNEX, OPTION
from ..workload.records import Workload
from .records import GroupFacts, OsdFacts, OsdOptions, Setting
from .strings import check, recognize, same_meaning

#: Options that conditions are about beside the strings. Read as each column family is opened.
COMPACT_ON_DELETION = 'rocksdb_cf_compact_on_deletion'
#: Takes effect at once.
BUFFERED_IO = 'bluefs_buffered_io'
#: Whether iterators over omap end with their object; takes effect at once.
ITERATOR_BOUNDS = 'osd_rocksdb_iterator_bounds_enabled'
#: Read when an OSD starts.
COMPACT_ON_START = 'osd_compact_on_start'
#: How BlueFS chooses the device of a file; read when an OSD starts.
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


# Asked for every OSD at every tick, about a handful of versions.
_release_of = lru_cache(maxsize=64)(release_of)


def release_of_osd(osd: OsdInfo) -> Optional[KnownRelease]:
    return _release_of(osd.version, osd.release)


def osd_options(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> OsdOptions:
    """What ``osd`` runs and what it would run next.

    ``entries`` are the config store's for OPTION and ANNEX, ``running`` what the OSD reported
    for both.
    """
    release = release_of_osd(osd)
    main, annex = running[OPTION], running[ANNEX]
    text = in_force(main.value, annex.value)
    overruled = main.beats_config_store
    next_start, who, annex_who = _next_start(osd, entries, main, annex, release)
    if overruled:
        next_start = text
    version = release.rocksdb_version if release else None
    profile = recognize(text, release)
    return OsdOptions(
        osd_id=osd.osd_id,
        running=text,
        source=main.source,
        next_start=next_start,
        deciding_who=who,
        pending_restart=next_start is not None and not same_meaning(text, next_start, version),
        overruled=overruled,
        annex=annex.value,
        profile=profile.name if profile else None,
        own_entry_only=_own_entry_only(osd, entries),
        annex_who=annex_who,
        annex_by_entry_only=_annex_by_entry_only(osd, entries, annex),
    )


def _own_entry_only(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
    of_main = [entry for entry in entries if entry.name == OPTION]
    own = [entry for entry in of_main if is_own_entry(entry.who)]
    try:
        beneath = deciding_entry((e for e in of_main if e not in own), osd)
        return beneath is None and deciding_entry(own, osd) is not None
    except UnknownMaskError:
        return False


def _annex_by_entry_only(
    osd: OsdInfo, entries: Sequence[ConfigEntry], annex: RunningOption
) -> bool:
    of_annex = [entry for entry in entries if entry.name == ANNEX]
    try:
        deciding = deciding_entry(of_annex, osd)
        beneath = deciding_entry((e for e in of_annex if e is not deciding), osd)
    except UnknownMaskError:
        return False
    return (
        deciding is not None
        and beneath is None
        and not annex.beats_config_store
        and deciding.value == annex.value
    )


def redundant_annex(osd: OsdFacts) -> bool:
    """Whether this OSD starts with the default of its release with its annex, and without it.

    A string that somebody set is not looked at: what an annex is beside it for is for them to know.
    """
    options, release = osd.options, release_of_osd(osd.info)
    if options is None or release is None or not options.annex_by_entry_only:
        return False
    if options.overruled or options.deciding_who is not None or options.next_start is None:
        return False
    default, version = release.default_options, release.rocksdb_version
    # Of what cannot be judged nobody knows that it changes nothing.
    return bool(check(options.running, version).accepted) and all(
        same_meaning(text, default, version) for text in (options.running, options.next_start)
    )


def _next_start(
    osd: OsdInfo,
    entries: Sequence[ConfigEntry],
    main: RunningOption,
    annex: RunningOption,
    release: Optional[KnownRelease],
) -> tuple[Optional[str], Optional[str], Optional[str]]:
    try:
        deciding = deciding_entry((e for e in entries if e.name == OPTION), osd)
        deciding_annex = deciding_entry((e for e in entries if e.name == ANNEX), osd)
    except UnknownMaskError:
        return None, None, None
    next_annex, annex_who = '', None
    if deciding_annex:
        next_annex, annex_who = deciding_annex.value, deciding_annex.who
    if annex.beats_config_store:
        next_annex = annex.value
    if deciding:
        return in_force(deciding.value, next_annex), deciding.who, annex_who
    if main.source == 'default':
        # The OSD's own default; the monitor's may be another release's.
        return in_force(main.value, next_annex), None, annex_who
    default = in_force(release.default_options, next_annex) if release else None
    return default, None, annex_who


def settings_in_force(
    osd: OsdInfo, entries: Sequence[ConfigEntry], running: Mapping[str, RunningOption]
) -> Mapping[str, Setting]:
    """The options of WATCHED_IF_SET that somebody set for ``osd``, by name."""
    found = {}
    for name in WATCHED_IF_SET:
        shown = running.get(name)
        if shown is not None and shown.beats_config_store:
            found[name] = Setting(shown.value, None)
            continue
        # The report is of the start of the process; entries that came or went since are known.
        entry = entry_in_force((e for e in entries if e.name == name), osd)
        if entry is not None:
            found[name] = Setting(entry.value, entry.who)
    return found


def write_iops(osds: Iterable[OsdFacts]) -> Mapping[int, Optional[float]]:
    """Client writes a second by OSD id; None where they are not known."""
    return {o.info.osd_id: o.signals.write_iops if o.signals else None for o in osds}


def places(osds: Iterable[OsdFacts]) -> tuple[tuple[int, Place], ...]:
    """Where each OSD is, with its id."""
    return tuple((o.info.osd_id, o.info.place) for o in osds)


def groups(osds: Iterable[OsdFacts], workloads: Mapping[str, Workload]) -> tuple[GroupFacts, ...]:
    """OSDs by device class, in the class's order; an OSD without a class is in no group."""
    members: dict[str, list[OsdFacts]] = {}
    for osd in osds:
        if osd.info.device_class:
            members.setdefault(osd.info.device_class, []).append(osd)
    return tuple(
        GroupFacts(device_class, workloads.get(device_class), tuple(members[device_class]))
        for device_class in sorted(members)
    )
