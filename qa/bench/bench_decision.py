#!/usr/bin/python3
"""Cost of a decision: CPU of choosing what OSDs should run, and of a tick that remembers it.

Decisions are remembered until something that they depend on moves. ``first`` is a decision of a
manager that has just started and knows only what it ships with, ``moved`` one after the data of the
OSDs grew, ``remembered`` the next sample of unchanged OSDs. All is CPU time of the
thread, and the cases take turns, so that what else runs on the machine hits them alike.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles'), str(BENCH)]

import bench_tick  # noqa: E402 - after the path to it

from rocksdb_tuner.advise.limit import with_limit  # noqa: E402
from rocksdb_tuner.advise.recommend import assess  # noqa: E402
from rocksdb_tuner.advise.records import GroupFacts, OsdFacts  # noqa: E402
from rocksdb_tuner.mgr.records import CounterPoint  # noqa: E402
from rocksdb_tuner.observe.details import Details  # noqa: E402
from rocksdb_tuner.observe.signals import Signals  # noqa: E402
from rocksdb_tuner.plan.commands import ShownSteps  # noqa: E402
from rocksdb_tuner.snapshot import Mode  # noqa: E402
from rocksdb_tuner.tests.advise.builders import entry, facts, osd_info, workload  # noqa: E402
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster  # noqa: E402
from rocksdb_tuner.tuner import Tuner  # noqa: E402
from rocksdb_tuner.workload.records import WorkloadClass  # noqa: E402

BAR_MS = 50.0
GIB = 1 << 30
OSDS = 20
#: More than a step of `usage.comparable`.
GROWN = 1.3
#: The share of kv_sync time, and bytes to WAL and SST files per write.
_BUSY, _WAL_BYTES, _SST_BYTES = 0.72, 6000, 9000
_MEMORY_TARGET = 'bluestore-pricache.target_bytes'


@dataclass(frozen=True)
class Case:
    name: str
    release: str
    workload: WorkloadClass
    #: In addition to the default of the release.
    more_options: str = ''
    #: DB devices of so many sizes are among the OSDs.
    kinds: int = 1


RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
CASES = (
    Case('pacific, RBD', 'pacific', RBD),
    Case('pacific, RBD, string of their own', 'pacific', RBD, ',max_background_jobs=6'),
    Case('pacific, RBD, DB devices of 5 sizes', 'pacific', RBD, kinds=5),
    Case('pacific, object gateway', 'pacific', RGW),
    Case('reef, RBD', 'reef', RBD),
    Case('reef, object gateway', 'reef', RGW),
)


def group(case: Case, data_bytes: int) -> tuple[GroupFacts, tuple[OsdFacts, ...]]:
    """OSDs with all measured that a choice goes by."""
    does = workload(case.workload)
    options = DEFAULTS[case.release] + case.more_options
    source, entries = ('mon', (entry('osd', options),)) if case.more_options else ('default', ())
    osds = []
    for osd_id in range(OSDS):
        device_bytes = (300 + 10 * (osd_id % case.kinds)) * GIB
        info = osd_info(osd_id, case.release, dedicated_db=True, db_device_bytes=device_bytes)
        signals = Signals(
            osd_id,
            window_s=30.0,
            write_iops=300.0,
            write_bytes_avg=4096.0,
            wal_bytes_per_s=2e6,
            db_used_bytes=data_bytes,
            db_total_bytes=device_bytes,
            db_write_amp=2.3,
            db_write_amp_window_s=86400.0,
        )
        details = Details(0.0, None, None, None, None, 4 * GIB)
        known = facts(info, options, source, entries)
        osds.append(known._replace(signals=signals, details=details, workload=does))
    return with_limit(GroupFacts('ssd', does, tuple(osds))), tuple(osds)


def decide_ms(case: Case, data_bytes: int) -> float:
    asked, osds = group(case, data_bytes)
    steps = ShownSteps()
    begin_s = time.thread_time()
    found = assess(asked, osds, shown_steps=steps)
    took_ms = (time.thread_time() - begin_s) * 1000
    assert found.weighing is not None, f'{case.name}: nothing was weighed'
    return took_ms


def forget() -> None:
    """All answers that are remembered; what holds one entry only is knowledge, read once."""
    for name, module in list(sys.modules.items()):
        if not name.startswith('rocksdb_tuner.'):
            continue
        for value in vars(module).values():
            if hasattr(value, 'cache_clear') and value.cache_info().maxsize not in {None, 1}:
                value.cache_clear()


def decisions(times: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by case and by what is remembered."""
    found: dict[str, dict[str, list[float]]] = {
        case.name: {'first': [], 'moved': [], 'remembered': []} for case in CASES
    }
    for _ in range(times):
        for case in CASES:
            costs = found[case.name]
            forget()
            costs['first'].append(decide_ms(case, 30 * GIB))
            costs['moved'].append(decide_ms(case, int(30 * GIB * GROWN)))
            costs['remembered'].append(decide_ms(case, int(30 * GIB * GROWN)))
    return found


