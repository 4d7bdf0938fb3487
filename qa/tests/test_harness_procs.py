"""To which cluster a process belongs, and how it is stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import client_procs
from harness.client_procs import MARK, find_clients, stop_clients
from harness.layout import QA
from harness.procs import find_daemons, inspect, stop

# Python takes the text after -c as its program, so this process looks like `ceph-osd -i 0` with a
# configuration file of that name, and each text makes a cluster of its own
SLEEPS = 'print("ready", flush=True); import time; time.sleep(120) # {}'
STUBBORN = (
    'import signal; signal.signal(15, signal.SIG_IGN); '
    'print("ready", flush=True); import time; time.sleep(120) # {}'
)


@contextmanager
def daemon(conf: str, osd: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    argv = ['ceph-osd', '-c', conf, '-i', str(osd)]
    process = subprocess.Popen(argv, executable=sys.executable, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b'ready\n'
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def conf(tmp_path: object) -> str:
    return SLEEPS.format(tmp_path)


def test_finds_only_daemons_of_this_cluster(conf: str) -> None:
    """With two daemons of the same name, the one with the other configuration is not ours."""
    with daemon(conf) as ours, daemon(conf + ' another') as theirs:
        assert [(d.name, d.pid) for d in find_daemons(conf)] == [('osd.0', ours.pid)]
        assert inspect(theirs.pid, conf) is None


@pytest.mark.integration
@pytest.mark.parametrize(('shared', 'ours'), [(True, True), (False, False)])
def test_same_path_of_another_file_is_another_cluster(
    tmp_path: Path, shared: bool, ours: bool
) -> None:
    """A daemon in a chroot that shares the cluster's folder is the cluster's, else it is not."""
    folder, others = tmp_path / 'c', tmp_path / 'others'
    for directory in (folder, others):
        directory.mkdir()
        (directory / 'ceph.conf').write_text('[global]\n')
    conf = str(folder / 'ceph.conf')
    bind = f'mount --bind {folder if shared else others} {folder}'
    # Python takes `-c conf` for a program, fails on it and, with -i, waits for more
    script = f'{bind}; exec -a ceph-osd {sys.executable} -i -c {shlex.quote(conf)} -i 0'
    process = subprocess.Popen(
        ['unshare', '--mount', '--propagation', 'private', 'bash', '-c', script],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline_s = time.monotonic() + 10
        while Path(f'/proc/{process.pid}/cmdline').read_bytes()[:8] != b'ceph-osd':
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        assert (inspect(process.pid, conf) is not None) is ours
    finally:
        process.kill()
        process.wait()


def test_stop_kills_what_ignores_sigterm(tmp_path: object) -> None:
    """A daemon that does not end by itself is killed."""
    conf = STUBBORN.format(tmp_path)
    with daemon(conf) as process:
        assert stop(find_daemons(conf), conf, term_timeout_s=0.2) == []
        assert process.wait() == -9


def test_stop_leaves_a_reused_pid_alone(conf: str) -> None:
    """A process that took over the pid of a daemon gets no signal."""
    with daemon(conf) as process:
        (found,) = find_daemons(conf)
        before = dataclasses.replace(found, start_ticks=found.start_ticks - 100)
        assert stop([before], conf, term_timeout_s=0.2) == []
        assert process.poll() is None


# -- clients

FSID = 'a-cluster-of-test-procs'


@contextmanager
def client(
    fsid: str = FSID, script: str = 'echo ready; sleep 120; :', **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    mark = {MARK: fsid} if fsid else {}
    process = subprocess.Popen(
        ['sh', '-c', script],
        env={'PATH': os.environ['PATH'], **mark, **environment},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b'ready\n'
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def test_processes_started_by_the_harness_and_their_children_are_clients(tmp_path: Path) -> None:
    """By the mark in their environment; not those of another cluster."""
    conf = str(tmp_path / 'ceph.conf')
    with client() as ours, client('of another cluster'), client(''):
        found = find_clients(conf, FSID)
        assert [c.name for c in found] == ['sh', 'sleep']
        assert found[0].pid == ours.pid


def test_client_ignoring_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    script = 'trap "" TERM; echo ready; while :; do sleep 120; done'
    with client(script=script) as stubborn:
        assert stop_clients(str(tmp_path / 'c'), FSID, term_timeout_s=0.3) == []
        assert stubborn.wait(10) == -9
        assert find_clients(str(tmp_path / 'c'), FSID) == []


def test_own_process_and_ancestors_are_not_ended(tmp_path: Path) -> None:
    """`qa/cluster exec -- sh`, and in that `qa/cluster down`."""
    script = (
        'from harness.client_procs import find_clients, stop_clients\n'
        f'print(len(stop_clients({str(tmp_path)!r}, {FSID!r}, term_timeout_s=1)))'
    )
    done = subprocess.run(
        ['sh', '-c', f'{sys.executable} -c "$0"; echo alive', script],
        env={'PATH': os.environ['PATH'], 'PYTHONPATH': str(QA), MARK: FSID},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == '0\nalive\n', done.stderr


def test_manually_started_client_is_found_by_library_and_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By environment, or by working directory; not with another cluster's."""
    (tmp_path / 'other').mkdir()
    conf, other = tmp_path / 'ceph.conf', tmp_path / 'other/ceph.conf'
    for path in (conf, other):
        path.touch()
    # All that these have loaded
    monkeypatch.setattr(client_procs, '_LIBRARY', b'libc.so')
    script = f'cd {tmp_path}; echo ready; exec sleep 120'
    home = {'HOME': str(tmp_path)}
    with (
        client('', script, **home) as here,
        client('', CEPH_CONF=str(conf), **home) as named,
        client('', script, CEPH_CONF=str(other), **home) as others,
    ):
        found = {c.pid for c in find_clients(str(conf), FSID)}
        # A machine with a cluster of its own in /etc/ceph has that
        elsewhere = Path('/etc/ceph/ceph.conf').exists()
        assert ({named.pid} if elsewhere else {named.pid, here.pid}) <= found
        assert others.pid not in found
