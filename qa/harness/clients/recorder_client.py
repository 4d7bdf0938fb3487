"""Reads what OSDs count and how the cluster is, every few seconds, until a file appears.

Order (first argument, JSON): period_s, stop_file, run_dir, counters (paths as "osd.op_w").
The cluster is that of $CEPH_CONF. One process for all of it: a command line tool for each reading
would be a load of its own. Prints one JSON document per reading and line:

    {"time_s", "osds": {id: [up, in, nonce]},
     "counters": {id: [value or [sum in ns, count] or null]},
     "pools": {id: [name, applications, size]}, "cephfs_metadata": [pool ids],
     "pool_io": {id: [reads, read KiB, writes, written KiB]}, "pg_states": {state: PGs},
     "workload": [class, confidence] or null, "findings": [[id, severity]] or null}

What cannot be read at one time is absent then.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

# A Debian package of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]

QUERY_TIMEOUT_S = 10
#: The module's answers are read once per this many readings.
MODULE_EVERY = 2


def query_socket(path: str, prefix: str) -> Any:
    """The answer of a daemon's admin socket: its length, big-endian, then the document."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(QUERY_TIMEOUT_S)
        connection.connect(path)
        connection.sendall(json.dumps({'prefix': prefix, 'format': 'json'}).encode() + b'\0')
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    answer = b''.join(parts)
    (length,) = struct.unpack('>I', answer[:4])
    return json.loads(answer[4 : 4 + length])


def counter_value(dump: dict[str, Any], path: str) -> Any:
    section, _, name = path.partition('.')
    value = dump.get(section, {}).get(name)
    if isinstance(value, dict):
        return [round(value['sum'] * 1e9), value['avgcount']]
    return value


class Reader:
    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
        self._cluster.connect()

    def _ask(self, send: Callable[..., Any], **command: Any) -> Any:
        code, out, message = send(
            json.dumps({**command, 'format': 'json'}), b'', timeout=QUERY_TIMEOUT_S
        )
        if code != 0:
            raise OSError(abs(code), message)
        return json.loads(out)

    def _mon(self, prefix: str) -> Any:
        return self._ask(self._cluster.mon_command, prefix=prefix)

    def _mgr(self, prefix: str, **arguments: Any) -> Any:
        return self._ask(self._cluster.mgr_command, prefix=prefix, **arguments)

    def maps(self) -> dict[str, Any]:
        dump = self._mon('osd dump')
        filesystems = self._mon('fs ls')
        return {
            'osds': {
                osd['osd']: [
                    bool(osd['up']), bool(osd['in']), osd['public_addrs']['addrvec'][0]['nonce'],
                ]
                for osd in dump['osds']
            },
            'pools': {
                pool['pool']: [
                    pool['pool_name'], sorted(pool['application_metadata']), pool['size'],
                ]
                for pool in dump['pools']
            },
            'cephfs_metadata': [fs['metadata_pool_id'] for fs in filesystems],
        }  # fmt: skip

    def counters(self, osds: dict[int, list[Any]]) -> dict[str, Any]:
        found = {}
        for osd_id in osds:
            try:
                dump = query_socket(f'{self._order["run_dir"]}/osd.{osd_id}.asok', 'perf dump')
            except (OSError, ValueError, struct.error):
                continue  # it is down, or just starts
            found[osd_id] = [counter_value(dump, path) for path in self._order['counters']]
        return {'counters': found}

    def pool_io(self) -> dict[str, Any]:
        stats = self._mgr('pg dump', dumpcontents=['pools'])['pool_stats']
        names = ('num_read', 'num_read_kb', 'num_write', 'num_write_kb')
        return {'pool_io': {p['poolid']: [p['stat_sum'][n] for n in names] for p in stats}}

    def pg_states(self) -> dict[str, Any]:
        states = self._mon('status')['pgmap']['pgs_by_state']
        return {'pg_states': {entry['state_name']: entry['count'] for entry in states}}

    def module(self) -> dict[str, Any]:
        groups = self._mgr('rocksdb-tuner status')['groups']
        found = self._mgr('rocksdb-tuner findings')
        seen = groups[0]['workload'] if groups else None
        return {
            'workload': [seen['class'], seen['confidence']] if seen else None,
            'findings': [[finding['id'], finding['severity']] for finding in found],
        }


def attempt(read: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    try:
        return read(*arguments)
    except (OSError, ValueError, KeyError, IndexError, TypeError, rados.Error) as error:
        print(f'{read.__name__}: {type(error).__name__}: {error}', file=sys.stderr, flush=True)
        return {}


def main() -> None:
    order = json.loads(sys.argv[1])
    reader = Reader(order)
    number, due_s = 0, time.time()
    while not os.path.exists(order['stop_file']):  # noqa: PTH110 - a client program has no imports of the harness
        reading: dict[str, Any] = {'time_s': round(time.time(), 2)}
        reading |= attempt(reader.maps)
        reading |= attempt(reader.counters, reading.get('osds', {}))
        reading |= attempt(reader.pool_io)
        reading |= attempt(reader.pg_states)
        if number % MODULE_EVERY == 0:
            reading |= attempt(reader.module)
        print(json.dumps(reading, separators=(',', ':')), flush=True)
        number += 1
        due_s += order['period_s']
        time.sleep(max(0.0, due_s - time.time()))


if __name__ == '__main__':
    main()
    sys.stdout.flush()
    # Not sys.exit: librados may wait for a cluster that has gone
    os._exit(0)
