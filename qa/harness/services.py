"""Gateways that a cluster has from the start or gets when a workload needs one."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from . import conf
from .boot import DaemonError, crush_rule, start_daemon
from .client import CephClient, wait_until
from .errors import CommandError, HarnessError
from .host import in_parallel
from .hosts import Hosts
from .layout import ClusterSpec, Dashboard, Layout, Rgw
from .ports import PortBlock

READY_TIMEOUT_S = 120.0
PG_NUM = 8
RGW_POOLS = (
    '.rgw.root',
    'default.rgw.log',
    'default.rgw.control',
    'default.rgw.meta',
    'default.rgw.buckets.index',
    'default.rgw.buckets.data',
    'default.rgw.buckets.non-ec',
)
FILE_SYSTEM = 'cephfs'
RGW_ID = 'rgw.a'
MDS_ID = 'a'


def make_pools(
    client: CephClient,
    spec: ClusterSpec,
    pools: Sequence[str],
    application: str,
    *,
    pg_num: int = PG_NUM,
) -> None:
    """Replicated pools on the OSDs' device class. Those that are there stay as they are.

    Side by side: the monitors take about a second for each change, or for many at once.
    """
    existing = client.ceph_json('osd', 'pool', 'ls')
    missing = [pool for pool in pools if pool not in existing]
    count, rule = str(pg_num), crush_rule(spec)
    reserved = client.release.reserved_pool_flags
    create = ('osd', 'pool', 'create')
    in_parallel(
        client.host,
        [
            partial(
                client.ceph, *create, pool, count, count, 'replicated', rule,
                *(reserved if pool.startswith('.') else ()),
            )
            for pool in missing
        ],
    )  # fmt: skip
    enable = ('osd', 'pool', 'application', 'enable')
    in_parallel(client.host, [partial(client.ceph, *enable, p, application) for p in missing])


def _make_keyring(client: CephClient, layout: Layout, name: str, *caps: str) -> None:
    client.host.outside(layout.data(name)).mkdir(parents=True, exist_ok=True)
    keyring = layout.data(name) / 'keyring'
    client.ceph('auth', 'get-or-create', name, *caps, '-o', str(keyring))


def start_rgw(
    client: CephClient, layout: Layout, spec: ClusterSpec, ports: PortBlock, hosts: Hosts
) -> Rgw:
    """Start an object gateway with an S3 user; it answers when this returns."""
    name, port = f'client.{RGW_ID}', ports.rgw(0)
    make_pools(client, spec, RGW_POOLS, 'rgw')
    _make_keyring(client, layout, name, 'mon', 'allow rw', 'osd', 'allow rwx', 'mgr', 'allow rw')
    file = client.host.outside(layout.conf)
    section = conf.render({name: conf.rgw_section(layout, name, port)})
    if f'[{name}]' not in file.read_text():
        file.write_text(f'{file.read_text()}\n{section}')
    start_daemon(hosts, layout, name)
    url = f'http://127.0.0.1:{port}'
    try:
        wait_until(lambda: _answers(url), READY_TIMEOUT_S, f'the gateway answers at {url}')
        access_key, secret_key = _make_s3_user(client)
    except HarnessError as error:
        raise DaemonError(name, str(error)) from error
    return Rgw(RGW_ID, url, access_key, secret_key)


def _make_s3_user(client: CephClient) -> tuple[str, str]:
    user = ('--uid', 'workload', '--display-name', 'workload')
    try:
        text = client.run('radosgw-admin', 'user', 'create', *user, '--max-buckets', '0').stdout
    except CommandError as error:
        if 'exist' not in error.stderr:
            raise
        text = client.run('radosgw-admin', 'user', 'info', *user[:2]).stdout
    key = json.loads(text[text.index('{') :])['keys'][0]
    return key['access_key'], key['secret_key']


def _answers(url: str) -> bool:
    # Not through a proxy that the environment names
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as answer:
            return bool(answer.status < 500)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def start_mds(client: CephClient, layout: Layout, spec: ClusterSpec, hosts: Hosts) -> str:
    """Start an MDS with a file system; it is active when this returns. Returns its id."""
    name = f'mds.{MDS_ID}'
    meta, data = f'{FILE_SYSTEM}_meta', f'{FILE_SYSTEM}_data'
    make_pools(client, spec, (meta, data), 'cephfs')
    if not client.ceph_json('fs', 'ls'):
        client.ceph('fs', 'new', FILE_SYSTEM, meta, data)
    _make_keyring(
        client, layout, name,
        'mon', 'profile mds', 'osd', 'allow rwx', 'mds', 'allow *', 'mgr', 'profile mds',
    )  # fmt: skip
    start_daemon(hosts, layout, name)

    def active() -> bool:
        filesystems = client.ceph_json('mds', 'stat')['fsmap']['filesystems']
        return any(
            info['state'] == 'up:active'
            for fs in filesystems
            for info in fs['mdsmap']['info'].values()
        )

    try:
        wait_until(active, READY_TIMEOUT_S, f'{name} is active')
    except HarnessError as error:
        raise DaemonError(name, str(error)) from error
    return MDS_ID


def set_up_dashboard(
    client: CephClient, layout: Layout, spec: ClusterSpec, ports: PortBlock
) -> Dashboard:
    """An administrator of the dashboard; it answers on the active manager when this returns."""
    user, password = 'admin', secrets.token_urlsafe(12)
    urls = {
        mgr_id: f'http://127.0.0.1:{ports.dashboard(rank)}'
        for rank, mgr_id in enumerate(spec.mgr_ids)
    }
    file: Path = client.host.outside(layout.dir / 'dashboard-password')
    file.write_text(password)
    try:
        wait_until(
            lambda: any(map(_answers, urls.values())), READY_TIMEOUT_S, 'the dashboard answers'
        )
        client.ceph('dashboard', 'ac-user-create', user, '-i', str(file), 'administrator')
    except HarnessError as error:
        raise DaemonError(f'mgr.{spec.mgr_ids[0]}', str(error)) from error
    finally:
        file.unlink()
    return Dashboard(user, password, urls)
