"""Operators' requests for the RocksDB statistics of one OSD; command threads wait for them."""

from __future__ import annotations

import errno
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Callable, Optional

from ..deep.rate import RateLimit
from ..deep.reader import DeepStatsReader, DeepStatsRefused, OsdDeepStats
from ..mgr.protocols import ClusterReader
from ..mgr.records import OsdInfo
from ..snapshot import Mode
from .queries import Queries

#: Maximum of OSDs that are queried at the same time.
MAX_CONCURRENT = 4
#: After this the request continues in the background: ceph-mgr runs the commands of a module one
#: at a time, so a waiting command blocks all others.
ANSWER_WAIT_S = 10.0


class DeepStatsRequests:
    """Reads statistics in the background, and restores the OSDs' options even in mode off."""

    def __init__(
        self,
        reader: DeepStatsReader,
        cluster: ClusterReader,
        queries: Queries,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        read_mode: Callable[[], Mode],
        compacting: Callable[[], bool],
        unknown_manager: Optional[str],
    ) -> None:
        """``unknown_manager``: why the module does nothing under this mgr release, or None."""
        self._reader, self._cluster, self._queries = reader, cluster, queries
        self._clock, self._monotonic = clock, monotonic
        self._read_mode, self._compacting = read_mode, compacting
        self._unknown_manager = unknown_manager
        self._rate = RateLimit()

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be queried now."""
        return self._queries.free(osd_id)

    def load(self) -> None:
        self._reader.load()

    def drop(self) -> None:
        self._queries.drop()

    def restore(self, now_s: float) -> None:
        """Restore options that an earlier request, or a previous active mgr, left enabled."""
        if self._reader.unfinished and not self._compacting():
            self._reader.restore(self._cluster.cluster_map(), now_s, self._restore_in_background)
        self._queries.take_answers()

    def _restore_in_background(self, osd_id: int, work: Callable[[], object]) -> bool:
        def failed(error: Exception) -> None:
            raise error

        return self._queries.ask(osd_id, work, failed=failed)

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
        if not self._queries.free(osd_id):
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

        if not self._queries.ask(osd.osd_id, read):
            raise DeepStatsRefused(errno.EBUSY, f'osd.{osd.osd_id} is being queried; try again')
        try:
            return answer.result(ANSWER_WAIT_S)
        except FutureTimeoutError:
            raise DeepStatsRefused(
                errno.ETIMEDOUT,
                f'osd.{osd.osd_id} did not answer within {ANSWER_WAIT_S:.0f}s; its options are '
                'restored once it does',
            ) from None
