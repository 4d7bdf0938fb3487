"""Passes work from command threads to the serve thread."""

from __future__ import annotations

import errno
import queue
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Callable, TypeVar

#: A request that has not started by then is withdrawn.
TIMEOUT_S = 30.0
#: Bounds on queued requests, and on requests per call of `take`.
WAITING_MAX = 64
BATCH_MAX = 8

#: The reason of a BusyError.
NOT_SAMPLED = 'the module has not sampled the cluster yet; try again in a moment'

_T = TypeVar('_T')


class BusyError(Exception):
    """The serve thread did not start the request; nothing was done."""

    errno = errno.EAGAIN


class Requests:
    """A bounded queue of changes; reads are answered from the snapshot instead."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Future[object], Callable[[], object]]] = queue.Queue(
            WAITING_MAX
        )
        #: Called when a request was queued.
        self.wake: Callable[[], None] = lambda: None

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, if that thread is overloaded or waiting for a monitor.
        """
        future: Future[_T] = Future()
        try:
            self._waiting.put_nowait((future, work))  # type: ignore[arg-type]
        except queue.Full:
            raise BusyError(
                f'{WAITING_MAX} requests are already waiting; nothing was done, try again'
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
        """Run some of the queued requests, in the serve thread; returns their number."""
        taken = 0
        while taken < BATCH_MAX:
            try:
                future, work = self._waiting.get_nowait()
            except queue.Empty:
                return taken
            if not future.set_running_or_notify_cancel():
                continue
            taken += 1
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
                future.set_exception(error)
        if not self._waiting.empty():
            self.wake()
        return taken
