"""Watches an experiment from outside: each rule is checked against the cluster itself."""

from __future__ import annotations

import shlex
from collections import Counter
from contextlib import suppress
from enum import Enum
from typing import Optional

from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.measuring import (
    BLOCKS,
    Measurements,
    measured_osds,
    stored_experiment,
)
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import Stored
from rocksdb_tuner.tests.chaos.checks import Checks
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster
from rocksdb_tuner.tests.chaos.invariants import repeatable
from rocksdb_tuner.tests.operations.experiment.conftest import crashed
from rocksdb_tuner.tests.operations.rollout.conftest import same_meaning

from .schedule import Schedule
from .world import ExperimentWorld

#: A manager that became active samples for so long.
_OBSERVES_FIRST_S = 10.0
_FLAGS = frozenset({'noout', 'nobackfill', 'norecover'})
_HEALTH = frozenset({'OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED', 'OSD_DOWN'})


class Rule(Enum):
    """One invariant."""

    AS_REQUESTED = 'own entries of planned OSDs get the string of an arm or what they had'
    ONLY_PLANNED = 'no more OSDs than planned are off their old string'
    OF_ITS_ARM = 'an OSD gets the string of its arm'
    SAVED_BEFORE = 'every action was stored before'
    ONE_DOWN = 'the experiment never has two OSDs down'
    ONE_OUTSTANDING = 'no restart is requested while another one may still happen'
    GATES = 'no OSD is stopped in a cluster that is not clean, or is held'
    OPERATOR_WINS = "an operator's change is not overwritten"
    PAUSE_HOLDS = 'nothing is done after a pause, except for a failed OSD'
    MODE = 'nothing is done in mode off, except for a failed OSD'
    WINDOW = 'no OSD is started outside the maintenance window'
    OBSERVES_FIRST = 'a manager samples before it acts'
    DROPPED_STAYS_OFF = 'no OSD gets the string of an arm that was dropped, or any after a crash'
    UNDISTURBED = 'no block covers a change or a down OSD'
    RIGHT_ARM = 'an OSD is measured in the arm whose string it runs'
    EVIDENCE_KEPT = 'measurements are known to the next manager'
    RESTORED = 'at the end every OSD has its old entry and runs its old string'
    RIGHT_END = 'its conclusion matches the events'
    RECORDED = 'its end is in the history, once'
    ENDS = 'it ends once everything works'
    NO_TRACEBACK = 'nothing raises'


