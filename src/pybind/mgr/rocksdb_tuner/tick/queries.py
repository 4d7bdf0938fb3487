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
from typing import Optional, TypeVar

from ..deep.rate import RateLimit
from ..deep.reader import DeepStatsReader, DeepStatsRefused, OsdDeepStats
from ..mgr.protocols import Audit, ClusterReader, CommandError, OsdCommands
from ..mgr.records import AuditLine, OsdInfo
from ..observe.kv_stats import offers_statistics
from ..observe.observer import (
    KV_STATS_COMMAND,
    PERF_DUMP_ARGUMENTS,
    PERF_DUMP_COMMAND,
    DeepRequest,
    Observer,
    ShardingRequest,
)
from ..observe.sharding import COMMAND as FILES_COMMAND
from ..snapshot import Mode
from ..steps import Steps

_T = TypeVar('_T')

#: Answers processed per call, to bound the time in the serve thread.
BATCH_MAX = 16

Start = Callable[[Callable[[], None]], None]


def in_a_thread(work: Callable[[], None]) -> None:
    """Run ``work`` in a daemon thread, which does not delay the exit of ceph-mgr."""
    threading.Thread(target=work, name='rocksdb_tuner-ask', daemon=True).start()


def _raised(error: Exception) -> None:
    raise error


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
        failed: Callable[[Exception], None] = _raised,
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


log = logging.getLogger(__name__)


#: Maximum of OSDs that are queried at the same time for recommendations.
CONCURRENT_QUERIES = 2


class OsdQueries(Queries):
    """Reads what only OSDs have: RocksDB statistics and BlueFS files."""

    def __init__(
        self, osds: OsdCommands, steps: Steps, clock: Callable[[], float], start: Start
    ) -> None:
        super().__init__(CONCURRENT_QUERIES, start)
        self._osds, self._steps, self._clock = osds, steps, clock

    def take(self) -> None:
        """Process the answers that arrived."""
        self._steps.run('OSD answers', self.take_answers)

    def ask_osds(self, observer: Observer, now_s: float) -> None:
        """Send the requests of ``observer``, which gets the answers."""
        self._steps.run('statistics', lambda: self._ask_kv_stats(observer, now_s))
        self._steps.run('BlueFS files', lambda: self._ask_files(observer, now_s))

    def _ask_kv_stats(self, observer: Observer, now_s: float) -> None:
        for request in observer.deep_requests(now_s, self.free):
            self._ask_one(observer, request)

    def _ask_one(self, observer: Observer, request: DeepRequest) -> None:
        osd_id, nonce = request

        def ask() -> tuple[float, str, Optional[str]]:
            text = self._osds.tell(osd_id, KV_STATS_COMMAND, {})
            at_s, perf_dump = self._clock(), None
            if offers_statistics(text):
                # The memtable times are in the perf counters.
                try:
                    perf_dump = self._osds.tell(osd_id, PERF_DUMP_COMMAND, PERF_DUMP_ARGUMENTS)
                except CommandError as error:
                    log.debug('no perf dump: %s', error)
            return at_s, text, perf_dump

        def take(found: tuple[float, str, Optional[str]]) -> None:
            at_s, text, perf_dump = found
            observer.accept_kv_stats(osd_id, nonce, text, at_s)
            if perf_dump is not None and observer.kv_stats_unavailable(osd_id) is None:
                observer.accept_perf_dump(osd_id, nonce, perf_dump)

        def failed(error: Exception) -> None:
            observer.kv_stats_failed(osd_id, nonce, str(error), self._clock())
            if not isinstance(error, CommandError):
                raise error

        self.ask(osd_id, ask, take, failed)

    def _ask_files(self, observer: Observer, now_s: float) -> None:
        for request in observer.sharding_requests(now_s, self.free):
            # A request that cannot be sent now is due again at a later tick.
            self._ask_files_of(observer, request)

    def _ask_files_of(self, observer: Observer, request: ShardingRequest) -> None:
        def failed(error: Exception) -> None:
            log.debug('no list of BlueFS files: %s', error)
            observer.files_failed(request, self._clock())
            if not isinstance(error, CommandError):
                raise error

        self.ask(
            request.osd_id,
            lambda: self._osds.tell(request.osd_id, FILES_COMMAND, {}),
            lambda text: observer.accept_files(request, text, self._clock()),
            failed,
        )


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


