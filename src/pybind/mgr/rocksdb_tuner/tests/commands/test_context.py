"""Shared by commands: recommendations by id."""

from __future__ import annotations

import errno
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rocksdb_tuner.advise import decision
from rocksdb_tuner.advise.records import OsdFacts, Recommendation
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.commands import Context, reads
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present.views import Format
from rocksdb_tuner.snapshot import recommendation_named

from ..advise.builders import entry, facts, osd_info
from ..present.samples import recommendation


def snapshot_with(
    *recommendations: Recommendation,
    osds: tuple[OsdFacts, ...] = (),
    assessments: tuple[Assessment, ...] = (),
) -> Any:
    return SimpleNamespace(recommendations=recommendations, osds=osds, assessments=assessments)


def test_recommendation_is_found_by_its_id() -> None:
    known = recommendation()
    assert recommendation_named(snapshot_with(known), known.recommendation_id) is known


@pytest.mark.parametrize(
    ('asked', 'reported'),
    [
        ('ssd-000000', 'does not exist: if it was shown before, it has changed since'),
        ('ssd-000000', 'review "ceph rocksdb-tuner recommend ssd-1a2b3c"'),
        ('nvme-000000', 'does not exist; recommendations: hdd-1a2b3c, ssd-1a2b3c'),
        ('ssd', 'does not exist; recommendations: hdd-1a2b3c, ssd-1a2b3c'),
    ],
)
def test_unknown_id_is_refused_with_the_current_ones(asked: str, reported: str) -> None:
    """Advice that changed since it was shown is never applied in its place."""
    known = recommendation()
    other = replace(known, recommendation_id='hdd-1a2b3c', who='osd/class:hdd')
    with pytest.raises(BadQuestionError, match=reported) as refused:
        recommendation_named(snapshot_with(known, other), asked)
    assert refused.value.errno == errno.ENOENT


def test_without_recommendations_none_are_named() -> None:
    with pytest.raises(BadQuestionError, match='recommendations: none at present'):
        recommendation_named(snapshot_with(), 'ssd-000000')


def test_recommendation_that_is_held_back_is_named() -> None:
    wait = decision.wait_for('osd/class:ssd', 'the figures still change', '', None)
    held = Assessment('osd/class:ssd', wait, ())
    with pytest.raises(BadQuestionError, match='osd/class:ssd: Wait: the figures still change'):
        recommendation_named(snapshot_with(assessments=(held,)), 'ssd-000000')


def test_osds_that_would_not_start_are_named_in_place_of_a_recommendation() -> None:
    osds = (facts(osd_info(0)), facts(osd_info(1), entries=(entry('osd.1', 'foo=1'),)))
    wanted = 'osd.1 would not start again .* "ceph config rm osd.1 bluestore_rocksdb_options"'
    with pytest.raises(BadQuestionError, match=wanted):
        recommendation_named(snapshot_with(osds=osds), 'ssd-000000')


def test_report_is_written_once_for_each_snapshot_and_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten readers of one report wait for one of them, and not for ten."""
    written: list[object] = []

    def write(*of: object, **form: object) -> str:
        written.append((of, form))
        return str(len(written))

    monkeypatch.setattr('rocksdb_tuner.collection.report.report', write)
    tuner: Any = SimpleNamespace(published=SimpleNamespace(reports={}), collection=lambda of: of)
    unused = cast('Any', None)
    context = Context(lambda: tuner, unused, unused, unused, unused)
    texts = [
        reads.report(context, anonymous=anonymous)(form)
        for anonymous in (False, True, False)
        for form in (Format.JSON, Format.JSON_PRETTY, Format.PLAIN)
    ]
    assert texts == ['1', '2', '1', '3', '4', '3', '1', '2', '1']
    tuner.published = SimpleNamespace(reports={})
    assert reads.report(context)(Format.JSON) == '5'
