"""OSDs that restart together, leave a running cluster for good, or join it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from . import boot
from .client import wait_until
from .host import in_parallel

if TYPE_CHECKING:
    from .cluster import Cluster

RESTART_S = 180.0
CAPS = ('mon', 'allow profile osd', 'mgr', 'allow profile osd', 'osd', 'allow *')


def restart(cluster: Cluster, osds: Sequence[int]) -> None:
    """End these OSDs and start them, side by side; all are up and clean when this returns."""
    cluster.ceph('osd', 'set', 'noout')
    names = [f'osd.{osd}' for osd in osds]
    in_parallel(cluster.host, [partial(cluster.stop_daemon, name) for name in names])
    in_parallel(cluster.host, [partial(cluster.start_daemon, name) for name in names])

    def up() -> bool:
        return all(osd['up'] for osd in cluster.ceph_json('osd', 'dump')['osds'])

    wait_until(up, RESTART_S, 'all OSDs are up', poll_s=1.0)
    wait_until(cluster.pgs_are_clean, RESTART_S, 'all PGs are clean', poll_s=1.0)
    cluster.ceph('osd', 'unset', 'noout')


def purge(cluster: Cluster, osd: int) -> None:
    """End an OSD and remove it from all maps, as `ceph osd purge` does; its data go, too."""
    name = f'osd.{osd}'
    if cluster.status().pid(name) is not None:
        cluster.stop_daemon(name, kill=True)
    cluster.ceph('osd', 'down', str(osd))
    cluster.ceph('osd', 'purge', str(osd), '--yes-i-really-mean-it')
    shutil.rmtree(cluster.host.outside(cluster.layout.data(name)))
    cluster.forget_daemon(name)


def make(cluster: Cluster, osd: int, device_class: str | None = None) -> None:
    """Create and start an OSD on a new disk; it may not be up yet on return.

    ``device_class``: None: as in the cluster specification.
    """
    spec, layout, name = cluster.record.spec, cluster.layout, f'osd.{osd}'
    osd_uuid = boot.new_osd(cluster.client, osd)
    cluster.host.outside(layout.data(name)).mkdir(parents=True)
    cluster.ceph('auth', 'get-or-create', name, *CAPS, '-o', str(layout.data(name) / 'keyring'))
    boot.make_osd(
        cluster.hosts, layout, spec, osd, osd_uuid, device_class or spec.class_of_osd(osd)
    )
    cluster.register_daemon(name)
    cluster.start_daemon(name)
