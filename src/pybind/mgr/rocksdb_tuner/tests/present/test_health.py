"""Health checks are raised for what an operator must see, and cleared with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner.advise.conditions.declaration import Condition, conditions
from rocksdb_tuner.advise.records import Severity
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.present import health
from rocksdb_tuner.present.health import health_checks

from ..advise.conditions.builders import example
from . import samples


def test_healthy_module_raises_nothing() -> None:
    quiet = replace(samples.small_cluster(), findings=(), notices=())
    assert health_checks(quiet) == {}
    assert health_checks(samples.empty_cluster()) == {}


def test_broken_stored_state_is_raised_with_its_text() -> None:
    check = health_checks(samples.small_cluster())['ROCKSDB_TUNER_STATE_BROKEN']
    assert check['severity'] == 'warning'
    assert check['detail'] == list(samples.small_cluster().notices)


def test_failed_rollout_is_raised_until_the_next_one_starts() -> None:
    failed = replace(samples.small_cluster(), rollout=samples.failed_rollout())
    check: Any = health_checks(failed)['ROCKSDB_TUNER_ROLLOUT_FAILED']
    assert check['detail'][0] == samples.failed_rollout().failure
    assert 'operation resume' in check['detail'][1]
    next_one = replace(failed, rollout=samples.rollout())
    assert 'ROCKSDB_TUNER_ROLLOUT_FAILED' not in health_checks(next_one)


def test_acknowledged_failed_rollout_is_not_raised() -> None:
    failed = replace(samples.small_cluster(), rollout=samples.failed_rollout())
    noted = replace(failed, rollout_acknowledged=True)
    assert 'ROCKSDB_TUNER_ROLLOUT_FAILED' not in health_checks(noted)


def test_rollout_that_requires_operator_action_is_raised_with_leftovers() -> None:
    waiting = samples.waiting_rollout()
    at = replace(samples.small_cluster(), rollout=waiting)
    assert 'ROCKSDB_TUNER_ROLLOUT_WAITING' not in health_checks(at)
    later = replace(at, rollout_waits='osd.1 is down; start it')
    check = health_checks(later)['ROCKSDB_TUNER_ROLLOUT_WAITING']
    assert check['detail'] == ['osd.1 is down; start it']
    *others, last = waiting.osds
    left = replace(
        waiting,
        osds=(
            *others,
            replace(last, step=OsdStep.LEFT_BEHIND, left_reason='osd.9 is down and out'),
        ),
    )
    check = health_checks(replace(later, rollout=left))['ROCKSDB_TUNER_ROLLOUT_WAITING']
    assert 'not restored: osd.9 is down and out' in str(check['detail'])


def test_osds_that_would_not_restart_are_counted() -> None:
    twice = replace(samples.FINDINGS[1], osds=(1, 2), severity=Severity.ERROR)
    snapshot = replace(samples.small_cluster(), alarms=(samples.FINDINGS[1], twice))
    check = health_checks(snapshot)['ROCKSDB_TUNER_UNSTARTABLE_OPTIONS']
    assert check['severity'] == 'error'
    assert check['count'] == 2
    assert '2 OSD' in str(check['summary'])
    assert 'ceph config rm osd.1' in str(check['detail'])
    assert 'on osd.1, osd.2' in str(check['detail'])


def test_brief_finding_is_no_health_check() -> None:
    snapshot = replace(samples.small_cluster(), notices=(), alarms=())
    assert snapshot.findings
    assert health_checks(snapshot) == {}


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_checks_raised_by_ceph_are_not_duplicated(known: Condition) -> None:
    finding = example(known.condition_id, 0)
    raised = health_checks(
        replace(samples.small_cluster(), notices=(), rollout=None, alarms=(finding,))
    )
    if known.health is None:
        assert raised == {}
        assert known.ceph_checks or known.severity is Severity.INFO
    else:
        code = 'ROCKSDB_TUNER_' + known.condition_id.upper().replace('-', '_')
        assert list(raised) == [code]
        assert raised[code]['severity'] == known.severity.value


def test_thousands_of_osds_do_not_flood_the_monitor() -> None:
    many = replace(samples.FINDINGS[1], osds=tuple(range(5000)))
    snapshot = replace(samples.small_cluster(), alarms=(many,))
    check = health_checks(snapshot)['ROCKSDB_TUNER_UNSTARTABLE_OPTIONS']
    assert check['count'] == 5000
    assert len(str(check['detail'])) < 2000
    assert 'and 4950 more' in str(check['detail'])


def test_every_module_health_check_is_in_the_manual() -> None:
    page = 'doc/mgr/rocksdb_tuner/troubleshooting.rst'
    manual = (Path(__file__).parents[6] / page).read_text()
    codes = [
        health.OPTIONS_CONFLICT,
        health.STATE_BROKEN,
        health.ROLLOUT_FAILED,
        health.ROLLOUT_WAITING,
        health.COMPACTION_WAITING,
    ]
    codes += [health.STEP_FAILED, health.METRICS_UNAVAILABLE]
    assert [code for code in codes if f'``{code}``' not in manual] == []
