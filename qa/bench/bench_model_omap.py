"""A client that writes omap as a bucket index does: each key twice, soon after one another.

Order (first argument, JSON): pool, objects, keys, seconds, depth. The cluster is that
of $CEPH_CONF. Prints {"ops": ..., "keys": ..., "seconds": ...}. Runs under Debian's Python with
python3-rados.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from typing import Any

# A Debian package of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]


def _keys(batch: int, count: int) -> tuple[str, ...]:
    """New keys in no order, of the length of an object's name."""
    return tuple(hashlib.sha1(f'{batch}.{i}'.encode()).hexdigest() for i in range(count))


#: The common part of entries of one bucket, in about the proportion of RGW's own.
_COMMON = (
    b'\x08\x03\x9d\x00\x00\x00'
    b'default-placement'
    + b'\x00' * 24
    + b'STANDARD'
    + b'\x00' * 8
    + b'application/octet-stream'
    + b'testid'
    + b'M. Tester'
    + b'\x01\x00\x00\x00' * 4
)


def _value(key: str) -> bytes:
    """The key once more, an ETag and a time, which differ, in what is the same of all entries."""
    etag = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest().encode()
    return key.encode() + _COMMON + etag + os.urandom(8)


def _run(ioctx: Any, order: dict[str, Any]) -> dict[str, float]:
    objects, count, depth = order['objects'], order['keys'], order['depth']
    pending: list[Any] = []
    last: dict[str, tuple[str, ...]] = {}
    begin_s = time.monotonic()
    seed, batch = time.time_ns(), 0
    while time.monotonic() - begin_s < order['seconds']:
        name = f'index.{batch % objects}'
        new = _keys(seed + batch, count)
        # As RGW prepares an entry and completes it with the next operation.
        keys = new + last.get(name, ())
        last[name] = new
        values = tuple(_value(key) for key in keys)
        with rados.WriteOpCtx() as operation:
            ioctx.set_omap(operation, keys, values)
            pending.append(ioctx.operate_aio_write_op(operation, name))
        if len(pending) >= depth:
            pending.pop(0).wait_for_complete()
        batch += 1
    for completion in pending:
        completion.wait_for_complete()
    seconds = time.monotonic() - begin_s
    return {'ops': batch, 'keys': 2 * batch * count, 'seconds': round(seconds, 2)}


def main() -> None:
    order = json.loads(sys.argv[1])
    cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
    cluster.connect()
    try:
        ioctx = cluster.open_ioctx(order['pool'])
        try:
            print(json.dumps(_run(ioctx, order)))
        finally:
            ioctx.close()
    finally:
        cluster.shutdown()


main()
