"""Terminating a process by SIGTERM, SIGINT or SIGHUP while it creates a cluster.

An exception raised by a signal could strike between the start of a process and its registration. So
the work runs in a thread that no signal interrupts and is canceled at safe points: running commands
end, no others start (host.py), and waits end (`pause`). The cleanup that follows is not interrupted
either.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from .errors import CancelledError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_told = threading.Event()


@dataclass(frozen=True)
class Outcome:
    """How some work ended. Of `status` and `error` one is None; `number`: of the first signal."""

    status: int | None
    error: BaseException | None
    number: int | None


def reported() -> bool:
    """Whether this process received a signal to end."""
    return _told.is_set()


def pause(seconds: float) -> None:
    """Sleep; raises CancelledError at once on a signal to end."""
    if _told.wait(seconds):
        raise CancelledError('canceled by a signal')


def unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def run(
    work: Callable[[], int], cancel: Callable[[], None], on_signal: Callable[[int], None]
) -> Outcome:
    """Do the work in a thread. A signal calls `on_signal`, and `cancel` to make the work end.

    Whether a signal came is decided once: later ones are ignored, for the rest of the process.
    Signals that the process was started to ignore (nohup) stay ignored.
    """
    status: list[int] = []
    errors: list[BaseException] = []
    done_r, done_w = os.pipe()
    wake_r, wake_w = os.pipe()
    for end in (wake_r, wake_w):
        os.set_blocking(end, False)

    def target() -> None:
        try:
            status.append(work())
        except BaseException as error:  # noqa: BLE001  # raised in the caller
            errors.append(error)
        finally:
            os.close(done_w)

    # The bytes that the interpreter's own handler writes: no code of ours runs in a handler
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    heeded = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _pending_signal)
    numbers: list[int] = []
    thread = threading.Thread(target=target, name='work')
    # Before the thread starts: what that starts has its mask
    unblock_signals()
    thread.start()
    poller = select.poll()
    poller.register(done_r, select.POLLIN | select.POLLHUP)
    poller.register(wake_r, select.POLLIN)
    ended = False
    while not ended:
        ready = {fd for fd, _ in poller.poll()}
        ended = done_r in ready
        if wake_r in ready:
            numbers += _drain(wake_r)
            on_signal(numbers[0])
            _told.set()
            cancel()
    thread.join()
    for number in heeded:
        signal.signal(number, signal.SIG_IGN)
    numbers += _drain(wake_r)
    signal.set_wakeup_fd(-1)
    for fd in (done_r, wake_r, wake_w):
        os.close(fd)
    return Outcome(
        status[0] if status else None,
        errors[0] if errors else None,
        numbers[0] if numbers else None,
    )


def _pending_signal(_number: int, _frame: FrameType | None) -> None:
    """The wakeup descriptor has it."""


def _drain(fd: int) -> list[int]:
    try:
        return [n for n in os.read(fd, 4096) if n in SIGNALS]
    except BlockingIOError:
        return []


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends a program as Ctrl-C does: with its cluster taken down."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
