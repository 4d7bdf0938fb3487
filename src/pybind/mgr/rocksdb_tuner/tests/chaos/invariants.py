"""Watches a rollout from outside: each rule is checked against the cluster itself.

A violation is stored and raised, so that a manager that catches exceptions of its parts does not
hide it: see `Watch.broken`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Optional, Protocol

from rocksdb_tuner.judge.records import Verdict
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rollback import (
    REVERTS,
    REVERTS_IF_UNCHANGED,
    ROLLBACK_REFUSED,
    entries_blocking_rollback,
)
from rocksdb_tuner.operations.rollout.storage import HISTORY, RolloutStorage
from rocksdb_tuner.plan.batches import planned_batches
from rocksdb_tuner.plan.entries import starts_with
from rocksdb_tuner.plan.records import ANNEX, OPTION, Purpose
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.operations.rollout.conftest import Clients, same_meaning

from .checks import Checks
from .cluster import ChaosCluster
from .rules import Rule

#: As DESIGN names them, not as the code under test does.
_HOLDING_FLAGS = {'noout', 'nobackfill', 'norecover', 'norebalance', 'pauserd', 'pausewr'}
_HOLDING_HEALTH = {'OSD_NEARFULL', 'OSD_FULL', 'MON_DOWN', 'PG_DEGRADED', 'OSD_DOWN'}
_STEPS_OF_WRITES = {OsdStep.SETTING, OsdStep.RESTORING, OsdStep.COLLAPSING}
#: A manager that became active samples for so long.
_OBSERVES_FIRST_S = 10.0
#: An OSD that is down for this long does not start.
_NOT_STARTING_S = 300.0
#: The time of a manager to notice and to act, undisturbed.
_REACTION_S = 150.0
#: A report is no current sample after this time, at any interval between reports.
_STALE_S = 200.0
_DAY_S = 86400.0
#: Restarts of one OSD on the way forward that an orchestrator took.
_MOST_RESTARTS = 3
#: Queries of monitors and OSDs per sample, in addition to one of every OSD.
_MOST_QUESTIONS = 90


class Left(NamedTuple):
    """The state of a rollout when it left an OSD behind, and of the OSD."""

    where: str
    how: str


#: The outcome of an OSD.
GONE, OUT, ANOTHER = 'purged', 'down and out', 'another OSD'
#: The progress of the rollout.
PENDING, IN_THE_MIDDLE, AT_COLLAPSE, RECOVERING, IN_ROLLBACK = (
    'unchanged',
    'changed, or being changed',
    'while collapsing',
    'during its recovery',
    'in a rollback',
)


class WatchedRun(Protocol):
    """What the rules read of a run: each is declared, so that none is skipped for want of it."""

    may_act: bool
    outside_window: Optional[str]
    restarts_per_day: int

    @property
    def cluster(self) -> ChaosCluster: ...
    @property
    def store(self) -> FakeStore: ...
    @property
    def clients(self) -> Clients: ...
    @property
    def driver(self) -> Driver: ...
    @property
    def state(self) -> RolloutState: ...
    @property
    def active_since_s(self) -> float:
        """When the manager became active."""

    @property
    def seen_at_s(self) -> float:
        """When it last sampled the cluster."""

    @property
    def auto_apply_after_s(self) -> float:
        """How old a recommendation must be for auto-apply."""

    @property
    def has_reports(self) -> bool:
        """Whether a manager may believe that OSDs report to it."""

    @property
    def silent_since_s(self) -> Mapping[int, float]:
        """OSDs that work and do not report, and since when."""

    @property
    def store_refuses(self) -> bool:
        """The last write of an operation's state was refused, or its answer was lost."""

    @property
    def next_writes(self) -> Sequence[object]:
        """Faults of writes to come."""

    @property
    def slow_monitors(self) -> bool: ...
    @property
    def questions_of_all(self) -> int:
        """Queries per sample that may go to every OSD."""

    def health(self) -> Mapping[str, object]: ...


