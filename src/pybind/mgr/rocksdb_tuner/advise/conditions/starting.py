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
from .declaration import Condition, HealthPolicy, ModuleOption, Threshold, condition
from .facts import ClusterFacts
from .subjects import Subject

#: In the plural, for sentences.
_PARTS = {OPTION: 'options', ANNEX: 'options of the annex'}
_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


@condition(
    'unstartable-options',
    title='OSDs would not start with their configured options',
    severity=Severity.ERROR,
    remedy='ceph config rm {who} {option}',
    commands=('ceph config rm {who} {option}',),
    do_not='Do not restart these OSDs before the entry is removed.',
    stops_osds=False,
    source=(
        'Measured on 16.2.15, 18.2.7 and 20.2.4: the monitor accepts any string, the OSD does not '
        '(9 of 25 strings tried)'
    ),
    health=HealthPolicy(
        'would not start again with their RocksDB options', raise_after_s=0, clear_after_s=0
    ),
    tests=(
        'tests/advise/conditions/test_options.py',
        'qa/tests/integration/test_module.py',
    ),
)
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


@condition(
    'unjudged-options',
    title='It is unknown whether OSDs start with these options',
    severity=Severity.INFO,
    remedy=(
        'Try them on one OSD that may be down, or use options that "ceph rocksdb-tuner check" can '
        'validate.'
    ),
    commands=("ceph rocksdb-tuner check '<options>'",),
    source='The option catalog of this module: forms of values that were not measured',
    tests=('tests/advise/conditions/test_options.py',),
)
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


@condition(
    'options-outside-config-store',
    title='ceph.conf or the command line overrides the config store',
    severity=Severity.WARNING,
    remedy=(
        'Remove {option} from {place} on the hosts of these OSDs and restart them one at a time, '
        'so that the config store takes effect.'
    ),
    do_not='Do not change the value in the config store: the OSDs do not read it.',
    source=(
        'Ceph documentation, Configuration Sources; measured on 16.2.15 and 20.2.4: "config show" '
        'names the source'
    ),
    health=HealthPolicy(
        'have RocksDB options that are overridden outside of the config store',
        raise_after_s=60,
        clear_after_s=60,
    ),
    tests=(
        'tests/advise/conditions/test_options.py',
        'qa/tests/integration/test_conditions.py',
    ),
)
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


@condition(
    'class-entry-without-effect',
    title='A class-masked option is ignored at OSD startup',
    severity=Severity.WARNING,
    remedy='ceph config rm {who} {option}; set the option for osd or for single OSDs instead.',
    commands=('ceph config rm {who} {option}',),
    stops_osds=False,
    source=(
        'Measured on 16.2.15, 18.2.7 and 20.2.4: an OSD with such an entry starts with the '
        'default at every restart'
    ),
    health=HealthPolicy(
        'have a class-masked entry that they ignore at startup', raise_after_s=60, clear_after_s=60
    ),
    tests=(
        'tests/advise/conditions/test_options.py',
        'qa/tests/integration/test_module.py',
    ),
)
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


@condition(
    'restart-pending',
    title='OSDs do not run their configured option string yet',
    severity=Severity.WARNING,
    needs=Subject.PENDING_RESTART,
    thresholds={
        'overdue_s': Threshold(
            86400,
            's',
            (
                'a restart pending for longer was probably forgotten; until then it is only '
                'informational'
            ),
            source='chosen: a rolling restart of a large cluster takes hours, not days',
            option=ModuleOption('restart_overdue_after', 60, 2678400),
        ),
    },
    remedy=('Restart one OSD at a time, each after "ceph osd ok-to-stop <id>": {command}'),
    commands=(
        'ceph osd ok-to-stop {osd}',
        '{restart}',
    ),
    do_not='Do not restart several OSDs at once.',
    source='Ceph documentation: bluestore_rocksdb_options takes effect at start',
    health=HealthPolicy(
        'have not restarted since their RocksDB options changed', raise_after_s=0, clear_after_s=60
    ),
    tests=(
        'tests/advise/conditions/test_options.py',
        'qa/tests/integration/test_conditions.py',
    ),
)
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
