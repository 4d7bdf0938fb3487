"""The harness on real clusters: what qa/cluster, qa/workload and the local orchestrator promise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Cluster
from harness.client import wait_until
from harness.client_procs import find_clients
from harness.layout import QA
from harness.ports import PortBlock
from harness.procs import DaemonProcess

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


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Path]:
    """A folder for the test's own cluster, which is down afterwards in any case."""
    directory = tmp_path / 'other'
    try:
        yield directory
    finally:
        qa('cluster', 'down', '--dir', str(directory))


def osd(cluster: Cluster, osd_id: int) -> dict[str, Any]:
    found: dict[str, Any] = next(
        entry for entry in cluster.ceph_json('osd', 'dump')['osds'] if entry['osd'] == osd_id
    )
    return found


def wait_for_clean(cluster: Cluster) -> None:
    def clean() -> bool:
        pgs = cluster.ceph_json('pg', 'stat')['pg_summary']
        states = {state['name']: state['num'] for state in pgs['num_pg_by_state']}
        return set(states) <= {'active+clean'}

    wait_until(clean, 120, 'all PGs active+clean')


def test_daemons_listen_on_loopback_only(cluster: Cluster) -> None:
    """Every port of the cluster's block is bound to 127.0.0.1."""
    found = listeners(cluster.ports.ports)
    assert len(found) > 10
    assert set(found.values()) == {'0100007F'}


def test_mgr_imports_without_writing_into_the_checkout() -> None:
    """Only a manager imports the orchestrator: no compiled files are left."""
    assert not (QA / 'local_orch' / '__pycache__').exists()


@pytest.mark.parametrize(
    ('name', 'more'),
    [
        ('rbd-randrw', ('--size', '64M', '--read-percent', '30')),
        ('s3-put', ()),
        ('cephfs-metadata', ()),
    ],
)
def test_workload_works_and_checks(cluster: Cluster, name: str, more: tuple[str, ...]) -> None:
    """A real client does its work without error and finds what it wrote; one JSON document."""
    wait_for_clean(cluster)
    done = qa('workload', name, '--seconds', '3', '--dir', str(cluster.dir), *more)
    result = json.loads(done.stdout)
    assert result['workload'] == name
    assert result['ops'] > 0
    assert result['ops_per_s'] == pytest.approx(result['ops'] / result['seconds'], rel=0.05)
    assert result['latency_ms']['mean'] > 0
    assert result['latency_ms']['p99'] >= result['latency_ms']['p50'] > 0
    assert result['errors'] == 0
    assert result['verified']['checked'] > 0
    assert result['verified']['failed'] == 0


def test_signal_during_up_leaves_nothing_behind(other: Path, cheap: tuple[str, ...]) -> None:
    """No process, no folder, no listener, after any number of signals."""
    step, number = 'make and start 1 OSDs ...', signal.SIGTERM
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
        wait_until(lambda: fio_of(cluster) is not None, 120, 'a client writes')
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
        assert shell.wait(10) == -signal.SIGKILL
        assert by_hand.wait(10) < 0
        assert writes.wait(10) != 0
    finally:
        for process in (writes, shell):
            process.kill()
            process.wait()


def fio_of(cluster: Cluster) -> DaemonProcess | None:
    """The client of a workload, once it is in the middle of its work."""
    found = find_clients(str(cluster.layout.conf), cluster.record.fsid)
    return next((client for client in found if client.name == 'fio'), None)
