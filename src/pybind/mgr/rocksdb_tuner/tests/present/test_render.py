"""Formats and errors: a wrong input is named, with what would be right."""

from __future__ import annotations

import errno
import json
from dataclasses import replace

import pytest

from rocksdb_tuner.advise.records import Kind
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import findings_named, plan_of
from rocksdb_tuner.present.osd import detail_of

from . import samples


@pytest.mark.parametrize('output_format', ['', 'yaml', 'JSON', 'json-Pretty'])
def test_unknown_format_is_answered_with_the_known_ones(output_format: str) -> None:
    with pytest.raises(BadQuestionError) as refusal:
        views.show('status', samples.small_cluster(), output_format)
    assert refusal.value.errno == errno.EINVAL
    assert f'"{output_format}"' in str(refusal.value)
    assert 'plain, json, json-pretty' in str(refusal.value)


def test_json_is_one_line_and_json_pretty_is_indented() -> None:
    plain = views.show('status', samples.small_cluster())
    pretty = views.show('status', samples.small_cluster(), 'json-pretty')
    assert '\n' not in plain
    assert pretty.count('\n') > 20
    assert json.loads(plain) == json.loads(pretty)


def test_missing_osd_is_answered_with_the_existing_ones() -> None:
    with pytest.raises(BadQuestionError) as refusal:
        views.show('osd-detail', detail_of(samples.small_cluster(), 99), 'plain')
    assert refusal.value.errno == errno.ENOENT
    assert 'osd.99 does not exist; OSDs of this cluster: 0-2' in str(refusal.value)


def test_missing_finding_is_answered_with_the_existing_ones() -> None:
    with pytest.raises(BadQuestionError) as refusal:
        findings_named(samples.small_cluster(), 'spill')
    assert refusal.value.errno == errno.ENOENT
    assert str(refusal.value) == (
        'there is no finding "spill"; findings: different-options, spillover, unstartable-options'
    )


def test_no_osd_is_reported_missing_before_the_first_map() -> None:
    with pytest.raises(BadQuestionError) as refusal:
        views.show('osd-detail', detail_of(samples.empty_cluster(), 0), 'plain')
    assert refusal.value.errno == errno.ENOENT
    assert 'is unknown' in str(refusal.value)


@pytest.mark.parametrize('kind', [Kind.COMPACT, Kind.MANUAL])
def test_remedy_without_a_rollout_has_no_plan(kind: Kind) -> None:
    recommendation = replace(samples.recommendation(), kind=kind, change=None)
    with pytest.raises(BadQuestionError) as refusal:
        views.show('plan', plan_of(recommendation, samples.SOAK), 'plain')
    assert refusal.value.errno == errno.EINVAL
    assert 'ceph rocksdb-tuner recommend ssd-1a2b3c' in str(refusal.value)
