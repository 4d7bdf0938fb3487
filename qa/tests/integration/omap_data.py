"""Old data that compress well, as those of bucket indexes and directories do."""

from __future__ import annotations

import time

from module_client import ModuleClient

POOL = 'filled'
OBJECTS, KEYS, VALUE_BYTES = 300, 2400, 1000
#: The first argument is the number of keys per object.
FILL = f"""
import rados
import sys
KEYS = int(sys.argv[1])
cluster = rados.Rados(conffile='')
cluster.connect()
ioctx = cluster.open_ioctx({POOL!r})
for number in range({OBJECTS}):
    with rados.WriteOpCtx() as operation:
        keys = tuple(f'key-{{number:06d}}-{{i:06d}}' for i in range(KEYS))
        value = (f'owner=client.{{number}} etag=0123456789abcdef size=4096 ' * 40).encode()
        ioctx.set_omap(operation, keys, (value[:{VALUE_BYTES}],) * KEYS)
        ioctx.operate_write_op(operation, f'omap-{{number}}')
ioctx.close()
cluster.shutdown()
"""

#: Leaves a tombstone for each of their keys.
REMOVE = f"""
import rados
cluster = rados.Rados(conffile='')
cluster.connect()
ioctx = cluster.open_ioctx({POOL!r})
for number in range({OBJECTS}):
    ioctx.remove_object(f'omap-{{number}}')
ioctx.close()
cluster.shutdown()
"""


def fill(tuner: ModuleClient, keys: int) -> None:
    tuner.cluster.client.run('/usr/bin/python3', '-', str(keys), stdin=FILL, timeout_s=300)


def remove_objects(tuner: ModuleClient) -> None:
    tuner.cluster.client.run('/usr/bin/python3', '-', stdin=REMOVE, timeout_s=300)


def leave_old_data(tuner: ModuleClient, keys: int) -> None:
    """In files that are written with what OSDs run now, and that a later compaction rewrites."""
    fill(tuner, keys)
    for osd_id in tuner.nonces():
        # Into files: data only in the log would be rewritten at the next start.
        tuner.cluster.ceph('tell', f'osd.{osd_id}', 'compact', timeout_s=120)
    time.sleep(15)
    # Clients go on: files of the lowest level that no newer ones overlap are not rewritten.
    fill(tuner, 1)