class Watch(Checks[Rule]):
    """Watches one run; a violation fails the test at the command that commits it."""

    def __init__(self, run: WatchedRun, only: Optional[Rule] = None) -> None:
        super().__init__(only)
        self.run = run
        self.restarted: list[int] = []
        #: Entries that the operator wrote last.
        self.operators: set[str] = set()
        #: Entries that an operator removed as the rollout does: it may take them for its own.
        self.anybodys: set[str] = set()
        #: The entries before an operator first set them.
        self._found: dict[str, Optional[str]] = {}
        #: OSDs possibly restarted by an operator with a value of their own.
        self.beside_itself: set[int] = set()
        #: OSDs removed or replaced since the rollout started.
        self.others: set[int] = set()
        #: OSDs that the rollout had restarted, and that have not come back yet: how often they had
        #: booted until then.
        self._ours: dict[int, int] = {}
        #: How long each of them has been down without a blocker, and with options that prevent a
        #: start.
        self._down_s: Counter[int] = Counter()
        self._unable_s: Counter[int] = Counter()
        #: Managers that took over since then: each may ask once more, since a request may have
        #: ended with the previous manager.
        self._takeovers: Counter[int] = Counter()
        self._manager_since_s = run.active_since_s
        self._sampled_s = run.cluster.now_s
        #: The times of its restart requests.
        self._restarts_s: list[float] = []
        #: Restarts that the orchestrator took, by OSD, on the way forward.
        self._taken: Counter[int] = Counter()
        #: The OSD in flight when the operator paused; None: there was none.
        self._paused = False
        self._flying: Optional[int] = None
        #: OSDs that clients wrote to since their process started: nonce.
        self._written: dict[int, int] = {}
        self._ended_samples = 0
        #: When an operator changed the string that the rollout does not change; None: never.
        self._other_option_s: Optional[float] = None
        self.left: Counter[Left] = Counter()
        run.cluster.on_command = self.check

    def refuted(self, text: str) -> None:
        self.require(Rule.REQUESTS, ok=False, text=text)

    def expect_unchanged(
        self, before: Optional[RolloutState], after: Optional[RolloutState], reported: str
    ) -> None:
        """A request that was refused: the loop may have gone on meanwhile, but as it would."""
        kept = (before is None) == (after is None)
        if before is not None and after is not None:
            kept = before.rollout_id == after.rollout_id and before.paused_by == after.paused_by
            kept = kept and (after.ending == before.ending or after.ending is None)
        self.require(Rule.REQUESTS, kept, f'{reported} changes the rollout: {after}')

    # -- what others do

    def operator_sets(self, who: str, value: str) -> None:
        self._found.setdefault(who, self.run.cluster.entries_of().get(who))
        self.operators.add(who)
        self.run.cluster.operator_sets(who, value)

    def operator_sets_other_option(self, value: str) -> None:
        cluster = self.run.cluster
        other = OPTION if cluster.option == ANNEX else ANNEX
        if cluster.entries_of(other).get('osd') != value:
            self._other_option_s = cluster.now_s
        cluster.operator_sets('osd', value, other)

    def operator_removes(self, who: str) -> None:
        state = self.run.driver.state
        if state is None:
            self.run.cluster.operator_removes(who)
            self.anybodys.add(who)
            return
        final = dict(state.request.final_entries)
        # An entry that the rollout removes, too, does not reveal the actor; nor does one that it
        # has written, and not confirmed yet.
        alike = final.get(who) is None and (who in final or who.startswith('osd.'))
        alike = alike or (state.before.entry(who) is None and self._being_written(state, who))
        self.run.cluster.operator_removes(who)
        # Set and removed between two samples: that does not reveal the actor either.
        alike = alike or (who in self._found and self._found[who] is None)
        if alike:
            self.operators.discard(who)
        (self.anybodys if alike else self.operators).add(who)

    @staticmethod
    def _being_written(state: RolloutState, who: str) -> bool:
        if state.shared_touched and who in [one for one, _ in state.request.shared_entries]:
            return True
        setting = {f'osd.{o.osd_id}' for o in state.osds if o.step is OsdStep.SETTING}
        return who in setting

    def paused(self) -> None:
        flying = self.run.state.in_flight
        self._paused, self._flying = True, None if flying is None else flying.osd_id

    def resumed(self) -> None:
        self._paused = False
        self._taken.clear()

    def gone(self, osd_id: int) -> None:
        self.others.add(osd_id)
        self.beside_itself.add(osd_id)
        self._ours.pop(osd_id, None)

    def joined(self, osd_id: int) -> None:
        self.others.add(osd_id)
        self.beside_itself.add(osd_id)

    def stopped_by_others(self, osd_id: int) -> None:
        self._ours.pop(osd_id, None)

    # -- each command

    def check(self, command: str) -> None:
        # The stored state, not the driver's: another manager must find the intention there.
        state = RolloutStorage(self.run.store).current.load()
        assert state is not None
        _, verb, *words = shlex.split(command)
        known = self.run.driver.state
        if (
            known is not None
            and self.run.store_refuses
            and repeatable(known, words, self.run.cluster)
        ):
            state = known
        self.require(Rule.SAVED_BEFORE, not state.ended, f'{command} after the end')
        self._observed_first(command)
        if verb == 'orch':
            self._restart(state, int(words[2].partition('.')[2]), command)
        else:
            value = words[3] if words[0] == 'set' else None
            asked = state.request.option
            self.require(Rule.AS_REQUESTED, words[2] == asked, f'{command}: it is of {asked}')
            self._write(state, words[1], value, command)

    def _observed_first(self, command: str) -> None:
        active_s = self.run.cluster.now_s - self.run.active_since_s
        self.require(
            Rule.OBSERVES_FIRST, active_s >= _OBSERVES_FIRST_S, f'{command} after {active_s:.0f} s'
        )

    def _restart(self, state: RolloutState, osd_id: int, command: str) -> None:
        cluster = self.run.cluster
        progress = {osd.osd_id: osd for osd in state.osds}
        self.require(Rule.AS_REQUESTED, osd_id in progress, f'{command}: not in the request')
        step = progress[osd_id].step
        self.require(Rule.SAVED_BEFORE, step is OsdStep.RESTARTING, f'{command}: it is {step}')
        self._pause_holds(state, osd_id, command)
        forward = state.direction is Direction.FORWARD
        self._same_osd(state, osd_id, command)
        outstanding = {found.requested for found in cluster.accepted} - {osd_id}
        self.require(Rule.ONE_OUTSTANDING, not outstanding, f'{command} during {outstanding}')
        again = not forward or progress[osd_id].restarts_asked > 1
        if not again or cluster.osds[osd_id].up:
            # Nothing is hurt by starting what is down.
            self.require(Rule.MODE, self.run.may_act, f'{command} in spite of the mode')
            self._gates(osd_id, command)
        self._asked(osd_id, forward=forward)
        self.restarted.append(osd_id)
        self.require(
            Rule.STOPS,
            self._taken[osd_id] <= _MOST_RESTARTS,
            f'{command} for the {self._taken[osd_id]}th time',
        )

    def _asked(self, osd_id: int, *, forward: bool) -> None:
        cluster = self.run.cluster
        self._restarts_s.append(cluster.now_s)
        does = cluster.orchestrator_reason is None and 'orch daemon' not in cluster.errors
        # A restart of the wrong one is the orchestrator's.
        right = cluster.orchestrator_restarts in {None, osd_id}
        if does and right and not cluster.orchestrator_idle:
            if osd_id not in self._ours:
                self._down_s[osd_id] = self._unable_s[osd_id] = self._takeovers[osd_id] = 0
            self._ours[osd_id] = cluster.osds[osd_id].boots
            self._taken[osd_id] += forward

    def _same_osd(self, state: RolloutState, osd_id: int, reported: str) -> None:
        same = osd_id not in self.others or state.direction is not Direction.FORWARD
        self.require(Rule.SAME_OSD, same, f'{reported}: it is not the OSD that was checked')

    def _pause_holds(self, state: RolloutState, osd_id: Optional[int], reported: str) -> None:
        safe = osd_id is not None and (
            osd_id == self._flying or state.direction is Direction.RECOVER
        )
        self.require(Rule.PAUSE_HOLDS, not self._paused or safe, f'{reported} though paused')

    def _write(self, state: RolloutState, who: str, value: Optional[str], command: str) -> None:
        self.require(
            Rule.OPERATOR_WINS, who not in self.operators, f'{command}: the operator changed that'
        )
        before = state.before.entry(who)
        self.require(
            Rule.NO_MASKS, '/' not in who or value in {None, before}, f'{command}: it has a mask'
        )
        finals = dict(state.request.final_entries)
        owned = {f'osd.{osd.osd_id}': osd for osd in state.osds}
        self.require(
            Rule.AS_REQUESTED, who in finals or who in owned, f'{command}: not in the request'
        )
        targets = dict(state.request.targets)
        target = targets[owned[who].osd_id] if who in owned else None
        self.require(
            Rule.AS_REQUESTED,
            value in {None, before, finals.get(who), target},
            f'{command}: not requested',
        )
        self._outsiders(state, who, value, command)
        owner = owned.get(who)
        self._pause_holds(state, None if owner is None else owner.osd_id, command)
        may_act = self.run.may_act
        if state.direction is Direction.BACK:
            self.require(Rule.UNDO_EXACT, who in state.restoring, f'{command}: was not changed')
            self.require(Rule.UNDO_EXACT, value == before, f'{command}: it was {before}')
            self.require(Rule.MODE, may_act, f'{command} in spite of the mode')
        elif owner is not None:
            self.require(
                Rule.SAVED_BEFORE, owner.step in _STEPS_OF_WRITES, f'{command}: it is {owner.step}'
            )
            if state.direction is Direction.FORWARD:
                if value not in {None, before}:
                    self._same_osd(state, owner.osd_id, command)
                self._judged(state, who, command)
                self.require(Rule.MODE, may_act, f'{command} in spite of the mode')
        else:
            self.require(Rule.MODE, may_act, f'{command} in spite of the mode')

    def _judged(self, state: RolloutState, who: str, command: str) -> None:
        if state.soak.most_s > 0 and who != f'osd.{state.request.order[0]}':
            self.require(
                Rule.VERDICT_FIRST, state.promoted, f'{command}: the canary was not judged'
            )

    def _outsiders(self, state: RolloutState, who: str, value: Optional[str], command: str) -> None:
        """The options that each unchecked OSD would start with, before this and after it."""
        # Restored entries existed before these OSDs joined.
        if state.direction is not Direction.FORWARD or value == state.before.entry(who):
            return
        cluster = self.run.cluster
        before = cluster.entries_of()
        after = {key: found for key, found in before.items() if key != who}
        if value is not None:
            after[who] = value
        inside = set(state.request.order) - self.others
        for n, osd in cluster.osds.items():
            # An OSD that is down and out only returns by an operator, if ever.
            if n in inside or not (osd.up or osd.in_cluster) or cluster.option in osd.conf_file:
                continue
            old, new = self._starts(before, n), self._starts(after, n)
            self.require(Rule.NO_OUTSIDER, same_meaning(old, new), f'{command}: osd.{n} gets {new}')

    def _starts(self, entries: Mapping[str, str], osd_id: int) -> str:
        found = starts_with(entries, osd_id)
        cluster = self.run.cluster
        return cluster._default(cluster.osds[osd_id], cluster.option) if found is None else found[1]

    # -- each state that is stored

    def changed(self, old: Optional[RolloutState], new: RolloutState) -> None:
        """Called with each state once it is stored: no OSD is started against a rule."""
        # After a rollback it still has the earlier text.
        started_rollback = new.direction is Direction.BACK
        if new.ended and (old is None or not old.ended):
            self._left_able_to_start(new)
            if not started_rollback:
                self._check_rollback_offer(new)
        if old is None or old.rollout_id != new.rollout_id:
            self._began(old, new)
            return
        self._leaves(old, new)
        if new.direction is not Direction.FORWARD:
            self._restored(old, new)
            return
        if len(new.verdicts) > len(old.verdicts) and old.phase is not Phase.WAITING:
            self._passed(old, new)
        for before, after in zip(old.osds, new.osds):
            if before.step is OsdStep.PENDING and after.step is OsdStep.SETTING:
                self._started(new, after.osd_id)
            if (before.step, after.step) == (OsdStep.CHECKING, OsdStep.SETTLING):
                self._verified(new, after.osd_id)
            if (before.step, after.step) == (OsdStep.SETTLING, OsdStep.VERIFIED):
                self._same_process(after)

    def _leaves(self, old: RolloutState, new: RolloutState) -> None:
        for before, after in zip(old.osds, new.osds):
            if after.step is OsdStep.LEFT_BEHIND and before.step is not after.step:
                self._left_behind(old, before, after)

    def _left_behind(self, old: RolloutState, before: OsdProgress, after: OsdProgress) -> None:
        n, cluster = after.osd_id, self.run.cluster
        found = cluster.osds.get(n)
        how = GONE if found is None else ANOTHER if n in self.others else OUT
        where = PENDING if before.step is OsdStep.PENDING else IN_THE_MIDDLE
        if old.direction is not Direction.FORWARD:
            where = RECOVERING if old.direction is Direction.RECOVER else IN_ROLLBACK
        elif old.stage is Phase.COLLAPSING:
            where = AT_COLLAPSE
        self.left[Left(where, how)] += 1
        reported = f'osd.{n} is left behind ({after.left_reason})'
        if self.run.seen_at_s == cluster.now_s:
            away = found is None or not (found.up or found.in_cluster)
            self.require(Rule.LEFT_CORRECTLY, away or n in self.others, f'{reported}: it is there')
        self._left_clean(old, n)

    def _left_clean(self, state: RolloutState, osd_id: int) -> None:
        who = f'osd.{osd_id}'
        if who in self.operators | self.anybodys:
            return
        found, had = self.run.cluster.entries_of().get(who), state.before.entry(who)
        self.require(Rule.LEFT_CLEAN, found == had, f'{who} is left with {found}, and had {had}')

    def _check_left_behind_named(self, state: RolloutState) -> None:
        left = [osd.osd_id for osd in state.osds if osd.step is OsdStep.LEFT_BEHIND]
        reported = state.failure or ''
        for n in left:
            self._left_clean(state, n)
        # Of many, some are named; a text may be cut.
        named = all(f'osd.{n} ' in reported for n in left[:2]) or len(reported) >= 590
        if state.stage is not Phase.FAILED:
            self.require(Rule.LEFT_NAMED, named, f'{left} were left behind: {reported}')

    def _began(self, old: Optional[RolloutState], new: RolloutState) -> None:
        self._other_option_s = None
        if new.request.actor != 'auto-apply':
            return
        run = self.run
        stable_s = run.cluster.now_s - run.active_since_s
        self.require(
            Rule.NOT_UNASKED, stable_s >= run.auto_apply_after_s, f'it was stable for {stable_s} s'
        )
        tried = old is not None and old.stage in {Phase.ROLLED_BACK, Phase.FAILED}
        self.require(Rule.NOT_UNASKED, not tried, 'the same was tried and undone')

    def _same_process(self, osd: OsdProgress) -> None:
        cluster = self.run.cluster
        found = cluster.osds.get(osd.osd_id)
        if self.run.seen_at_s < cluster.now_s or found is None:
            return
        self.require(
            Rule.RUNS_NEW_OPTIONS,
            found.up and found.nonce == osd.nonce_after,
            f'osd.{osd.osd_id} counts as changed with another process than was checked',
        )

    def _restored(self, old: RolloutState, new: RolloutState) -> None:
        """A restored OSD runs the value of the store."""
        cluster = self.run.cluster
        for before, after in zip(old.osds, new.osds):
            n = after.osd_id
            done = after.step in {OsdStep.SETTLING, OsdStep.RESTORED}
            if before.step is not OsdStep.CHECKING or not done or n not in cluster.osds:
                continue
            entries = cluster.entries_of()
            # Without an entry `config show` reports "default", whatever it runs.
            if self.operators | self.anybodys or starts_with(entries, n) is None:
                continue
            runs, given = cluster.runs(n), self._starts(entries, n)
            self.require(
                Rule.UNDO_EXACT, same_meaning(runs, given), f'osd.{n} is restored and runs {runs}'
            )

    def _verified(self, state: RolloutState, osd_id: int) -> None:
        cluster = self.run.cluster
        if osd_id not in cluster.osds:
            return
        runs, target = cluster.runs(osd_id), dict(state.request.targets)[osd_id]
        self.require(
            Rule.RUNS_NEW_OPTIONS,
            same_meaning(runs, target),
            f'osd.{osd_id} is verified with {runs}',
        )

    def _left_able_to_start(self, state: RolloutState) -> None:
        """No OSD that is down is left with an entry of the rollout that keeps it down."""
        cluster, entries = self.run.cluster, self.run.cluster.entries_of()
        theirs = {who.partition('/')[0] for who in self.operators | self.anybodys}
        for n in {osd.osd_id for osd in state.osds} & cluster.down - self.others:
            who = f'osd.{n}'
            found = entries.get(who)
            if found is None or found == state.before.entry(who) or who in theirs:
                continue
            deadly = cluster.refuses_to_start(found)
            self.require(Rule.NOT_ABANDONED, not deadly, f'{who} is down with {found}')

    def _check_rollback_offer(self, state: RolloutState) -> None:
        """A rollback is offered exactly where it would be accepted."""
        refused = entries_blocking_rollback(state, self.run.cluster.entries_of())
        reported = state.failure or ''
        if f' {REVERTS}' in reported and REVERTS_IF_UNCHANGED not in reported:
            self.require(
                Rule.OFFER_IS_VALID, not refused, f'{state.failure}: refused for {refused}'
            )
        if ROLLBACK_REFUSED in reported:
            self.require(Rule.OFFER_IS_VALID, refused, f'{state.failure}: it would not be refused')

    def _passed(self, old: RolloutState, new: RolloutState) -> None:
        """No batch passes one of whose processes is not the one that was verified."""
        batch = planned_batches(old.request, old.soak)[len(old.verdicts)]
        found = new.verdicts[-1]
        for osd in new.osds:
            if osd.osd_id not in batch.osds or osd.step is OsdStep.LEFT_BEHIND:
                continue
            running = self.run.cluster.osds.get(osd.osd_id)
            alive = running is not None and running.up and running.nonce == osd.nonce_after
            self.require(Rule.SAME_PROCESS, alive, f'osd.{osd.osd_id} passed after a crash')
            if found.harmless and batch.judged and osd.osd_id in batch.compared:
                written = self._written.get(osd.osd_id) == osd.nonce_after
                self.require(Rule.MEASURED, written, f'osd.{osd.osd_id} passed without a write')
        self.require(
            Rule.VERDICT_FIRST,
            found is not Verdict.WORSE,
            f'batch {batch.number} passed with {found.value}',
        )
        spreads = old.request.purpose is not Purpose.GAIN
        self.require(
            Rule.NO_SPREAD,
            spreads or batch.number > 0 or found is not Verdict.NO_WORSE,
            f'the canary passed with {found.value}, for {old.request.purpose.value}',
        )

    def _started(self, state: RolloutState, osd_id: int) -> None:
        reported = f'osd.{osd_id} is started'
        run, cluster = self.run, self.run.cluster
        self._gates(osd_id, reported)
        theirs = self._other_option_s is not None and self._other_option_s <= run.seen_at_s
        self.require(
            Rule.OPERATOR_WINS, not theirs, f'{reported} though the other string was changed'
        )
        self._same_osd(state, osd_id, reported)
        self.require(Rule.PAUSE_HOLDS, state.paused_by is None, f'{reported} though paused')
        self.require(Rule.PAUSE_HOLDS, not self._paused, f'{reported} though paused')
        self.require(Rule.WINDOW, run.outside_window is None, f'{reported} outside the window')
        self._restarts_s = [at_s for at_s in self._restarts_s if cluster.now_s - at_s < _DAY_S]
        today = len(self._restarts_s)
        self.require(
            Rule.DAILY_LIMIT,
            not 0 < run.restarts_per_day <= today,
            f'{reported} after {today} restarts of {run.restarts_per_day}',
        )
        started = cluster.osds[osd_id].started_with.get(cluster.option)
        elsewhere = started is not None and started.source == 'file'
        self.require(Rule.STORE_DECIDES, not elsewhere, f'{reported}: its value is {started}')
        others = {osd.osd_id: osd.step for osd in state.osds if osd.osd_id != osd_id}
        allowed = {OsdStep.PENDING, OsdStep.VERIFIED, OsdStep.LEFT_BEHIND}
        self.require(
            Rule.ONE_AT_A_TIME, set(others.values()) <= allowed, f'{reported} during {others}'
        )
        self._sampled(state, osd_id, reported)
        self._batches(state, osd_id, others, reported)

    def _sampled(self, state: RolloutState, osd_id: int, reported: str) -> None:
        """By what OSDs sent, not by what the manager makes of it."""
        cluster, run = self.run.cluster, self.run
        batches = planned_batches(state.request, state.soak)
        batch = next(batch for batch in batches if osd_id in batch.osds)
        unchanged = {osd.osd_id for osd in state.osds if osd.step is OsdStep.PENDING}
        compared = {state.request.order[0], *(unchanged & set(batch.controls))}
        silent = {
            n
            for n, since_s in run.silent_since_s.items()
            if n in compared and n in cluster.osds and cluster.osds[n].up
            if cluster.now_s - since_s > _STALE_S
        }
        self.require(Rule.SAMPLED, not silent, f'{reported} without samples of {silent}')

    def _batches(
        self, state: RolloutState, osd_id: int, others: Mapping[int, OsdStep], reported: str
    ) -> None:
        done = {OsdStep.VERIFIED, OsdStep.LEFT_BEHIND}
        for number, batch in enumerate(planned_batches(state.request, state.soak)):
            if osd_id in batch.osds:
                domains = {
                    found.failure_domain
                    for n in batch.osds
                    if (found := self.run.cluster.osds.get(n)) is not None
                }
                alike = batch.domain is None or self.others or domains == {batch.domain}
                self.require(Rule.ONE_AT_A_TIME, alike, f'{reported} in a batch in {domains}')
                break
            self.require(
                Rule.ONE_AT_A_TIME,
                all(others[n] in done for n in batch.osds),
                f'{reported} too early',
            )
            judged = number < len(state.verdicts)
            self.require(
                Rule.VERDICT_FIRST,
                judged or not batch.watched,
                f'{reported} before the verdict on batch {number}',
            )

    def _gates(self, osd_id: int, reported: str) -> None:
        """All that must hold of the cluster itself before an OSD that is up is stopped."""
        cluster, run = self.run.cluster, self.run
        if run.seen_at_s < cluster.now_s:
            # A monitor was slow after the manager had sampled.
            return
        self.require(Rule.REPORTS_ARRIVE, run.has_reports, f'{reported} without OSD reports')
        self.require(Rule.GATES, cluster.osds[osd_id].up, f'{reported}: it is down')
        down = {n for n in cluster.down if cluster.osds[n].in_cluster}
        self.require(Rule.GATES, not down, f'{reported} while {down} are down')
        flags = _HOLDING_FLAGS & cluster.flags
        self.require(Rule.GATES, not flags, f'{reported} with flags {flags}')
        health = _HOLDING_HEALTH & set(cluster.health_codes())
        self.require(Rule.GATES, not health, f'{reported} in bad health: {health}')
        pgs = cluster.pg_summary()
        self.require(Rule.GATES, pgs.active_clean == pgs.total, f'{reported}: {pgs.by_state}')
        self.require(Rule.GATES, not cluster.unclean, f'{reported}, in truth: {cluster.unclean}')
        errors = {'osd ok-to-stop', 'versions'} & set(cluster.errors)
        self.require(Rule.OK_TO_STOP, not errors, f'{reported}: no answer to {errors}')
        reason = cluster.why_not_stop((osd_id,))
        self.require(Rule.OK_TO_STOP, reason is None, f'{reported}: {reason}')
        upgrade = cluster.upgrades_to
        self.require(Rule.NO_UPGRADE, upgrade is None, f'{reported} during an upgrade to {upgrade}')
        releases = {osd.release for osd in cluster.osds.values() if osd.up} | {cluster.release}
        self.require(Rule.NO_UPGRADE, len(releases) == 1, f'{reported}: daemons run {releases}')

    # -- each sample

    def started_by_hand(self, osd_id: int) -> None:
        """A process that was seen alive may take as long again."""
        self._unable_s[osd_id] = 0

    def sampled(self) -> None:
        """Called after each sample."""
        if self.broken is not None:
            raise self.broken
        cluster = self.run.cluster
        osds = cluster.osds
        self._ours = {n: b for n, b in self._ours.items() if n in osds and osds[n].boots == b}
        down = {n for n in self._ours if not osds[n].up}
        self.require(Rule.ONE_DOWN, len(down) <= 1, f'{down} are down by our hand')
        passed_s, self._sampled_s = cluster.now_s - self._sampled_s, cluster.now_s
        since_s = self.run.active_since_s
        self._takeovers.update(n for n in down if since_s != self._manager_since_s)
        self._manager_since_s = since_s
        for n in down:
            self._downtime(n, passed_s)
        if self.run.clients.writes_per_s > 0:
            self._written.update({n: osd.nonce for n, osd in osds.items() if osd.up})
        self._questions()
        state = self.run.driver.state
        if state is None:
            return
        self.require(
            Rule.ALARM,
            state.phase is not Phase.WAITING or state.paused_reason,
            'it waits for nothing',
        )
        if self._paused and not state.ended:
            self.require(
                Rule.PAUSE_HOLDS, state.paused_by is not None, f'the pause is lost: {state.phase}'
            )
        self._paused = self._paused and not state.ended
        self._recorded(state)

    def _downtime(self, osd_id: int, passed_s: float) -> None:
        run, cluster = self.run, self.run.cluster
        osd = cluster.osds[osd_id]
        hindered = (
            cluster.errors
            or run.next_writes
            or run.slow_monitors
            or cluster.now_s - run.active_since_s < _OBSERVES_FIRST_S + passed_s
            or cluster.orchestrator_reason
            or cluster.orchestrator_idle
            or cluster.orchestrator_restarts is not None
            or f'osd.{osd_id}' in self.operators | self.anybodys
        )
        if hindered:
            return
        value = osd.starting_with.get(cluster.option)
        own = cluster.entries_of().get(f'osd.{osd_id}')
        if own is not None and cluster.refuses_to_start(own):
            self._unable_s[osd_id] += passed_s  # type: ignore[assignment]
            attempts = 1 + self._takeovers[osd_id]
            late = self._unable_s[osd_id] > attempts * (_NOT_STARTING_S + _REACTION_S)
            self.require(Rule.STARTS_AGAIN, not late, f'osd.{osd_id} still has {own}')
        fixed = value is None or not cluster.refuses_to_start(value.value)
        if osd.broken or osd.conf_file or not run.may_act or self._paused or not fixed:
            return
        self._down_s[osd_id] += passed_s  # type: ignore[assignment]
        starts_s = cluster.slowest_s.get(osd_id, cluster.boot_s)
        attempts = 1 + self._takeovers[osd_id]
        most_s = attempts * (_NOT_STARTING_S + starts_s + _REACTION_S)
        self.require(
            Rule.BOUNDED_DOWNTIME,
            self._down_s[osd_id] <= most_s,
            f'osd.{osd_id} is down for {self._down_s[osd_id]} s',
        )

    def _questions(self) -> None:
        asked = self.run.cluster.questions
        most = _MOST_QUESTIONS + self.run.questions_of_all * len(self.run.cluster.osds)
        total = sum(asked.values())
        self.require(Rule.BOUNDED_TICK, total <= most, f'{total} queries in a sample: {asked}')
        asked.clear()

    def _recorded(self, state: RolloutState) -> None:
        """Once it ended, and the store works, its end is in the history and in the store."""
        run = self.run
        works = run.store.error is None and not run.next_writes
        self._ended_samples = self._ended_samples + 1 if state.ended and works else 0
        if self._ended_samples < 3:
            return
        outcomes = {r.rollout_id: r.outcome for r in run.driver.history}
        found = outcomes.get(state.rollout_id)
        self.require(Rule.RECORDED, found is state.outcome, f'{state.outcome} recorded as {found}')
        stored = HISTORY + state.rollout_id in run.store.values
        self.require(Rule.RECORDED, stored, 'the end is not in the store')
        failed = state.stage is Phase.FAILED and state.outcome is Outcome.FAILED
        if failed and not run.driver.acknowledged:
            raised = run.health()
            self.require(
                Rule.ALARM, 'ROCKSDB_TUNER_ROLLOUT_FAILED' in raised, f'{state.failure}: {raised}'
            )

    # -- the end

    def check_end(self, before: Mapping[str, str]) -> None:
        """The rules for the end of a rollout; ``before`` are the entries before it."""
        state, cluster = self.run.state, self.run.cluster
        self.require(Rule.ENDS, state.ended, 'it has not ended')
        self._check_left_behind_named(state)
        entries = cluster.entries_of()
        touched = self.operators | self.anybodys | {f'osd.{n}' for n in self.others}
        for who in touched:
            entries.pop(who, None)
        expected = {who: value for who, value in before.items() if who not in touched}
        targets = dict(state.request.targets)
        if state.stage is Phase.DONE:
            self._done(state, expected, entries, touched)
        elif state.stage is Phase.ROLLED_BACK:
            self.require(Rule.UNDO_EXACT, entries == expected, f'{entries} instead of {expected}')
        else:
            self.require(Rule.ALARM, state.failure, 'it failed without a reason')
            self._no_mixture(state)
            self._nothing_in_flight(state, touched)
            for osd in state.osds:
                who = f'osd.{osd.osd_id}'
                allowed = {before.get(who)}
                if osd.step not in {OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND}:
                    allowed |= {targets[osd.osd_id], dict(state.request.final_entries).get(who)}
                self.require(
                    Rule.END_AS_PLANNED,
                    who in touched or entries.get(who) in allowed,
                    f'{who} has {entries.get(who)}, and was {osd.step}',
                )

    def _done(
        self,
        state: RolloutState,
        expected: dict[str, str],
        entries: Mapping[str, str],
        touched: Collection[str],
    ) -> None:
        watched = state.soak.most_s > 0 and state.request.restart
        self.require(Rule.VERDICT_FIRST, not watched or state.promoted, 'done without a verdict')
        self.require(Rule.VERDICT_FIRST, state.verdict is not Verdict.WORSE, 'it failed')
        left = {osd.osd_id for osd in state.osds if osd.step is OsdStep.LEFT_BEHIND}
        targets = dict(state.request.targets)
        # An entry for all that would reach an unchecked OSD is not written.
        finals = (
            state.request.final_entries
            if state.own_entries_stay is None
            else tuple((f'osd.{n}', targets[n]) for n in set(targets) - left)
            if state.request.restart
            else ()
        )
        for who, value in finals:
            # One that was left behind has what it had.
            if who not in self.anybodys | {f'osd.{n}' for n in left} and not (
                who in touched and who.startswith('osd.')
            ):
                _put(expected, who, value)
        self.require(Rule.END_AS_PLANNED, entries == expected, f'{entries}, not {expected}')
        for n in set(targets) - self.beside_itself - left:
            runs = self.run.cluster.runs(n)
            self.require(
                Rule.RUNS_NEW_OPTIONS, same_meaning(runs, targets[n]), f'osd.{n} runs {runs}'
            )

    def _nothing_in_flight(self, state: RolloutState, touched: Collection[str]) -> None:
        failure = state.failure or ''
        if not failure.startswith('aborted by') or state.direction is not Direction.FORWARD:
            return
        flying = state.in_flight
        # Who sets the OSD's own entry has it from there on.
        theirs = flying is not None and any(
            who.partition('/')[0] == f'osd.{flying.osd_id}' for who in touched
        )
        self.require(Rule.ALL_OR_NONE, flying is None or theirs, 'an OSD was left in flight')

    def _no_mixture(self, state: RolloutState) -> None:
        """Only an operator leaves a part of the OSDs changed, and they are reported."""
        unchanged = {OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND}
        changed = [o.osd_id for o in state.osds if o.step not in unchanged]
        failure = state.failure or ''
        by_an_operator = state.outcome is Outcome.ABORTED or 'aborted by' in failure
        # One that does not run what it had, though it was restarted with that, is no mixture.
        alone = len(changed) == 1 and 'during the rollback' in failure
        left = len([o for o in state.osds if o.step is not OsdStep.LEFT_BEHIND])
        self.require(
            Rule.ALL_OR_NONE,
            by_an_operator or alone or len(changed) in {0, left},
            f'{changed} stay changed: {failure}',
        )
        if changed and state.direction is not Direction.BACK:
            self.require(
                Rule.OFFER_IS_VALID,
                any(
                    f'{text} osd.{changed[0]}' in failure
                    for text in ('the change stays on', 'the previous entry of')
                )
                or len(failure) >= 590,
                f'{changed} stay changed: {failure}',
            )


def repeatable(state: RolloutState, words: Sequence[str], cluster: ChaosCluster) -> bool:
    """Whether a command brings an OSD to a safe state: it is not held by a store that refuses."""
    if words[0] == 'daemon':
        return not cluster.osds[int(words[2].partition('.')[2])].up
    value = words[3] if words[0] == 'set' else None
    return state.direction is not Direction.FORWARD and value == state.before.entry(words[1])


def _put(entries: dict[str, str], who: str, value: Optional[str]) -> None:
    if value is None:
        entries.pop(who, None)
    else:
        entries[who] = value
