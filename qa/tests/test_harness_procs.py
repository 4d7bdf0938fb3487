"""Whose daemon a process is, and how it ends."""

from __future__ import annotations

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

from harness import procs
from harness.procs import (
    DaemonProcess,
    conf_of,
    daemon_name,
    find_daemons,
    inspect,
    newest_by_name,
    stop,
)


@pytest.mark.parametrize(
    ('line', 'name'),
    [
        ('ceph-osd -i 0 -c /a/ceph.conf', 'osd.0'),
        ('/usr/bin/ceph-osd -i 12 -c /a/ceph.conf', 'osd.12'),
        ('ceph-mgr --id x --conf=/a/ceph.conf', 'mgr.x'),
        ('ceph-mon --id=a', 'mon.a'),
        ('ceph-mds -i a', 'mds.a'),
        ('radosgw -n client.rgw.a -c /a/ceph.conf', 'client.rgw.a'),
        ('radosgw --name=client.rgw.a', 'client.rgw.a'),
        ('ceph-osd --mkfs -i 0 -c /a/ceph.conf', None),
        ('ceph-osd -c /a/ceph.conf', None),
        ('tail -f ceph-osd -i 0', None),
        ('python3 ceph-osd -i 0', None),
        ('', None),
    ],
)
def test_name_of_a_command_line(line: str, name: str | None) -> None:
    """Only Ceph's daemons have names; making a store is no daemon."""
    assert daemon_name(line.split()) == name


@pytest.mark.parametrize(
    ('line', 'environ', 'conf'),
    [
        ('ceph-osd -i 0 -c /a', [], '/a'),
        ('ceph-osd -i 0 --conf /a', [], '/a'),
        ('ceph-osd -i 0 --conf=/a', ['CEPH_CONF=/b'], '/a'),
        ('ceph-osd -i 0', ['HOME=/', 'CEPH_CONF=/b'], '/b'),
        ('ceph-osd -i 0', ['XCEPH_CONF=/b'], None),
    ],
)
def test_conf_of_a_process(line: str, environ: list[str], conf: str | None) -> None:
    """The command line goes before the environment, as in Ceph."""
    assert conf_of(line.split(), environ) == conf


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
    """Of two daemons with the same name, the one with the other configuration is not ours."""
    with daemon(conf) as ours, daemon(conf + ' another') as theirs:
        assert [(d.name, d.pid) for d in find_daemons(conf)] == [('osd.0', ours.pid)]
        assert inspect(theirs.pid, conf) is None


def test_restarted_daemon_counts_once(conf: str) -> None:
    """While a daemon forks into the background there are two of it: the newer one is it."""
    with daemon(conf) as first:
        time.sleep(0.05)  # start times have a resolution of 10 ms
        with daemon(conf) as second:
            found = find_daemons(conf)
            assert [d.pid for d in found] == [first.pid, second.pid]
            assert newest_by_name(found)['osd.0'].pid == second.pid


def test_a_daemon_that_forks_while_one_looks_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One look may come too early for the child and too late for the parent."""
    other, child = DaemonProcess('mon.a', 1, 1), DaemonProcess('mgr.x', 3, 3)
    looks = iter([[other], [other, child], [other, child], []])
    monkeypatch.setattr(procs, '_look', lambda _conf: next(looks))
    assert find_daemons('/c/ceph.conf') == [other, child]


@pytest.mark.integration
@pytest.mark.parametrize(('shared', 'ours'), [(True, True), (False, False)])
def test_the_same_path_to_another_file_is_another_cluster(
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


def test_dead_process_is_no_daemon(conf: str) -> None:
    """A zombie and a missing process are not up."""
    with daemon(conf) as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert inspect(process.pid, conf) is None
    assert inspect(process.pid, conf) is None


def test_stop_terminates(conf: str) -> None:
    """SIGTERM reaches every daemon that is named."""
    with daemon(conf, 0) as one, daemon(conf, 1) as other:
        assert stop(find_daemons(conf), conf, term_timeout_s=30) == []
        assert (one.wait(), other.wait()) == (-15, -15)


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


def test_stop_takes_what_is_gone_for_done(conf: str) -> None:
    """A daemon that ended meanwhile is no error."""
    with daemon(conf) as process:
        found = find_daemons(conf)
    assert process.poll() is not None
    assert stop([*found, DaemonProcess('osd.9', 2**22, 1)], conf, term_timeout_s=1) == []