class Actors(Queries):
    """Finds the client whose command started a change, in the cluster's audit log.

    The mgr does not pass it on, but logs each command with its client before it runs it (seen on
    16.2.15). The entry reaches the monitors a second or two later. Without a result the actor stays
    unchanged.
    """

    def __init__(
        self,
        audit: Audit,
        start: Start,
        name_actor: Callable[[str, str], None],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """``name_actor`` gets the id of a change and its actor, in the serve thread."""
        super().__init__(1, start)
        self._audit, self._name_actor = audit, name_actor
        self._clock, self._sleep = clock, sleep

    def find(self, change_id: str, command: Mapping[str, object]) -> None:
        """Find the client that sent the arguments ``command`` and name it; in the serve thread."""
        taken_s = self._clock()

        def ask() -> Optional[str]:
            for attempt in range(AUDIT_TRIES):
                if attempt:
                    self._sleep(AUDIT_PAUSE_S)
                found = sender(self._audit.audited(), command, taken_s)
                if found is not None:
                    return found
            return None

        def take(found: Optional[str]) -> None:
            if found is not None:
                self._name_actor(change_id, found)

        self.ask(0, ask, take)


#: Maximum of OSDs that are queried at the same time.
MAX_CONCURRENT = 4
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
        self._rate = RateLimit()

    def load(self) -> None:
        self._reader.load()

    def restore(self, now_s: float) -> None:
        """Restore options that an earlier request, or a previous active mgr, left enabled."""
        if self._reader.unfinished and not self._compacting():
            self._reader.restore(self._cluster.cluster_map(), now_s, self.ask)
        self.take_answers()

    def read(self, osd_id: int) -> OsdDeepStats:
        """Read the RocksDB statistics of one OSD; blocks the calling thread.

        Raises DeepStatsRefused, CommandError.
        """
        if self._read_mode() is Mode.OFF:
            raise DeepStatsRefused(
                errno.EPERM,
                'the module is off; to enable it: "ceph rocksdb-tuner mode observe"',
            )
        if self._unknown_manager is not None:
            raise DeepStatsRefused(errno.EOPNOTSUPP, self._unknown_manager)
        osds = {osd.osd_id: osd for osd in self._cluster.cluster_map().osds}
        if osd_id not in osds:
            raise DeepStatsRefused(errno.ENOENT, f'osd.{osd_id} does not exist')
        if self._compacting():
            raise DeepStatsRefused(
                errno.EBUSY, 'an OSD is being compacted; try again once the compaction is done'
            )
        if not self.free(osd_id):
            raise DeepStatsRefused(
                errno.EBUSY, f'osd.{osd_id}, or {MAX_CONCURRENT} other OSDs, did not answer yet'
            )
        too_often = self._rate.take(osd_id, self._monotonic())
        if too_often is not None:
            raise DeepStatsRefused(errno.EAGAIN, too_often)
        return self._read_and_wait(osds[osd_id])

    def _read_and_wait(self, osd: OsdInfo) -> OsdDeepStats:
        answer: Future[OsdDeepStats] = Future()

        def read() -> None:
            try:
                answer.set_result(self._reader.read(osd, self._clock()))
            except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
                answer.set_exception(error)

        if not self.ask(osd.osd_id, read):
            raise DeepStatsRefused(errno.EBUSY, f'osd.{osd.osd_id} is being queried; try again')
        try:
            return answer.result(ANSWER_WAIT_S)
        except FutureTimeoutError:
            raise DeepStatsRefused(
                errno.ETIMEDOUT,
                f'osd.{osd.osd_id} did not answer within {ANSWER_WAIT_S:.0f}s; its options are '
                'restored once it does',
            ) from None
