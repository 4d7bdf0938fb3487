"""Health checks are raised for what an operator must see, and cleared with it."""

from __future__ import annotations

from dataclasses import replace

from rocksdb_tuner.present import render

from . import samples


def test_a_healthy_module_raises_nothing() -> None:
    quiet = replace(samples.small_cluster(), findings=(), notices=())
    assert render.health_checks(quiet) == {}
    assert render.health_checks(samples.empty_cluster()) == {}


def test_a_broken_stored_state_is_raised_with_its_text() -> None:
    check = render.health_checks(samples.small_cluster())['ROCKSDB_TUNER_STATE_BROKEN']
    assert check['severity'] == 'warning'
    assert check['detail'] == list(samples.small_cluster().notices)


def test_a_failed_rollout_is_raised_until_another_begins() -> None:
    failed = replace(samples.small_cluster(), rollout=samples.failed_rollout())
    check = render.health_checks(failed)['ROCKSDB_TUNER_ROLLOUT_FAILED']
    assert check['detail'] == [samples.failed_rollout().failure]
    next_one = replace(failed, rollout=samples.rollout())
    assert 'ROCKSDB_TUNER_ROLLOUT_FAILED' not in render.health_checks(next_one)


def test_osds_that_would_not_start_again_are_counted() -> None:
    twice = replace(samples.FINDINGS[1], osds=(1, 2))
    snapshot = replace(samples.small_cluster(), findings=(*samples.FINDINGS, twice))
    check = render.health_checks(snapshot)['ROCKSDB_TUNER_UNSTARTABLE_OPTIONS']
    assert check['count'] == 2
    assert '2 OSD' in str(check['summary'])
    assert 'ceph config rm osd.1' in str(check['detail'])
