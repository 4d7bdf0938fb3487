"""Faults planted in the campaign, one at a time, each of which its rule must catch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, NamedTuple, Optional

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.compaction import driver, machine, records
from rocksdb_tuner.operations.compaction.records import CampaignState, CompactionStep
from rocksdb_tuner.operations.reported import ReportedSince
from rocksdb_tuner.tests.chaos.mutants import Patch, Plant, never

from .schedule import ChaosEvent, Schedule
from .watch import Rule


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Plant
    #: Without any of these a schedule hardly shows it; empty: any schedule may.
    shown_by: tuple[ChaosEvent, ...] = ()

    def may_show(self, planned: Schedule) -> bool:
        events = {planned.event for chain in planned.events for planned in chain}
        return not self.shown_by or not events.isdisjoint(self.shown_by)


_TAKEOVERS = (
    ChaosEvent.FAIL_OVER,
    ChaosEvent.KILLED_AFTER_A_WRITE,
    ChaosEvent.KILLED_BEFORE_A_WRITE,
)
_HOLDS = (ChaosEvent.FLAG, ChaosEvent.UNHEALTHY, ChaosEvent.UPGRADE_BEGINS, ChaosEvent.OSD_DIES)
_NOT_STARTED = (ChaosEvent.LOSES_COMMANDS, ChaosEvent.REFUSES_COMMANDS, ChaosEvent.COMMAND_LOST)
MUTANTS: list[Mutant] = []


def _mutant(name: str, rule: Rule, *shown_by: ChaosEvent) -> Callable[[Plant], Plant]:
    """Add what it decorates to `MUTANTS`."""

    def add(plant: Plant) -> Plant:
        MUTANTS.append(Mutant(name, rule, plant, shown_by))
        return plant

    return add


def _view_of(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Let the machine see another view than there is."""
    step = machine.step

    def mistaken(state: Any, view: Any, *args: Any) -> Any:
        return step(state, change(view), *args)

    patch.everywhere(step, mistaken)


def _cluster_of(patch: Patch, **changes: Any) -> None:
    _view_of(patch, lambda view: replace(view, cluster=replace(view.cluster, **changes)))


# -- how many at once


@_mutant('any number at once', Rule.LIMIT)
def _any_number_at_once(patch: Patch) -> None:
    def next_pending(state: CampaignState, _: Any) -> Any:
        return next((o for o in state.osds if o.step is CompactionStep.PENDING), None)

    patch.everywhere(machine._following, next_pending)


@_mutant('domains of the plan', Rule.LIMIT, ChaosEvent.MOVED, ChaosEvent.REPLACED)
def _domains_of_the_plan(patch: Patch) -> None:
    patch.everywhere(
        machine.together,
        lambda osds, _: len({o.domain for o in osds}) == 1,
    )


@_mutant('over once it started', Rule.LIMIT)
def _done_once_started(patch: Patch) -> None:
    """A compaction that was seen to run counts as over."""
    compacting = machine._compacting

    def hasty(state: Any, osd: Any, view: Any) -> Any:
        if view.in_step(osd.osd_id) >= 4.0:
            return _moved_on(state, osd, _DONE)
        return compacting(state, osd, view)

    patch.everywhere(compacting, hasty)


def _moved_on(state: Any, osd: Any, step: CompactionStep) -> Any:
    return machine.Step(records.with_osd(state, replace(osd, step=step)))


@_mutant('two from the first on', Rule.FIRST_ALONE)
def _two_from_the_first_on(patch: Patch) -> None:
    following = machine._following

    def at_once(state: CampaignState, cluster: Any) -> Any:
        beside = replace(state, osds=(*state.osds, replace(state.osds[0], step=_DONE)))
        return following(beside, cluster)

    patch.everywhere(following, at_once)


_DONE = CompactionStep.DONE


@_mutant('the first is done early', Rule.FIRST_ALONE)
def _first_counts_as_done_while_it_settles(patch: Patch) -> None:
    patch.attribute(machine, 'FINISHED', frozenset(CompactionStep) - {CompactionStep.PENDING})


# -- whether it ran


@_mutant('an answer is enough', Rule.COMPACTED)
def _answer_counts_as_done(patch: Patch) -> None:
    """A requested compaction counts as done at the next sample, whatever its counters are."""
    compacting = machine._compacting

    def believed(state: Any, osd: Any, view: Any) -> Any:
        if view.in_step(osd.osd_id) > 0.0:
            return _moved_on(state, osd, CompactionStep.SETTLING)
        return compacting(state, osd, view)

    patch.everywhere(compacting, believed)


