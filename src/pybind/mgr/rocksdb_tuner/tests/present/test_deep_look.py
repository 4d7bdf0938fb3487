"""The output of a deep query, in tables and as JSON, for answers of three releases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from rocksdb_tuner import present
from rocksdb_tuner.deep.reader import OPTIONS, OsdDeepStats
from rocksdb_tuner.observe.kv_stats import DeepStats, parse_deep_stats
from rocksdb_tuner.present import views
from rocksdb_tuner.present.layout import WIDTH
from rocksdb_tuner.present.osd import detail_of

from . import samples

DATA = Path(__file__).parents[1] / 'observe/data'
SCHEMA = json.loads((Path(present.__file__).parent / 'schemas/osd-detail.schema.json').read_text())
ANSWERS = [
    (release, name)
    for release in ('pacific', 'reef', 'tentacle')
    for name in ('compaction_only', 'extended')
]


def look(release: str, name: str) -> OsdDeepStats:
    text = (DATA / release / f'{name}.txt').read_text()
    return OsdDeepStats(0, samples.NOW_S, parse_deep_stats(text), OPTIONS)


@pytest.mark.parametrize(('release', 'name'), ANSWERS)
def test_deep_statistics_match_the_schema_and_fit_the_screen(release: str, name: str) -> None:
    seen, snapshot = look(release, name), samples.small_cluster()
    found = json.loads(views.show('osd-detail', detail_of(snapshot, 0, seen)))
    jsonschema.validate(found, SCHEMA)
    shown = {family['name'] for family in found['deep']['column_families']}
    assert shown == {family.name for family in seen.stats.column_families}
    text = views.show('osd-detail', detail_of(snapshot, 0, seen), 'plain')
    assert all(len(line) <= WIDTH for line in text.splitlines())
    for family in seen.stats.column_families:
        assert (f'\n{family.name} ' in text) == bool(
            family.files or family.stalls or family.compaction_write_bytes
        )


def test_single_column_family_is_reported() -> None:
    snapshot = samples.small_cluster()
    message = 'reports only the column family "default"'
    assert message in views.show(
        'osd-detail', detail_of(snapshot, 0, look('pacific', 'compaction_only')), 'plain'
    )
    assert message not in views.show(
        'osd-detail', detail_of(snapshot, 0, look('tentacle', 'compaction_only')), 'plain'
    )
    # Without sharding there is only this one.
    whole = replace(snapshot, osds=(snapshot.osds[0]._replace(sharded=False), *snapshot.osds[1:]))
    assert message not in views.show(
        'osd-detail', detail_of(whole, 0, look('pacific', 'compaction_only')), 'plain'
    )


def test_statistics_left_enabled_are_reported() -> None:
    seen = replace(look('pacific', 'extended'), not_put_back=('rocksdb_perf',))
    text = views.show('osd-detail', detail_of(samples.small_cluster(), 0, seen), 'plain')
    assert 'Still enabled, and retried until restored: rocksdb_perf.' in text


def test_empty_answer_shows_nothing() -> None:
    seen = OsdDeepStats(0, samples.NOW_S, DeepStats())
    found = json.loads(views.show('osd-detail', detail_of(samples.small_cluster(), 0, seen)))
    jsonschema.validate(found, SCHEMA)
    assert found['deep']['uptime_s'] is None
    assert found['deep']['totals'] is None
    assert 'reports no column families' in views.show(
        'osd-detail', detail_of(samples.small_cluster(), 0, seen), 'plain'
    )
