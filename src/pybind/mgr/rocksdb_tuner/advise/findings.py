"""Conditions of the option strings that an expert would point out. Pure.

One function per condition; each returns at most one finding per string or entry concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from ..mgr.records import ConfigEntry, OsdInfo
from .facts import OPTION, release_of_osd
from .naming import name_osds
from .precedence import UnknownMaskError, deciding_entry, is_for_a_class
from .profiles import Profile
from .records import Finding, FindingEvidence, OsdFacts, Severity
from .strings import check, recognise

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True)
class ClusterFacts:
    """What conditions are looked for in."""

    osds: tuple[OsdFacts, ...]
    #: The config store's entries for the option strings.
    entries: tuple[ConfigEntry, ...]


def findings(cluster: ClusterFacts) -> tuple[Finding, ...]:
    """All findings, worst first."""
    found = [finding for condition in _CONDITIONS for finding in condition(cluster)]
    return tuple(sorted(found, key=lambda f: (_ORDER.index(f.severity), f.finding_id, f.osds)))


def poisonous_string(cluster: ClusterFacts) -> Iterable[Finding]:
    """An option string in the config store with which an OSD would not start again."""
    doomed: dict[tuple[str, str], list[int]] = {}
    for osd in cluster.osds:
        release, options = release_of_osd(osd.info), osd.options
        if release is None or options is None or options.overruled:
            continue
        if options.next_start is None or options.deciding_who is None:
            continue
        if not check(options.next_start, release.rocksdb_version).accepted:
            key = (options.deciding_who, options.next_start)
            doomed.setdefault(key, []).append(osd.info.osd_id)
    for (who, text), ids in doomed.items():
        yield Finding(
            'unstartable-options',
            Severity.ERROR,
            f'{name_osds(ids)} would not start again with the options set for {who}',
            tuple(ids),
            (FindingEvidence(OPTION, text, 'option string', None),),
            f'ceph config rm {who} {OPTION}',
            'Measured on 16.2.15, 18.2.7 and 20.2.4: the monitor accepts any string, the OSD does '
            'not',
        )


def overruled_options(cluster: ClusterFacts) -> Iterable[Finding]:
    """ceph.conf or the command line decides, so an entry of the config store has no effect."""
    by_source: dict[str, list[OsdInfo]] = {}
    for osd in cluster.osds:
        if osd.options and osd.options.overruled:
            by_source.setdefault(osd.options.source, []).append(osd.info)
    places = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}
    for source, infos in by_source.items():
        place = places.get(source, source)
        ids = tuple(info.osd_id for info in infos)
        ignored = any(_has_entry(info, cluster.entries) for info in infos)
        yield Finding(
            'options-outside-config-store',
            Severity.WARNING if ignored else Severity.INFO,
            f'{place} decides {OPTION} for {name_osds(ids)}'
            + ('; the entry of the config store has no effect' if ignored else ''),
            ids,
            (FindingEvidence('source', source, 'config source', None),),
            f'Remove {OPTION} from {place} on the hosts of these OSDs and restart them one at a '
            'time, if the config store is to decide.',
            'Ceph documentation, Configuration Sources',
        )


def class_entry(cluster: ClusterFacts) -> Iterable[Finding]:
    """An entry for a device class: the config store shows it, and no OSD ever starts with it."""
    for entry in cluster.entries:
        if entry.name != OPTION or not is_for_a_class(entry.who):
            continue
        device_class = entry.who.rpartition('class:')[2].partition('/')[0]
        ids = [o.info.osd_id for o in cluster.osds if o.info.device_class == device_class]
        yield Finding(
            'class-entry-without-effect',
            Severity.WARNING,
            f'no OSD starts with the entry for {entry.who}: an OSD does not know its device class '
            'when it reads the options that need a restart',
            tuple(ids),
            (FindingEvidence(OPTION, entry.value, 'option string', None),),
            f'ceph config rm {entry.who} {OPTION}; what is wanted goes to osd, to osd/host:<host> '
            'or to single OSDs.',
            'Measured on 16.2.15: an OSD with such an entry starts with the default, restart after '
            'restart',
        )


def restart_pending(cluster: ClusterFacts) -> Iterable[Finding]:
    """A configured option string that running OSDs do not use yet."""
    ids = [o.info.osd_id for o in cluster.osds if o.options and o.options.pending_restart]
    if ids:
        yield Finding(
            'restart-pending',
            Severity.WARNING,
            f'{name_osds(ids)} did not restart since {OPTION} was changed',
            tuple(ids),
            tuple(
                FindingEvidence('next_start', text, 'option string', None)
                for text in sorted(
                    {
                        o.options.next_start or ''
                        for o in cluster.osds
                        if o.options and o.info.osd_id in ids
                    }
                )
            ),
            'Restart them one at a time, each after "ceph osd ok-to-stop <id>": '
            f'ceph orch daemon restart osd.{ids[0]}',
            'Ceph documentation: bluestore_rocksdb_options takes effect at start',
        )


def different_options(cluster: ClusterFacts) -> Iterable[Finding]:
    """OSDs of one device class and release that run different option strings."""
    variants: dict[tuple[str, Optional[str]], dict[str, list[int]]] = {}
    for osd in cluster.osds:
        if osd.options and osd.info.device_class:
            group = variants.setdefault((osd.info.device_class, osd.info.version), {})
            group.setdefault(osd.options.running, []).append(osd.info.osd_id)
    for (device_class, _), by_text in variants.items():
        if len(by_text) > 1:
            odd = min(by_text.values(), key=_size)
            yield Finding(
                'different-options',
                Severity.INFO,
                f'OSDs of class {device_class} run {len(by_text)} different option strings; '
                f'{name_osds(odd)} differ from the rest',
                tuple(odd),
                tuple(
                    FindingEvidence(name_osds(ids), text, 'option string', None)
                    for text, ids in by_text.items()
                ),
                'Make them alike, unless the difference is meant: "ceph config dump" shows the '
                'entries.',
                'Ceph documentation, Configuration sections and masks',
            )


def superseded_string(cluster: ClusterFacts) -> Iterable[Finding]:
    """A known string from a publication that its own authors no longer advise."""
    using: dict[str, tuple[Profile, list[int]]] = {}
    for osd in cluster.osds:
        options = osd.options
        if options is None or options.source == 'default':
            continue
        profile = recognise(options.running, release_of_osd(osd.info))
        if profile and profile.superseded:
            using.setdefault(profile.name, (profile, []))[1].append(osd.info.osd_id)
    for name, (profile, ids) in using.items():
        yield Finding(
            'superseded-options',
            Severity.WARNING,
            f'{name_osds(ids)} run {profile.title}: {profile.superseded}',
            tuple(ids),
            (FindingEvidence(OPTION, profile.options, 'option string', None),),
            f'See "ceph rocksdb-tuner recommend", and "ceph rocksdb-tuner profile show {name}".',
            profile.source,
        )


def spillover(cluster: ClusterFacts) -> Iterable[Finding]:
    """RocksDB data on the slow device although the OSD has a DB device of its own."""
    for osd in cluster.osds:
        signals = osd.signals
        if signals is None or not osd.info.dedicated_db or not signals.slow_used_bytes:
            continue
        yield Finding(
            'spillover',
            Severity.WARNING,
            f'osd.{osd.info.osd_id} keeps RocksDB data on its slow device',
            (osd.info.osd_id,),
            (
                FindingEvidence('slow_used_bytes', signals.slow_used_bytes, 'bytes', None),
                FindingEvidence('db_used_bytes', signals.db_used_bytes, 'bytes', None),
                FindingEvidence('db_total_bytes', signals.db_total_bytes, 'bytes', None),
            ),
            'Enlarge the DB device (ceph-bluestore-tool bluefs-bdev-expand) and move the data back '
            '(bluefs-bdev-migrate).',
            'Ceph documentation, BLUEFS_SPILLOVER',
        )


_CONDITIONS: tuple[Callable[[ClusterFacts], Iterable[Finding]], ...] = (
    poisonous_string,
    overruled_options,
    class_entry,
    restart_pending,
    different_options,
    superseded_string,
    spillover,
)


def _size(ids: list[int]) -> int:
    return len(ids)


def _has_entry(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
    try:
        return deciding_entry((e for e in entries if e.name == OPTION), osd) is not None
    except UnknownMaskError:
        return True
