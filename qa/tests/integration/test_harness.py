"""The harness on real clusters: what qa/cluster, qa/workload and the local orchestrator promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Cluster
from harness.layout import QA
from harness.ports import PortBlock
from harness.procs import DaemonProcess, find_clients
from harness.workloads.overwriter import Overwriter

pytestmark = pytest.mark.integration


def qa(
    program: str, *arguments: str, check: bool = True, timeout_s: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run qa/cluster or qa/workload as a user does."""
    argv = [str(QA / program), *arguments]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # Not SIGKILL: it ends what it has started
            process.terminate()
            _, stderr = process.communicate(timeout=60)
            pytest.fail(f'{" ".join(argv)}: still running after {timeout_s:g} s, output:\n{stderr}')
        except BaseException:
            process.terminate()
            raise
    print(stderr)  # pytest shows it when the test fails
    assert 'Traceback' not in stderr
    if check:
        assert process.returncode == 0, stderr
    return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)


def wait_for(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f'{what}: not after {timeout_s} s'
        time.sleep(0.3)


def processes_of(directory: Path) -> list[str]:
    """Command lines of living processes that name a folder. Init may be slow to reap dead ones."""
    found = []
    for process in Path('/proc').iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                argv = (process / 'cmdline').read_bytes().decode(errors='replace')
            except OSError:
                continue
            if f'{directory}/' in argv:
                found.append(f'{process.name}: {argv}')
    return found


def assert_no_leftovers(directory: Path) -> None:
    assert processes_of(directory) == []
    assert str(directory) not in Path('/proc/mounts').read_text()
    assert not directory.exists()


def listeners(ports: range) -> dict[int, str]:
    """Port and local address (as the kernel writes it) of every listener on some ports."""
    found = {}
    for table in ('tcp', 'tcp6'):
        for line in Path(f'/proc/net/{table}').read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].rpartition(':')
            if fields[3] == '0A' and int(port, 16) in ports:
                found[int(port, 16)] = address
    return found


@pytest.fixture
def cheap(release: str) -> tuple[str, ...]:
    """Options of a cluster that is up in seconds."""
    options = ('--osds', '1', '--no-module', '--no-orchestrator', '--few-mgr-modules')
    return ('--release', release, *options)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory, release: str) -> Iterator[Path]:
    """A running cluster of three OSDs and two managers with this checkout's module."""
    directory = tmp_path_factory.mktemp('harness') / 'cluster'
    try:
        options = ('--release', release, '--mgrs', '2', '--dashboard')
        done = qa('cluster', 'up', *options, '--dir', str(directory), timeout_s=900)
        assert done.stdout == ''
        yield directory
    finally:
        qa('cluster', 'down', '--dir', str(directory))
    assert_no_leftovers(directory)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Path]:
    """A folder for the test's own cluster, which is down afterwards in any case."""
    directory = tmp_path / 'other'
    try:
        yield directory
    finally:
        qa('cluster', 'down', '--dir', str(directory))


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    return Cluster.open(folder)


def osd(cluster: Cluster, osd_id: int) -> dict[str, Any]:
    found: dict[str, Any] = next(
        entry for entry in cluster.ceph_json('osd', 'dump')['osds'] if entry['osd'] == osd_id
    )
    return found


def nonce(cluster: Cluster, osd_id: int) -> int:
    return int(osd(cluster, osd_id)['public_addrs']['addrvec'][0]['nonce'])


def wait_for_clean(cluster: Cluster) -> None:
    def clean() -> bool:
        pgs = cluster.ceph_json('pg', 'stat')['pg_summary']
        states = {state['name']: state['num'] for state in pgs['num_pg_by_state']}
        return set(states) <= {'active+clean'}

    wait_for(clean, 120, 'all PGs active+clean')


def test_module_answers_when_up_returns(folder: Path) -> None:
    """`up` enables rocksdb_tuner of this checkout, and its first command works at once."""
    command = ('ceph', 'rocksdb-tuner', 'status', '--format', 'json')
    done = qa('cluster', 'exec', '--dir', str(folder), '--', *command)
    assert 'mode' in json.loads(done.stdout)


