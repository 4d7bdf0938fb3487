"""For which OSDs a string is judged, and what is taken of them."""

from __future__ import annotations

import errno
from typing import Optional

import pytest

from rocksdb_tuner.advise.check_subjects import subjects
from rocksdb_tuner.advise.given import given
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.verdict import BadQuestionError, judge_for

from .scenes import facts, osd_info

GIB = 1 << 30


def osd(
    osd_id: int,
    release: Optional[str] = 'pacific',
    memory: Optional[int] = None,
    annex: str = '',
    **info: object,
) -> OsdFacts:
    details = Details(0.0, None, None, None, None, memory) if memory else None
    found = facts(osd_info(osd_id, release, **info), annex=annex)
    return found._replace(details=details)


def test_without_any_osd_all_releases_are_judged() -> None:
    assert [s.release for s in subjects(())] == list(known_releases())
    assert all(s.osd_ids == () for s in subjects(()))


def test_a_cluster_is_judged_by_release_with_the_least_that_an_osd_has() -> None:
    osds = [
        osd(0, memory=8 * GIB, db_device_bytes=60 * GIB),
        osd(1, memory=4 * GIB, db_device_bytes=90 * GIB),
        osd(2, 'reef', memory=GIB),
    ]
    pacific, reef = subjects(osds, said=given(cores=6))
    assert (pacific.osd_ids, reef.osd_ids) == ((0, 1), (2,))
    assert pacific.hardware.memory_target_bytes == 4 * GIB
    assert pacific.hardware.db_device_bytes == 60 * GIB
    assert reef.hardware.memory_target_bytes == GIB
    assert {s.hardware.cores for s in (pacific, reef)} == {6}


def test_one_osd_is_judged_by_itself() -> None:
    osds = [osd(0, memory=8 * GIB), osd(1, memory=4 * GIB)]
    (subject,) = subjects(osds, osd_id=0)
    assert subject.osd_ids == (0,)
    assert subject.hardware.memory_target_bytes == 8 * GIB


def test_a_device_class_is_judged_by_itself() -> None:
    osds = [osd(0), osd(1, device_class='hdd')]
    (subject,) = subjects(osds, device_class='hdd')
    assert subject.osd_ids == (1,)


def test_a_release_that_nobody_runs_is_judged_on_what_is_there() -> None:
    """As before an upgrade."""
    (subject,) = subjects([osd(0, memory=4 * GIB)], release='reef')
    assert subject.release.name == 'reef'
    assert subject.hardware.memory_target_bytes == 4 * GIB


def test_the_annex_of_an_osd_is_judged_with_the_string() -> None:
    osds = [osd(0), osd(1, annex='foo=1'), osd(2, annex='ttl=7')]
    verdict = judge_for('ttl=60', subjects(osds))
    assert verdict.worst.subject.osd_ids == (1,)
    assert verdict.worst.text == 'ttl=60,foo=1'
    assert not verdict.worst.result.accepted
    in_effect = {v.subject.osd_ids: v.result.effective.get('ttl') for v in verdict.by_release}
    assert in_effect == {(0,): '60', (1,): None, (2,): '7'}


def test_what_an_operator_says_comes_before_what_is_known() -> None:
    known = osd(0, memory=8 * GIB, db_device_bytes=60 * GIB, wal_device_bytes=GIB)
    said = given(cores=4, memory='2G', wal_size='0', cfs='m(3) L=write_buffer_size=1M')
    (subject,) = subjects([known], said=said)
    assert subject.hardware.memory_target_bytes == 2 * GIB
    assert subject.hardware.wal_device_bytes is None
    assert subject.hardware.db_device_bytes == 60 * GIB
    assert subject.hardware.families is not None
    assert [len(own) for own in subject.hardware.families] == [0, 0, 0, 0, 1]
    assert subject.hardware.assumptions == ()


def test_what_stands_beside_the_string_is_judged() -> None:
    found = osd(0)._replace(
        settings={'osd_max_pg_log_entries': Setting('10', 'osd')}, sharded=False
    )
    (subject,) = subjects([found])
    assert subject.hardware.neighbours == (('osd_max_pg_log_entries', '10'),)
    assert subject.hardware.families is not None
    rules = {p.rule for p in judge_for('ttl=1', [subject]).worst.result.problems}
    assert 'short-pg-log' in rules


@pytest.mark.parametrize(
    ('asked', 'code', 'said'),
    [
        ({'osd_id': 9}, errno.ENOENT, 'osd.9'),
        ({'device_class': 'nvme'}, errno.ENOENT, 'ssd'),
        ({'device_class': 'ssd', 'osd_id': 0}, errno.EINVAL, 'not both'),
        ({'release': 'nautilus'}, errno.EINVAL, 'nautilus'),
        ({'osd_id': 1}, errno.EINVAL, '--release'),
    ],
)
def test_what_cannot_be_asked_about_is_said(asked: dict[str, object], code: int, said: str) -> None:
    with pytest.raises(BadQuestionError, match=said) as error:
        subjects([osd(0), osd(1, None)], **asked)  # type: ignore[arg-type]
    assert error.value.errno == code
