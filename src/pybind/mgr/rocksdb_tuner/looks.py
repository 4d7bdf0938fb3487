"""Deep looks into single OSDs, which operators ask for and threads of commands wait for."""

from __future__ import annotations

import errno
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Callable, Optional

from .deep.look import DeepLook, DeepLooker, DeepLookRefused
from .deep.rate import LookRate
from .mgr.protocols import ClusterReader
from .mgr.records import OsdInfo
from .questions import Questions
from .snapshot import Mode

#: OSDs that are looked at at once.
LOOKED_AT_ONCE = 4
#: A look that takes longer goes on by itself. Until then the mgr hands this module no other
#: command (ceph-mgr runs the commands of a module one after the other).
LOOK_WAIT_S = 10.0


class Looks:
    """A look switches something on in an OSD: it is put back, in mode off too."""

    def __init__(
        self,
        looker: DeepLooker,
        cluster: ClusterReader,
        questions: Questions,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        read_mode: Callable[[], Mode],
        compacting: Callable[[], bool],
        unknown_manager: Optional[str],
    ) -> None:
        """``unknown_manager`` says why nothing is done under a manager of a release like this."""
        self._looker, self._cluster, self._questions = looker, cluster, questions
        self._clock, self._monotonic = clock, monotonic
        self._read_mode, self._compacting = read_mode, compacting
        self._unknown_manager = unknown_manager
        self._rate = LookRate()

    def free(self, osd_id: int) -> bool:
        """Whether this OSD can be looked at now."""
        return self._questions.free(osd_id)

    def load(self) -> None:
        self._looker.load()

    def drop(self) -> None:
        self._questions.drop()

    def put_back(self, now_s: float) -> None:
        """Go on with what an earlier look, or an earlier manager, left switched on."""
        if self._looker.unfinished and not self._compacting():
            self._looker.put_back(self._cluster.cluster_map(), now_s, self._put_back_beside)
        self._questions.take_answers()

    def _put_back_beside(self, osd_id: int, work: Callable[[], object]) -> bool:
        def failed(error: Exception) -> None:
            raise error

        return self._questions.ask(osd_id, work, failed=failed)

    def look(self, osd_id: int) -> DeepLook:
        """Read RocksDB's own statistics of one OSD; in the thread of who asks for it.

        Raises DeepLookRefused, CommandError.
        """
        if self._read_mode() is Mode.OFF:
            raise DeepLookRefused(
                errno.EPERM,
                'the mode is off, in which nothing is read: "ceph rocksdb-tuner mode observe"',
            )
        if self._unknown_manager is not None:
            raise DeepLookRefused(errno.EOPNOTSUPP, self._unknown_manager)
        osds = {osd.osd_id: osd for osd in self._cluster.cluster_map().osds}
        if osd_id not in osds:
            raise DeepLookRefused(errno.ENOENT, f'osd.{osd_id} does not exist')
        if self._compacting():
            raise DeepLookRefused(
                errno.EBUSY, 'an OSD is being compacted, and may not answer before that is over'
            )
        if not self._questions.free(osd_id):
            raise DeepLookRefused(
                errno.EBUSY, f'osd.{osd_id}, or {LOOKED_AT_ONCE} others, did not answer yet'
            )
        too_often = self._rate.take(osd_id, self._monotonic())
        if too_often is not None:
            raise DeepLookRefused(errno.EAGAIN, too_often)
        return self._looked(osds[osd_id])

    def _looked(self, osd: OsdInfo) -> DeepLook:
        answer: Future[DeepLook] = Future()

        def look() -> None:
            try:
                answer.set_result(self._looker.look(osd, self._clock()))
            except Exception as error:  # noqa: BLE001 - raised again by who waits
                answer.set_exception(error)

        if not self._questions.ask(osd.osd_id, look):
            raise DeepLookRefused(errno.EBUSY, f'osd.{osd.osd_id} is being asked; try again')
        try:
            return answer.result(LOOK_WAIT_S)
        except FutureTimeoutError:
            raise DeepLookRefused(
                errno.ETIMEDOUT,
                f'osd.{osd.osd_id} did not answer within {LOOK_WAIT_S:.0f} s; what was switched on '
                'in it is put back once it does',
            ) from None
