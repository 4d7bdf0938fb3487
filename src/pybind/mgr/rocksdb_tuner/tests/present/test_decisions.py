"""The decision of a group is the same record, in the same words, wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.decision import nothing
from rocksdb_tuner.advise.records import Decision, Finding, Limit, Priority, Resource, Severity
from rocksdb_tuner.observe.report_interval import Reports
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import decisions_of
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.workload.records import Evidence

from . import samples

SMALL = replace(samples.small_cluster(), rollout=None, findings=())
ERROR, SPILLOVER = samples.FINDINGS[1:]
BUSY = Evidence('kv_sync_busy', 0.9, 'ratio', 30.0, 'The kv_sync threads are 90% busy.')


def settled(resource: Resource) -> Snapshot:
    """Nothing is recommended, and this limits the clients."""
    found = nothing('osd/class:ssd', 'No string is better.', Limit(resource, 0.9, (BUSY,)))
    return replace(
        SMALL, assessments=(replace(SMALL.assessments[0], conclusion=found, recommendations=()),)
    )


def prioritized(priority: Priority, *findings: Finding) -> Snapshot:
    (assessed,) = SMALL.assessments
    advised = tuple(replace(r, priority=priority) for r in assessed.recommendations)
    return replace(
        SMALL, findings=findings, assessments=(replace(assessed, recommendations=advised),)
    )


ADVICE = SMALL.recommendations[0].decision.do
#: By state: the snapshot, and what to do about its group.
STATES: Mapping[str, tuple[Snapshot, str]] = {
    'recommendation': (SMALL, ADVICE),
    'error first': (prioritized(Priority.NOW, ERROR), str(conditions()['unstartable-options'].do)),
    'urgent before a warning': (prioritized(Priority.NOW, SPILLOVER), ADVICE),
    'warning before a plan': (
        prioritized(Priority.PLANNED, SPILLOVER),
        str(conditions()['spillover'].do),
    ),
    'info is no remedy': (
        prioritized(Priority.OPTIONAL, replace(SPILLOVER, severity=Severity.INFO)),
        ADVICE,
    ),
    'no relief': (settled(Resource.KV_SYNC), 'Nothing to change'),
    'cores': (settled(Resource.CORES), 'Provide more cores for each OSD'),
    'observing': (replace(SMALL, mode=Mode.OBSERVE, assessments=()), 'Wait: the mode is observe'),
    'off': (samples.switched_off(), 'Wait: the mode is off'),
    'no samples': (samples.empty_cluster(), 'Wait: there are no samples yet'),
    'not evaluated': (replace(SMALL, assessments=()), 'Wait: there is no evaluation yet'),
    'rollout': (
        replace(SMALL, rollout=samples.rollout()),
        'Wait: osd.1 to restart and become clean',
    ),
    'rollout waits': (
        replace(SMALL, rollout=samples.waiting_rollout()),
        f'Wait: {samples.waiting_rollout().paused_reason}',
    ),
    'rollout failed': (replace(SMALL, rollout=samples.failed_rollout()), 'To continue, see why'),
    'no reports': (
        replace(SMALL, sampling=replace(SMALL.sampling, reports=Reports.NONE)),
        'Wait: OSDs do not report',
    ),
    'slow reports': (
        replace(SMALL, sampling=replace(SMALL.sampling, reports=Reports.SLOW)),
        'Wait: OSDs report too rarely',
    ),
}


def words(text: str) -> str:
    """As one line, however it is wrapped."""
    return ' '.join(text.split())


def health(snapshot: Snapshot) -> Optional[str]:
    """Detail of the health check of a finding on the group."""
    finding = replace(ERROR, osds=(1,))
    checks: Any = health_checks(replace(snapshot, alarms=(finding,)))
    return (
        None
        if snapshot.mode is Mode.OFF
        else words(' '.join(checks['ROCKSDB_TUNER_UNSTARTABLE_OPTIONS']['detail']))
    )


@pytest.mark.parametrize('state', STATES)
def test_decision_is_the_same_wherever_it_is_shown(state: str) -> None:
    """`status`, `recommend`, their JSON (read by the tab and the HTML report) and health."""
    snapshot, do = STATES[state]
    # Its limit is shown with the group.
    (decision,) = (replace(d, limit=None, waits=False) for d in decisions_of(snapshot))
    assert decision.do.startswith(do)
    found = json.loads(views.show('status', snapshot))['decisions']
    assert [Decision(**one) for one in found] == [decision]
    status, recommend = (views.show(name, snapshot, 'plain') for name in ('status', 'recommend'))
    assert status.startswith(decision.who)
    detail = health(snapshot) if snapshot.groups else None
    for value in filter(None, asdict(decision).values()):
        assert words(value) in words(status)
        assert words(value) in words(recommend)
    if detail is not None:
        assert f'{decision.who}: {words(decision.do)}' in detail
    advised = [replace(r.decision, limit=None) for r in snapshot.recommendations]
    if decision in advised:
        listed = json.loads(views.show('recommend', snapshot))
        assert decision in [Decision(**one['decision']) for one in listed]


def test_every_group_has_one_decision_in_order() -> None:
    for snapshot in samples.all_snapshots().values():
        decided = [d.who for d in decisions_of(snapshot)]
        assert len(decided) == max(1, len(snapshot.groups))


def test_remedies_are_of_known_conditions() -> None:
    """Those that can be a warning or an error, else they would never be shown."""
    severities = {known.severity for known in conditions().values() if known.do}
    assert severities == {Severity.ERROR, Severity.WARNING}


def test_hazard_has_its_command_and_other_findings_are_looked_up() -> None:
    command = 'ceph config rm osd.1 bluestore_rocksdb_options'
    (found,) = decisions_of(prioritized(Priority.NOW, replace(ERROR, commands=(command,))))
    assert found.next_command == command
    (found,) = decisions_of(prioritized(Priority.PLANNED, SPILLOVER))
    assert found.next_command == 'ceph rocksdb-tuner findings spillover'


def test_overview_of_many_groups_shows_the_first_in_full() -> None:
    """It stays on one screen."""
    group = SMALL.groups[0]
    many = replace(SMALL, groups=tuple(replace(group, device_class=f'class{n}') for n in range(9)))
    text = views.show('status', many, 'plain')
    assert text.count('Because:') == 2
    assert text.count('Wait: ') == 9
    assert len(text.splitlines()) <= 40
