"""Running commands, and giving them up."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness import CommandError, HarnessError, Progress
from harness.cluster import lines_about_module, without_dumps
from harness.errors import CancelledError
from harness.host import Completed, Host, in_parallel
from harness.packages import _no_service_starts, install, missing_packages

DATA = Path(__file__).parent / 'data'


def test_outcome_of_a_command() -> None:
    """Output, errors and exit status come back separately."""
    done = Host().run(['sh', '-c', 'cat; echo oops >&2; exit 3'], stdin='hello', check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, 'hello', 'oops\n')


def test_failure_has_command_status_and_reason() -> None:
    """An error of a checked command holds all that a person needs."""
    with pytest.raises(CommandError, match=r"sh -c 'echo why >&2; exit 7': exit status 7\nwhy"):
        Host().run(['sh', '-c', 'echo why >&2; exit 7'])


def test_missing_program() -> None:
    """A program that is not installed is named."""
    with pytest.raises(HarnessError, match='no-such-program: no such program'):
        Host().run(['no-such-program'])


def test_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's Python and Ceph settings do not reach the cluster's programs."""
    monkeypatch.setenv('PYTHONPATH', '/caller')
    monkeypatch.setenv('CEPH_ARGS', '--id nobody')
    monkeypatch.setenv('VIRTUAL_ENV', '/caller')
    out = Host().run(['env'], environment={'CEPH_CONF': '/c'}).stdout
    assert '/caller' not in out
    assert 'nobody' not in out
    assert 'CEPH_CONF=/c\n' in out


def _alive(pid: int) -> bool:
    try:
        return (Path('/proc') / str(pid) / 'stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_timeout_ends_the_children_of_the_command(tmp_path: Path) -> None:
    """A command that hangs is ended together with its children."""
    pidfile = tmp_path / 'pid'
    script = f'sleep 300 & echo $! > {pidfile}; wait'
    with pytest.raises(CommandError, match=r'no end after 0\.5 s'):
        Host().run(['sh', '-c', script], timeout_s=0.5)
    pid = int(pidfile.read_text())
    deadline_s = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not _alive(pid)


def test_cancel_ends_running_commands_and_rejects_new_ones() -> None:
    """After a failure elsewhere, nothing of the work goes on."""
    host = Host()
    outcome: list[BaseException] = []

    def run() -> None:
        try:
            host.run(['sleep', '300'])
        except CancelledError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not host._running:
        time.sleep(0.01)
    host.cancel()
    thread.join(30)
    assert len(outcome) == 1
    with pytest.raises(CancelledError):
        host.run(['true'])
    host.resume()
    assert host.run(['true']).returncode == 0


def test_first_failure_of_parallel_work_is_raised() -> None:
    """Tasks beside a failing one are canceled, and the raised error is the failure."""
    host = Host()
    with pytest.raises(CommandError, match='exit status 5'):
        in_parallel(
            host,
            [lambda: host.run(['sh', '-c', 'exit 5']), lambda: host.run(['sleep', '300'])],
        )


class FakeHost(Host):
    """A host whose package manager is scripted: exit statuses of `apt-get install`, in order."""

    def __init__(self, root: Path, installed: set[str], install_statuses: list[int]) -> None:
        super().__init__()
        self._root = root
        self.installed = installed
        self.statuses = install_statuses
        self.calls: list[str] = []
        self.policy_seen = False

    @property
    def root(self) -> Path:
        return self._root

    def run(self, argv: Sequence[str], **_options: object) -> Completed:
        if argv[0] == 'dpkg-query':
            known = [p for p in argv[4:] if p in self.installed]
            text = ''.join(f'installed {p}\n' for p in known) + 'config-files removed-one\n'
            return Completed(tuple(argv), 1, text, 'dpkg-query: no packages found matching x')
        if argv[0] == 'dpkg':
            self.calls.append('configure')
            return Completed(tuple(argv), 0, '', '')
        verb = 'update' if 'update' in argv else 'install'
        self.calls.append(verb)
        self.policy_seen = (self._root / 'usr/sbin/policy-rc.d').exists()
        status = self.statuses.pop(0) if verb == 'install' else 0
        if status:
            raise CommandError(argv, status, '', 'E: Unable to locate package')
        return Completed(tuple(argv), 0, '', '')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / 'usr/sbin').mkdir(parents=True)
    return tmp_path


