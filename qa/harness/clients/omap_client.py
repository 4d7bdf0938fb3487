"""librados clients that set keys and values of objects: heavy users of omap, without any data.

Order (first argument, JSON): workload, seconds, stuck_s, threads, objects, keys, key_space,
value_size_bytes, random_percent, rate_iops, requests.
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
from client_outcome import Client, phase, print_outcome

SAMPLE = 16


class OmapClient(Client):
    """One thread with its own objects, whose keys it sets repeatedly."""

    def __init__(self, order: dict[str, Any], rank: int) -> None:
        super().__init__()
        self._keys, self._key_space = order['keys'], order['key_space']
        self._random_bytes = order['value_size_bytes'] * order['random_percent'] // 100
        self._padding = bytes(order['value_size_bytes'] - self._random_bytes)
        #: Between the starts of two requests; 0: one follows the other.
        self._pace_s = order['threads'] / order['rate_iops'] if order['rate_iops'] else 0.0
        #: Of this thread; 0: as many as there is time for.
        self._requests: int = -(-order['requests'] // order['threads'])
        own = max(1, order['objects'] // order['threads'])
        self._names = [f'omap-{rank}-{number}' for number in range(own)]
        self._sampled = frozenset(self._names[:SAMPLE])
        #: The newest values of each sampled object: those of all may not fit into memory.
        self.expected: dict[str, dict[str, bytes]] = {}

    def run(self, ioctx: Any, deadline_s: float) -> None:
        numbers = random.Random(len(self._names))
        due_s = time.monotonic()
        while time.monotonic() < deadline_s and not self._is_done():
            name = numbers.choice(self._names)
            values = {
                f'key-{numbers.randrange(self._key_space):08d}': self._value()
                for _ in range(self._keys)
            }
            # A request that was late does not make the next ones come at once
            due_s = max(due_s + self._pace_s, time.monotonic() - self._pace_s)
            time.sleep(max(0.0, due_s - time.monotonic()))
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
            self.bytes += sum(map(len, values.values()))
            if name in self._sampled:
                self.expected.setdefault(name, {}).update(values)

    def _is_done(self) -> bool:
        return 0 < self._requests <= len(self.latencies_s)

    def _value(self) -> bytes:
        return os.urandom(self._random_bytes) + self._padding

    def read_back(self, ioctx: Any) -> None:
        """Read the keys of the sampled objects back."""
        for name, wanted in self.expected.items():
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
        client.read_back(ioctx)
    ioctx.close()
    cluster.shutdown()
    what = 'keys and values of a sample of objects'
    print_outcome(clients, what, seconds=end_s - begin_s, began_s=began_s)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except rados.Error as error:
        sys.exit(f'before or after the measured time: {type(error).__name__}: {error}')
