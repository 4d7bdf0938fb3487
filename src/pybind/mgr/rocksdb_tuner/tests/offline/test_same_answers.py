"""The answers of `offline` to a report equal those of the module at its time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.collection.anonymous import anonymous as without_names
from rocksdb_tuner.collection.report import read_report, report
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import details_for
from rocksdb_tuner.offline.cli import main
from rocksdb_tuner.offline.judge import judge
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.present import views
from rocksdb_tuner.present.osd import detail_of, worst_osds
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Mode, Snapshot

from ..test_tuner import World as PlainWorld

SCHEMAS = Path(views.__file__).parent / 'schemas'
STALE = 'compression=kNoCompression,max_write_buffer_number=32,min_write_buffer_number_to_merge=2'
ALTERNATE_2019 = profile('alternate-2019').options
_DB_DEVICE = (
    ('db_used_bytes', 1 << 30),
    ('db_total_bytes', 1 << 40),
    ('slow_total_bytes', 1 << 42),
)
KV_STATS = (
    '{{".": "rocksdb.compact.write.bytes COUNT : {0}", ".": "rocksdb.stall.micros COUNT : {0}", '
    '".": "rocksdb.wal.file.sync.micros P50 : 1.0 COUNT : {0} SUM : {0}"}}'
)


class World(PlainWorld):
    """OSDs that also send the counters of detailed samples."""

    def __init__(self) -> None:
        #: Counters that do not change with the load.
        self.constant: dict[tuple[int, str], CounterPoint] = {}
        super().__init__()

    def report(self) -> None:
        super().report()
        for key, point in self.constant.items():
            self.cluster.counters[key] = point._replace(time_s=self.cluster.now_s)
        names, n = details_for('pacific'), self.progress
        for osd in self.cluster.osds.values():
            if not osd.up:
                continue
            for field, path in zip(names._fields, names):
                if path:
                    is_gauge = field.startswith('memory_')
                    value = 4 << 30 if is_gauge else n * 100_000
                    point = CounterPoint(self.cluster.now_s, value, None if is_gauge else n)
                    self.cluster.counters[osd.osd_id, path] = point


def judged(world: World, *, anonymous: bool = False) -> Snapshot:
    text = report(world.tuner.collection(), anonymous=anonymous)
    return judge(read_report(json.loads(text))).snapshot


def answers(snapshot: Snapshot) -> dict[str, Any]:
    """All commands that `offline` has."""
    found = {
        'osd': views.show('osd', worst_osds(snapshot)),
        'workload': views.show('workload', snapshot),
        'findings': views.show('findings', snapshot),
        'recommend': views.show('recommend', snapshot),
        'recommend-all': views.show('recommend-all', snapshot),
        'status': views.show('status', snapshot),
        'history': views.show('history', snapshot.history),
        'operation': views.show('operation', snapshot),
    }
    for facts in snapshot.osds:
        name = f'osd {facts.info.osd_id}'
        found[name] = views.show('osd-detail', detail_of(snapshot, facts.info.osd_id))
    return {name: json.loads(text) for name, text in found.items()}


def without_reports(world: World) -> None:
    world.tuner.tick()


def an_osd_down(world: World) -> None:
    world.run(60)
    world.cluster.stop_osd(1)
    world.run(30)


def a_stale_string(world: World) -> None:
    world.cluster.operator_sets('osd', ALTERNATE_2019)
    for osd_id in world.cluster.osds:
        world.cluster.restart_by_hand(osd_id)
    world.load_ops_per_s = 300
    world.run(200)


def a_restart_pending_for_days(world: World) -> None:
    world.run(60)
    world.cluster.operator_sets('osd', STALE)
    world.run(30)
    world.cluster.now_s += 3 * 86400
    world.run(30)


def osds_with_late_starts(world: World) -> None:
    for osd in world.cluster.osds.values():
        osd.host = 'node0'
    world.run(60)
    for osd_id, away_s in ((0, 30), (1, 250)):
        world.cluster.stop_osd(osd_id)
        world.run(away_s)
        world.cluster.start_osd(osd_id)
        world.run(60)


def string_that_prevents_starts(world: World) -> None:
    world.run(30)
    world.cluster.operator_sets('osd/class:ssd', 'foo=1')
    world.cluster.operator_sets('osd.2', 'compression=kZSTD')
    world.run(30)


def no_orchestrator_and_spillover(world: World) -> None:
    world.cluster.orchestrator_reason = 'none'
    world.cluster.health['BLUEFS_SPILLOVER'] = 'HEALTH_WARN'
    for osd in world.cluster.osds.values():
        osd.dedicated_db, osd.db_device_bytes = True, 1 << 30
    world.recommended_for_rbd()


def slow_operations(world: World) -> None:
    world.cluster.health['BLUESTORE_SLOW_OP_ALERT'] = 'HEALTH_WARN'
    world.cluster.alerting['BLUESTORE_SLOW_OP_ALERT'] = frozenset({0, 1})
    for count in range(1, 100):
        for osd_id in (0, 1):
            grown = CounterPoint(0.0, count if osd_id == 0 else 7, None)
            world.constant[osd_id, 'bluestore.slow_aio_wait_count'] = grown
        world.run(10)


def deep_statistics_and_details(world: World) -> None:
    world.load_ops_per_s = 800
    for step in range(1, 200):
        for osd_id in world.cluster.osds:
            world.cluster.tell_answers[osd_id, 'dump_objectstore_kv_stats'] = KV_STATS.format(
                step * 1_000_000
            )
            world.cluster.tell_answers[osd_id, 'bluefs files list'] = '[{"name": "db/CURRENT"}]'
            world.cluster.tell_answers[osd_id, 'perf dump'] = json.dumps(
                {'rocksdb': {'rocksdb_write_memtable_time': {'sum': step * 0.25, 'avgcount': step}}}
            )
        world.run(2)
    # Options queried after the last sample count at the next one.
    world.run(6)


def days_of_growth(world: World) -> None:
    for osd in world.cluster.osds.values():
        osd.dedicated_db, osd.db_device_bytes = True, 1 << 40
        for path, value in _DB_DEVICE:
            constant = CounterPoint(0.0, value, None)
            world.constant[osd.osd_id, f'bluefs.{path}'] = constant
    world.settings = Settings(sample_interval_s=900.0)
    world.load_ops_per_s = 20
    world.run(80 * 3600, step_s=300.0)


def mode_off(world: World) -> None:
    world.run(60)
    world.settings = Settings(mode=Mode.OFF)
    world.run(30)


def an_unknown_manager(world: World) -> None:
    world.manager_version = '22.0.0'
    world.takeover()
    world.load_ops_per_s = 800
    world.run(90)


def running_rollout(world: World) -> None:
    world.apply(world.recommended_for_rbd())
    world.run_until(Phase.CANARY)


SCENARIOS: list[Callable[[World], None]] = [
    without_reports,
    an_osd_down,
    a_stale_string,
    a_restart_pending_for_days,
    osds_with_late_starts,
    string_that_prevents_starts,
    no_orchestrator_and_spillover,
    slow_operations,
    deep_statistics_and_details,
    days_of_growth,
    mode_off,
    an_unknown_manager,
    running_rollout,
]


@pytest.mark.parametrize('scenario', SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_answers_equal_those_of_the_module(scenario: Callable[[World], None]) -> None:
    """Without names, too: only those differ."""
    world = World()
    scenario(world)
    shown = answers(world.tuner.snapshot)
    assert answers(judged(world)) == shown
    collection = world.tuner.collection()
    hidden = without_names(collection).cluster_map
    names = {old.host: new.host for old, new in zip(collection.cluster_map.osds, hidden.osds)}
    # An unknown option, and the manager.
    names |= {'foo': 'name1', '"x"': '"mgr-1"'}
    expected = json.dumps(without_free_text(shown))
    for old, new in names.items():
        expected = re.sub(rf'(?<!\w){re.escape(str(old))}(?!\w)', str(new), expected)
    found = answers(judged(world, anonymous=True))
    assert without_free_text(found) == json.loads(expected)
    assert not re.search(r'node[0-9]', json.dumps(found))
    assert 'host-1' in json.dumps(found) or not found['osd']


@pytest.mark.parametrize('output_format', views.FORMATS)
def test_candidates_equal_those_of_the_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output_format: str
) -> None:
    """`recommend --all` of a report is that of the module in every format, with bars of its own."""
    world = World()
    world.settings = Settings(sample_interval_s=5.0, limits={'min_gain': 0.3, 'max_loss': 0.01})
    world.load_ops_per_s = 800
    world.run(120)
    path = tmp_path / 'report.json'
    path.write_text(report(world.tuner.collection(), anonymous=False))
    assert main([str(path), 'recommend', '--all', '--format', output_format]) == 0
    shown = capsys.readouterr().out
    assert shown == views.show('recommend-all', world.tuner.snapshot, output_format) + '\n'
    if output_format == 'plain':
        assert 'save at least 30%' in ' '.join(shown.split())
        return
    (group,) = document = json.loads(shown)
    jsonschema.validate(document, json.loads((SCHEMAS / 'recommend-all.schema.json').read_text()))
    assert (group['min_gain'], group['max_loss']) == (0.3, 0.01)
    assert len(group['candidates']) > 5


def without_free_text(found: dict[str, Any]) -> dict[str, Any]:
    del found['status']['notices']
    for change in found['history']:
        del change['reason'], change['prediction'], change['measured']
    return found