def test_cluster_is_healthy_and_as_specified(cluster: Cluster) -> None:
    """HEALTH_OK (no alert of the test setup), OSDs of class ssd, one standby manager."""
    wait_for(lambda: cluster.ceph('health').startswith('HEALTH_OK'), 60, 'HEALTH_OK')
    nodes = cluster.ceph_json('osd', 'tree')['nodes']
    assert [n['device_class'] for n in nodes if n['type'] == 'osd'] == ['ssd'] * 3
    assert len(cluster.ceph_json('mgr', 'dump')['standbys']) == 1
    assert cluster.ceph_json('config', 'dump') != []
    options = {entry['name'] for entry in cluster.ceph_json('config', 'dump')}
    assert all(name.startswith('mgr/') for name in options), 'the config store is left to tests'


def test_status_lists_every_daemon_with_its_process(folder: Path, release: str) -> None:
    """Names as Ceph's, and each pid is a process of that program."""
    status = json.loads(qa('cluster', 'status', '--dir', str(folder)).stdout)
    assert status['release'] == release
    assert status['dir'] == str(folder)
    names = ['mon.a', 'mgr.x', 'mgr.y', 'osd.0', 'osd.1', 'osd.2']
    assert [daemon['name'] for daemon in status['daemons']] == names
    for daemon in status['daemons']:
        assert daemon['up'] is True
        argv = Path(f'/proc/{daemon["pid"]}/cmdline').read_bytes().split(b'\0')
        assert argv[0].decode().endswith(f'ceph-{daemon["name"].split(".")[0]}')


def test_daemons_listen_on_loopback_only(cluster: Cluster) -> None:
    """Every port of the cluster's block is bound to 127.0.0.1."""
    found = listeners(cluster.ports.ports)
    assert len(found) > 10
    assert set(found.values()) == {'0100007F'}


