"""A process that gets a signal to end while it works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.layout import QA

#: Works long enough for a signal to arrive, and prints the result.
PROGRAM = """
import sys, time
from harness import ending
from harness.cli import run_endable
from harness.host import Host, in_parallel

def say(text):
    print(text, flush=True)

def command():
    Host().run(['sh', '-c', 'echo $$ > "$0"; exec sleep 300', sys.argv[2]], timeout_s=400)
    return 0

def commands():
    host = Host()
    in_parallel(host, [command] * 3)
    return 0

def tidy():
    try:
        return command()
    finally:
        time.sleep(1)
        say('tidied')

def stubborn():
    say('begun')
    time.sleep(2)
    return 0

work = globals()[sys.argv[1]]

def told():
    say('begun')
    return work()

sys.exit(run_endable('prog', told, lambda: say('undone')))
"""


class Running:
    """The program while it works."""

    def __init__(self, work: str, folder: Path) -> None:
        self.pid_file = folder / 'pid'
        # The tests themselves may run in the background of a shell, where SIGINT is ignored
        heeding = ('env', '--default-signal=INT,TERM,HUP')
        self.process = subprocess.Popen(
            [*heeding, sys.executable, '-c', PROGRAM, work, str(self.pid_file)],
            env={**os.environ, 'PYTHONPATH': str(QA)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == 'begun\n'

    def wait_for_command(self) -> int:
        deadline_s = time.monotonic() + 20
        while not (self.pid_file.exists() and self.pid_file.read_text().strip()):
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        return int(self.pid_file.read_text())

    def ended(self) -> tuple[int, str, str]:
        try:
            out, err = self.process.communicate(timeout=30)
        finally:
            self.process.kill()
        return self.process.returncode, out, err


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize('work', ['command', 'commands'])
def test_signal_ends_running_commands(tmp_path: Path, work: str, number: signal.Signals) -> None:
    """At once, with the signal's status, a line for a person, and no traceback."""
    running = Running(work, tmp_path)
    pid = running.wait_for_command()
    running.process.send_signal(number)
    status, _, message = running.ended()
    assert status == 128 + number
    assert f'prog: ended by {number.name}' in message
    assert 'Traceback' not in message
    # Its parent has waited for it
    assert not Path(f'/proc/{pid}').exists()


def test_cleanup_is_not_interrupted_by_further_signals(tmp_path: Path) -> None:
    """Impatience leaves nothing behind: the second and the third signal change nothing."""
    running = Running('tidy', tmp_path)
    running.wait_for_command()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        running.process.send_signal(number)
        time.sleep(0.2)
    status, message, errors = running.ended()
    assert (status, message) == (128 + signal.SIGTERM, 'tidied\n')
    assert 'Traceback' not in errors


def test_completed_steps_are_undone_on_a_signal(tmp_path: Path) -> None:
    """A killed process leaves no leftovers."""
    running = Running('stubborn', tmp_path)
    running.process.terminate()
    status, message, _ = running.ended()
    assert (status, message.splitlines()[-1]) == (128 + signal.SIGTERM, 'undone')


def test_commands_start_with_no_signal_blocked(tmp_path: Path) -> None:
    """Otherwise only SIGKILL could end the daemons."""
    running = Running('command', tmp_path)
    pid = running.wait_for_command()
    status = Path(f'/proc/{pid}/status').read_text()
    blocked = int(status.partition('SigBlk:')[2].split()[0], 16)
    running.process.terminate()
    running.ended()
    assert blocked & sum(1 << (n - 1) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)) == 0