class Watch(Checks[Rule]):
    """Watches one world; a violation fails the test at the offending command.

    Actions of others are reported to it with the methods of the watch of rollouts.
    """

    def __init__(
        self, world: ExperimentWorld, planned: Schedule, only: Optional[Rule] = None
    ) -> None:
        super().__init__(only)
        self.world, self.planned = world, planned
        self.cluster: ChaosCluster = world.cluster
        #: Entries that an operator wrote or removed.
        self.operators: set[str] = set()
        #: OSDs that may run something else by the hand of others, or are others by now.
        self.beside_itself: set[int] = set()
        self.others: set[int] = set()
        self.store_failed = False
        self._ours: dict[int, int] = {}
        #: OSDs that were down when the current sample started.
        self._down: set[int] = set()
        #: The leg and the OSD whose entry was set last.
        self._started: Optional[tuple[str, int]] = None
        self.before = self.cluster.entries_of()
        request = planned.request
        self._strings = {arm.options: arm.name for arm in request.arms}
        self._columns = set(request.changed)
        self._old = {n: self.cluster.runs(n) for n in self.cluster.osds}
        self.cluster.on_command = self.check
        world.on_takeover = self.taken_over
        self._watch_blocks()

    # -- what others do, in the words of the watch of rollouts

    def paused(self) -> None:
        """An experiment may pause at any time."""

    def resumed(self) -> None:
        """It may be resumed at any time."""

    def refuted(self, text: str) -> None:
        raise AssertionError(text)

    def operator_sets(self, who: str, value: str) -> None:
        self.operators.add(who)
        self.cluster.operator_sets(who, value)

    def operator_sets_other_option(self, value: str) -> None:
        self.operators.add('other')
        self.cluster.operator_sets('osd', value, f'{OPTION}_annex')

    def operator_removes(self, who: str) -> None:
        self.operators.add(who)
        self.cluster.operator_removes(who)

    def stopped_by_others(self, osd_id: int) -> None:
        self._ours.pop(osd_id, None)

    def started_by_hand(self, osd_id: int) -> None:
        """How long an OSD of an experiment may take to start is no rule here."""

    def gone(self, osd_id: int) -> None:
        self.others.add(osd_id)
        self._ours.pop(osd_id, None)

    def joined(self, osd_id: int) -> None:
        self.others.add(osd_id)

    # -- what the module does

    def check(self, command: str) -> None:
        words = shlex.split(command)
        state = self.world.experiment.state
        assert state is not None
        leg = state.leg
        assert leg is not None, command
        unstored = self.world.store_refuses and repeatable(leg, words[2:], self.cluster)
        self.require(Rule.SAVED_BEFORE, unstored or self._stored() == state, command)
        now_s = self.cluster.now_s
        since_s = now_s - self.world.active_since_s
        self.require(
            Rule.OBSERVES_FIRST, since_s >= _OBSERVES_FIRST_S, f'{command} after {since_s} s'
        )
        recovering = leg.direction is Direction.RECOVER
        self.require(Rule.PAUSE_HOLDS, state.paused_by is None or recovering, command)
        if words[1] == 'config':
            self.require(Rule.MODE, self.world.may_act or recovering, command)
            self._entry(state, leg, words[3], words[5] if words[2] == 'set' else None)
        else:
            self._restart(state, leg, int(words[-1].partition('.')[2]), command)

    def _entry(
        self, state: ExperimentState, leg: RolloutState, who: str, value: Optional[str]
    ) -> None:
        reported = f'{who} = {value}'
        osd_id = int(who[4:]) if who[4:].isdigit() else -1
        before = self.before.get(who)
        self.require(
            Rule.AS_REQUESTED,
            osd_id in self._columns and (value == before or value in self._strings),
            reported,
        )
        self.require(Rule.OPERATOR_WINS, not self._taken(who, value), reported)
        if value is None or value == before or value not in self._strings:
            return
        arm = self._strings[value]
        of_value = next(found for found in state.arms if found.name == arm)
        self.require(Rule.OF_ITS_ARM, osd_id in of_value.osds, reported)
        may_run = not of_value.dropped and not crashed(state)
        self.require(Rule.DROPPED_STAYS_OFF, may_run, reported)
        # A started OSD is finished.
        started = self._started == (leg.rollout_id, osd_id)
        self._started = leg.rollout_id, osd_id
        if leg.direction is Direction.FORWARD and not started:
            self.require(Rule.WINDOW, self.world.outside_window is None, reported)

    def _taken(self, who: str, value: Optional[str]) -> bool:
        """Whether an operator's entry would be overwritten by something else."""
        now = self.cluster.entries_of().get(who)
        # An operator's entry that equals one of the experiment cannot be distinguished.
        ours = now in {self.before.get(who), *self._strings}
        return who in self.operators and not ours and now != value

    def _restart(
        self, state: ExperimentState, leg: RolloutState, osd_id: int, command: str
    ) -> None:
        cluster, osd = self.cluster, self.cluster.osds.get(osd_id)
        self.require(Rule.AS_REQUESTED, osd_id in self._columns, command)
        step = next(o.step for o in leg.osds if o.osd_id == osd_id)
        self.require(Rule.SAVED_BEFORE, step is OsdStep.RESTARTING, command)
        up = osd is not None and osd.up
        recovering = leg.direction is Direction.RECOVER
        self.require(Rule.MODE, self.world.may_act or (recovering and not up), command)
        down = {n for n in self._down_by_us() if n != osd_id}
        # A crashed process is started at once: that takes none down.
        self.require(Rule.ONE_DOWN, not (down and up), f'{command} while {down} are down')
        coming = [found.osd_id for found in cluster.accepted if found.osd_id != osd_id]
        self.require(Rule.ONE_OUTSTANDING, not coming, f'{command} while {coming} are to come')
        if up:
            heard = cluster.pg_summary()
            self.require(
                Rule.GATES,
                heard.active_clean == heard.total
                and not cluster.unclean
                and not cluster.flags & _FLAGS
                and not _HEALTH & set(cluster.health_codes())
                and cluster.why_not_stop((osd_id,)) is None
                and cluster.upgrades_to is None,
                command,
            )
        # One that is down already was not stopped by this.
        if osd is not None and osd.up and not self._refused():
            self._ours[osd_id] = osd.boots

    def _refused(self) -> bool:
        cluster = self.cluster
        reason = cluster.orchestrator_reason
        return reason is not None or cluster.orchestrator_idle or 'orch daemon' in cluster.errors

    def _down_by_us(self) -> set[int]:
        osds = self.cluster.osds
        self._ours = {
            n: boots
            for n, boots in self._ours.items()
            if n in osds and not (osds[n].up and osds[n].boots > boots)
        }
        return {n for n in self._ours if not osds[n].up}

    def _stored(self) -> Optional[ExperimentState]:
        with suppress(StoredStateError):
            return stored_experiment(self.world.store).load()
        return None

    # -- over time

    def samples(self) -> None:
        """A process that dies in a sample was sampled before."""
        self._down = set(self.cluster.down)

    def sampled(self) -> None:
        state, cluster = self.world.experiment.state, self.cluster
        if self.broken is not None:
            raise self.broken
        if state is None:
            return
        self.store_failed = self.store_failed or self.world.store.error is not None
        entries = cluster.entries_of()
        off = {
            n
            for n in cluster.osds
            if entries.get(f'osd.{n}') in set(self._strings) - {self.before.get(f'osd.{n}')}
        }
        self.require(Rule.ONLY_PLANNED, off <= self._columns, f'{off}')
        arms = Counter(self._strings[entries[f'osd.{n}']] for n in off)
        most = max(len(arm.osds) for arm in self.planned.request.arms)
        self.require(Rule.ONLY_PLANNED, max(arms.values(), default=0) <= most, f'{arms}')

    def _watch_blocks(self) -> None:
        store = self.world.store
        put = store.set

        def watched(key: str, value: Optional[str]) -> None:
            # The first one is empty, and written before there is an experiment.
            if key == BLOCKS and value is not None and self.world.experiment.state is not None:
                state = self.world.now
                quiet = state.leg is None and state.paused_reason is None
                self.require(Rule.UNDISTURBED, quiet, f'{key} during {state.paused_reason}')
                down = self._down & self.cluster.down & set(measured_osds(state))
                self.require(
                    Rule.UNDISTURBED, not down or self.world.no_reports_reason, f'{key}: {down}'
                )
                self._watch_arms(state, key)
            put(key, value)

        watched.mortal = True  # type: ignore[attr-defined]
        store.set = watched  # type: ignore[method-assign]

    def _watch_arms(self, state: ExperimentState, key: str) -> None:
        last = self.world.experiment._measuring.known(state).after[-1:]
        measured = {n for block in last for n in block.by_osd} - self.others - self.beside_itself
        arms = {} if state.stage is Stage.BASELINE else state.arm_of
        for n in measured & arms.keys():
            runs = self.cluster.runs(n)
            right = same_meaning(runs, arms[n].options)
            self.require(Rule.RIGHT_ARM, right, f'{key}: osd.{n} of {arms[n].name} runs {runs}')

    def taken_over(self, before: ExperimentDriver) -> None:
        found = self.world.experiment
        if before.state is None or found.state is None:
            return
        self.require(
            Rule.SAVED_BEFORE, found.state == self._stored(), 'another state than the stored one'
        )
        kept = _blocks(Stored(self.world.store, BLOCKS, Measurements).load())
        known = _blocks(found._measuring.known(found.state))
        self.require(Rule.EVIDENCE_KEPT, known == kept, f'{known} of {kept} blocks')
        had = _blocks(before._measuring.known(before.state))
        ok = self.store_failed or self._lossy() or had <= kept
        self.require(Rule.EVIDENCE_KEPT, ok, f'{had} were measured, {kept} are stored')

    def _lossy(self) -> bool:
        """Whether single writes may have been lost."""
        names = {found.event.name for chain in self.planned.events for found in chain}
        return bool({n for n in names if n.startswith(('WRITE', 'STORE', 'KILLED', 'MODE'))})

    # -- the end

    def check_end(self, dead: frozenset[int]) -> None:
        state, cluster = self.world.now, self.cluster
        entries = cluster.entries_of()
        was_given_up = 'before every OSD was restored' in (state.failure or '')
        for n in self._columns:
            who = f'osd.{n}'
            if who in self.operators or was_given_up:
                continue
            found, wanted = entries.get(who), self.before.get(who)
            self.require(Rule.RESTORED, found == wanted, f'{who} has {found} instead of {wanted}')
            if n in dead or n not in cluster.osds or n in self.beside_itself or n in self.others:
                continue
            if self.operators or not cluster.osds[n].up:
                continue
            runs = cluster.runs(n)
            self.require(Rule.RESTORED, same_meaning(runs, self._old[n]), f'{who} runs {runs}')
        if crashed(state):
            self.require(Rule.RIGHT_END, state.outcome is not Outcome.DONE, f'{state.outcome}')
        if state.outcome is Outcome.DONE:
            self.require(Rule.RIGHT_END, state.conclusion is not None, 'no conclusion')
        record = [r for r in self.world.driver.history if r.rollout_id == 'E1']
        reported = [(r.outcome, r.reason) for r in record]
        self.require(Rule.RECORDED, reported == [(state.outcome, state.failure)], f'{reported}')


def _blocks(found: Optional[Measurements]) -> int:
    return 0 if found is None else len(found.before) + len(found.after)
