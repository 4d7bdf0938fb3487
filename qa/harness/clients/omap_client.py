"""librados clients that set keys and values of objects: heavy users of omap, without any data.

Order (first argument, JSON): workload, seconds, stuck_s, threads, objects, keys, value_size_bytes.
The cluster is that of $CEPH_CONF, the pool that of $OMAP_POOL. Prints the result as JSON. Runs
under Debian's Python with python3-rados.

The program always ends: a phase that takes stuck_s longer than it should ends the program, with
the stacks of all threads on stderr.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# A Debian package of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]
from client_outcome import Client, phase, print_outcome_of

SAMPLE = 16


class OmapClient(Client):
    """One thread with its own objects, whose keys it sets repeatedly."""

    def __init__(self, order: dict[str, Any], rank: int) -> None:
        super().__init__()
        self._keys, self._value_bytes = order['keys'], order['value_size_bytes']
        own = max(1, order['objects'] // order['threads'])
        self._names = [f'omap-{rank}-{number}' for number in range(own)]
        #: The newest values of each object.
        self.expected: dict[str, dict[str, bytes]] = {}

    def run(self, ioctx: Any, deadline_s: float) -> None:
        numbers = random.Random(len(self._names))
        while time.monotonic() < deadline_s:
            name = numbers.choice(self._names)
            values = {
                f'key-{numbers.randrange(100 * self._keys):08d}': os.urandom(self._value_bytes)
                for _ in range(self._keys)
            }
            begin_s = time.monotonic()
            try:
                with rados.WriteOpCtx() as operation:
                    ioctx.set_omap(operation, tuple(values), tuple(values.values()))
                    ioctx.operate_write_op(operation, name)
            except rados.Error as error:
                self.errors.append(f'{type(error).__name__}: {error}')
                time.sleep(0.1)
                continue
            self.latencies_s.append(time.monotonic() - begin_s)
            self.expected.setdefault(name, {}).update(values)

    def check(self, ioctx: Any) -> None:
        """Read the keys of some objects back."""
        for name in sorted(self.expected)[:SAMPLE]:
            wanted = self.expected[name]
            with rados.ReadOpCtx() as operation:
                found, _ = ioctx.get_omap_vals_by_keys(operation, tuple(wanted))
                ioctx.operate_read_op(operation, name)
                values = dict(found)
            self.checked += len(wanted)
            self.failed += sum(values.get(key) != value for key, value in wanted.items())


def main() -> int:
    order = json.loads(sys.argv[1])
    seconds, stuck_s = order['seconds'], order['stuck_s']
    clients = [OmapClient(order, rank) for rank in range(order['threads'])]
    phase('connecting', stuck_s)
    cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
    cluster.connect()
    ioctx = cluster.open_ioctx(os.environ['OMAP_POOL'])
    phase(f'working for {seconds:g} s', seconds + stuck_s)
    begin_s, began_s = time.monotonic(), time.time()
    with ThreadPoolExecutor(len(clients)) as pool:
        for future in [pool.submit(client.run, ioctx, begin_s + seconds) for client in clients]:
            future.result()
    end_s = time.monotonic()
    phase('checking', stuck_s)
    for client in clients:
        client.check(ioctx)
    ioctx.close()
    cluster.shutdown()
    print_outcome_of(
        clients,
        'keys and values of a sample of objects',
        seconds=end_s - begin_s,
        began_s=began_s,
        operation_bytes=order['keys'] * order['value_size_bytes'],
    )
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except rados.Error as error:
        sys.exit(f'before or after the measured time: {type(error).__name__}: {error}')
