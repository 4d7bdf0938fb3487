"""The charts of the dashboard match the rows of the command line, and stay small."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.trend import TREND_SIGNALS, Trend
from rocksdb_tuner.present import views
from rocksdb_tuner.present.osd import trends_of, worst_osds

from . import samples


def columns_as_rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in found['osds']]
    for name, column in found.items():
        if name == 'time':
            continue
        values = column
        if isinstance(column, dict):
            values = [column['names'][i] for i in column['index']]
        assert len(values) == len(rows), name
        for row, value in zip(rows, values):
            row[name] = value
    return rows


@pytest.mark.parametrize('state', sorted(samples.all_snapshots()))
def test_map_matches_the_row_of_every_osd(state: str) -> None:
    snapshot = samples.all_snapshots()[state]
    rows = sorted(json.loads(views.show('osd', worst_osds(snapshot))), key=lambda row: row['osd'])
    drawn = columns_as_rows(json.loads(views.show('osd-map', snapshot)))
    assert [row['osd'] for row in rows] == [mark['osds'] for mark in drawn]
    for row, mark in zip(rows, drawn):
        assert mark['hosts'] == row['host']
        assert mark['workloads'] == row['workload']['class']
        assert mark['profiles'] == row['options']['profile']
        assert mark['pending_restart'] == row['options']['pending_restart']
        if row['kv_sync_busy'] is not None:
            assert mark['kv_sync_busy'] == pytest.approx(row['kv_sync_busy'], abs=0.0006)
        if row['db_total_bytes']:
            ratio = row['db_used_bytes'] / row['db_total_bytes']
            assert mark['db_used_ratio'] == pytest.approx(ratio, abs=0.0006)


def test_map_of_ten_thousand_different_osds_is_small() -> None:
    few, rng = samples.small_cluster(), random.Random(7)
    osds = []
    for osd_id in range(10_000):
        facts = rng.choice(few.osds)
        used_bytes = rng.randrange(1 << 36)
        signals = Signals(
            osd_id,
            kv_sync_ms=rng.expovariate(1),
            kv_sync_busy=rng.random(),
            db_used_bytes=used_bytes,
            db_total_bytes=1 << 36,
            slow_used_bytes=rng.randrange(2),
        )
        info = replace(facts.info, osd_id=osd_id, host=f'node{osd_id // 24}')
        osds.append(facts._replace(info=info, signals=signals))
    text = views.show('osd-map', replace(few, osds=tuple(osds)))
    assert len(zlib.compress(text.encode(), 5)) < 300_000


def test_trend_names_its_subject_and_keeps_gaps() -> None:
    found = Trend((1.4, 31.0), dict.fromkeys(TREND_SIGNALS, (None, 1 / 3)))
    (osd,) = json.loads(views.show('trend', trends_of((3, None, found))))
    (group,) = json.loads(views.show('trend', trends_of((None, 'ssd', found))))
    assert (osd['osd'], osd['device_class']) == (3, None)
    assert (group['osd'], group['device_class']) == (None, 'ssd')
    assert (osd['time_s'], osd['kv_sync_ms']) == ([1, 31], [None, 0.333333])