@_mutant('not started is over', Rule.COMPACTED, *_NOT_STARTED)
def _previous_counters_dropped(patch: Patch) -> None:
    patch.everywhere(
        machine._not_started, lambda state, osd, _: _moved_on(state, osd, CompactionStep.SETTLING)
    )


# -- gates


def _measured_of(patch: Patch, change: Callable[[Any], Any]) -> None:
    _view_of(patch, lambda view: replace(view, measured=change(view.measured)))


@_mutant('no room is room', Rule.HAS_ROOM, ChaosEvent.DB_IS_FULL)
def _ignores_missing_space(patch: Patch) -> None:
    _measured_of(patch, lambda m: m._replace(total_bytes=dict.fromkeys(m.used_bytes, 1 << 60)))


@_mutant('room for a half', Rule.HAS_ROOM, ChaosEvent.DB_IS_FULL)
def _accepts_half_the_space(patch: Patch) -> None:
    _measured_of(
        patch, lambda m: m._replace(total_bytes={n: 2 * v for n, v in m.total_bytes.items()})
    )


@_mutant('unknown is room', Rule.GUARDS_KNOWN, ChaosEvent.OSD_NOT_SAMPLED)
def _unknown_db_has_room(patch: Patch) -> None:
    _measured_of(
        patch,
        lambda m: m._replace(used_bytes={**dict.fromkeys(m.total_bytes, 1), **m.used_bytes}),
    )


@_mutant('unknown is fast', Rule.GUARDS_KNOWN, ChaosEvent.WRITES_NOT_SAMPLED)
def _unknown_writes_are_fast(patch: Patch) -> None:
    _measured_of(patch, lambda m: m._replace(unmeasured=frozenset()))


_mutant('flags and health ignored', Rule.GATES, ChaosEvent.FLAG, ChaosEvent.UNHEALTHY)(
    never(gates._held_cluster)
)


_mutant('upgrade ignored', Rule.GATES, ChaosEvent.UPGRADE_BEGINS)(never(gates._upgrade))


_mutant('gates left out', Rule.GATES)(never(gates.closed_gate))


@_mutant('no_reports_reason', Rule.REPORTS_ARRIVE, ChaosEvent.REPORTS_STOP)
def _silence_ignored(patch: Patch) -> None:
    _cluster_of(patch, no_reports_reason=None)


@_mutant('reports not needed', Rule.REPORTS_ARRIVE, ChaosEvent.REPORTS_STOP)
def _silence_ignored_for_unstarted(patch: Patch) -> None:
    closed = gates.closed_gate
    patch.everywhere(closed, lambda seen, n: closed(replace(seen, no_reports_reason=None), n))


_mutant('clients ignored', Rule.CLIENTS_FIRST, ChaosEvent.CLIENTS_SLOW)(never(machine._slower))


@_mutant('ten times is usual', Rule.CLIENTS_FIRST, ChaosEvent.CLIENTS_SLOW)
def _ten_times_as_slow_is_usual(patch: Patch) -> None:
    slower = machine._slower
    patch.everywhere(slower, lambda state, view: slower(state, _limited(view, slower=100.0)))


def _limited(view: Any, **limits: float) -> Any:
    return replace(view, limits=replace(view.limits, **limits))


@_mutant('window ignored', Rule.WINDOW, ChaosEvent.WINDOW_CLOSES)
def _window_ignored(patch: Patch) -> None:
    _cluster_of(patch, schedule_reason=None)


@_mutant('window for the first', Rule.WINDOW, ChaosEvent.WINDOW_CLOSES)
def _window_for_the_first(patch: Patch) -> None:
    begin = machine._pending

    def anyway(state: Any, osd: Any, view: Any) -> Any:
        if osd is not state.osds[0]:
            view = replace(view, cluster=replace(view.cluster, schedule_reason=None))
        return begin(state, osd, view)

    patch.everywhere(begin, anyway)


# -- operators


@_mutant('pause ignored', Rule.PAUSE_HOLDS, ChaosEvent.PAUSE)
def _pause_ignored(patch: Patch) -> None:
    step, gated, probed = machine.step, machine.gated, machine.probed

    def unpaused(state: Any) -> Any:
        return replace(state, paused_by=None)

    def go_on(state: Any, *args: Any) -> Any:
        found = step(unpaused(state), *args)
        return replace(found, state=replace(found.state, paused_by=state.paused_by))

    patch.attribute(machine, 'step', go_on)
    patch.attribute(machine, 'gated', lambda state, *args: gated(unpaused(state), *args))
    patch.attribute(machine, 'probed', lambda state, *args: probed(unpaused(state), *args))


