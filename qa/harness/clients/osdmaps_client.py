"""Which OSDs were down in each OSD map since an epoch.

Order (first argument, JSON): since (an epoch), stuck_s. The cluster is that of $CEPH_CONF. Prints
[[epoch, [OSDs that are down], [OSDs that there are]], ...] as JSON. Runs under Debian's Python with
python3-rados.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# A Debian package of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]
from client_outcome import phase


def _answer(cluster: Any, **command: Any) -> Any:
    code, text, complaint = cluster.mon_command(json.dumps({**command, 'format': 'json'}), b'')
    if code:
        sys.exit(f'{command}: {code} {complaint}')
    return json.loads(text)


def main() -> int:
    order = json.loads(sys.argv[1])
    phase('reading OSD maps', order['stuck_s'])
    cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
    cluster.connect()
    last = _answer(cluster, prefix='osd stat')['epoch']
    found = []
    for epoch in range(order['since'], last + 1):
        osds = _answer(cluster, prefix='osd dump', epoch=epoch)['osds']
        down = [osd['osd'] for osd in osds if not osd['up']]
        found.append((epoch, down, [osd['osd'] for osd in osds]))
    cluster.shutdown()
    print(json.dumps(found))
    return 0


if __name__ == '__main__':
    sys.exit(main())
