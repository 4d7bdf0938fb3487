"""Checks that all data of a cluster is intact: OSD maps, deep scrubs, and fsck.

Clients only verify what they read. These checks verify that replicas agree and that the store of
each OSD is consistent.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .cluster import Cluster
from .errors import HarnessError
from .workloads.limits import STUCK_S
from .workloads.python_client import PYTHON, text_of

SCRUB_TIMEOUT_S = 600.0
FSCK_TIMEOUT_S = 300.0
#: Wait before a store with an error is checked again.
AGAIN_S = 10.0
#: Requested scrubs that were dropped are requested again.
RETRY_S = 60.0
#: As many scrubs at once as each OSD allows, ignoring the load, and one started at every tick, of
#: which two of three are skipped by default: there is no other work.
_IMMEDIATE_SCRUB = {
    'osd_max_scrubs': '8',
    'osd_scrub_load_threshold': '1000',
    'osd_scrub_sleep': '0',
    'osd_scrub_backoff_ratio': '0',
}


@dataclass(frozen=True)
class DeepScrub:
    """The result of deep scrubs of all placement groups."""

    placement_groups: int
    #: Error messages of the scrub.
    inconsistent: tuple[str, ...]


@dataclass(frozen=True)
class Fsck:
    """The output of `ceph-bluestore-tool fsck --deep` of each OSD; '' without errors."""

    complaints: Mapping[int, str]


def osd_maps(cluster: Cluster, since_epoch: int) -> list[tuple[int, list[int], list[int]]]:
    """(epoch, OSDs that are down, OSDs that there are) of each OSD map since this one."""
    cluster.install('rados-client')
    done = cluster.client.run(
        PYTHON,
        '-B',
        '-',
        json.dumps({'since': since_epoch, 'stuck_s': STUCK_S}),
        stdin=text_of('osdmaps_client.py'),
        timeout_s=2 * STUCK_S,
    )
    return [(epoch, down, osds) for epoch, down, osds in json.loads(done.stdout)]


def deep_scrub(cluster: Cluster) -> DeepScrub:
    """Scrub all placement groups in depth; HarnessError where that does not end."""
    for name, value in _IMMEDIATE_SCRUB.items():
        cluster.ceph('config', 'set', 'osd', name, value)
    try:
        before = _stamps(cluster)
        deadline_s = time.monotonic() + SCRUB_TIMEOUT_S
        asked_s = -RETRY_S
        while True:
            now = _stamps(cluster)
            left = [pg for pg in before if now.get(pg) == before[pg]]
            if not left:
                break
            if time.monotonic() > deadline_s:
                raise HarnessError(f'not scrubbed in {SCRUB_TIMEOUT_S:g} s: {left}')
            if time.monotonic() - asked_s >= RETRY_S:
                asked_s = time.monotonic()
                _ask(cluster, left)
            time.sleep(1.0)
    finally:
        for name in _IMMEDIATE_SCRUB:
            cluster.ceph('config', 'rm', 'osd', name)
    return DeepScrub(len(before), tuple(_inconsistent(cluster)))


def _ask(cluster: Cluster, placement_groups: list[str]) -> None:
    """Only these: "osd deep-scrub all" would first repeat the completed ones."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pg: cluster.ceph('pg', 'deep-scrub', pg), placement_groups))


def _stats(cluster: Cluster) -> Any:
    found = cluster.ceph_json('pg', 'dump', 'pgs')
    return found['pg_stats'] if isinstance(found, dict) else found


def _stamps(cluster: Cluster) -> dict[str, str]:
    return {pg['pgid']: pg['last_deep_scrub_stamp'] for pg in _stats(cluster)}


def _inconsistent(cluster: Cluster) -> list[str]:
    found = [
        f'{pg["pgid"]} {pg["state"]}, {errors} scrub errors'
        for pg in _stats(cluster)
        if (errors := pg['stat_sum']['num_scrub_errors']) or 'inconsistent' in pg['state']
    ]
    checks = cluster.ceph_json('health')['checks']
    return found + [code for code in ('PG_DAMAGED', 'OSD_SCRUB_ERRORS') if code in checks]


def fsck(cluster: Cluster) -> Fsck:
    """Stop all OSDs and check the store of each; they stay down."""
    running = {daemon.name for daemon in cluster.status().daemons if daemon.up}
    osds = [int(name[4:]) for name in cluster.record.daemons if name.startswith('osd.')]
    with ThreadPoolExecutor(max(1, len(osds))) as pool:
        list(pool.map(cluster.stop_daemon, [f'osd.{n}' for n in osds if f'osd.{n}' in running]))
    # One after the other: each reads all that its OSD has
    return Fsck({n: _lasting_complaint(cluster, n) for n in osds})


def _lasting_complaint(cluster: Cluster, osd: int) -> str:
    """What is wrong with a store is so again: nothing repairs it. A tool that failed may not be."""
    first = _complaint(cluster, osd)
    if not first:
        return ''
    time.sleep(AGAIN_S)
    again = _complaint(cluster, osd)
    sys.stderr.write(f'fsck of osd.{osd}: {first}\nonce more: {again or "nothing"}\n')
    return again


def _complaint(cluster: Cluster, osd: int) -> str:
    tool = ('ceph-bluestore-tool', 'fsck', '--deep', '1', '--path')
    done = cluster.client.run(
        *tool, str(cluster.layout.data(f'osd.{osd}')), timeout_s=FSCK_TIMEOUT_S, check=False
    )
    message = f'{done.stdout}\n{done.stderr}'.strip()
    fine = done.returncode == 0 and 'fsck success' in message
    return '' if fine else f'status {done.returncode}: {message[-1000:]}'
