#!/usr/bin/python3
"""An experiment between published option sets on real OSDs, with memtables of real size.

Eight OSDs on four hosts run `RUNNING`, under a client that sets omap keys of a pool of RGW at a
steady rate, as bucket indexes do (root, an hour). As soon as the module has enough history, it is
asked for the plans of `QUESTIONS`, and the first possible experiment is run. Kept are its answers:
plans, or refusals with what an experiment would take; the result; and what was left. The module is
unchanged: a shorter minimum of a block and more frequent samples are options for any operator.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
]

from harness import osds  # noqa: E402 - after the path to it
from harness.cluster import Cluster  # noqa: E402
from harness.errors import CommandError  # noqa: E402
from harness.layout import ClusterSpec  # noqa: E402
from harness.progress import Progress  # noqa: E402
from harness.services import make_pools  # noqa: E402
from harness.verdict_run import set_module_options  # noqa: E402
from harness.workloads.catalogue import OMAP_POOL, WORKLOADS, complete  # noqa: E402
from harness.workloads.result import WorkloadResult  # noqa: E402
from rocksdb_tuner.advise.profiles import profile  # noqa: E402
from rocksdb_tuner.plan.records import OPTION  # noqa: E402

RESULTS = BENCH / 'results/experiment-real.json'
MACHINE = 'two virtual cores, other work at low priority; eight OSDs on sparse files, two replicas'
OSDS, HOSTS, PG_NUM = 8, 4, 256
#: What Reef ran before 18.2.4, and the same with LZ4, which Ceph's developers published in 2025.
RUNNING, ARMS = 'bluestore-default-reef-18.2.0', 'lz4-2025'
MODULE_OPTIONS = ('sample_interval=5', 'soak_min=60')
#: Signal, and the smallest effect that matters (percent). The first with a plan is run.
QUESTIONS = (('db_bytes_per_txn', 10), ('kv_sync_ms_per_txn', 20))
MAX_DURATION = '2h'
#: Keys of which a third of the value does not compress, more of them than memtables hold.
LOAD = {
    'threads': 4,
    'objects': 2048,
    'keys': 32,
    'key_space': 400,
    'value_size_bytes': 4096,
    'random_percent': 35,
    'rate_iops': 260,
}
#: One run of the client. Between two all OSDs pause for some seconds.
RUN_S = 600.0
LOOK_S = 15.0
#: Until the module has seen the load.
FIRST_S = 120.0
PLAN_WITHIN_S, END_WITHIN_S = 5400.0, 9000.0
Say = Callable[[str], None]


def spec() -> ClusterSpec:
    return ClusterSpec(
        release='reef',
        osds=OSDS,
        crush_hosts=HOSTS,
        pool_size=2,
        few_mgr_modules=True,
        # A sparse file grows to all of it: BlueStore writes to new places first.
        block_size_bytes=6 << 30,
        osd_conf=(
            # All that the machine has
            ('osd_memory_target', str(2 << 30)),
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
        ),
    )


@contextmanager
def client(cluster: Cluster, load: Mapping[str, int]) -> Iterator[list[WorkloadResult]]:
    """A client that starts again as often as it ends; its runs are complete at the end."""
    workload, parameters = WORKLOADS['rados-omap'], complete('rados-omap', RUN_S, dict(load))
    runs: list[WorkloadResult] = []
    over = threading.Event()

    def go() -> None:
        while not over.is_set():
            runs.append(workload.run(cluster, RUN_S, parameters))

    with ThreadPoolExecutor(max_workers=1) as beside:
        done = beside.submit(go)
        try:
            yield runs
        finally:
            over.set()
        done.result()


def prepared(cluster: Cluster) -> None:
    set_module_options(cluster, MODULE_OPTIONS)
    cluster.ceph('config', 'set', 'osd', OPTION, profile(RUNNING).options)
    cluster.install('rados-client')
    make_pools(cluster.client, cluster.record.spec, (OMAP_POOL,), 'rgw', pg_num=PG_NUM)
    osds.restart(cluster, range(OSDS))


def question(signal: str, min_effect_percent: int) -> tuple[str, ...]:
    return (
        '--arms', ARMS, '--signal', signal, '--min-effect', str(min_effect_percent),
        '--max-duration', MAX_DURATION,
    )  # fmt: skip


def plans(cluster: Cluster, say: Say) -> list[Any]:
    """The plan or refusal for each question, once the history of the OSDs is long enough."""
    deadline_s = time.monotonic() + PLAN_WITHIN_S
    while True:
        try:
            return [
                cluster.ceph_json('rocksdb-tuner', 'experiment', 'plan', *question(*asked))
                for asked in QUESTIONS
            ]
        except CommandError as error:
            if time.monotonic() > deadline_s:
                raise
            say(f'no plan yet: {str(error).strip().splitlines()[-1]}')
        time.sleep(60.0)


def ended(cluster: Cluster, say: Say) -> Any:
    """The experiment when it has ended, or as it is when there is no more time."""
    deadline_s, last = time.monotonic() + END_WITHIN_S, None
    while True:
        try:
            found = cluster.ceph_json('rocksdb-tuner', 'operation', 'status')
        except CommandError as error:
            say(f'no answer: {error}')
            found = None
        if found is not None:
            now = (found['phase'], found['paused_reason'])
            if now != last:
                say(f'{now[0]}{f": {now[1]}" if now[1] else ""}')
                last = now
            if found['outcome'] is not None or time.monotonic() > deadline_s:
                return found
        time.sleep(LOOK_S)


def answers(cluster: Cluster, say: Say) -> dict[str, Any]:
    """What the module said before, of and after the experiment."""
    time.sleep(FIRST_S)
    before = cluster.ceph_json('rocksdb-tuner', 'status')['groups']
    found = plans(cluster, say)
    asked = next((q for q, plan in zip(QUESTIONS, found) if plan['refusal'] is None), None)
    experiment = None
    if asked is not None:
        say(f'start with {asked[0]}, {asked[1]}%')
        cluster.ceph('rocksdb-tuner', 'experiment', 'start', *question(*asked))
        experiment = ended(cluster, say)
    return {
        'groups_before': before,
        'plans': found,
        'experiment': experiment,
        'groups_after': cluster.ceph_json('rocksdb-tuner', 'status')['groups'],
        'recommendations': cluster.ceph_json('rocksdb-tuner', 'recommend'),
    }


def left_over(cluster: Cluster) -> dict[str, Any]:
    """The entries of the option, and what OSDs run."""
    entries = [e for e in cluster.ceph_json('config', 'dump') if e['name'] == OPTION]
    told = cluster.ceph('tell', 'osd.*', 'config', 'get', OPTION, '--format', 'json').splitlines()
    running = (json.loads(line.partition(': ')[2]) for line in told if line.startswith('osd.'))
    return {
        'entries': [(e['section'], e['mask'], e['value']) for e in entries],
        'running': sorted({found[OPTION] for found in running}),
    }


def summary(runs: Sequence[WorkloadResult]) -> dict[str, Any]:
    verified = [run.verified for run in runs if run.verified is not None]
    return {
        'runs': len(runs),
        'ops': sum(run.ops for run in runs),
        'ops_per_s': [round(run.ops_per_s, 1) for run in runs],
        'p99_ms': [run.latency_ms.p99 for run in runs],
        'errors': sum(run.errors for run in runs),
        'checked': sum(found.checked for found in verified),
        'failed': sum(found.failed for found in verified),
    }


def measured(directory: Path, load: Mapping[str, int]) -> dict[str, Any]:
    progress, begin_s = Progress(), time.monotonic()

    def say(text: str) -> None:
        progress.say(f'{time.monotonic() - begin_s:6.0f} s: {text}')

    with Cluster.up(spec(), directory, progress) as cluster:
        prepared(cluster)
        with client(cluster, load) as runs:
            answered = answers(cluster, say)
            machine_load = os.getloadavg()[2]
        return {
            'version': cluster.ceph('version').split()[2],
            'date': dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
            'machine': MACHINE,
            'machine_load': round(machine_load, 1),
            'running': RUNNING,
            'load': dict(load),
            **answered,
            'client': summary(runs),
            'left': left_over(cluster),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--out', type=Path, default=RESULTS)
    parser.add_argument('--dir', type=Path, default=Path('/tmp/bench-experiment'))
    parser.add_argument('--rate', type=int, default=LOAD['rate_iops'], help='requests per second')
    arguments = parser.parse_args()
    found = measured(arguments.dir, {**LOAD, 'rate_iops': arguments.rate})
    arguments.out.write_text(json.dumps(found, indent=1) + '\n')
    print(json.dumps(found['experiment'] or found['plans'], indent=1))
    return 0


if __name__ == '__main__':
    sys.exit(main())
