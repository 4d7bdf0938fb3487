"""Watches a campaign from outside: each rule is checked against the cluster itself."""

from __future__ import annotations

from enum import Enum
from typing import Optional

from rocksdb_tuner.operations.compaction.driver import stored_campaign
from rocksdb_tuner.operations.compaction.machine import Limits
from rocksdb_tuner.operations.compaction.records import FINISHED, CampaignState, CompactionStep
from rocksdb_tuner.tests.chaos.checks import Checks
from rocksdb_tuner.tests.chaos.world import DELAY_S

from ..conftest import WAITING
from .world import NAME, USED_BYTES, World

#: As DESIGN names them, not as the code under test does.
_HOLDING_FLAGS = {'noout', 'nobackfill', 'norecover', 'norebalance', 'pauserd', 'pausewr'}
_HOLDING_HEALTH = {'OSD_NEARFULL', 'OSD_FULL', 'MON_DOWN', 'PG_DEGRADED', 'OSD_DOWN'}
_OBSERVES_FIRST_S = 10.0
#: Requests to one OSD to compact.
_MAX_REQUESTS = 2
#: Queries to OSDs in a sample: of those that compact, and of the next one.
_MOST_QUESTIONS = 12
#: The wait of a campaign before a health check is raised, shorter than the module's, and how late
#: it may be: a manager does not count time without samples.
GATE_ALARM_S = 600.0
_LATE_S = 300.0
#: The manager takes the time before a sample in which a monitor delays writes, the watch after it.
_SAMPLE_TAKES_S = 2 * DELAY_S


class Rule(Enum):
    """One invariant; the number is that of the safety rule behind it."""

    #: Rule 1
    HAS_ROOM = 'no OSD compacts without space for a second copy'
    #: Rule 2
    FIRST_ALONE = 'the first OSD is done before two compact at once'
    COMPACTED = 'an OSD is done once its compaction started and is over'
    #: Rule 3
    LIMIT = 'never more OSDs compact than allowed, and those in one failure domain'
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


