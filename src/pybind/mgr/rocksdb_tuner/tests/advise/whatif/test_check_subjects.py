"""For which OSDs a string is judged, and what is taken of them."""

from __future__ import annotations

import errno
from typing import Optional

import pytest

from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.advise.whatif.compare import subjects
from rocksdb_tuner.advise.whatif.situation import read_overrides
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.verdict import BadQuestionError, judge_for
from rocksdb_tuner.plan.records import ANNEX

from ..builders import entry, facts, osd_info

GIB = 1 << 30


def osd(
    osd_id: int,
    release: Optional[str] = 'pacific',
    memory: Optional[int] = None,
    annex: str = '',
    **info: object,
) -> OsdFacts:
    details = Details(0.0, None, None, None, None, memory) if memory else None
    entries = (entry('osd', annex, ANNEX),) if annex else ()
    found = facts(osd_info(osd_id, release, **info), entries=entries, annex=annex)
    return found._replace(details=details)


def test_all_releases_are_checked_without_an_osd() -> None:
    assert [s.release for s in subjects(())] == list(known_releases())
    assert all(s.osd_ids == () for s in subjects(()))


def test_cluster_is_checked_per_release_with_the_smallest_osd() -> None:
    osds = [
        osd(0, memory=8 * GIB, db_device_bytes=60 * GIB),
        osd(1, memory=4 * GIB, db_device_bytes=90 * GIB),
        osd(2, 'reef', memory=GIB),
    ]
    pacific, reef = subjects(osds, overrides=read_overrides(cores=6))
    assert (pacific.osd_ids, reef.osd_ids) == ((0, 1), (2,))
    assert pacific.hardware.memory_target_bytes == 4 * GIB
    assert pacific.hardware.db_device_bytes == 60 * GIB
    assert reef.hardware.memory_target_bytes == GIB
    assert {s.hardware.cores for s in (pacific, reef)} == {6}


def test_release_that_no_osd_runs_is_checked_on_existing_hardware() -> None:
    """As before an upgrade."""
    (subject,) = subjects([osd(0, memory=4 * GIB)], release='reef')
    assert subject.release.name == 'reef'
    assert subject.hardware.memory_target_bytes == 4 * GIB


def test_annex_of_an_osd_is_checked_with_the_string() -> None:
    osds = [osd(0), osd(1, annex='foo=1'), osd(2, annex='ttl=7')]
    verdict = judge_for('ttl=60', subjects(osds))
    assert verdict.worst.subject.osd_ids == (1,)
    assert verdict.worst.text == 'ttl=60,foo=1'
    rules = {p.rule for v in verdict.by_release for p in v.result.problems}
    assert 'unknown-option' in rules
    assert 'duplicate' not in rules
    assert not verdict.worst.result.accepted
    in_effect = {v.subject.osd_ids: v.result.effective.get('ttl') for v in verdict.by_release}
    assert in_effect == {(0,): '60', (1,): None, (2,): '7'}


def test_string_is_checked_with_the_annex_of_the_next_start() -> None:
    entries = (entry('osd', 'ttl=7', ANNEX),)
    info = osd_info(0)
    (changed,) = subjects([facts(info, entries=entries, annex='foo=1')])
    assert changed.annex == 'ttl=7'
    (removed,) = subjects([facts(info, annex='foo=1')])
    assert removed.annex == ''
    unknown = (entry('osd/rack:r1', 'ttl=7', ANNEX),)
    (kept,) = subjects([facts(info, entries=unknown, annex='ttl=8')])
    assert kept.annex == 'ttl=8'


def test_overrides_take_precedence_over_known_values() -> None:
    known = osd(0, memory=8 * GIB, db_device_bytes=60 * GIB, wal_device_bytes=GIB)
    message = read_overrides(cores=4, memory='2G', wal_size='0', cfs='m(3) L=write_buffer_size=1M')
    (subject,) = subjects([known], overrides=message)
    assert subject.hardware.memory_target_bytes == 2 * GIB
    assert subject.hardware.wal_device_bytes is None
    assert subject.hardware.db_device_bytes == 60 * GIB
    assert subject.hardware.families is not None
    assert [len(own) for own in subject.hardware.families] == [0, 0, 0, 0, 1]
    assert subject.hardware.assumptions == ()


def test_related_options_are_checked_with_the_string() -> None:
    found = osd(0)._replace(
        settings={'osd_max_pg_log_entries': Setting('10', 'osd')}, sharded=False
    )
    (subject,) = subjects([found])
    assert subject.hardware.related_options == (('osd_max_pg_log_entries', '10'),)
    assert subject.hardware.families is not None
    rules = {p.rule for p in judge_for('ttl=1', [subject]).worst.result.problems}
    assert 'short-pg-log' in rules


@pytest.mark.parametrize(
    ('asked', 'code', 'message'),
    [
        ({'osd_id': 9}, errno.ENOENT, 'osd.9'),
        ({'device_class': 'nvme'}, errno.ENOENT, 'ssd'),
        ({'device_class': 'ssd', 'osd_id': 0}, errno.EINVAL, 'not both'),
        ({'release': 'nautilus'}, errno.EINVAL, 'nautilus'),
        ({'osd_id': 1}, errno.EINVAL, '--release'),
    ],
)
def test_invalid_subject_is_reported(asked: dict[str, object], code: int, message: str) -> None:
    with pytest.raises(BadQuestionError, match=message) as error:
        subjects([osd(0), osd(1, None)], **asked)  # type: ignore[arg-type]
    assert error.value.errno == code
