"""Questions to OSDs, beside the serve thread: a daemon that does not answer delays nobody else.

Each question has a thread of its own as long as it lasts; there are few at once, and one of an OSD.
What is found is handed to the serve thread.
"""

from __future__ import annotations

import queue
import threading
from typing import Callable, TypeVar

_T = TypeVar('_T')

#: What a thread found is handed over by so many at once: the loop has more to do.
TAKEN_AT_ONCE = 16

Start = Callable[[Callable[[], None]], None]


def in_a_thread(work: Callable[[], None]) -> None:
    """Run ``work`` beside; it does not hold up the end of the process."""
    threading.Thread(target=work, name='rocksdb_tuner-ask', daemon=True).start()


class Questions:
    """At most ``most`` questions at once.

    ``start`` runs what it is given, now or beside.
    """

    def __init__(self, most: int, start: Start = in_a_thread) -> None:
        self._most = most
        self._start = start
        self._lock = threading.Lock()
        self._asked: set[int] = set()
        #: Answers to what was asked before the last `drop` are nobody's any more.
        self._round = 0
        self._answered: queue.SimpleQueue[tuple[int, Callable[[], None]]] = queue.SimpleQueue()

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be asked now."""
        with self._lock:
            return len(self._asked) < self._most and osd_id not in self._asked

    def ask(
        self,
        osd_id: int,
        work: Callable[[], _T],
        take: Callable[[_T], None] = lambda _: None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> bool:
        """Do ``work`` beside, then ``take`` or ``failed`` in the serve thread.

        False, with nothing done, while this OSD is being asked, or too many are.
        """
        with self._lock:
            if len(self._asked) >= self._most or osd_id in self._asked:
                return False
            self._asked.add(osd_id)
            asked_in = self._round

        def run() -> None:
            try:
                found = work()
            except Exception as error:  # noqa: BLE001 - handed over
                caught = error
                answer: Callable[[], None] = lambda: failed(caught)  # noqa: E731
            else:
                answer = lambda: take(found)  # noqa: E731
            finally:
                with self._lock:
                    self._asked.discard(osd_id)
            self._answered.put((asked_in, answer))

        try:
            self._start(run)
        except RuntimeError:
            # No thread can be started now.
            with self._lock:
                self._asked.discard(osd_id)
            return False
        return True

    def take_answers(self) -> None:
        """Hand over what was found, in the serve thread."""
        for _ in range(TAKEN_AT_ONCE):
            try:
                asked_in, answer = self._answered.get_nowait()
            except queue.Empty:
                return
            if asked_in == self._round:
                answer()

    def drop(self) -> None:
        """Forget what was asked; only in the serve thread."""
        with self._lock:
            self._round += 1
