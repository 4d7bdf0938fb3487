"""Storage that survives a manager failover: rollout, evidence, archive, history and clock.

Stored data is never trusted: see `store.stored`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Optional

from ...judge.evidence import Block, Evidence, Measured
from ...judge.verdict import in_words
from ...mgr.protocols import CommandError, Store
from ...plan.batches import count
from ...store.stored import Quarantine, Stored
from ...units import UNKNOWN, format_time, natural
from ..history import HistoryRecord
from ..phases import Outcome, Phase
from .records import Direction, RolloutState, wrong_request

log = logging.getLogger(__name__)

CURRENT = 'rollout/current'
#: Evidence for the verdict on each batch, by batch number.
EVIDENCE = 'rollout/evidence/'
#: The persistent clock, and what is counted by it.
CLOCK = 'rollout/clock'
ARCHIVE = 'rollout/archive/'
HISTORY = 'history/'

HISTORY_MAX = 200
#: Rollouts that can still be rolled back: each holds the previous state.
ARCHIVE_MAX = 20

DAY_S = 86400.0
#: Interval between two writes of the clock: a manager that takes over loses at most this much.
STORE_PERIOD_S = 600.0
#: Beyond this, the time since an operation ended no longer matters.
_LONG_AGO_S = 32 * DAY_S


def contradictions(state: RolloutState) -> Iterator[str]:
    """Contradictions of a stored state, which each of its fields does not show."""
    request, ids = state.request, state.request.order
    entries = {f'osd.{n}' for n in ids} | {who for who, _ in request.final_entries}
    recovers = state.direction is Direction.RECOVER and not state.ended
    wrong = {
        '"before.osds" does not match "request.order"': state.before.by_id.keys() != set(ids)
        or len(state.before.osds) != len(ids),
        '"osds" does not match "request.order"': tuple(osd.osd_id for osd in state.osds) != ids,
        '"waiting" is not a valid "stage"': state.stage is Phase.WAITING,
        '"ending" is missing for "direction" "recover"': recovers and state.ending is None,
        '"restoring" names an entry outside the request': not entries >= set(state.restoring),
        'there are more "verdicts" than batches': len(state.verdicts) > count(request),
        '"outcome" and "stage" contradict each other': state.ended != (state.outcome is not None),
    }
    yield from wrong_request(request)
    yield from (text for text, is_wrong in wrong.items() if is_wrong)


class RolloutStorage:
    """The last rollout, its evidence, rollouts that can be rolled back, and the history."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.quarantine = Quarantine(store)
        self.current = Stored(store, CURRENT, RolloutState, contradictions)
        #: Every change, oldest first; see `load_history`.
        self.records: tuple[HistoryRecord, ...] = ()

    # -- evidence

    def _evidence(self, key: str) -> Stored[Evidence]:
        return Stored(self.store, key, Evidence)

    def load_evidence(self) -> tuple[Evidence, ...]:
        """One for each batch with stored evidence."""
        keys = sorted(self.quarantine.keys(EVIDENCE))
        read = (self.quarantine.read(self._evidence(key)) for key in keys)
        return tuple(evidence for evidence in read if evidence is not None)

    def save_evidence(self, kept: Iterable[Evidence]) -> None:
        """Replaces all stored evidence. Raises CommandError."""
        unused = set(self.store.keys(EVIDENCE))
        for evidence in kept:
            before, after = (tuple(map(rounded, b)) for b in (evidence.before, evidence.after))
            key = f'{EVIDENCE}{evidence.batch}'
            self._evidence(key).save(replace(evidence, before=before, after=after))
            unused.discard(key)
        for key in sorted(unused):
            self._evidence(key).save(None)

    # -- history and archive

    def load_history(self, running: Optional[RolloutState]) -> None:
        """Load `records`; a change recorded as under way that is not ``running`` has failed."""
        keys = _by_age(self.quarantine.keys(HISTORY))
        read = (self.quarantine.read(Stored(self.store, key, HistoryRecord)) for key in keys)
        lost_reason = 'its stored state could not be read: nothing further was done'
        running_id = None if running is None else running.rollout_id
        self.records = tuple(
            replace(record, outcome=Outcome.FAILED, reason=lost_reason)
            if record.outcome is Outcome.WAITING and record.rollout_id != running_id
            else record
            for record in read
            if record is not None
        )

    def keep(self, record: HistoryRecord) -> None:
        """Raises CommandError."""
        Stored(self.store, HISTORY + record.rollout_id, HistoryRecord).save(record)
        self._drop_oldest(HISTORY, HISTORY_MAX)
        others = (r for r in self.records if r.rollout_id != record.rollout_id)
        # In the order in which the next manager reads it.
        self.records = tuple(sorted((*others, record), key=lambda r: number_of(r.rollout_id)))

    @property
    def rollout_ids(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(r.rollout_id for r in self.records if r.rollout_id.startswith('r'))

    def archive(self, state: RolloutState) -> None:
        """Archive a rollout, so that it can be rolled back later. Raises CommandError."""
        key = ARCHIVE + state.rollout_id
        Stored(self.store, key, RolloutState, contradictions).save(state)
        self._drop_oldest(ARCHIVE, ARCHIVE_MAX)

    def archived(self, name: str) -> Optional[RolloutState]:
        """The newest rollout with this id, or of the recommendation with this id."""
        for key in reversed(_by_age(self.quarantine.keys(ARCHIVE))):
            state = self.quarantine.read(Stored(self.store, key, RolloutState, contradictions))
            if state and name in {state.rollout_id, state.request.recommendation_id}:
                return state
        return None

    def next_id(self) -> str:
        """A new id, higher than all stored ones."""
        used = {*self.quarantine.keys(HISTORY), *self.quarantine.keys(ARCHIVE)}
        return f'r{max(map(number_of, used), default=0) + 1}'

    def _drop_oldest(self, prefix: str, keep: int) -> None:
        for key in _by_age(self.store.keys(prefix))[:-keep]:
            Stored(self.store, key, RolloutState).save(None)


def number_of(key: str) -> int:
    """The number at the end of a key or id; 0 without one."""
    return natural(key.rpartition('/')[2][1:]) or 0


def _by_age(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=number_of)


def rounded(block: Block) -> Block:
    """As it is stored: more digits of a mean are noise."""
    return Block(
        {
            osd_id: Measured(*(None if v is None else float(f'{v:.5g}') for v in measured))
            for osd_id, measured in block.by_osd.items()
        },
        None if block.end_s is None else float(round(block.end_s)),
    )


def record_of(state: RolloutState) -> HistoryRecord:
    """The history record of the present state."""
    request = state.request
    first = request.order[0]
    options_from, options_to = request.strings or (
        state.before.by_id[first].value,
        request.target_by_osd[first],
    )
    return HistoryRecord(
        rollout_id=state.rollout_id,
        time_s=state.started_s,
        recommendation_id=request.recommendation_id,
        who=request.who,
        options_from=options_from,
        options_to=options_to,
        actor=request.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=request.prediction,
        measured=None if state.judgement is None else in_words(state.judgement),
        predicted=request.predicted,
        judgement=state.judgement,
        option=request.option,
    )


@dataclass(frozen=True)
class ClockState:
    """Stored form of a `PersistentClock`."""

    passed_s: float
    #: The last operation that ended, and when by this clock.
    ended: Optional[tuple[str, float]] = None
    #: Restarts of the last day by all operations, oldest first.
    restarts: tuple[float, ...] = ()


class PersistentClock:
    """Seconds that passed while a manager was active, and what is counted by them.

    Time without an active manager, as during a failover, is not counted, and changes of the wall
    clock do not matter: one that is briefly set a day ahead would expire all restarts of the day.
    """

    def __init__(self, storage: RolloutStorage) -> None:
        self._quarantine = storage.quarantine
        self._stored = Stored(storage.store, CLOCK, ClockState)
        self._state = ClockState(0.0)
        self._updated_s: Optional[float] = None
        #: When it was last stored.
        self._kept_s = 0.0

    @property
    def now_s(self) -> float:
        return self._state.passed_s

    @property
    def since_end_s(self) -> Optional[float]:
        """Time since the last operation ended, while managers were active; None: none ended."""
        ended = self._state.ended
        return None if ended is None else max(self.now_s - ended[1], 0.0)

    @property
    def ended_id(self) -> Optional[str]:
        """The last operation that ended."""
        return None if self._state.ended is None else self._state.ended[0]

    def load(self) -> None:
        self._state = self._quarantine.read(self._stored) or ClockState(0.0)
        self._kept_s = self.now_s

    def update(self, monotonic_s: float) -> float:
        """``monotonic_s`` is this manager's monotonic clock."""
        before_s = monotonic_s if self._updated_s is None else self._updated_s
        self._updated_s = monotonic_s
        now_s = self.now_s + max(monotonic_s - before_s, 0.0)
        restarts = tuple(at_s for at_s in self._state.restarts if now_s - at_s < DAY_S)
        self._state = replace(self._state, passed_s=now_s, restarts=restarts)
        return now_s

    def limit_reason(self, per_day: int, time_of_day_s: float) -> Optional[str]:
        """Why the daily limit forbids another restart; None if it does not. 0: no limit."""
        restarts = self._state.restarts
        if per_day <= 0 or len(restarts) < per_day:
            return None
        left_s = restarts[-per_day] + DAY_S - self.now_s
        until = format_time(time_of_day_s + left_s) or UNKNOWN
        return f'restarts_per_day ({per_day}) is exhausted until {until}'

    def ended_now(self, operation_id: str) -> None:
        self._state = replace(self._state, ended=(operation_id, self.now_s))
        # If this is refused, `keep` tries again in the next tick.
        self._kept_s = -math.inf
        self._save('the end of an operation')

    def keep(self, *, running: bool = False) -> None:
        """Store the time periodically while it matters, as when an experiment is ``running``."""
        since_s = self.since_end_s
        matters = running or self._state.restarts or (since_s is not None and since_s < _LONG_AGO_S)
        if matters and self.now_s - self._kept_s >= STORE_PERIOD_S:
            self._save('the elapsed time')

    def count_restart(self) -> None:
        self._state = replace(self._state, restarts=(*self._state.restarts, self.now_s))
        # The state is stored already: a failed count does not hold up the restart.
        self._save('a restart')

    def _save(self, what: str) -> None:
        try:
            self._stored.save(replace(self._state, passed_s=round(self.now_s, 1)))
        except CommandError as error:
            log.warning('cannot store %s: %s', what, error.message)
        else:
            self._kept_s = self.now_s
