"""Conditions of config store entries, and of the option string at the next OSD startup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from ...mgr.records import ConfigEntry, OsdInfo
from ...plan.commands import restart_command
from ...plan.entries import UnknownMaskError, deciding_entry, is_for_a_class, is_own_entry, reaches
from ...plan.records import ANNEX, OPTION
from ..cohort import name_osds
from ..facts import redundant_annex, release_of_osd
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import same_meaning
from .declaration import At, Case, case, of_cluster
from .facts import ClusterFacts, shown_string

#: In the plural, for sentences.
_PARTS = {OPTION: 'options', ANNEX: 'options of the annex'}
_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


@of_cluster('unstartable-options')
def unstartable_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An option string with which an OSD would not start, or did not."""
    return _culprits(cluster, starts=False)


@of_cluster('unjudged-options')
def unjudged_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An option string for which it is unknown whether an OSD would start."""
    return _culprits(cluster, starts=None)


def _culprits(cluster: ClusterFacts, *, starts: Optional[bool]) -> Iterator[Case]:
    """OSDs by entry, option string and state, where that entry is why they would not start."""
    found: dict[tuple[ConfigEntry, Optional[str], str], list[int]] = {}
    for osd in cluster.osds:
        at_start = cluster.next_starts.get(osd.info.osd_id)
        if at_start is None or at_start.starts is not starts:
            continue
        runs = osd.options is not None and osd.options.running == at_start.next_start
        state = 'up' if osd.info.up else 'down'
        if starts is None:
            state = 'runs' if runs else 'unknown'
        for entry in at_start.culprits:
            found.setdefault((entry, at_start.next_start, state), []).append(osd.info.osd_id)
    for (entry, text, state), ids in found.items():
        yield case(
            shown_string(text),
            osds=ids,
            variant=state,
            part=_PARTS[entry.name],
            who=entry.who,
            option=entry.name,
        )


@of_cluster('options-outside-config-store')
def options_outside_config_store(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    by_source: dict[str, list[OsdInfo]] = {}
    for running in cluster.chosen_strings:
        for osd in running.osds:
            if osd.options and osd.options.overruled:
                by_source.setdefault(osd.options.source, []).append(osd.info)
    for source, infos in by_source.items():
        ignored = any(_has_entry(info, cluster.entries) for info in infos)
        yield case(
            FindingEvidence('source', source, 'config source'),
            osds=sorted(info.osd_id for info in infos),
            severity=Severity.WARNING if ignored else Severity.INFO,
            variant='entry' if ignored else 'alone',
            place=_PLACES.get(source, source),
            option=OPTION,
        )


def _has_entry(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
    try:
        return deciding_entry((e for e in entries if e.name == OPTION), osd) is not None
    except UnknownMaskError:
        return True


@of_cluster('class-entry-without-effect')
def class_entry_without_effect(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    for entry in cluster.entries:
        if entry.name == OPTION and is_for_a_class(entry.who):
            device_class = entry.who.rpartition('class:')[2].partition('/')[0]
            ids = [o.info.osd_id for o in cluster.osds if o.info.device_class == device_class]
            yield case(shown_string(entry.value), osds=ids, who=entry.who, option=OPTION)


@of_cluster('restart-pending')
def restart_pending(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """A configured option string that needs an OSD restart; a warning after a day."""
    waiting: dict[Severity, list[OsdFacts]] = {}
    for osd in cluster.osds:
        # Nobody is told to restart an OSD that may not start.
        if osd.options and osd.options.pending_restart and osd.options.starts:
            overdue = cluster.pending_s.get(osd.info.osd_id, 0.0) >= at['overdue_s']
            severity = Severity.WARNING if overdue else Severity.INFO
            waiting.setdefault(severity, []).append(osd)
    for severity, osds in waiting.items():
        daemons = {osd.info.osd_id: osd.info.daemon for osd in osds}
        ids = sorted(daemons)
        strings = sorted({o.options.next_start or '' for o in osds if o.options})
        pending_s = max(cluster.pending_s.get(osd_id, 0.0) for osd_id in ids)
        yield case(
            *(shown_string(text, 'next_start') for text in strings),
            FindingEvidence('pending', pending_s, 's'),
            osds=ids,
            severity=severity,
            restart=restart_command(ids[0], daemons[ids[0]]),
        )


@of_cluster('different-options')
def different_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """Different option strings on OSDs of one device class and release."""
    variants: dict[tuple[str, Optional[str]], dict[str, list[int]]] = {}
    for running in cluster.strings:
        for osd in running.osds:
            if osd.info.device_class:
                group = variants.setdefault((osd.info.device_class, osd.info.version), {})
                group.setdefault(running.text, []).append(osd.info.osd_id)
    for (device_class, _), by_text in variants.items():
        if len(by_text) > 1:
            yield case(
                *(shown_string(text, name_osds(ids)) for text, ids in by_text.items()),
                osds=min(by_text.values(), key=len),
                device_class=device_class,
                count=len(by_text),
            )


@of_cluster('own-entry-shadows')
def own_entry_shadows(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An entry of a single OSD that overrides a different one for many OSDs."""
    entries = [e for e in cluster.entries if e.name == OPTION]
    infos = {f'osd.{osd.info.osd_id}': osd.info for osd in cluster.osds}
    for entry in entries:
        info = infos.get(entry.who.partition('/')[0])
        if info is None or not is_own_entry(entry.who):
            continue
        release = release_of_osd(info)
        version = release.rocksdb_version if release else None
        hidden = [
            e
            for e in entries
            if not is_own_entry(e.who)
            and reaches(e.who, info)
            and not same_meaning(e.value, entry.value, version)
        ]
        if hidden:
            yield case(
                *(shown_string(e.value, e.who) for e in (entry, *hidden)),
                osds=(info.osd_id,),
                hidden=' and '.join(sorted(e.who for e in hidden)),
                who=entry.who,
                option=OPTION,
            )


@of_cluster('redundant-override')
def redundant_override(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An entry of the option string or annex that equals the default."""
    decided: dict[tuple[str, Optional[str]], list[OsdFacts]] = {}
    for osd in cluster.osds:
        if osd.options:
            decided.setdefault((OPTION, osd.options.deciding_who), []).append(osd)
            decided.setdefault((ANNEX, osd.options.annex_who), []).append(osd)
    for entry in cluster.entries:
        osds = decided.get((entry.name, entry.who), [])
        if osds and all(_is_redundant(entry, cluster.entries, osd) for osd in osds):
            yield case(
                shown_string(entry.value, entry.name),
                osds=[osd.info.osd_id for osd in osds],
                variant='annex' if entry.name == ANNEX else 'string',
                who=entry.who,
                option=entry.name,
            )


def _is_redundant(entry: ConfigEntry, entries: Sequence[ConfigEntry], osd: OsdFacts) -> bool:
    if entry.name == ANNEX:
        return redundant_annex(osd)
    release = release_of_osd(osd.info)
    if release is None or osd.options is None or osd.options.annex:
        return False
    if not same_meaning(entry.value, release.default_options, release.rocksdb_version):
        return False
    others = (e for e in entries if e.name == OPTION and e is not entry)
    try:
        return deciding_entry(others, osd.info) is None
    except UnknownMaskError:
        return False