def test_missing_packages(root: Path) -> None:
    """Removed packages whose configuration stayed are missing too."""
    host = FakeHost(root, {'fio'}, [])
    assert missing_packages(host, ['fio', 'removed-one', 'ceph-mon']) == ['removed-one', 'ceph-mon']


def test_package_manager_is_not_run_when_nothing_is_missing(root: Path) -> None:
    """With all packages there, apt is not even called."""
    host = FakeHost(root, {'fio'}, [])
    install(host, ['fio'], Progress(quiet=True))
    assert host.calls == []


@pytest.mark.parametrize(
    ('statuses', 'calls'),
    [
        ([0], ['install']),
        ([100, 0], ['install', 'configure', 'update', 'install']),
    ],
)
def test_package_lists_are_updated_only_when_needed(
    root: Path, statuses: list[int], calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first failure leads to one repair and one retry.

    A fresh machine has no package lists; one where an installation was killed has packages that
    wait to be configured.
    """
    monkeypatch.setattr('os.geteuid', lambda: 0)
    host = FakeHost(root, set(), statuses)
    install(host, ['fio'], Progress(quiet=True))
    assert host.calls == calls
    assert host.policy_seen
    assert not (root / 'usr/sbin/policy-rc.d').exists()


def test_second_failure_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed installation is an error, and the policy file is removed nevertheless."""
    monkeypatch.setattr('os.geteuid', lambda: 0)
    host = FakeHost(root, set(), [100, 100])
    with pytest.raises(CommandError, match='Unable to locate'):
        install(host, ['fio'], Progress(quiet=True))
    assert not (root / 'usr/sbin/policy-rc.d').exists()


def test_service_policy_of_the_machine_is_restored(root: Path) -> None:
    """A policy-rc.d that was there is neither changed nor removed."""
    policy = root / 'usr/sbin/policy-rc.d'
    policy.write_text('mine')
    with _no_service_starts(root):
        assert policy.read_text() == 'mine'
    assert policy.read_text() == 'mine'


def test_log_of_a_broken_module() -> None:
    """Of a real manager's log, only the traceback of the module remains."""
    lines = (DATA / 'mgr-module-broken.log').read_text().splitlines()
    chosen = lines_about_module(lines, 'rocksdb_tuner')
    assert 'RuntimeError: broken on purpose' in chosen
    assert not [line for line in chosen if 'selftest' in line]
    assert len(chosen) < len(lines) / 2


def test_progress_reports_start_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Each step has a line when it begins and one when it is done, on standard error only."""
    progress = Progress()
    with progress.step('outer'), progress.step('inner'):
        pass
    captured = capsys.readouterr()
    assert captured.out == ''
    texts = [line.partition('] ')[2] for line in captured.err.splitlines()]
    assert texts[:2] == ['outer ...', 'inner ...']
    assert [text.rpartition(' in ')[0] for text in texts[2:]] == ['inner: done', 'outer: done']


def test_progress_has_the_failed_step() -> None:
    """The innermost step that failed is known afterwards."""
    progress = Progress(quiet=True)
    with pytest.raises(ValueError, match='x'), progress.step('outer'), progress.step('inner'):
        raise ValueError('x')
    assert progress.current == 'inner'


def test_log_end_of_a_crashed_daemon_is_its_reason() -> None:
    """Not the recent events that it repeats afterwards, whole or cut off by the end of the file."""
    why = ['pwritev error: (28) No space left on device', '*** Caught signal (Aborted) **']
    dump = ['--- begin dump of recent events ---', '  -1> x', '--- end dump of recent events ---']
    assert without_dumps([*why, *dump, 'started again', *dump[:2]]) == [*why, 'started again']