class Watch(Checks[Rule]):
    """Watches one `World`."""

    def __init__(self, world: World, only: Optional[Rule] = None) -> None:
        super().__init__(only)
        self.world = world
        #: An operator paused or aborted it, and nothing since undid that.
        self.paused = self.aborted = False
        self._last = world.driver.state
        self._ended_samples = 0
        #: Since when it waits, and where.
        self._waits_since_s = world.cluster.now_s
        self._waits_at: object = None
        world.on_compact = self.compact

    # -- each request to compact

    def compact(self, osd_id: int) -> None:
        """Called before an OSD receives `compact`."""
        world, cluster = self.world, self.world.cluster
        reported = f'osd.{osd_id} is asked'
        # The stored state, not the driver's: another manager must find the intention there.
        state = self.stored()
        osd = next((o for o in state.osds if o.osd_id == osd_id), None)
        started = osd is not None and osd.step is CompactionStep.COMPACTING
        self.require(Rule.SAVED_BEFORE, started, f'{reported}: {osd}')
        assert osd is not None
        self.require(Rule.ABORT_HOLDS, not state.ended, f'{reported} after the end')
        self.require(
            Rule.ABORT_HOLDS,
            not self.aborted and state.ending is None,
            f'{reported} after an abort',
        )
        paused = self.paused or state.paused_by is not None
        self.require(Rule.PAUSE_HOLDS, not paused, f'{reported} though paused')
        self.require(Rule.MODE, world.may_act, f'{reported} in spite of the mode')
        active_s = cluster.now_s - world.active_since_s
        self.require(
            Rule.OBSERVES_FIRST, active_s >= _OBSERVES_FIRST_S, f'{reported} after {active_s} s'
        )
        self.require(
            Rule.STOPS, osd.asked <= _MAX_REQUESTS, f'{reported} for the {osd.asked}th time'
        )
        self._limit(state, osd_id, reported)
        if world.seen_at_s < cluster.now_s:
            # A monitor was slow after the manager had sampled.
            return
        self._gates(osd_id, reported)
        up = {o.osd_id for o in world.cluster.cluster_map().osds if o.up}
        since_s = {n: min(s, world.db_unknown.get(n, s)) for n, s in world.writes_unknown.items()}
        silent = {n for n, s in since_s.items() if n in up and world.cluster.now_s - s < 300}
        unknown = {osd_id} & (world.db_unknown.keys() | since_s.keys()) | silent
        self.require(Rule.GUARDS_KNOWN, not unknown, f'{reported} without samples of {unknown}')
        if osd.asked == 1:
            self._started(state, osd_id, reported)

    def stored(self) -> CampaignState:
        state = stored_campaign(self.world.store).load()
        assert state is not None
        return state

    def _limit(self, state: CampaignState, osd_id: int, reported: str) -> None:
        cluster = self.world.cluster
        running = cluster.ours | {osd_id}
        self.require(Rule.LIMIT, len(running) <= state.request.parallel, f'{reported}: {running}')
        domains = {cluster.osds[n].failure_domain for n in running if n in cluster.osds}
        self.require(Rule.LIMIT, len(domains) <= 1, f'{reported}: {running} in {domains}')
        beside = {o.osd_id for o in state.in_flight} - {osd_id}
        first_done = any(o.step in FINISHED for o in state.osds)
        self.require(Rule.FIRST_ALONE, first_done or not beside, f'{reported} during {beside}')

    def _gates(self, osd_id: int, reported: str) -> None:
        world, cluster = self.world, self.world.cluster
        self.require(
            Rule.REPORTS_ARRIVE,
            world.no_reports_reason is None,
            f'{reported} without OSD reports',
        )
        down = {n for n, osd in cluster.osds.items() if osd.in_cluster and not osd.up}
        self.require(Rule.GATES, not down, f'{reported} while {down} are down')
        flags = _HOLDING_FLAGS & cluster.flags
        self.require(Rule.GATES, not flags, f'{reported} with flags {flags}')
        health = _HOLDING_HEALTH & set(cluster.health_codes())
        self.require(Rule.GATES, not health, f'{reported} in bad health: {health}')
        pgs = cluster.pg_summary()
        self.require(Rule.GATES, pgs.active_clean == pgs.total, f'{reported}: {pgs.by_state}')
        self.require(Rule.GATES, cluster.clean, f'{reported}, in truth not clean')
        errors = {'osd ok-to-stop', 'versions'} & set(cluster.errors)
        self.require(Rule.GATES, not errors, f'{reported}: no answer to {errors}')
        self.require(Rule.GATES, osd_id in cluster.osds, f'{reported}: it is gone')
        upgrade = cluster.upgrades_to
        self.require(Rule.GATES, upgrade is None, f'{reported} during an upgrade to {upgrade}')

    def _started(self, state: CampaignState, osd_id: int, reported: str) -> None:
        world = self.world
        self.require(Rule.WINDOW, world.outside_window is None, f'{reported} outside the window')
        used = world.cluster.compactions.used_bytes.get(osd_id, 0)
        total = world.total_bytes[osd_id]
        self.require(Rule.HAS_ROOM, 2 * used <= total, f'{reported}: {used}/{total}')
        baseline, now = state.baseline_ms, world.latency_ms
        slow = baseline is not None and now is not None and now > baseline * Limits().slower
        self.require(Rule.CLIENTS_FIRST, not slow, f'{reported} at {now} ms, {baseline} ms before')

    # -- each sample

    def sampled(self) -> None:
        """Called after each sample."""
        if self.broken is not None:
            raise self.broken
        world, cluster = self.world, self.world.cluster
        running = cluster.ours
        self.require(Rule.LIMIT, len(running) <= world.planned.parallel, f'{running} compact')
        self.require(
            Rule.BOUNDED_TICK, cluster.questions <= _MOST_QUESTIONS, f'{cluster.questions} queries'
        )
        cluster.questions = 0
        state = world.driver.state
        if state is None:
            return
        if self.paused and not state.ended:
            self.require(Rule.PAUSE_HOLDS, state.paused_by is not None, 'the pause is lost')
        self._steps(state)
        self._alarm(state)
        self._recorded(state)
        self._last = state

    def _steps(self, state: CampaignState) -> None:
        cluster = self.world.cluster
        before = {o.osd_id: o.step for o in self._last.osds} if self._last else {}
        for osd in state.osds:
            n = osd.osd_id
            reported = f'osd.{n} is {osd.step.value}'
            if osd.step is CompactionStep.SKIPPED:
                self.require(Rule.HAS_REASON, osd.reason, f'{reported} without a reason')
            over = {CompactionStep.SETTLING, CompactionStep.DONE}
            if osd.step in over and before.get(n) not in over and n in cluster.osds:
                smaller = cluster.compactions.used_bytes.get(n, 0) < USED_BYTES
                self.require(Rule.COMPACTED, smaller, f'{reported}, and nothing became of it')

    def _alarm(self, state: CampaignState) -> None:
        world, now_s = self.world, self.world.cluster.now_s
        reason = state.paused_reason
        chosen = {world.outside_window, 'the module mode does not allow changes', None}
        waits = not state.ended and state.paused_by is None and reason not in chosen
        steps = tuple(osd.step for osd in state.osds)
        at = (world.active_since_s, steps) if waits else object()
        if at != self._waits_at:
            self._waits_since_s, self._waits_at = now_s, at
        waited_s = now_s - self._waits_since_s
        raised = WAITING in world.health()
        reported = f'"{reason}" for {waited_s} s'
        self.require(Rule.ALARM, raised or waited_s < GATE_ALARM_S + _LATE_S, reported)
        self.require(
            Rule.ALARM,
            waited_s >= GATE_ALARM_S - _SAMPLE_TAKES_S or not raised,
            f'raised at {reported}',
        )

    def _recorded(self, state: CampaignState) -> None:
        world = self.world
        found = [r for r in world.history.history if r.rollout_id == NAME]
        if not state.ended:
            self.require(Rule.RECORDED_ONCE, not found, f'it is recorded before its end: {found}')
            self._ended_samples = 0
            return
        works = world.store.error is None and not world.next_writes
        self._ended_samples = self._ended_samples + 1 if works else 0
        self.require(Rule.RECORDED_ONCE, len(found) <= 1, f'it is recorded as {found}')
        if self._ended_samples < 3:
            return
        self.require(Rule.RECORDED_ONCE, len(found) == 1, 'its end is not in the history')
        outcome = found[0].outcome
        self.require(
            Rule.RECORDED_ONCE, outcome is state.outcome, f'{state.outcome} recorded as {outcome}'
        )
        stored = self.stored()
        self.require(Rule.RECORDED_ONCE, stored == state, f'{stored} is stored, not {state}')

    def check_end(self) -> None:
        state = self.world.state
        self.require(Rule.ENDS, state.ended, f'it did not end: {state}')
        running = self.world.cluster.ours
        self.require(Rule.ENDS, not running, f'{running} still compact')
        if not self.aborted:
            open_ = [o.osd_id for o in state.osds if o.step not in FINISHED]
            self.require(Rule.ENDS, not open_, f'{open_} were forgotten')
        left = [o.osd_id for o in state.osds if o.step is CompactionStep.SKIPPED]
        reported = state.failure or ''
        named = all(f'osd.{n}:' in reported for n in left[:2])
        self.require(Rule.HAS_REASON, named, f'{left} were left: {reported}')