@_mutant('pause ends with an OSD', Rule.PAUSE_HOLDS, ChaosEvent.PAUSE)
def _pause_ends_with_an_osd(patch: Patch) -> None:
    watched = machine._next

    def forgets(state: Any, view: Any) -> Any:
        found = watched(state, view)
        before = sum(o.step is _DONE for o in state.osds)
        if sum(o.step is _DONE for o in found.state.osds) > before:
            return replace(found, state=replace(found.state, paused_by=None))
        return found

    patch.everywhere(watched, forgets)


@_mutant('abort forgotten', Rule.ABORT_HOLDS, ChaosEvent.ABORT)
def _abort_forgotten(patch: Patch) -> None:
    def pauses(state: Any, actor: str, now_s: float) -> Any:
        return replace(state, updated_s=now_s)

    patch.everywhere(records.aborted, pauses)


@_mutant('asked after an abort', Rule.ABORT_HOLDS, ChaosEvent.ABORT)
def _asks_after_abort(patch: Patch) -> None:
    not_started = machine._not_started

    def again(state: Any, osd: Any, view: Any) -> Any:
        found = not_started(replace(state, ending=None), osd, view)
        return replace(found, state=replace(found.state, ending=state.ending))

    patch.everywhere(not_started, again)


@_mutant('mode ignored', Rule.MODE, ChaosEvent.MODE_OFF)
def _mode_ignored(patch: Patch) -> None:
    _cluster_of(patch, may_act=True)
    _switch_ignored(patch)


@_mutant('switch ignored in a tick', Rule.MODE, ChaosEvent.MODE_OFF_IN_A_WRITE)
def _switch_ignored(patch: Patch) -> None:
    step = driver.CampaignDriver._step

    def always_on(self: Any, *args: Any) -> Any:
        self._changes_allowed = lambda: True
        return step(self, *args)

    patch.attribute(driver.CampaignDriver, '_step', always_on)


@_mutant('another is accepted', Rule.REQUESTS, ChaosEvent.START_ANOTHER)
def _second_campaign_accepted(patch: Patch) -> None:
    patch.attribute(driver.CampaignDriver, 'under_way', property(lambda self: False))


@_mutant('another ends the first', Rule.REQUESTS, ChaosEvent.START_ANOTHER)
def _second_campaign_ends_first(patch: Patch) -> None:
    start = driver.CampaignDriver.start

    def instead(self: Any, campaign_id: str, request: Any, now_s: float) -> Any:
        if self.under_way:
            self._save_requested(records.aborted(self._state, 'another', now_s))
        return start(self, campaign_id, request, now_s)

    patch.attribute(driver.CampaignDriver, 'start', instead)


# -- managers


@_mutant('acts at once', Rule.OBSERVES_FIRST, *_TAKEOVERS)
def _acts_immediately(patch: Patch) -> None:
    _view_of(patch, lambda view: replace(view, watched_s=1e9))


@_mutant('observes too briefly', Rule.OBSERVES_FIRST, *_TAKEOVERS)
def _observes_too_briefly(patch: Patch) -> None:
    _view_of(patch, lambda view: _limited(view, observe_first_s=1.0, baseline_s=1.0))


@_mutant('time of day', Rule.OBSERVES_FIRST, ChaosEvent.CLOCK_FORWARD)
def _uses_wall_clock(patch: Patch) -> None:
    tick = driver.CampaignDriver.tick

    def trusting(self: Any, now_s: float, measured: Any, allowed: Any, **_: float) -> None:
        tick(self, now_s, measured, allowed, monotonic_s=now_s)

    patch.attribute(driver.CampaignDriver, 'tick', trusting)
    # It also waits for reports, which take about as long.
    patch.attribute(ReportedSince, 'update', lambda *_: True)


@_mutant('acts before it saves', Rule.SAVED_BEFORE)
def _acts_before_it_saves(patch: Patch) -> None:
    step, save = driver.CampaignDriver._step, driver.CampaignDriver._save

    def act_before_saving(self: Any, state: Any, view: Any, now_s: float) -> Any:
        self._save = lambda new: self.__dict__.update(_state=new)
        try:
            return step(self, state, view, now_s)
        finally:
            del self._save
            if self._state is not state:
                save(self, self._state)

    patch.attribute(driver.CampaignDriver, '_step', act_before_saving)


@_mutant('saved one behind', Rule.SAVED_BEFORE)
def _saved_one_behind(patch: Patch) -> None:
    save = driver.CampaignDriver._store
    last: list[Optional[CampaignState]] = [None]

    def save_older(self: Any, state: CampaignState) -> None:
        older, last[0] = last[0], state
        alike = older is not None and older.started_s == state.started_s
        save(self, older if alike and older is not None and not state.ended else state)

    patch.attribute(driver.CampaignDriver, '_store', save_older)


