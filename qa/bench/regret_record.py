#!/usr/bin/python3
"""Record what an OSD counts under real clients, for the transactions that `regret_replay.py` makes.

One OSD runs one client after the other: how many transactions there are for each operation, how
many bytes of each go to the WAL, how many keys are read for each, and passed by iterators.

    regret_record.py --dir DIR      (root; some seven minutes)
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa')]

from harness import Cluster, ClusterSpec, run_workload  # noqa: E402 - after the path to it
from harness.admin_socket import ask, osd_socket  # noqa: E402

RESULTS = CHECKOUT / 'qa/bench/results/regret-counters.json'
IMAGE_BYTES = 2 << 30
COUNTERS = (
    'rocksdb.get_latency',
    'rocksdb.submit_latency',
    'rocksdb.submit_sync_latency',
    'bluestore.bluestore_txc',
    'bluestore.bluestore_onodes',
    'bluestore.onode_misses',
    'bluestore.deferred_write_bytes',
    'bluestore.omap_get_values_lat',
    'bluestore.omap_next_lat',
    'bluestore.omap_upper_bound_lat',
    'bluefs.bytes_written_wal',
)
Client = tuple[str, dict[str, int]]


def _rbd(block_kib: int, read_percent: int) -> Client:
    return 'rbd-randrw', {
        'block_size_bytes': block_kib << 10,
        'read_percent': read_percent,
        'size_bytes': IMAGE_BYTES,
        'iodepth': 16,
    }


_LIST: Client = ('s3-list', {'objects': 1000})
_PUT: Client = ('s3-put', {})
#: By name: what runs at once, and whether it runs unrecorded first, so that PG logs are full and
#: images and buckets filled.
WORKLOADS: dict[str, tuple[bool, tuple[Client, ...]]] = {
    'rbd-4k': (True, (_rbd(4, 1),)),
    'rbd-70-30': (False, (_rbd(4, 70),)),
    'rbd-16k': (True, (_rbd(16, 1),)),
    'rbd-32k': (True, (_rbd(32, 1),)),
    's3-small-put': (True, (_PUT,)),
    's3-list': (True, (_LIST,)),
    's3-hybrid': (False, (_PUT, _LIST, ('s3-delete', {'objects': 800, 'threads': 2}))),
    's3-delete': (False, (('s3-delete', {'objects': 3000}),)),
    'cephfs-metadata': (True, (('cephfs-metadata', {}),)),
}


def record(cluster: Cluster, seconds: float, warm_s: float) -> Iterator[dict[str, Any]]:
    for name, (warm, clients) in WORKLOADS.items():
        if warm:
            _run(cluster, clients, warm_s)
        before = ask(osd_socket(cluster, 0), 'perf dump')
        done = _run(cluster, clients, seconds)
        after = ask(osd_socket(cluster, 0), 'perf dump')
        yield {'workload': name, 'clients': done, 'counters': _difference(before, after)}


def _run(cluster: Cluster, clients: tuple[Client, ...], seconds: float) -> list[dict[str, Any]]:
    done: list[dict[str, Any]] = []

    def one(name: str, parameters: dict[str, int]) -> None:
        result = run_workload(cluster, name, seconds, **parameters)
        done.append({'name': name, 'ops': result.ops, 'seconds': result.seconds})

    threads = [threading.Thread(target=one, args=client) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(done) < len(clients):
        raise SystemExit(f'a client failed: only {done}')
    return done


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """By "section.counter", of those of interest."""

    def count(dump: dict[str, Any], path: str) -> float:
        section, name = path.split('.')
        found = dump[section].get(name, 0)
        return float(found['avgcount'] if isinstance(found, dict) else found)

    found = {path: count(after, path) - count(before, path) for path in COUNTERS}
    return {path: value for path, value in found.items() if value}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--release', default='pacific')
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--warm', type=float, default=8, help='seconds unrecorded before')
    parser.add_argument('--dir', type=Path, required=True, help='of the cluster')
    parser.add_argument('--out', type=Path, default=RESULTS)
    arguments = parser.parse_args()
    conf = (
        # As flash: otherwise data of deferred writes are most of the WAL
        ('bluestore_debug_enforce_settings', 'ssd'),
        ('osd_memory_target', str(4 << 30)),
    )
    spec = ClusterSpec(
        release=arguments.release, osds=1, rgw=True, block_size_bytes=24 << 30, osd_conf=conf,
        module=None, few_mgr_modules=True,
    )  # fmt: skip
    with Cluster.up(spec, arguments.dir) as cluster:
        recorded = list(record(cluster, arguments.seconds, arguments.warm))
    arguments.out.write_text(json.dumps(recorded, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