def test_exec_replaces_itself_with_the_command(folder: Path) -> None:
    """Output, input, exit status and signals are the command's own."""
    base = [str(QA / 'cluster'), 'exec', '--dir', str(folder), '--']
    done = subprocess.run(
        [*base, 'sh', '-c', 'cat; exit 7'], input='in', capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (7, 'in')
    sleeping = subprocess.Popen([*base, 'sleep', '60'])
    # Until then the signal would meet the harness on its way to the command.
    command_line = Path(f'/proc/{sleeping.pid}/cmdline')
    deadline_s = time.monotonic() + 30
    while not command_line.read_bytes().startswith(b'sleep\0'):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    sleeping.terminate()
    assert sleeping.wait(10) == -signal.SIGTERM
    missing = qa('cluster', 'exec', '--dir', str(folder), '--', 'no-such-program', check=False)
    assert missing.returncode == 2
    assert 'no-such-program: no such program' in missing.stderr


def test_env_selects_the_cluster(cluster: Cluster, folder: Path) -> None:
    """A shell that evaluates `env` talks to this cluster, by clients of its release."""
    # This machine's clients may be too old for the keys of a cluster in a chroot.
    fsid = 'sed -n "s/^fsid = //p" "$CEPH_CONF"' if cluster.release.in_chroot else 'ceph fsid'
    script = f'eval "$({QA}/cluster env --dir {folder})" && {fsid}'
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == cluster.record.fsid


def test_dashboard_accepts_its_user(cluster: Cluster) -> None:
    """URL, user and password of `env` give a session on the dashboard's API."""
    env = cluster.env()
    login = {'username': env['DASHBOARD_USER'], 'password': env['DASHBOARD_PASSWORD']}
    request = urllib.request.Request(
        f'{env["DASHBOARD_URL"]}/api/auth',
        data=json.dumps(login).encode(),
        headers={
            'Accept': 'application/vnd.ceph.api.v1.0+json',
            'Content-Type': 'application/json',
        },
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        assert answer.status == 201
        assert json.load(answer)['token']


def test_orchestrator_lists_the_osds(cluster: Cluster) -> None:
    """`orch ps`, `orch ls`, `orch host ls` answer with what runs."""
    assert cluster.ceph_json('orch', 'status')['available'] is True
    daemons = {d['daemon_id']: d for d in cluster.ceph_json('orch', 'ps')}
    assert set(daemons) == {'0', '1', '2'}
    assert {d['status_desc'] for d in daemons.values()} == {'running'}
    assert all(d['version'].startswith(cluster.release.version_prefix) for d in daemons.values())
    (service,) = cluster.ceph_json('orch', 'ls')
    assert service['service_name'] == 'osd.local'
    assert (service['status']['size'], service['status']['running']) == (3, 3)
    assert len(cluster.ceph_json('orch', 'host', 'ls')) == 1


def test_orchestrator_restart_replaces_the_process(cluster: Cluster) -> None:
    """After `orch daemon restart` another process serves the OSD, and its class is the same."""
    before_pid, before_nonce = cluster.status().pid('osd.0'), nonce(cluster, 0)
    answer = cluster.ceph('orch', 'daemon', 'restart', 'osd.0')
    assert answer.startswith('Scheduled to restart osd.0')
    wait_for(
        lambda: bool(osd(cluster, 0)['up']) and nonce(cluster, 0) != before_nonce,
        60,
        'osd.0 up with a new nonce',
    )
    after_pid = cluster.status().pid('osd.0')
    assert after_pid not in (None, before_pid)
    nodes = {n['id']: n for n in cluster.ceph_json('osd', 'tree')['nodes']}
    assert nodes[0]['device_class'] == 'ssd'


def test_orchestrator_stops_and_starts(cluster: Cluster) -> None:
    """`stop` leaves the OSD down until `start`, and `orch ps` shows it."""
    cluster.ceph('orch', 'daemon', 'stop', 'osd.1')
    wait_for(lambda: cluster.status().pid('osd.1') is None, 60, 'osd.1 ended')
    stopped = [d['daemon_id'] for d in cluster.ceph_json('orch', 'ps') if d['status'] == 0]
    assert stopped == ['1']
    cluster.ceph('orch', 'daemon', 'start', 'osd.1')
    wait_for(lambda: bool(osd(cluster, 1)['up']), 60, 'osd.1 up')


def test_orchestrator_refuses_unknown_daemons(cluster: Cluster) -> None:
    """A missing OSD or action is an error that names the existing ones."""
    for words in (('restart', 'osd.9'), ('restart', 'mon.a'), ('reconfig', 'osd.0')):
        done = cluster.client.run('ceph', 'orch', 'daemon', *words, check=False)
        assert done.returncode == 22
        assert 'osd.0' in done.stderr or 'restart' in done.stderr
        assert 'Traceback' not in done.stderr


def test_orchestrator_faults(cluster: Cluster) -> None:
    """`refuse` makes an action fail; `nostart` leaves an OSD down; without them all is well."""
    option = 'mgr/test_orchestrator/'

    def apply(name: str, value: bool) -> None:
        cluster.ceph('config', 'set', 'mgr', f'{option}{name}', str(value).lower())

    def refused(action: str) -> bool:
        done = cluster.client.run('ceph', 'orch', 'daemon', action, 'osd.2', check=False)
        assert (done.returncode, 'refused' in done.stderr) in ((0, False), (22, True))
        return done.returncode != 0

    # The monitors push a setting to the manager some time after they took it, each after those
    # before it. An OSD that runs is not started again.
    apply('refuse', True)
    wait_for(lambda: refused('start'), 60, 'an action refused')
    apply('nostart', True)
    apply('refuse', False)
    wait_for(lambda: not refused('restart'), 60, 'an action taken again')
    try:
        # An OSD notifies the monitors before it ends
        wait_for(lambda: cluster.status().pid('osd.2') is None, 60, 'osd.2 ended')
        wait_for(lambda: not osd(cluster, 2)['up'], 60, 'osd.2 down')
    finally:
        apply('nostart', False)

    def up_after_start() -> bool:
        refused('start')
        return bool(osd(cluster, 2)['up'])

    wait_for(up_after_start, 60, 'osd.2 up')


def test_mgr_imports_without_writing_into_the_checkout() -> None:
    """Only a manager imports the orchestrator: no compiled files are left."""
    assert not (QA / 'local_orch' / '__pycache__').exists()


def test_second_up_in_the_same_folder_is_refused(cluster: Cluster, folder: Path) -> None:
    """The running cluster is not touched."""
    before = cluster.status()
    done = qa('cluster', 'up', '--dir', str(folder), check=False)
    assert done.returncode == 1
    assert f'a cluster is running in {folder}' in done.stderr
    assert cluster.status() == before


def test_two_clusters_at_once(cluster: Cluster, other: Path, cheap: tuple[str, ...]) -> None:
    """Another cluster has other ports and another fsid; `down` of it leaves the first alone.

    It has a DB device per OSD, by --db-size, and after `down` nothing of it is left.
    """
    qa('cluster', 'up', *cheap, '--db-size', '128M', '--device-class', 'nvme', '--dir', str(other))
    second = Cluster.open(other)
    assert second.ports != cluster.ports
    assert second.ceph('fsid').strip() == second.record.fsid != cluster.ceph('fsid').strip()
    metadata = second.ceph_json('osd', 'metadata', '0')
    assert metadata['bluefs_dedicated_db'] == '1'
    assert metadata['bluefs_db_size'] == str(128 << 20)
    assert second.ceph_json('osd', 'crush', 'class', 'ls') == ['nvme']
    before = cluster.status()
    qa('cluster', 'down', '--dir', str(other))
    assert_no_leftovers(other)
    assert listeners(second.ports.ports) == {}
    assert cluster.status() == before
    assert cluster.ceph_json('osd', 'stat')['num_up_osds'] == 3
    assert qa('cluster', 'down', '--dir', str(other)).returncode == 0


def test_racks_classes_and_an_erasure_coded_pool(other: Path, release: str) -> None:
    """OSDs are placed as specified, and a client overwrites and reads an EC pool."""
    options = ('--osds', '6', '--hosts', '6', '--racks', '3', '--device-class', 'ssd,ssd,ssd,hdd')
    more = ('--erasure-code', '2+1', '--no-module', '--no-orchestrator', '--few-mgr-modules')
    qa('cluster', 'up', '--release', release, *options, *more, '--dir', str(other), timeout_s=900)
    cluster = Cluster.open(other)
    nodes = {n['id']: n for n in cluster.ceph_json('osd', 'tree')['nodes']}
    racks = {n['name']: n['children'] for n in nodes.values() if n['type'] == 'rack'}
    hosts = {rack: sorted(nodes[n]['name'] for n in racks[rack]) for rack in racks}
    assert hosts == {
        'rack0': ['host0', 'host3'], 'rack1': ['host1', 'host4'], 'rack2': ['host2', 'host5'],
    }  # fmt: skip
    assert [nodes[n]['device_class'] for n in range(6)] == [
        'ssd',
        'ssd',
        'ssd',
        'hdd',
        'ssd',
        'ssd',
    ]
    writer = Overwriter(cluster, 100, 20)
    writer.start()
    try:
        time.sleep(3)
        written = writer.stop()
    finally:
        writer.kill()
    assert (written.errors, written.verified.failed) == (0, 0), written.messages
    assert written.verified.checked > 50
    # Overwrites: the second pass writes the same blocks
    done = qa(
        'workload', 'rbd-seqwrite', '--seconds', '8', '--size', '16M', '--block-size', '64K',
        '--dir', str(other),
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert (result['errors'], result['verified']['failed']) == (0, 0)
    assert result['bytes'] > 32 << 20
    usage = {pool['name']: pool['stats'] for pool in cluster.ceph_json('df')['pools']}
    assert usage['ec']['objects'] > 0
    rules = {rule['rule_name'] for rule in cluster.ceph_json('osd', 'crush', 'rule', 'dump')}
    assert {'replicated_ssd', 'replicated_hdd'} <= rules
    # An OSD that starts again stays where it is
    cluster.restart_osd(4)
    wait_for(lambda: bool(osd(cluster, 4)['up']), 60, 'osd.4 up')
    found = cluster.ceph_json('osd', 'find', '4')['crush_location']
    assert found == {'root': 'default', 'rack': 'rack1', 'host': 'host4'}


def test_standby_takes_over(cluster: Cluster) -> None:
    """When the active manager dies the standby's module answers; the dead one can come back."""
    active = cluster.ceph_json('mgr', 'stat')['active_name']
    cluster.stop_daemon(f'mgr.{active}', kill=True)
    wait_for(
        lambda: (
            cluster.ceph_json('mgr', 'stat')['active_name'] not in ('', active)
            and bool(cluster.ceph_json('mgr', 'stat')['available'])
        ),
        60,
        'the standby is active',
    )
    cluster.ceph('rocksdb-tuner', 'status')
    cluster.start_daemon(f'mgr.{active}')
    wait_for(lambda: len(cluster.ceph_json('mgr', 'dump')['standbys']) == 1, 60, 'a standby again')


def test_workloads_share_a_gateway_that_is_started_on_demand(folder: Path) -> None:
    """Two workloads at once on a cluster without a gateway: one starts it, the other waits.

    A second run of the same workload is refused meanwhile.
    """
    assert Cluster.open(folder).record.rgw is None
    wait_for_clean(Cluster.open(folder))
    # Long enough for a slow machine to start the second one meanwhile
    options = ('--seconds', '6', '--dir', str(folder))
    clients = [
        subprocess.Popen(
            [str(QA / 'workload'), *words, *options], stdout=subprocess.PIPE, text=True
        )
        for words in (('s3-put',), ('s3-list', '--objects', '50'))
    ]
    try:
        wait_for(lambda: Cluster.open(folder).record.rgw is not None, 300, 'a gateway')
        second = qa('workload', 's3-put', *options, check=False)
        assert second.returncode == 1
        assert 'another s3-put is running' in second.stderr
        answers = [json.loads(client.communicate(timeout=120)[0]) for client in clients]
    finally:
        for client in clients:
            client.kill()
            client.wait()
    assert [client.returncode for client in clients] == [0, 0]
    assert all(answer['ops'] > 0 for answer in answers)
    names = [daemon.name for daemon in Cluster.open(folder).status().daemons]
    assert names.count('client.rgw.a') == 1


@pytest.mark.parametrize(
    ('name', 'more'),
    [
        ('rbd-randwrite', ()),
        ('rbd-seqwrite', ('--size', '256M')),
        ('rbd-randread', ('--size', '64M')),
        ('rbd-randrw', ('--size', '64M', '--read-percent', '30')),
        ('rados-omap', ('--objects', '8', '--keys', '20')),
        ('rados-omap', ('--key-space', '80', '--random-percent', '40', '--rate-iops', '50')),
        ('s3-put', ()),
        ('s3-get', ('--objects', '100')),
        ('s3-list', ('--objects', '400')),
        ('s3-delete', ('--objects', '600')),
        ('s3-large-put', ('--object-size', '6M', '--objects', '4')),
        ('cephfs-metadata', ()),
    ],
)
def test_workload_works_and_checks(folder: Path, name: str, more: tuple[str, ...]) -> None:
    """A real client does its work without error and finds what it wrote; one JSON document."""
    wait_for_clean(Cluster.open(folder))
    done = qa('workload', name, '--seconds', '3', '--dir', str(folder), *more)
    result = json.loads(done.stdout)
    assert result['workload'] == name
    assert result['ops'] > 0
    assert result['ops_per_s'] == pytest.approx(result['ops'] / result['seconds'], rel=0.05)
    assert result['latency_ms']['mean'] > 0
    assert result['latency_ms']['p99'] >= result['latency_ms']['p50'] > 0
    assert result['errors'] == 0
    assert result['verified']['checked'] > 0
    assert result['verified']['failed'] == 0


def test_gateways_are_daemons_of_the_cluster(cluster: Cluster) -> None:
    """Services started by workloads are in `status`, and `env` has their addresses."""
    status = cluster.status()
    assert status.pid('client.rgw.a') is not None
    assert status.pid('mds.a') is not None
    env = cluster.env()
    assert env['RGW_URL'].startswith('http://127.0.0.1:')
    assert env['AWS_ACCESS_KEY_ID']
    assert env['AWS_SECRET_ACCESS_KEY']
    pools = {p['pool_name']: p for p in cluster.ceph_json('osd', 'pool', 'ls', 'detail')}
    rules = {
        r['rule_name']: r['rule_id'] for r in cluster.ceph_json('osd', 'crush', 'rule', 'dump')
    }
    applications = {
        'rbd': 'rbd', 'default.rgw.buckets.index': 'rgw', 'cephfs_meta': 'cephfs',
    }  # fmt: skip
    for pool, application in applications.items():
        assert application in pools[pool]['application_metadata']
        assert pools[pool]['crush_rule'] == rules['replicated_ssd']
    assert set(listeners(cluster.ports.ports).values()) == {'0100007F'}


def test_writes_survive_an_osd_restart(cluster: Cluster, folder: Path) -> None:
    """A client that writes while an OSD restarts has no error, and every write is there."""
    wait_for_clean(cluster)
    before = nonce(cluster, 0)
    options = ('--seconds', '12', '--rate-iops', '200', '--dir', str(folder))
    client = subprocess.Popen(
        [str(QA / 'workload'), 'rbd-randwrite', *options], stdout=subprocess.PIPE, text=True
    )
    try:
        time.sleep(3)
        cluster.ceph('orch', 'daemon', 'restart', 'osd.0')
        output, _ = client.communicate(timeout=120)
    finally:
        client.kill()
        client.wait()
    result = json.loads(output)
    assert client.returncode == 0
    assert (result['errors'], result['verified']['failed']) == (0, 0)
    assert result['verified']['checked'] == result['ops'] > 0
    wait_for(lambda: nonce(cluster, 0) != before, 60, 'osd.0 restarted')


@pytest.mark.parametrize(
    ('step', 'number'),
    [
        ('start 1 mon ...', signal.SIGHUP),
        ('make and start 1 OSDs ...', signal.SIGTERM),
        ('wait for the mgr modules to answer ...', signal.SIGINT),
    ],
)
def test_signal_during_up_leaves_nothing_behind(
    other: Path, cheap: tuple[str, ...], step: str, number: signal.Signals
) -> None:
    """No process, no folder, no listener, at any stage and after any number of signals."""
    # The tests themselves may run in the background of a shell, where SIGINT is ignored
    heeding = ('env', '--default-signal=INT,TERM,HUP')
    argv = [*heeding, str(QA / 'cluster'), 'up', *cheap, '--dir', str(other)]
    up = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    try:
        assert up.stderr is not None
        assert any(step in line for line in up.stderr)
        # The last step may take no longer than that
        time.sleep(0.1)
        ports = PortBlock(Cluster.open(other).record.port_base).ports
        up.send_signal(number)
        time.sleep(0.3)
        up.terminate()
        _, errors = up.communicate(timeout=60)
    finally:
        up.kill()
        up.wait()
    assert up.returncode == 128 + number
    assert 'Traceback' not in errors
    assert f'ended by {number.name}' in errors
    assert_no_leftovers(other)
    assert listeners(ports) == {}


def test_hanging_clients_end_with_their_cluster_though_down_is_interrupted(
    other: Path, cheap: tuple[str, ...]
) -> None:
    """Of `qa/workload`, of `exec`, and started manually: SIGTERM does not end a client with a stuck
    request.

    `down` gets a signal while it waits for an unresponsive OSD: it hurries.
    """
    qa('cluster', 'up', *cheap, '--dir', str(other))
    cluster = Cluster.open(other)
    writes = subprocess.Popen(
        [str(QA / 'workload'), 'rbd-randwrite', '--seconds', '300', '--dir', str(other)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    base = [str(QA / 'cluster'), 'exec', '--dir', str(other), '--']
    shell = subprocess.Popen([*base, 'sh', '-c', 'trap "" TERM; sleep 999; :'])
    try:
        wait_for(lambda: fio_of(cluster) is not None, 120, 'a client writes')
        pid = cluster.status().pid('osd.0')
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        rados = ('rados', '-c', str(cluster.layout.conf), '-p', 'rbd', 'bench', '900', 'write')
        by_hand = subprocess.Popen(
            cluster.host.command(rados), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(3)
        assert {p.poll() for p in (writes, shell, by_hand)} == {None}
        fio = fio_of(cluster)
        assert fio is not None
        down = subprocess.Popen([str(QA / 'cluster'), 'down', '--dir', str(other)])
        time.sleep(1)
        down.terminate()
        assert down.wait(60) == 128 + signal.SIGTERM
        assert_no_leftovers(other)
        assert not Path(f'/proc/{fio.pid}').exists()
        # Their parent is this test: they are dead, but not reaped yet
        assert shell.wait(1) == -signal.SIGKILL
        assert by_hand.wait(1) < 0
        assert writes.wait(1) != 0
    finally:
        for process in (writes, shell):
            process.kill()
            process.wait()


def fio_of(cluster: Cluster) -> DaemonProcess | None:
    """The client of a workload, once it is in the middle of its work."""
    found = find_clients(str(cluster.layout.conf), cluster.record.fsid)
    return next((client for client in found if client.name == 'fio'), None)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 GiB."""
    image, folder = tmp_path / 'image', tmp_path / 'mount'
    folder.mkdir()
    with image.open('wb') as file:
        file.truncate(6 << 30)
    subprocess.run(['mkfs.ext4', '-q', '-m', '0', str(image)], check=True)
    subprocess.run(['mount', '-o', 'loop', str(image), str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(['umount', str(folder)], check=True)
        image.unlink()


def test_full_disk_is_reported_and_ends_a_workload_in_time(
    small_disk: Path, cheap: tuple[str, ...]
) -> None:
    """The client ends with a clear error instead of hanging, and no OSD has died."""
    folder, ballast = small_disk / 'cluster', small_disk / 'ballast'

    def fill(leave_bytes: int) -> None:
        size = shutil.disk_usage(small_disk).free - leave_bytes
        subprocess.run(['fallocate', '-l', str(size), str(ballast)], check=True)

    try:
        fill(1536 << 20)
        refused = qa('cluster', 'up', *cheap, '--dir', str(folder), check=False)
        assert refused.returncode == 1
        assert re.search(r'1 OSDs needs 1\.8 GiB .* has 1\.[45] GiB', refused.stderr)
        assert not folder.exists()
        ballast.unlink()
        qa('cluster', 'up', *cheap, '--dir', str(folder))
        fill(1200 << 20)
        began_s = time.monotonic()
        options = ('--seconds', '240', '--size', '4G', '--dir', str(folder))
        ended = qa('workload', 'rbd-seqwrite', *options, check=False)
        assert ended.returncode == 1
        assert 'the disk is nearly full' in ended.stderr
        assert time.monotonic() - began_s < 180
        cluster = Cluster.open(folder)
        assert all(daemon.up for daemon in cluster.status().daemons)
        again = qa('workload', 'rbd-randwrite', '--seconds', '1', '--dir', str(folder), check=False)
        assert (again.returncode, 'nearly full' in again.stderr) == (1, True)
        # With space again it works on
        ballast.unlink()
        qa('workload', 'rbd-randwrite', '--seconds', '1', '--dir', str(folder))
    finally:
        qa('cluster', 'down', '--dir', str(folder))
    assert_no_leftovers(folder)


def test_failed_up_reports_where_and_why(other: Path, cheap: tuple[str, ...]) -> None:
    """An OSD that cannot be made: its name and the end of its log, status 1, nothing runs.

    Then the same folder can be used again, `down --keep` keeps its data and `up` respects that.
    """
    wrong = ('--osd-conf', 'bluestore_rocksdb_options=no_such_option=1')
    done = qa('cluster', 'up', *cheap, *wrong, '--dir', str(other), check=False)
    assert done.returncode == 1
    assert 'osd.0 could not be made' in done.stderr
    # In RocksDB's words, which are not the same in all releases
    assert re.search(r'option:? .*no_such_option', done.stderr)
    assert processes_of(other) == []
    qa('cluster', 'up', *cheap, '--dir', str(other))
    port_base = Cluster.open(other).record.port_base
    qa('cluster', 'down', '--keep', '--dir', str(other))
    assert processes_of(other) == []
    assert listeners(PortBlock(port_base).ports) == {}
    assert (other / 'osd/0/block').exists()
    refused = qa('cluster', 'up', *cheap, '--dir', str(other), check=False)
    assert refused.returncode == 1
    assert 'kept data' in refused.stderr
    qa('cluster', 'down', '--dir', str(other))
    assert_no_leftovers(other)
