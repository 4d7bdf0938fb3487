#!/usr/bin/python3
"""A whole rollout on a real cluster under a steady client: is a slower canary rolled back?

All OSDs run an old default without its last option, and the change is what the module recommends
for it under the client's load. With --percent, each sync of the canary's disk takes so much longer
from the moment on at which it soaks: then anything but a rollback is wrong. Soaks are the module's
defaults unless configured: the canary is measured for ten minutes before it is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, HarnessError, Progress, osds  # noqa: E402 - after the path
from harness.client import wait_until  # noqa: E402
from harness.slow_sync import slow_down  # noqa: E402
from harness.verdict_run import set_module_options, steady_client  # noqa: E402
from rocksdb_tuner.operations.phases import FINAL_PHASES  # noqa: E402
from rocksdb_tuner.plan.records import OPTION  # noqa: E402

#: Of 16.2, the only release whose default is this with max_total_wal_size behind it.
RELEASE = 'pacific'
OVERRIDE = (
    'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
    'recycle_log_file_num=4,write_buffer_size=268435456,writable_file_max_buffer_size=0,'
    'compaction_readahead_size=2097152,max_background_compactions=2'
)
ADVICE_S = 300.0
APPLY_S = 120.0
SETTLE_S = 45.0
POLL_S = 3.0
FINAL = frozenset(phase.value for phase in FINAL_PHASES)


def override(cluster: Cluster) -> None:
    """Give all OSDs the option that the rollout changes, and let them run with it."""
    cluster.ceph('config', 'set', 'osd', OPTION, OVERRIDE)
    osds.restart(cluster, range(cluster.record.spec.osds))


def rollout(cluster: Cluster, percent: float, limit_s: float) -> dict[str, Any]:
    """How a rollout went, under a client that is there already."""
    began_s = time.monotonic()
    _apply(cluster, limit_s)
    seen: list[dict[str, Any]] = []
    slowed_s: Optional[float] = None
    while True:
        now_s = time.monotonic() - began_s
        state = cluster.ceph_json('rocksdb-tuner', 'operation', 'status')
        canary = state['osds'][0]['osd']
        if percent and slowed_s is None and state['phase'] == 'soaking':
            slow_down(cluster.dir, {canary: percent})
            slowed_s = now_s
        reported = {key: state[key] for key in ('phase', 'verdict', 'paused_reason', 'failure')}
        if not seen or any(seen[-1][key] != value for key, value in reported.items()):
            seen.append({'at_s': round(now_s), 'load': round(os.getloadavg()[0], 1), **reported})
            cluster.progress.say(f'{seen[-1]}')
        if state['phase'] in FINAL or now_s > limit_s:
            break
        time.sleep(POLL_S)
    return {
        'release': cluster.release.name,
        'date': time.strftime('%Y-%m-%d', time.gmtime()),
        'osds': cluster.record.spec.osds,
        'hosts': cluster.record.spec.crush_hosts,
        'canary': canary,
        'syncs_slower_percent': percent,
        'slowed_at_s': None if slowed_s is None else round(slowed_s),
        'seen': seen,
        'end': {key: state[key] for key in ('phase', 'outcome', 'failure', 'soak', 'judgement')},
        'told': cluster.ceph('rocksdb-tuner', 'operation', 'status').splitlines(),
        'options_at_the_end': [
            [entry['section'], entry['value']]
            for entry in cluster.ceph_json('config', 'dump')
            if entry['name'] == OPTION
        ],
    }


def _apply(cluster: Cluster, limit_s: float) -> None:
    """Begin the rollout as soon as there is advice and the manager takes it."""

    def advised() -> Any:
        advice = cluster.ceph_json('rocksdb-tuner', 'recommend')
        return next((one['id'] for one in advice if one['restart_required']), None)

    def applied() -> bool:
        try:
            cluster.progress.say(cluster.ceph('rocksdb-tuner', 'apply', advised() or ''))
        except HarnessError as error:
            # Advice that was just renewed, a gate that is closed for a moment
            cluster.progress.say(f'{error}')
            return False
        return True

    wait_until(lambda: advised() is not None, min(ADVICE_S, limit_s), 'advice', poll_s=POLL_S)
    wait_until(applied, min(APPLY_S, limit_s), 'the rollout begins', poll_s=POLL_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--dir', type=Path, required=True, help='folder of the cluster')
    parser.add_argument('--osds', type=int, default=9)
    parser.add_argument('--hosts', type=int, default=3)
    parser.add_argument('--rate-iops', type=int, default=300)
    parser.add_argument('--percent', type=float, default=0.0, help="longer: the canary's syncs")
    parser.add_argument(
        '--limit', type=float, default=3600.0, help='seconds, which the client runs'
    )
    parser.add_argument('--option', action='append', default=[], help='of the module, NAME=VALUE')
    parser.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    spec = ClusterSpec(
        release=RELEASE, osds=arguments.osds, crush_hosts=arguments.hosts, slow_sync=True
    )
    with Cluster.up(spec, arguments.dir, Progress()) as cluster:
        # The question is whether harm is detected, not whether the option brings anything.
        set_module_options(cluster, ('soak_no_benefit=promote', *arguments.option))
        override(cluster)
        with steady_client(cluster, arguments.rate_iops, SETTLE_S + arguments.limit):
            time.sleep(SETTLE_S)
            result = rollout(cluster, arguments.percent, arguments.limit)
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