def report(cluster: FakeCluster, step: int, interval_s: float) -> None:
    """As `bench_tick` does, with kv_sync threads that are busy enough to be a reason."""
    bench_tick.report(cluster, step)
    names, now_s = bench_tick.NAMES, cluster.now_s
    for osd_id in cluster.osds:
        writes = (step + 1) * 4000 + osd_id
        worked_ns = int((step + 1) * interval_s * _BUSY * 1e9)
        points = {
            names.kv_sync: CounterPoint(now_s, worked_ns, writes),
            names.bytes_written_wal: CounterPoint(now_s, writes * _WAL_BYTES, None),
            names.bytes_written_sst: CounterPoint(now_s, writes * _SST_BYTES, None),
            names.bytes_written_slow: CounterPoint(now_s, 0, None),
            names.db_used_bytes: CounterPoint(now_s, 30 * GIB + writes, None),
            _MEMORY_TARGET: CounterPoint(now_s, 4 * GIB, None),
        }
        for path, point in points.items():
            cluster.counters[osd_id, path] = point


def ticks(osds: int, times: int, interval_s: float = 60.0) -> Mapping[str, Sequence[float]]:
    """Milliseconds of ticks that only measure, and of those that advise too, in turn."""
    pairs = {mode: bench_tick.make(osds, mode) for mode in (Mode.OBSERVE, Mode.RECOMMEND)}
    costs_ms: dict[str, list[float]] = {mode.value: [] for mode in pairs}
    for step in range(2 * times):
        for mode, (cluster, tuner) in pairs.items():
            cluster.now_s += interval_s
            report(cluster, step, interval_s)
            # As in bench_tick: the cluster in memory does not belong to the mgr.
            gc.freeze()
            tuner.tick()
            gc.unfreeze()
            tick_ms = tuner.snapshot.sampling.tick_ms
            # In the first half workloads are believed, and the first decision is made.
            if tick_ms is not None and step >= times:
                costs_ms[mode.value].append(tick_ms)
    _require_decision(pairs[Mode.RECOMMEND][1])
    return costs_ms


def _require_decision(tuner: Tuner) -> None:
    (assessment,) = tuner.snapshot.assessments
    assert assessment.weighing is not None, assessment.conclusion


def summary(values_ms: Sequence[float]) -> dict[str, float]:
    return {
        'least': round(min(values_ms), 2),
        'median': round(statistics.median(values_ms), 2),
        'most': round(max(values_ms), 2),
    }


def _lines(document: Mapping[str, object]) -> Iterator[str]:
    for name, states in _mapping(document['decisions_ms']).items():
        for state, values in _mapping(states).items():
            yield _line(f'{name}: {state}', _mapping(values))
    for osds, modes in _mapping(document['ticks_ms']).items():
        for mode, values in _mapping(modes).items():
            yield _line(f'tick of {osds} OSDs, mode {mode}', _mapping(values))


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, dict)
    return value


def _line(what: str, values: Mapping[str, object]) -> str:
    return f'{what:<50} {values["least"]:>7} {values["median"]:>7} {values["most"]:>7} ms'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--times', type=int, default=20)
    parser.add_argument('--osds', type=int, nargs='+', default=[20, 100])
    parser.add_argument('--out', type=Path, help='append to this file what was measured')
    parser.add_argument('--what', default='', help='in words, for the file')
    arguments = parser.parse_args()
    # Reads the knowledge, once in the life of a manager.
    decisions(1)
    found = decisions(arguments.times)
    document = {
        'date': time.strftime('%Y-%m-%d'),
        'what': arguments.what,
        'times': arguments.times,
        'decisions_ms': {
            case: {state: summary(values) for state, values in states.items()}
            for case, states in found.items()
        },
        'ticks_ms': {
            str(osds): {
                mode: summary(values) for mode, values in ticks(osds, arguments.times).items()
            }
            for osds in arguments.osds
        },
    }
    print(f'{"least, median and most CPU time of the thread":>76}')
    for line in _lines(document):
        print(line)
    worst = max(
        statistics.median(states[state])
        for states in found.values()
        for state in ('first', 'moved')
    )
    print(f'the dearest decision: {worst:.1f} ms; bar: {BAR_MS:g} ms')
    if arguments.out:
        known = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
        arguments.out.write_text(json.dumps([*known, document], indent=1) + '\n')
    return 0 if worst < BAR_MS else 1


if __name__ == '__main__':
    sys.exit(main())
