"""Carries schedules out, and watches the campaign from outside: each rule against the cluster."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from functools import partial
from typing import NamedTuple, Optional
from unittest.mock import patch

from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.compaction.driver import stored_campaign
from rocksdb_tuner.operations.compaction.machine import Limits
from rocksdb_tuner.operations.compaction.records import FINISHED, CampaignState, CompactionStep
from rocksdb_tuner.tests.chaos.checks import Checks, Violation, violation
from rocksdb_tuner.tests.chaos.faults import DELAY_S

from ..conftest import USED_BYTES, WAITING
from .world import EVENTS, FLAGS, NAME, Moment, Planned, Schedule, World, moment_of, repair

#: As DESIGN names them, not as the code under test does.
_HOLDING_HEALTH = {'OSD_NEARFULL', 'OSD_FULL', 'MON_DOWN', 'PG_DEGRADED', 'OSD_DOWN'}
_OBSERVES_FIRST_S = 10.0
#: Requests to one OSD to compact.
_MAX_REQUESTS = 2
#: Queries to OSDs in a sample.
_MOST_QUESTIONS = 12
#: The wait of a campaign before a health check is raised, shorter than the module's, and how late
#: it may be: a manager does not count time without samples.
GATE_ALARM_S = 600.0
_LATE_S = 300.0
#: Samples with events, those in which everything completes afterwards, and those after the end.
_MAX_SAMPLES, _MAX_SAMPLES_TO_END, _SAMPLES_AFTERWARDS = 400, 3000, 8


class Rule(Enum):
    """One invariant; the number is that of the safety rule behind it."""

    #: Rule 1
    HAS_ROOM = 'no OSD compacts without space for a second copy'
    #: Rule 2
    COMPACTED = 'an OSD is done once its compaction started and is over'
    #: Rule 3
    ONE_AT_A_TIME = 'never two OSDs compact'
    GATES = 'no OSD compacts in a cluster that is not clean, is held, or is upgraded'
    REPORTS_ARRIVE = 'no OSD compacts while none reports'
    CLIENTS_FIRST = 'no OSD is started while client writes are slow'
    #: Rule 5
    SAVED_BEFORE = 'every request was stored before'
    #: Rule 6
    PAUSE_HOLDS = 'nothing is requested after a pause'
    ABORT_HOLDS = 'nothing is requested after an abort or the end'
    MODE = 'nothing is requested in mode off'
    WINDOW = 'no OSD is started outside the maintenance window'
    REQUESTS = 'a request that is refused changes nothing'
    #: Rule 7
    OBSERVES_FIRST = 'a manager samples before it acts'
    #: Rule 8
    STOPS = 'an OSD is not asked repeatedly'
    HAS_REASON = 'every wait and skipped OSD has a reason'
    ALARM = 'exactly a long unintended wait raises a health check'
    #: Rule 9
    GUARDS_KNOWN = 'no OSD compacts while its DB or writes are unknown, or of late those of others'
    #: Rule 10
    BOUNDED_TICK = 'a sample has a bounded number of queries'
    #: In all cases
    ENDS = 'it ends once everything works'
    RECORDED_ONCE = 'its end, and nothing before it, is in the history, once'
    NO_TRACEBACK = 'nothing raises'


class Happened(NamedTuple):
    event: str
    moment: Moment


class ScheduleRun(Checks[Rule]):
    """Executes one schedule; raises `Violation` if an invariant breaks."""

    def __init__(self, planned: Schedule, only: Optional[Rule] = None) -> None:
        super().__init__(only)
        self.happened: Counter[Happened] = Counter()
        self.world = World(planned)
        self._waiting = {planned: planned.after for planned in planned.events}
        #: Events under way, and the OSD of each: the samples that are left.
        self._lasting: list[tuple[Planned, int, int]] = []
        self._restless = False
        self._ended_samples = 0
        #: Since when it waits, and where.
        self._waits_since_s, self._waits_at = 0.0, object()
        self._steps: dict[int, CompactionStep] = {}
        self.world.on_compact = self._asked
        self.world.on_observation = lambda: self._happen(between=False)

    def execute(self) -> None:
        world = self.world
        world.start(NAME)
        self._restless = True
        for _ in range(_MAX_SAMPLES):
            awaited = any(planned.moment is Moment.ENDED for planned in self._waiting)
            if world.state.ended and not awaited:
                break
            self._pass()
            self._happen(between=True)
            self._look()
        self._restless = False
        repair(world)
        for _ in range(_MAX_SAMPLES_TO_END):
            if world.state.ended:
                break
            # The operator resumes, and follows the health checks.
            if world.state.paused_by or 'operation resume' in str(world.health().get(WAITING)):
                world.guarded(lambda: EVENTS['resume'].happens(world, 0))
            self._look()
        for _ in range(_SAMPLES_AFTERWARDS):
            self._look()
        self._at_the_end(world.state)

    # -- what happens

    def _happen(self, *, between: bool) -> None:
        """Between two samples, or just before the manager samples."""
        if not self._restless or self.broken is not None:
            return
        moment = moment_of(self.world.state)
        for planned in tuple(self._waiting):
            event = EVENTS[planned.event]
            if event.between is not between or planned.moment is not moment:
                continue
            self._waiting[planned] -= 1
            if self._waiting[planned] >= 0:
                continue
            del self._waiting[planned]
            at_hand = self.world.state.at_hand
            osd = planned.osd
            if osd is None:
                osd = 0 if at_hand is None else at_hand.osd_id
            if osd in self.world.cluster.osds:
                self.happened[Happened(planned.event, moment)] += 1
                if planned.lasts is not None:
                    self._lasting.append((planned, osd, planned.lasts))
                self.world.guarded(partial(event.happens, self.world, osd))

    def _pass(self) -> None:
        """Events that last end."""
        for planned, osd, left in self._lasting:
            if left == 0:
                self.world.guarded(partial(EVENTS[planned.event].ends, self.world, osd))
        self._lasting = [(p, osd, left - 1) for p, osd, left in self._lasting if left > 0]

    def _another_is_refused(self) -> None:
        """An operator starts another campaign at this moment."""
        before = self.world.driver.state
        if before is not None and not before.ended:
            refused = self.world.guarded(lambda: self.world.start('c2'))
            self.require(Rule.REQUESTS, refused, 'a second concurrent campaign is accepted')
            after = self.world.driver.state
            self.require(Rule.REQUESTS, after == before, f'that changed the first: {after}')

    # -- each request to compact

    def stored(self) -> CampaignState:
        state = stored_campaign(self.world.store).load()
        assert state is not None
        return state

    def _asked(self, osd_id: int) -> None:
        """Called before an OSD receives `compact`."""
        world, cluster = self.world, self.world.cluster
        told = f'osd.{osd_id} is asked'
        # The stored state, not the driver's: another manager must find the intention there.
        state = self.stored()
        osd = next((o for o in state.osds if o.osd_id == osd_id), None)
        started = osd is not None and osd.step is CompactionStep.COMPACTING
        self.require(Rule.SAVED_BEFORE, started, f'{told}: {osd}')
        assert osd is not None
        over = world.aborted or state.ended or state.ending is not None
        self.require(Rule.ABORT_HOLDS, not over, f'{told} after an abort or the end')
        paused = world.paused or state.paused_by is not None
        self.require(Rule.PAUSE_HOLDS, not paused, f'{told} though paused')
        self.require(Rule.MODE, world.may_act, f'{told} in spite of the mode')
        active_s = cluster.now_s - world.active_since_s
        seen = active_s >= _OBSERVES_FIRST_S
        self.require(Rule.OBSERVES_FIRST, seen, f'{told} after {active_s} s')
        self.require(Rule.STOPS, osd.asked <= _MAX_REQUESTS, f'{told} {osd.asked} times')
        self._beside(cluster.ours | {osd_id}, told)
        if world.seen_at_s == cluster.now_s:
            # No monitor was slow after the manager had sampled.
            self._guarded(state, osd_id, told)

    def _beside(self, running: set[int], told: str) -> None:
        self.require(Rule.ONE_AT_A_TIME, len(running) <= 1, f'{told}: {running} compact')

    def _guarded(self, state: CampaignState, osd_id: int, told: str) -> None:
        world, cluster = self.world, self.world.cluster
        silent = world.no_reports_reason
        self.require(Rule.REPORTS_ARRIVE, silent is None, f'{told} without OSD reports')
        down = {n for n, osd in cluster.osds.items() if osd.in_cluster and not osd.up}
        pgs = cluster.pg_summary()
        held = {
            *cluster.flags.intersection(FLAGS),
            *(_HOLDING_HEALTH & set(cluster.health_codes())),
            *({'osd ok-to-stop', 'versions'} & set(cluster.errors)),
            *(() if pgs.active_clean == pgs.total and cluster.clean else ('not clean',)),
        }
        open_ = not down and not held and osd_id in cluster.osds and cluster.upgrades_to is None
        self.require(Rule.GATES, open_, f'{told}: {held}, down {down}, {cluster.upgrades_to}')
        up = {o.osd_id for o in cluster.cluster_map().osds if o.up}
        since_s = {n: min(s, world.db_unknown.get(n, s)) for n, s in world.writes_unknown.items()}
        silent_osds = {n for n, s in since_s.items() if n in up and cluster.now_s - s < 300}
        unknown = {osd_id} & (world.db_unknown.keys() | since_s.keys()) | silent_osds
        self.require(Rule.GUARDS_KNOWN, not unknown, f'{told} without samples of {unknown}')
        self.require(Rule.WINDOW, world.outside_window is None, f'{told} outside the window')
        used, total = cluster.compactions.used_bytes.get(osd_id, 0), world.total_bytes[osd_id]
        self.require(Rule.HAS_ROOM, 2 * used <= total, f'{told}: {used}/{total}')
        baseline, now = state.baseline_ms, world.latency_ms
        slow = baseline is not None and now is not None and now > baseline * Limits().slower
        self.require(Rule.CLIENTS_FIRST, not slow, f'{told} at {now} ms, {baseline} ms before')

    # -- each sample

    def _look(self) -> None:
        world = self.world
        world.tick()
        if self.broken is not None:
            raise self.broken
        self._beside(world.cluster.ours, 'in a sample')
        asked, world.cluster.questions = world.cluster.questions, 0
        self.require(Rule.BOUNDED_TICK, asked <= _MOST_QUESTIONS, f'{asked} queries')
        state = world.state
        kept = not world.paused or state.ended or state.paused_by is not None
        self.require(Rule.PAUSE_HOLDS, kept, 'the pause is lost')
        over = {CompactionStep.SETTLING, CompactionStep.DONE}
        for osd in state.osds:
            n, told = osd.osd_id, f'osd.{osd.osd_id} is {osd.step.value}'
            skipped = osd.step is CompactionStep.SKIPPED
            self.require(Rule.HAS_REASON, osd.reason or not skipped, f'{told} without a reason')
            if osd.step in over and self._steps.get(n) not in over and n in world.cluster.osds:
                smaller = world.cluster.compactions.used_bytes.get(n, 0) < USED_BYTES
                self.require(Rule.COMPACTED, smaller, f'{told}, and nothing became of it')
        self._steps = {osd.osd_id: osd.step for osd in state.osds}
        self._alarm(state)
        self._recorded(state)
        if self._restless:
            self._another_is_refused()

    def _alarm(self, state: CampaignState) -> None:
        world, now_s = self.world, self.world.cluster.now_s
        chosen = {world.outside_window, 'the module mode does not allow changes', None}
        waits = not state.ended and state.paused_by is None and state.paused_reason not in chosen
        steps = tuple(osd.step for osd in state.osds)
        at: object = (world.active_since_s, steps) if waits else object()
        if at != self._waits_at:
            self._waits_since_s, self._waits_at = now_s, at
        waited_s = now_s - self._waits_since_s
        raised = WAITING in world.health()
        told = f'"{state.paused_reason}" for {waited_s} s'
        self.require(Rule.ALARM, raised or waited_s < GATE_ALARM_S + _LATE_S, told)
        # The manager takes the time before a sample in which a monitor delays writes.
        late = waited_s >= GATE_ALARM_S - 2 * DELAY_S
        self.require(Rule.ALARM, late or not raised, f'raised at {told}')

    def _recorded(self, state: CampaignState) -> None:
        world = self.world
        found = [r.outcome for r in world.history.history if r.rollout_id == NAME]
        works = state.ended and world.store.error is None and not world.next_writes
        self._ended_samples = self._ended_samples + 1 if works else 0
        most = [state.outcome] if state.ended else []
        self.require(Rule.RECORDED_ONCE, found in ([], most), f'recorded as {found}')
        if self._ended_samples >= 3:
            self.require(Rule.RECORDED_ONCE, found, 'its end is not in the history')
            stored = self.stored()
            self.require(Rule.RECORDED_ONCE, stored == state, f'{stored} is stored, not {state}')

    def _at_the_end(self, state: CampaignState) -> None:
        self.require(Rule.ENDS, state.ended, f'it did not end: {state}')
        self.require(Rule.ENDS, not self.world.cluster.ours, 'an OSD still compacts')
        forgotten = [] if self.world.aborted else [o for o in state.osds if o.step not in FINISHED]
        self.require(Rule.ENDS, not forgotten, f'{forgotten} were forgotten')
        left = [o.osd_id for o in state.osds if o.step is CompactionStep.SKIPPED]
        named = all(f'osd.{n}:' in (state.failure or '') for n in left[:2])
        self.require(Rule.HAS_REASON, named, f'{left} were left: {state.failure}')


def carried_out(
    planned: Schedule, only: Optional[Rule] = None
) -> tuple[ScheduleRun, Optional[Violation[Rule]]]:
    """The run of a schedule, and its violation if any; see `Checks` for ``only``."""
    run = ScheduleRun(planned, only)
    with patch.object(announce, 'GATE_ALARM_AFTER_S', GATE_ALARM_S):
        return run, violation(run.execute, run, Rule.NO_TRACEBACK)
