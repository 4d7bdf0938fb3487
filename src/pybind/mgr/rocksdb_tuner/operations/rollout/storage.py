"""Storage that survives a manager failover: rollout, archive and history.

Stored data is never trusted: see `store.stored`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Callable, NamedTuple, Optional

from ...judge.evidence import Block, Evidence, Measured
from ...mgr.protocols import CommandError, Store
from ...plan.batches import count
from ...store.errors import StoredStateError
from ...store.stored import BROKEN, Quarantine, Stored
from ...units import UNKNOWN, format_time, natural
from ..history import HistoryRecord
from ..phases import Phase
from ..reported import ClockState, SteadyClock
from .records import Direction, RolloutState

DAY_S = 86400.0


class Restart(NamedTuple):
    #: Since the epoch, for display.
    time_s: float
    #: By the steady clock; None: unknown.
    steady_s: Optional[float]


@dataclass(frozen=True)
class RestartLog:
    """The restarts of the last day by all rollouts, oldest first."""

    restarts: tuple[Restart, ...] = ()

    def pruned(self, steady_s: float) -> RestartLog:
        """Without restarts older than a day.

        An unknown time, or one ahead because the stored clock was lost, counts as now: it holds
        restarts back for a day at most.
        """
        known = (
            Restart(r.time_s, steady_s if r.steady_s is None else min(r.steady_s, steady_s))
            for r in self.restarts
        )
        kept = [r for r in known if steady_s - (r.steady_s or 0.0) < DAY_S]
        return RestartLog(tuple(sorted(kept, key=lambda r: r.steady_s or 0.0)))

    def with_restart(self, now_s: float, steady_s: float) -> RestartLog:
        return RestartLog((*self.restarts, Restart(now_s, steady_s))).pruned(steady_s)

    def limit_reason(self, per_day: int, now_s: float, steady_s: float) -> Optional[str]:
        """Why the limit forbids another restart; None if it does not. ``per_day`` 0: no limit."""
        if per_day <= 0 or len(self.restarts) < per_day:
            return None
        at_s = self.restarts[-per_day].steady_s
        left_s = DAY_S if at_s is None else at_s + DAY_S - steady_s
        until = format_time(now_s + left_s) or UNKNOWN
        return f'restarts_per_day ({per_day}) is exhausted until {until}'


def contradictions(state: RolloutState) -> Iterator[str]:
    yield from _wrong_request(state)
    yield from _wrong_progress(state)


def _wrong_request(state: RolloutState) -> Iterator[str]:
    request = state.request
    ids = request.order
    if not ids or len(set(ids)) != len(ids):
        yield '"request.order" is empty or names an OSD twice'
    known = sorted(ids)
    if sorted(osd_id for osd_id, _ in request.targets) != known:
        yield '"request.targets" does not match "request.order"'
    if sorted(osd.osd_id for osd in state.before.osds) != known:
        yield '"before.osds" does not match "request.order"'
    batches = request.batches
    if batches and (() in batches or tuple(chain.from_iterable(batches)) != ids):
        yield '"request.batches" does not match "request.order"'
    if request.domains and len(request.domains) != len(batches):
        yield '"request.domains" does not match "request.batches"'
    if not set(ids[1:]) >= set(state.controls):
        yield '"request.controls" names the canary, or an OSD outside the request'


def _wrong_progress(state: RolloutState) -> Iterator[str]:
    ids = state.request.order
    if tuple(osd.osd_id for osd in state.osds) != ids:
        yield '"osds" does not match "request.order"'
    if state.stage is Phase.WAITING:
        yield '"waiting" is not a valid "stage"'
    if state.direction is Direction.RECOVER and not state.ended and state.ending is None:
        yield '"ending" is missing for "direction" "recover"'
    entries = {f'osd.{n}' for n in ids} | {who for who, _ in state.request.final_entries}
    if not entries >= set(state.restoring):
        yield '"restoring" names an entry outside the request'
    if len(state.verdicts) > count(state.request):
        yield 'there are more "verdicts" than batches'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'


log = logging.getLogger(__name__)

CURRENT = 'rollout/current'
#: Evidence for the verdict on each batch, by batch number.
EVIDENCE = 'rollout/evidence/'
#: Restarts by all rollouts.
RESTARTS = 'rollout/restarts'
#: The persistent clock.
CLOCK = 'rollout/clock'
#: The id of the rollout whose end an operator acknowledged.
ACKNOWLEDGED = 'rollout/acknowledged'
ARCHIVE = 'rollout/archive/'
HISTORY = 'history/'

HISTORY_MAX = 200
#: Rollouts that can still be rolled back: each holds the previous state.
ARCHIVE_MAX = 20

#: With more OSDs, only the archive has the state.
HISTORY_OSDS_MAX = 50


@dataclass(frozen=True)
class _Change:
    """A history record; ``state`` allows a rollback without the archive."""

    record: HistoryRecord
    state: Optional[RolloutState]


class RolloutStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._current = Stored(store, CURRENT, RolloutState, contradictions)
        self._restarts = Stored(store, RESTARTS, RestartLog)
        self._clock = Stored(store, CLOCK, ClockState, _wrong_clock)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text, until it is removed."""
        return self._quarantine.problems()

    def restore_readable(self, held: Callable[[RolloutState], RolloutState]) -> None:
        """Restore quarantined data that can be read now, as once it was repaired.

        ``held`` transforms a rollout that is under way.
        """

        def converted(record: object) -> object:
            if isinstance(record, RolloutState) and not record.ended:
                return held(record)
            return record

        self._quarantine.restore(self._stored, converted)

    def _stored(self, key: str) -> Optional[Stored[Any]]:
        """None for a key that is not a rollout's."""
        for stored in (self._current, self._restarts, self._clock):
            if stored.key == key:
                return stored
        for prefix, found in (
            (EVIDENCE, self._evidence),
            (HISTORY, self._change),
            (ARCHIVE, self._archived),
        ):
            if key.startswith(prefix):
                return found(key.removeprefix(prefix))
        return None

    def _evidence(self, batch: str) -> Stored[Evidence]:
        return Stored(self._store, EVIDENCE + batch, Evidence, _wrong_evidence)

    def _change(self, rollout_id: str) -> Stored[_Change]:
        return Stored(self._store, HISTORY + rollout_id, _Change)

    def _archived(self, rollout_id: str) -> Stored[RolloutState]:
        return Stored(self._store, ARCHIVE + rollout_id, RolloutState, contradictions)

    def load_current(self) -> Optional[RolloutState]:
        return self._quarantine.read(self._current)

    def save_current(self, state: RolloutState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)

    def load_acknowledged(self) -> Optional[str]:
        return self._store.get(ACKNOWLEDGED)

    def save_acknowledged(self, rollout_id: Optional[str]) -> None:
        """None: clears the acknowledgment. Raises CommandError."""
        self._store.set(ACKNOWLEDGED, rollout_id)

    def load_restarts(self) -> RestartLog:
        return self._quarantine.read(self._restarts) or RestartLog()

    def save_restarts(self, restarts: RestartLog) -> None:
        """Raises CommandError."""
        self._restarts.save(restarts)

    def load_clock(self) -> ClockState:
        return self._quarantine.read(self._clock) or ClockState(0.0)

    def save_clock(self, clock: ClockState) -> None:
        """Raises CommandError."""
        self._clock.save(clock)

    def load_evidence(self) -> tuple[Evidence, ...]:
        """One for each batch with stored evidence."""
        batches = [key.removeprefix(EVIDENCE) for key in self._store.keys(EVIDENCE)]
        read = (self._quarantine.read(self._evidence(batch)) for batch in batches)
        return tuple(evidence for evidence in read if evidence is not None)

    def save_evidence(self, kept: tuple[Evidence, ...]) -> None:
        """Replaces all stored evidence. Raises CommandError."""
        for evidence in kept:
            self._evidence(str(evidence.batch)).save(
                replace(
                    evidence,
                    before=tuple(map(rounded, evidence.before)),
                    after=tuple(map(rounded, evidence.after)),
                )
            )
        unused = {key.removeprefix(EVIDENCE) for key in self._store.keys(EVIDENCE)}
        for batch in sorted(unused - {str(evidence.batch) for evidence in kept}):
            self._evidence(batch).save(None)

    def archive(self, state: RolloutState) -> None:
        """Archive an ended rollout, so that it can be rolled back later."""
        self._archived(state.rollout_id).save(state)
        self._drop_oldest(ARCHIVE, ARCHIVE_MAX)

    def is_archived(self, rollout_id: str) -> bool:
        return self._store.get(ARCHIVE + rollout_id) is not None

    def archived(self, name: str) -> Optional[RolloutState]:
        """The newest rollout with this id, or of the recommendation with this id.

        From the archive, or else from its history record.
        """
        ids = {
            key.removeprefix(prefix)
            for prefix in (ARCHIVE, HISTORY)
            for key in self._store.keys(prefix)
        }
        for rollout_id in sorted(ids, key=number_of, reverse=True):
            archived = self._quarantine.read(self._archived(rollout_id))
            state = archived or self._from_history(rollout_id)
            if state and name in {state.rollout_id, state.request.recommendation_id}:
                return state
        return None

    def _from_history(self, rollout_id: str) -> Optional[RolloutState]:
        try:
            change = self._change(rollout_id).load()
        except StoredStateError as error:
            log.warning('cannot read the history of %s: %s', rollout_id, error)
            return None
        return None if change is None else change.state

    def load_history(self) -> tuple[HistoryRecord, ...]:
        """Oldest first."""
        ids = [key.removeprefix(HISTORY) for key in self._by_age(HISTORY)]
        changes = (self._quarantine.read(self._change(rollout_id)) for rollout_id in ids)
        return tuple(change.record for change in changes if change is not None)

    def save_record(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        """With ``state``, for a rollback if the archive lacks it."""
        few = state is not None and len(state.osds) <= HISTORY_OSDS_MAX
        self._change(record.rollout_id).save(_Change(record, state if few else None))
        self._drop_oldest(HISTORY, HISTORY_MAX)

    def next_id(self) -> str:
        """A new id, higher than all stored ones."""
        prefixes = (HISTORY, ARCHIVE, BROKEN + HISTORY, BROKEN + ARCHIVE)
        used = [number_of(key) for prefix in prefixes for key in self._store.keys(prefix)]
        return f'r{max(used, default=0) + 1}'

    def _by_age(self, prefix: str) -> list[str]:
        return sorted(self._store.keys(prefix), key=number_of)

    def _drop_oldest(self, prefix: str, keep: int) -> None:
        for key in self._by_age(prefix)[:-keep]:
            Stored(self._store, key, RolloutState).save(None)


def rounded(block: Block) -> Block:
    """As it is stored: more digits of a mean are noise."""
    return Block(
        {
            osd_id: Measured(*(None if v is None else float(f'{v:.5g}') for v in measured))
            for osd_id, measured in block.by_osd.items()
        },
        None if block.end_s is None else float(round(block.end_s)),
    )


def _wrong_clock(clock: ClockState) -> Iterator[str]:
    if clock.passed_s < 0:
        yield f'"passed_s" is {clock.passed_s} instead of a non-negative number'


def _wrong_evidence(evidence: Evidence) -> Iterator[str]:
    if not evidence.osds or len(set(evidence.osds)) != len(evidence.osds):
        yield '"changed" and "controls" are empty or name an OSD twice'


def number_of(key: str) -> int:
    """The number at the end of a key or id; 0 without one."""
    digits = key.rpartition('/')[2][1:]
    return natural(digits) or 0


#: Interval between two writes: a manager that takes over loses at most this much.
STORE_PERIOD_S = 600.0
#: Beyond this, the time since an operation ended no longer matters.
_LONG_AGO_S = 32 * DAY_S


class PersistentClock:
    """The clock for limits and waiting."""

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        #: The restarts of the last day by all rollouts.
        self._restarts = RestartLog()
        self._clock = SteadyClock()
        #: When it was last stored, and when the last operation ended, by this clock.
        self._kept_s = 0.0
        self._ended: Optional[tuple[str, float]] = None

    @property
    def now_s(self) -> float:
        return self._clock.now_s

    @property
    def since_end_s(self) -> Optional[float]:
        """Time since the last operation ended, while managers were active; None: none ended."""
        return None if self._ended is None else max(self.now_s - self._ended[1], 0.0)

    @property
    def ended_id(self) -> Optional[str]:
        """The last operation that ended."""
        return None if self._ended is None else self._ended[0]

    def load(self) -> None:
        self._restarts = self._storage.load_restarts()
        stored = self._storage.load_clock()
        self._clock, self._ended = SteadyClock(stored.passed_s), stored.ended
        self._kept_s = stored.passed_s

    def update(self, monotonic_s: float) -> float:
        """``monotonic_s`` is this manager's monotonic clock."""
        now_s = self._clock.update(monotonic_s)
        self._restarts = self._restarts.pruned(now_s)
        return now_s

    def limit_reason(self, restarts_per_day: int, time_of_day_s: float) -> Optional[str]:
        """Why the daily limit forbids another restart; None if it does not."""
        return self._restarts.limit_reason(restarts_per_day, time_of_day_s, self.now_s)

    def ended_now(self, operation_id: str) -> None:
        self._ended = (operation_id, self.now_s)
        self._kept_s = -math.inf

    def keep(self, ended: Iterable[str]) -> None:
        """Store the time periodically while it matters; ``ended``: the last operations."""
        for operation_id in ended:
            if self._ended is None or number_of(operation_id) > number_of(self._ended[0]):
                # Its end was not recorded: count from now.
                self.ended_now(operation_id)
        since_s = self.since_end_s
        if self._restarts.restarts or (since_s is not None and since_s < _LONG_AGO_S):
            self.keep_periodically()

    def keep_periodically(self) -> None:
        """Store the time periodically, for all users."""
        if self.now_s - self._kept_s >= STORE_PERIOD_S:
            try:
                self._save()
            except CommandError as error:
                log.warning('cannot store the elapsed time: %s', error.message)

    def count_restart(self, time_of_day_s: float) -> None:
        self._restarts = self._restarts.with_restart(time_of_day_s, self.now_s)
        try:
            self._storage.save_restarts(self._restarts)
            self._save()
        except CommandError as error:
            # The state is stored already: a failed count does not hold up the restart.
            log.warning('cannot count a restart: %s', error.message)

    def _save(self) -> None:
        self._storage.save_clock(ClockState(round(self.now_s, 1), self._ended))
        self._kept_s = self.now_s
