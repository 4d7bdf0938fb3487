"""Background queries to OSDs and monitors: an unresponsive daemon delays nothing else.

Each query runs in its own thread, with a few at a time and one per OSD. The serve thread processes
the answers.
"""

from __future__ import annotations

import errno
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Optional, TypeVar

from ..deep.reader import DeepStatsReader, OsdDeepStats
from ..mgr.protocols import Audit, ClusterReader, CommandError, OsdCommands, TellArguments
from ..mgr.records import AuditLine, OsdInfo
from ..observe.deep import (
    FILES_COMMAND,
    KV_STATS_COMMAND,
    PERF_DUMP_ARGUMENTS,
    PERF_DUMP_COMMAND,
    Request,
)
from ..observe.kv_stats import offers_statistics
from ..observe.observer import Observer
from ..operations.phases import OperationRefused
from ..snapshot import Mode
from ..steps import Steps

log = logging.getLogger(__name__)

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
        self._answered: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be queried now."""
        with self._lock:
            return self._has_room(osd_id)

    def _has_room(self, osd_id: int) -> bool:
        return len(self._pending) < self._limit and osd_id not in self._pending

    def ask(
        self, osd_id: int, work: Callable[[], _T], take: Callable[[_T], None] = lambda _: None
    ) -> bool:
        """Run ``work`` in the background, then ``take`` in the serve thread, which may raise.

        False, with nothing done, if this OSD or too many others have a query under way.
        """
        with self._lock:
            if not self._has_room(osd_id):
                return False
            self._pending.add(osd_id)

        def run() -> None:
            found: Future[_T] = Future()
            try:
                found.set_result(work())
            except Exception as error:  # noqa: BLE001 - raised again in the serve thread
                found.set_exception(error)
            finally:
                with self._lock:
                    self._pending.discard(osd_id)
            self._answered.put(lambda: take(found.result()))

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
        with suppress(queue.Empty):
            for _ in range(BATCH_MAX):
                self._answered.get_nowait()()


#: Maximum of OSDs that are queried at the same time for recommendations.
CONCURRENT_QUERIES = 2


class OsdQueries(Queries):
    """Reads what only OSDs have: RocksDB statistics and BlueFS files."""

    def __init__(
        self, osds: OsdCommands, steps: Steps, clock: Callable[[], float], start: Start
    ) -> None:
        super().__init__(CONCURRENT_QUERIES, start)
        self._osds, self._steps, self._clock = osds, steps, clock

    def ask_osds(self, observer: Observer, now_s: float) -> None:
        """Send the requests of ``observer``, which gets the answers."""
        self._steps.run('statistics', lambda: self._ask_kv_stats(observer, now_s))
        self._steps.run('BlueFS files', lambda: self._ask_files(observer, now_s))

    def _ask_kv_stats(self, observer: Observer, now_s: float) -> None:
        for request in observer.answers.next_statistics(observer.seen(), now_s, self.free):

            def take(found: tuple[float, str, str], request: Request = request) -> None:
                at_s, text, perf_dump = found
                observer.answers.accept_statistics(request, text, at_s, perf_dump)

            self.ask(request.osd_id, partial(self._kv_stats, request.osd_id), take)

    def _kv_stats(self, osd_id: int) -> tuple[float, str, str]:
        """The time, the statistics, and the perf counters, which have the memtable times."""
        text = self._tell(osd_id, KV_STATS_COMMAND, {})
        at_s = self._clock()
        if not offers_statistics(text):
            return at_s, text, ''
        return at_s, text, self._tell(osd_id, PERF_DUMP_COMMAND, PERF_DUMP_ARGUMENTS)

    def _ask_files(self, observer: Observer, now_s: float) -> None:
        for request in observer.answers.next_files(observer.seen(), now_s, self.free):

            def take(text: str, request: Request = request) -> None:
                observer.answers.accept_files(request, text, self._clock())

            # A request that cannot be sent now is due again at a later tick.
            self.ask(request.osd_id, partial(self._tell, request.osd_id, FILES_COMMAND, {}), take)

    def _tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        """Empty if the OSD refuses or does not answer."""
        try:
            return self._osds.tell(osd_id, prefix, args)
        except CommandError as error:
            log.debug('no answer of an OSD: %s', error)
        except Exception:
            # The request was made, and is not repeated at once.
            log.exception('cannot ask osd.%d', osd_id)
        return ''


#: A command may queue in the mgr behind other commands of the same module.
WAITED_S = 15.0


def sender(
    lines: Iterable[AuditLine], wanted: Mapping[str, object], taken_s: float
) -> Optional[str]:
    """The client that sent the command that the module received at ``taken_s``.

    ``wanted``: its arguments. None if no client, or more than one, sent a matching command around
    that time.
    """
    found = {
        line.entity
        for line in lines
        if taken_s - WAITED_S <= line.time_s <= taken_s + 1.0
        and all(line.command.get(name) == value for name, value in wanted.items())
    }
    return found.pop() if len(found) == 1 else None


#: A command reaches the audit log a second or two after the mgr.
AUDIT_TRIES = 5
AUDIT_PAUSE_S = 2.0


def find_sender(
    audit: Audit, wanted: Mapping[str, object], taken_s: float, sleep: Callable[[float], None]
) -> Optional[str]:
    """The client that sent the arguments ``wanted``, from the cluster's audit log.

    The mgr does not pass it on, but logs each command with its client before it runs it (seen on
    16.2.15). The entry reaches the monitors a second or two later.
    """
    for attempt in range(AUDIT_TRIES):
        if attempt:
            sleep(AUDIT_PAUSE_S)
        found = sender(audit.audited(), wanted, taken_s)
        if found is not None:
            return found
    return None


_ENABLE = 'ceph rocksdb-tuner mode observe'
#: Maximum of OSDs that are queried at the same time.
MAX_CONCURRENT = 4
#: Between two requests for the same OSD, each of which changes its options.
OSD_SPACING_S = 30.0
#: After this the request continues in the background: ceph-mgr runs the commands of a module one
#: at a time, so a waiting command blocks all others.
ANSWER_WAIT_S = 10.0


class DeepStatsRequests(Queries):
    """Operators' requests for the RocksDB statistics of one OSD; command threads wait for them.

    Reads statistics in the background, and restores the OSDs' options even in mode off.
    """

    def __init__(
        self,
        reader: DeepStatsReader,
        cluster: ClusterReader,
        start: Start,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        read_mode: Callable[[], Mode],
        compacting: Callable[[], bool],
        unknown_manager: Optional[str],
    ) -> None:
        """``unknown_manager``: why the module does nothing under this mgr release, or None."""
        super().__init__(MAX_CONCURRENT, start)
        self._reader, self._cluster = reader, cluster
        self._clock, self._monotonic = clock, monotonic
        self._read_mode, self._compacting = read_mode, compacting
        self._unknown_manager = unknown_manager
        #: Time of the last request, by OSD id.
        self._asked_s: dict[int, float] = {}

    def restore(self, now_s: float) -> None:
        """Restore options that an earlier request, or a previous active mgr, left enabled."""
        if self._reader.unfinished and not self._compacting():
            self._reader.restore(self._cluster.cluster_map(), now_s, self.ask)
        self.take_answers()

    def read(self, osd_id: int) -> OsdDeepStats:
        """Read the RocksDB statistics of one OSD; blocks the calling thread.

        Raises OperationRefused, CommandError.
        """
        osd = self._allowed(osd_id)
        answer: Future[OsdDeepStats] = Future()

        def read() -> None:
            try:
                answer.set_result(self._reader.read(osd, self._clock()))
            except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
                answer.set_exception(error)

        if not self.ask(osd.osd_id, read):
            raise OperationRefused(errno.EBUSY, f'osd.{osd.osd_id} is being queried; try again')
        try:
            return answer.result(ANSWER_WAIT_S)
        except FutureTimeoutError:
            raise OperationRefused(
                errno.ETIMEDOUT,
                f'osd.{osd.osd_id} did not answer within {ANSWER_WAIT_S:.0f}s; its options are '
                'restored once it does',
            ) from None

    def _allowed(self, osd_id: int) -> OsdInfo:
        """The OSD, if it may be queried now; raises OperationRefused."""
        osd, now_s = self._cluster.cluster_map().by_id.get(osd_id), self._monotonic()
        wait_s = self._asked_s.get(osd_id, -OSD_SPACING_S) + OSD_SPACING_S - now_s
        unanswered = f'osd.{osd_id}, or {MAX_CONCURRENT} other OSDs, did not answer yet'
        compacting = 'an OSD is being compacted; try again once the compaction is done'
        too_soon = f'osd.{osd_id} was just queried: retry in {ceil(wait_s)}s'
        off = f'the module is off; to enable it: "{_ENABLE}"'
        for holds, code, refusal in (
            (self._read_mode() is Mode.OFF, errno.EPERM, off),
            (self._unknown_manager is not None, errno.EOPNOTSUPP, self._unknown_manager),
            (osd is None, errno.ENOENT, f'osd.{osd_id} does not exist'),
            (self._compacting(), errno.EBUSY, compacting),
            (not self.free(osd_id), errno.EBUSY, unanswered),
            (wait_s > 0, errno.EAGAIN, too_soon),
        ):
            if holds:
                raise OperationRefused(code, str(refusal))
        assert osd is not None
        self._asked_s[osd_id] = now_s
        return osd
