"""What the OSDs of the demo's cluster have counted, by their admin sockets and the scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from .admin_socket import ask, osd_socket
from .cluster import Cluster
from .demo_table import Counted, DbSpace
from .thread_cpu import thread_cpu_s

COMPACT_TIMEOUT_S = 300.0
_CREATED = '"event": "table_file_creation"'


def osd_ids(cluster: Cluster) -> range:
    return range(cluster.record.spec.osds)


def counted(cluster: Cluster) -> Counted:
    """Since the start of each OSD; of all OSDs together."""
    total = Counted()
    daemons = cluster.status()
    for number, socket in _sockets(cluster):
        bluefs = ask(socket, 'perf dump')['bluefs']
        cpu_s = thread_cpu_s(Path('/proc') / str(daemons.pid(f'osd.{number}')))
        total = total.plus(
            Counted(
                bluefs['bytes_written_wal'],
                bluefs['bytes_written_sst'],
                cpu_s['rocksdb:high'] + cpu_s['rocksdb:low'],
                cpu_s['bstore_kv_sync'],
            )
        )
    return total


def compacted_space(cluster: Cluster) -> DbSpace:
    """Of all OSDs together after a compaction, which also writes what memtables hold."""
    for number in osd_ids(cluster):
        cluster.ceph('tell', f'osd.{number}', 'compact', timeout_s=COMPACT_TIMEOUT_S)
    total = DbSpace(0, 0)
    for number, socket in _sockets(cluster):
        log = cluster.host.outside(cluster.layout.log(f'osd.{number}'))
        live = {
            int(Path(file['name']).stem)
            for file in ask(socket, 'bluefs files list')
            if file['name'].endswith('.sst')
        }
        total = total.plus(space_of(live, log.read_text('utf-8', 'replace')))
    return total


def space_of(live: AbstractSet[int], log: str) -> DbSpace:
    """Of the SST files with these numbers, by what RocksDB logged when it wrote them."""
    total = DbSpace(0, 0)
    for line in log.splitlines():
        if _CREATED not in line:
            continue
        event = json.loads(line[line.index('{') :])
        if event['file_number'] in live and 'table_properties' in event:
            raw = event['table_properties']
            total = total.plus(
                DbSpace(event['file_size'], raw['raw_key_size'] + raw['raw_value_size'])
            )
    return total


def _sockets(cluster: Cluster) -> Iterator[tuple[int, Path]]:
    for number in osd_ids(cluster):
        yield number, osd_socket(cluster, number)
