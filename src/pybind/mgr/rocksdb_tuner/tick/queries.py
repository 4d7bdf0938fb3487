"""Background queries to OSDs: an unresponsive daemon delays nothing else.

Each query runs in its own thread, with a few at a time and one per OSD. The serve thread processes
the answers.
"""

from __future__ import annotations

import queue
import threading
from typing import Callable, TypeVar

_T = TypeVar('_T')

#: Answers processed per call, to bound the time in the serve thread.
BATCH_MAX = 16

Start = Callable[[Callable[[], None]], None]


def in_a_thread(work: Callable[[], None]) -> None:
    """Run ``work`` in a daemon thread, which does not delay the exit of ceph-mgr."""
    threading.Thread(target=work, name='rocksdb_tuner-ask', daemon=True).start()


class Queries:
    """At most ``limit`` queries at the same time.

    ``start`` runs the given work, at once or in the background.
    """

    def __init__(self, limit: int, start: Start = in_a_thread) -> None:
        self._limit = limit
        self._start = start
        self._lock = threading.Lock()
        self._pending: set[int] = set()
        #: Answers to queries from before the last `drop` are discarded.
        self._round = 0
        self._answered: queue.SimpleQueue[tuple[int, Callable[[], None]]] = queue.SimpleQueue()

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be queried now."""
        with self._lock:
            return len(self._pending) < self._limit and osd_id not in self._pending

    def ask(
        self,
        osd_id: int,
        work: Callable[[], _T],
        take: Callable[[_T], None] = lambda _: None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> bool:
        """Run ``work`` in the background, then ``take`` or ``failed`` in the serve thread.

        False, with nothing done, if this OSD or too many others have a query under way.
        """
        with self._lock:
            if len(self._pending) >= self._limit or osd_id in self._pending:
                return False
            self._pending.add(osd_id)
            query_round = self._round

        def run() -> None:
            try:
                found = work()
            except Exception as error:  # noqa: BLE001 - passed to `failed`
                caught = error
                answer: Callable[[], None] = lambda: failed(caught)  # noqa: E731
            else:
                answer = lambda: take(found)  # noqa: E731
            finally:
                with self._lock:
                    self._pending.discard(osd_id)
            self._answered.put((query_round, answer))

        try:
            self._start(run)
        except RuntimeError:
            # The process cannot start another thread now.
            with self._lock:
                self._pending.discard(osd_id)
            return False
        return True

    def take_answers(self) -> None:
        """Process answers, in the serve thread."""
        for _ in range(BATCH_MAX):
            try:
                query_round, answer = self._answered.get_nowait()
            except queue.Empty:
                return
            if query_round == self._round:
                answer()

    def drop(self) -> None:
        """Discard pending queries; only in the serve thread."""
        with self._lock:
            self._round += 1
