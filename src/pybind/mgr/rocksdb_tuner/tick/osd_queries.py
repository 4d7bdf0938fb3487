"""Data that only OSDs have: RocksDB statistics and BlueFS files."""

from __future__ import annotations

import logging
from typing import Callable, Optional

from ..mgr.protocols import CommandError, OsdCommands
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
from ..steps import Steps
from .queries import Queries

log = logging.getLogger(__name__)


class OsdQueries:
    """Queries a few OSDs at a time in the background."""

    def __init__(
        self,
        osds: OsdCommands,
        steps: Steps,
        clock: Callable[[], float],
        queries: Queries,
    ) -> None:
        self._osds, self._steps, self._clock = osds, steps, clock
        self._queries = queries

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be queried now."""
        return self._queries.free(osd_id)

    def drop(self) -> None:
        """Drop pending requests."""
        self._queries.drop()

    def take(self) -> None:
        """Process the answers that arrived."""
        self._steps.run('OSD answers', self._queries.take_answers)

    def ask(self, observer: Observer, now_s: float) -> None:
        """Send the requests of ``observer``, which gets the answers."""
        self._steps.run('statistics', lambda: self._ask_kv_stats(observer, now_s))
        self._steps.run('BlueFS files', lambda: self._ask_files(observer, now_s))

    def _ask_kv_stats(self, observer: Observer, now_s: float) -> None:
        for request in observer.deep_requests(now_s, self._queries.free):
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

        self._queries.ask(osd_id, ask, take, failed)

    def _ask_files(self, observer: Observer, now_s: float) -> None:
        for request in observer.sharding_requests(now_s, self._queries.free):
            # A request that cannot be sent now is due again at a later tick.
            self._ask_files_of(observer, request)

    def _ask_files_of(self, observer: Observer, request: ShardingRequest) -> None:
        def failed(error: Exception) -> None:
            log.debug('no list of BlueFS files: %s', error)
            observer.files_failed(request, self._clock())
            if not isinstance(error, CommandError):
                raise error

        self._queries.ask(
            request.osd_id,
            lambda: self._osds.tell(request.osd_id, FILES_COMMAND, {}),
            lambda text: observer.accept_files(request, text, self._clock()),
            failed,
        )
