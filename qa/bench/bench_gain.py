#!/usr/bin/python3
"""What the module's own decision gains where the kv_sync thread limits the clients.

One OSD under 4 KiB random writes, its kv_sync thread alone held to a share of a core by a cgroup
(cpu controller of version 1): so it limits while the cores do not, as published of fast hosts. The
module decides under that load. The OSD then runs its default and the decision in turn, A B A B,
restarted before each, and the same client writes to it.

    bench_gain.py --dir /tmp/gain          (root; some 15 minutes)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa')]

from harness import Cluster, ClusterSpec, run_workload  # noqa: E402 - after the path to it
from harness.admin_socket import ask, osd_socket  # noqa: E402
from harness.client import wait_until  # noqa: E402
from harness.layout import DEFAULT_MEMORY  # noqa: E402
from harness.thread_cpu import thread_cpu_s  # noqa: E402

RESULTS = CHECKOUT / 'qa/bench/results/gain.json'
OPTION = 'bluestore_rocksdb_options'
CGROUP = Path('/sys/fs/cgroup/cpu')
PERIOD_US = 10_000
THREAD = 'bstore_kv_sync'
CLIENT = {'block_size_bytes': 4096, 'read_percent': 1, 'size_bytes': 2 << 30, 'iodepth': 32}
#: Two-sided 95%, by degrees of freedom.
STUDENT_T = (math.inf, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365)
FIGURES = ('iops', 'p99_ms', 'kv_sync_us', 'osd_us')


def hold(process: Path, share: float) -> None:
    """The kv_sync thread of an OSD that has just started."""
    group = CGROUP / f'bench-gain-{os.getpid()}'
    group.mkdir(exist_ok=True)
    (group / 'cpu.cfs_period_us').write_text(str(PERIOD_US))
    (group / 'cpu.cfs_quota_us').write_text(str(int(PERIOD_US * share)))
    for task in (process / 'task').iterdir():
        if (task / 'comm').read_text().strip() == THREAD:
            (group / 'tasks').write_text(task.name)
            return
    raise SystemExit(f'{process} has no thread {THREAD}')


def restarted(cluster: Cluster, options: Optional[str], share: float) -> Path:
    """With these options, or with the default of the release."""
    # An entry that equals the default is what the module advises to remove
    if options is None:
        cluster.ceph('config', 'rm', 'osd', OPTION)
    else:
        cluster.ceph('config', 'set', 'osd', OPTION, options)
    cluster.restart_osd(0)
    wait_until(cluster.pgs_are_clean, 120, 'the placement groups are clean')
    process = Path(f'/proc/{cluster.status().pid("osd.0")}')
    hold(process, share)
    return process


def measured(cluster: Cluster, process: Path, seconds: float) -> dict[str, Any]:
    run_workload(cluster, 'rbd-randrw', 5, **CLIENT)
    before = thread_cpu_s(process)
    result = run_workload(cluster, 'rbd-randrw', seconds, **CLIENT)
    after = thread_cpu_s(process)
    spent = {name: 1e6 * (after[name] - before[name]) / result.ops for name in (THREAD, 'all')}
    return {
        'iops': result.ops_per_s,
        'p99_ms': result.latency_ms.p99,
        'kv_sync_us': round(spent[THREAD], 2),
        'osd_us': round(spent['all'], 2),
        'db_used_bytes': ask(osd_socket(cluster, 0), 'perf dump')['bluefs']['db_used_bytes'],
        'load': os.getloadavg()[0],
    }


def decided(cluster: Cluster, timeout_s: float) -> str:
    """What the module recommends under that load."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        run_workload(cluster, 'rbd-randrw', 40, **CLIENT)
        for advice in cluster.ceph_json('rocksdb-tuner', 'recommend'):
            if advice['kind'] == 'set-profile':
                return str(advice['options_to'])
    raise SystemExit(f'it decides: {cluster.ceph_json("rocksdb-tuner", "status")["decisions"]}')


def ratios(rounds: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Of each figure, the decision to the default: geometric mean with 95% of confidence."""
    found = {}
    for figure in FIGURES:
        logs = [math.log(after[figure] / before[figure]) for before, after in rounds]
        middle, half = statistics.mean(logs), 0.0
        if len(logs) > 1:
            half = STUDENT_T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
        ends = (middle - half, middle, middle + half)
        names = ('low', 'ratio', 'high')
        found[figure] = {name: round(math.exp(end), 3) for name, end in zip(names, ends)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--dir', type=Path, required=True, help='of the cluster')
    parser.add_argument('--out', type=Path, default=RESULTS)
    parser.add_argument('--seconds', type=float, default=40)
    parser.add_argument('--rounds', type=int, default=6, choices=range(1, len(STUDENT_T) + 1))
    parser.add_argument('--share', type=float, default=0.15, help='of a core, for kv_sync')
    parser.add_argument('--release', default='pacific', help='pacific, reef or tentacle')
    parser.add_argument('--before', help='option string, instead of the default')
    parser.add_argument('--after', help='option string, instead of what the module decides')
    arguments = parser.parse_args()
    spec = ClusterSpec(
        release=arguments.release, osds=1, osd_conf=DEFAULT_MEMORY, block_size_bytes=16 << 30
    )
    with Cluster.up(spec, arguments.dir) as cluster:
        release = cluster.ceph_json('version')['version'].split()[2]
        before = arguments.before
        restarted(cluster, before, arguments.share)
        after = arguments.after or decided(cluster, 300)
        rounds: list[list[dict[str, Any]]] = []
        for _ in range(arguments.rounds):
            pair = []
            for options in (before, after):
                process = restarted(cluster, options, arguments.share)
                pair.append(measured(cluster, process, arguments.seconds))
            rounds.append(pair)
            print(json.dumps(pair), flush=True)
            document = {
                'release': release, 'before': before or 'default', 'after': after,
                'decided': arguments.after is None, 'share': arguments.share,
                'rounds': rounds, 'ratios': ratios(rounds),
            }  # fmt: skip
            arguments.out.write_text(json.dumps(document, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