@_mutant('asks repeatedly', Rule.STOPS, *_NOT_STARTED)
def _asks_repeatedly(patch: Patch) -> None:
    def again(state: Any, osd: Any, _: Any) -> Any:
        asked = records.with_osd(state, replace(osd, asked=osd.asked + 1))
        return machine.Step(asked, (machine.Compact(osd.osd_id),))

    patch.everywhere(machine._not_started, again)


@_mutant('a third time', Rule.STOPS, *_NOT_STARTED)
def _retries_twice(patch: Patch) -> None:
    not_started = machine._not_started
    patch.everywhere(
        not_started, lambda state, osd, view: not_started(state, osd, _limited(view, tries=3))
    )


@_mutant('queries all', Rule.BOUNDED_TICK)
def _queries_all(patch: Patch) -> None:
    patch.attribute(driver, 'PROBE_PERIOD_S', 0.0)
    patch.attribute(machine, 'probed', lambda state, _: tuple(o.osd_id for o in state.osds) * 4)


@_mutant('queries at each step', Rule.BOUNDED_TICK)
def _queries_at_each_step(patch: Patch) -> None:
    poll = driver.OsdCommandQueue.poll

    def many(self: Any, osd_id: int, *args: Any) -> None:
        for _ in range(20):
            self._osds.ask(osd_id, 'perf dump', {})
        poll(self, osd_id, *args)

    patch.attribute(driver.OsdCommandQueue, 'poll', many)


# -- the end


@_mutant('waits for whom it lost', Rule.ENDS, ChaosEvent.PURGED)
def _waits_for_removed_osd(patch: Patch) -> None:
    """An OSD that is gone is waited for."""
    skipped = records.skipped

    def kept(osd: Any, reason: str) -> Any:
        return osd if 'OSD map' in reason else skipped(osd, reason)

    patch.everywhere(skipped, kept)


_mutant('waits for whom is out', Rule.ENDS, ChaosEvent.DIES_AND_IS_OUT)(never(machine.why_given_up))


@_mutant('never ends', Rule.ENDS)
def _never_ends(patch: Patch) -> None:
    patch.everywhere(records.concluded, lambda state: state)


@_mutant('not recorded', Rule.RECORDED_ONCE)
def _not_recorded(patch: Patch) -> None:
    init = driver.CampaignDriver.__init__

    def reports_unknown(self: Any, *args: Any, **named: Any) -> None:
        init(self, *args, **{**named, 'on_end': lambda _: None})

    patch.attribute(driver.CampaignDriver, '__init__', reports_unknown)


@_mutant('recorded at the begin', Rule.RECORDED_ONCE)
def _recorded_at_start(patch: Patch) -> None:
    start = driver.CampaignDriver.start

    def too_early(self: Any, *args: Any) -> Any:
        state = start(self, *args)
        self._on_end(state)
        return state

    patch.attribute(driver.CampaignDriver, 'start', too_early)


@_mutant('lost with the manager', Rule.RECORDED_ONCE, *_TAKEOVERS)
def _lost_in_failover(patch: Patch) -> None:
    """Another manager does not record what ended before it."""
    load = driver.CampaignDriver.load

    def forgets(self: Any) -> None:
        load(self)
        self._unrecorded = False

    patch.attribute(driver.CampaignDriver, 'load', forgets)


@_mutant('left without a word', Rule.HAS_REASON, ChaosEvent.PURGED, ChaosEvent.REFUSES_COMMANDS)
def _skipped_silently(patch: Patch) -> None:
    skipped = records.skipped
    patch.everywhere(skipped, lambda osd, reason: replace(skipped(osd, reason), reason=None))


@_mutant('nothing is named', Rule.HAS_REASON, ChaosEvent.PURGED, ChaosEvent.REFUSES_COMMANDS)
def _nothing_is_named(patch: Patch) -> None:
    end = records.concluded
    patch.everywhere(end, lambda state: replace(end(state), failure=None))


_mutant('no alarm is raised', Rule.ALARM, *_HOLDS)(never(machine.why_waiting))


@_mutant('alarmed at once', Rule.ALARM, *_HOLDS)
def _alarm_is_immediate(patch: Patch) -> None:
    why_waiting = machine.why_waiting
    patch.everywhere(why_waiting, lambda state, _: why_waiting(state, 1e9))


@_mutant('any time is a wait', Rule.ALARM, *_HOLDS)
def _any_time_counts_as_wait(patch: Patch) -> None:
    """Time without a blocker counts, too."""
    patch.attribute(driver.CampaignDriver, '_wait_key', lambda *_: 0)
