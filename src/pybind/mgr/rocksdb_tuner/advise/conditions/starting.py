"""Conditions of the option string at the next OSD startup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Mapping, Optional

from ...mgr.records import ConfigEntry, OsdInfo
from ...plan.precedence import (
    UnknownMaskError,
    deciding_entry,
    is_for_a_class,
)
from ...plan.records import ANNEX, OPTION
from ...plan.restarts import restart_command
from ..naming import name_osds
from ..records import Finding, FindingEvidence, Severity
from .declaration import Condition, condition
from .facts import ClusterFacts

#: In the plural, for sentences.
_PARTS = {OPTION: 'options', ANNEX: 'options of the annex'}
_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


@condition('unstartable-options')
def unstartable_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An option string with which an OSD would not start, or did not."""
    for (entry, text, up), ids in _culprits(cluster, starts=False).items():
        yield condition.finding(
            f'{name_osds(ids)} '
            + ('would not start again' if up else 'went down, and cannot start')
            + f' with the {_PARTS[entry.name]} set for {entry.who}',
            tuple(ids),
            (FindingEvidence(OPTION, text, 'option string', None),),
            who=entry.who,
            option=entry.name,
        )


@condition('unjudged-options')
def unjudged_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An option string for which it is unknown whether an OSD would start."""
    for (entry, text, runs), ids in _culprits(cluster, starts=None).items():
        yield condition.finding(
            f'the module cannot validate the form of the {_PARTS[entry.name]} set for '
            f'{entry.who}: '
            + (
                f'{name_osds(ids)} started with them, but their effective values are unknown'
                if runs
                else f'whether {name_osds(ids)} would start again is unknown'
            ),
            tuple(ids),
            (FindingEvidence(OPTION, text, 'option string', None),),
            who=entry.who,
            option=entry.name,
        )


def _culprits(
    cluster: ClusterFacts, *, starts: Optional[bool]
) -> Mapping[tuple[ConfigEntry, Optional[str], bool], Sequence[int]]:
    """OSDs by (entry, option string, flag), where that entry is why they would not start.

    The flag is whether they are up or, if it is unknown whether they would start, whether they did.
    """
    found: dict[tuple[ConfigEntry, Optional[str], bool], list[int]] = {}
    for osd in cluster.osds:
        at_start = cluster.next_starts.get(osd.info.osd_id)
        if at_start is None or at_start.starts is not starts:
            continue
        runs = osd.options is not None and osd.options.running == at_start.next_start
        flag = runs if starts is None else osd.info.up
        for entry in at_start.culprits:
            found.setdefault((entry, at_start.next_start, flag), []).append(osd.info.osd_id)
    return found


@condition('options-outside-config-store')
def options_outside_config_store(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """ceph.conf or the command line overrides the config store."""
    by_source: dict[str, list[OsdInfo]] = {}
    for running in cluster.chosen_strings:
        for osd in running.osds:
            if osd.options and osd.options.overruled:
                by_source.setdefault(osd.options.source, []).append(osd.info)
    for source, infos in by_source.items():
        place = _PLACES.get(source, source)
        ids = tuple(sorted(info.osd_id for info in infos))
        ignored = any(_has_entry(info, cluster.entries) for info in infos)
        yield condition.finding(
            f'{place} sets {OPTION} for {name_osds(ids)}'
            + ('; the entry of the config store has no effect' if ignored else ''),
            ids,
            (FindingEvidence('source', source, 'config source', None),),
            severity=Severity.WARNING if ignored else Severity.INFO,
            place=place,
            option=OPTION,
        )


def _has_entry(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
    try:
        return deciding_entry((e for e in entries if e.name == OPTION), osd) is not None
    except UnknownMaskError:
        return True


@condition('class-entry-without-effect')
def class_entry_without_effect(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A class-masked entry, which is ignored at OSD startup."""
    for entry in cluster.entries:
        if entry.name != OPTION or not is_for_a_class(entry.who):
            continue
        device_class = entry.who.rpartition('class:')[2].partition('/')[0]
        ids = [o.info.osd_id for o in cluster.osds if o.info.device_class == device_class]
        yield condition.finding(
            f'the entry for {entry.who} is ignored at OSD startup: an OSD does not know its device '
            'class yet when it reads its startup options',
            tuple(ids),
            (FindingEvidence(OPTION, entry.value, 'option string', None),),
            who=entry.who,
            option=OPTION,
        )


@condition('restart-pending')
def restart_pending(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A configured option string that needs an OSD restart; a warning after a day."""
    overdue_s = condition.limit('overdue_s', cluster.limits)
    # Nobody is told to restart an OSD that may not start.
    pending = [
        o for o in cluster.osds if o.options and o.options.pending_restart and o.options.starts
    ]
    overdue = [o for o in pending if cluster.pending_s.get(o.info.osd_id, 0.0) >= overdue_s]
    recent = [o for o in pending if cluster.pending_s.get(o.info.osd_id, 0.0) < overdue_s]
    for osds, severity in ((overdue, Severity.WARNING), (recent, Severity.INFO)):
        if not osds:
            continue
        daemons = {osd.info.osd_id: osd.info.daemon for osd in osds}
        ids = tuple(sorted(daemons))
        strings = {o.options.next_start or '' for o in osds if o.options}
        seen_s = max(cluster.pending_s.get(osd_id, 0.0) for osd_id in ids)
        yield condition.finding(
            f'{name_osds(ids)} did not restart after their option string was changed',
            ids,
            (
                *(FindingEvidence('next_start', s, 'option string', None) for s in sorted(strings)),
                FindingEvidence('pending', seen_s, 's', None),
            ),
            severity=severity,
            restart=restart_command(ids[0], daemons[ids[0]]),
        )
