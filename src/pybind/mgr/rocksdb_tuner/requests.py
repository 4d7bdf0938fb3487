"""How threads that answer operators hand work to the serve thread."""

from __future__ import annotations

import errno
import queue
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Callable, TypeVar

#: A request that is not taken within this time is withdrawn.
TIMEOUT_S = 30.0
#: As many wait at most, and so many are taken at once: the loop has more to do.
WAITING_MAX = 64
TAKEN_AT_ONCE = 8

_T = TypeVar('_T')


class BusyError(Exception):
    """The serve thread did not take a request; nothing was done."""

    errno = errno.EAGAIN


class Requests:
    """A bounded queue; only changes go through it, reads are answered from the snapshot."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Future[object], Callable[[], object]]] = queue.Queue(
            WAITING_MAX
        )
        #: Called when something was handed in.
        self.wake: Callable[[], None] = lambda: None

    def submit(self, work: Callable[[], _T]) -> _T:
        """Have ``work`` done by the serve thread; its result or its exception.

        Raises BusyError, with nothing done, where that thread waits for a monitor or has too much
        to do.
        """
        future: Future[_T] = Future()
        try:
            self._waiting.put_nowait((future, work))  # type: ignore[arg-type]
        except queue.Full:
            raise BusyError(
                f'{WAITING_MAX} requests wait already; nothing was done, try again'
            ) from None
        self.wake()
        try:
            return future.result(TIMEOUT_S)
        except FutureTimeoutError:
            if future.cancel():
                raise BusyError(
                    'the module is waiting for a monitor; nothing was done, try again'
                ) from None
            return future.result()

    def take(self) -> int:
        """Do some of what was handed in, in the serve thread; how many there were."""
        taken = 0
        while taken < TAKEN_AT_ONCE:
            try:
                future, work = self._waiting.get_nowait()
            except queue.Empty:
                return taken
            if not future.set_running_or_notify_cancel():
                continue
            taken += 1
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - the handler that waits reports it
                future.set_exception(error)
        if not self._waiting.empty():
            self.wake()
        return taken
