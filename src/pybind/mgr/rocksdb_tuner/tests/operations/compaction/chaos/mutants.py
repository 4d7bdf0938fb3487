"""Faults planted in the campaign, one at a time, each of which its rule must catch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, NamedTuple, Optional

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.compaction import driver, machine, records
from rocksdb_tuner.operations.compaction.driver import CampaignDriver
from rocksdb_tuner.operations.compaction.records import CampaignState, CompactionStep
from rocksdb_tuner.operations.reported import ReportedSince
from rocksdb_tuner.tests.chaos.mutants import (
    Patch,
    Plant,
    around,
    attribute,
    instead,
    method,
    never,
    together,
)

from .watch import Rule
from .world import Schedule


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Plant
    #: Without any of these events a schedule hardly shows it; empty: any schedule may.
    shown_by: tuple[str, ...] = ()

    def may_show(self, planned: Schedule) -> bool:
        events = {planned.event for planned in planned.events}
        return not self.shown_by or not events.isdisjoint(self.shown_by)


_PENDING, _COMPACTING, _SETTLING, _DONE, _ = CompactionStep
_TAKEOVERS = ('fail over', 'killed after a write', 'killed before a write')
_HOLDS = ('flag', 'unhealthy', 'upgrade', 'dies')
_NOT_STARTED = ('loses commands', 'refuses commands', 'command lost')
_LEFT_OUT = ('purged', 'refuses commands')


def _seen(change: Callable[[Any], Any]) -> Plant:
    """Let the machine see another view than there is."""
    return around(machine.step, lambda step, state, view, now_s: step(state, change(view), now_s))


def _cluster(**changes: Any) -> Plant:
    return _seen(lambda view: replace(view, cluster=replace(view.cluster, **changes)))


def _measured(change: Callable[[Any], Any]) -> Plant:
    return _seen(lambda view: replace(view, measured=change(view.measured)))


def _limits(**limits: float) -> Plant:
    return _seen(lambda view: replace(view, limits=replace(view.limits, **limits)))


def _compacting(over: Callable[[Any], bool], to: CompactionStep) -> Plant:
    """An OSD that was asked is at this step once the view is so."""

    def hasty(compacting: Any, state: Any, osd: Any, view: Any) -> Any:
        if over(view):
            return machine.Step(records.with_osd(state, osd, step=to))
        return compacting(state, osd, view)

    return around(machine._compacting, hasty)


def _not_started_is_over(compacting: Any, state: Any, osd: Any, view: Any) -> Any:
    found = compacting(state, osd, view)
    steps = {o.osd_id: o.step for o in found.state.osds}
    if steps[osd.osd_id] is _PENDING:
        return machine.Step(records.with_osd(state, osd, step=_SETTLING))
    return found


def _next_pending(state: CampaignState) -> Any:
    pending = (o for o in state.osds if o.step is _PENDING)
    return next(pending, None) or next((o for o in state.osds if o.step is _COMPACTING), None)


def _window_for_the_first(begin: Any, state: Any, osd: Any, view: Any) -> Any:
    if osd is not state.osds[0]:
        view = replace(view, cluster=replace(view.cluster, schedule_reason=None))
    return begin(state, osd, view)


def _without(name: str, found: Any, step: Callable[[Any], Any]) -> Any:
    """The step of a state without a field, which it has again afterwards."""
    after = step(replace(found, **{name: None}))
    return replace(after, state=replace(after.state, **{name: getattr(found, name)}))


def _pause_ignored(patch: Patch) -> None:
    step, startable = machine.step, machine.startable
    patch.attribute(
        machine, 'step', lambda state, *args: _without('paused_by', state, lambda s: step(s, *args))
    )
    patch.attribute(machine, 'startable', lambda s: startable(replace(s, paused_by=None)))


def _pause_ends_with_an_osd(step: Any, state: Any, view: Any) -> Any:
    found = step(state, view)
    if found.state.finished > state.finished:
        return replace(found, state=replace(found.state, paused_by=None))
    return found


def _asks_after_an_abort(patch: Patch) -> None:
    startable = machine.startable
    patch.around(
        machine._next,
        lambda step, state, view: _without('ending', state, lambda s: step(s, view)),
    )
    patch.attribute(machine, 'startable', lambda s: startable(replace(s, ending=None)))


_SWITCH_IGNORED = attribute(CampaignDriver, '_is_suppressed', lambda *_: False)


def _another_ends_the_first(start: Any, self: Any, name: str, request: Any, now_s: float) -> Any:
    if self.under_way:
        self._save_requested(records.aborted(self._state, 'another', now_s))
    return start(self, name, request, now_s)


def _time_of_day(tick: Any, self: Any, now_s: float, *args: Any, **_: float) -> None:
    tick(self, now_s, *args, monotonic_s=now_s)


def _acts_before_it_saves(patch: Patch) -> None:
    save = CampaignDriver._save

    def act_first(step: Any, self: Any, state: Any, view: Any, now_s: float) -> Any:
        self._save = lambda new: self.__dict__.update(_state=new)
        try:
            return step(self, state, view, now_s)
        finally:
            del self._save
            if self._state is not state:
                save(self, self._state)

    patch.method(CampaignDriver, '_step', act_first)


def _saved_one_behind(patch: Patch) -> None:
    last: list[Optional[CampaignState]] = [None]

    def save_older(save: Any, self: Any, state: CampaignState) -> None:
        older, last[0] = last[0], state
        alike = older is not None and older.started_s == state.started_s
        save(self, older if alike and not state.ended else state)

    patch.method(CampaignDriver, '_store', save_older)


def _queries_at_each_step(poll: Any, self: Any, osd_id: int, *args: Any) -> Any:
    for _ in range(20):
        self._osds.ask(osd_id, 'perf dump', {})
    return poll(self, osd_id, *args)


def _queries_all(observe: Any, self: Any, state: Any) -> Any:
    for osd in state.osds * 5:
        self._cluster.ask(osd.osd_id, 'perf dump', {})
    return observe(self, state)


def _recorded_at_the_begin(start: Any, self: Any, *args: Any) -> Any:
    state = start(self, *args)
    self._on_end(state)
    return state


def _lost_with_the_manager(load: Any, self: Any) -> None:
    """Another manager does not record what ended before it."""
    load(self)
    self._unrecorded = False


def _known(names: str) -> Callable[[Any], Any]:
    """Unknown OSDs have this, the size of a DB or of a device."""
    return lambda m: m._replace(**{names: {**dict.fromkeys(m.total_bytes, 1), **getattr(m, names)}})


def _unheard(init: Any, self: Any, *args: Any, **named: Any) -> None:
    init(self, *args, **{**named, 'on_end': lambda _: None})


def _kept_if_removed(skipped: Any, state: Any, osd: Any, reason: str) -> Any:
    return state if 'OSD map' in reason else skipped(state, osd, reason)


MUTANTS = (
    Mutant('no room is room', Rule.HAS_ROOM, never(machine.why_no_room), ('DB is full',)),
    Mutant(
        'room for a half', Rule.HAS_ROOM,
        _measured(lambda m: m._replace(total_bytes={n: 2 * v for n, v in m.total_bytes.items()})),
        ('DB is full',),
    ),
    Mutant(
        'an answer is enough', Rule.COMPACTED,
        _compacting(lambda view: view.in_step_s > 0, _SETTLING),
    ),
    Mutant(
        'not started is over', Rule.COMPACTED,
        around(machine._compacting, _not_started_is_over), _NOT_STARTED,
    ),
    Mutant(
        'the next while one compacts', Rule.ONE_AT_A_TIME,
        attribute(CampaignState, 'at_hand', property(_next_pending)),
    ),
    Mutant(
        'over once it started', Rule.ONE_AT_A_TIME,
        _compacting(lambda view: view.in_step_s >= 4.0, _DONE),
    ),
    Mutant(
        'flags and health ignored', Rule.GATES, never(gates._held_cluster), ('flag', 'unhealthy')
    ),
    Mutant('upgrade ignored', Rule.GATES, never(gates._upgrade), ('upgrade',)),
    Mutant('gates left out', Rule.GATES, never(gates.closed_gate)),
    Mutant(
        'silence ignored', Rule.REPORTS_ARRIVE, _cluster(no_reports_reason=None), ('reports stop',)
    ),
    Mutant(
        'gates but reports', Rule.REPORTS_ARRIVE,
        never(gates.closed_gate), ('reports stop',),
    ),
    Mutant('clients ignored', Rule.CLIENTS_FIRST, never(machine._slower), ('clients slow',)),
    Mutant('ten times is usual', Rule.CLIENTS_FIRST, _limits(slower=100.0), ('clients slow',)),
    Mutant('acts before it saves', Rule.SAVED_BEFORE, _acts_before_it_saves),
    Mutant('saved one behind', Rule.SAVED_BEFORE, _saved_one_behind),
    Mutant('pause ignored', Rule.PAUSE_HOLDS, _pause_ignored, ('pause',)),
    Mutant(
        'pause ends with an OSD', Rule.PAUSE_HOLDS,
        around(machine._next, _pause_ends_with_an_osd), ('pause',),
    ),
    Mutant(
        'abort forgotten', Rule.ABORT_HOLDS,
        instead(records.aborted, lambda state, _, now_s: replace(state, updated_s=now_s)),
        ('abort',),
    ),
    Mutant('asked after an abort', Rule.ABORT_HOLDS, _asks_after_an_abort, ('abort',)),
    Mutant(
        'mode ignored', Rule.MODE, together(_cluster(may_act=True), _SWITCH_IGNORED), ('mode off',),
    ),
    Mutant('switch ignored in a tick', Rule.MODE, _SWITCH_IGNORED, ('mode off in a write',)),
    Mutant('window ignored', Rule.WINDOW, _cluster(schedule_reason=None), ('window closes',)),
    Mutant(
        'window for the first', Rule.WINDOW,
        around(machine._pending, _window_for_the_first), ('window closes',),
    ),
    Mutant(
        'another is accepted', Rule.REQUESTS,
        attribute(CampaignDriver, 'under_way', property(lambda _: False)),
    ),
    Mutant(
        'another ends the first', Rule.REQUESTS,
        method(CampaignDriver, 'start', _another_ends_the_first),
    ),
    Mutant(
        'acts at once', Rule.OBSERVES_FIRST, _seen(lambda v: replace(v, watched_s=1e9)), _TAKEOVERS
    ),
    Mutant(
        'observes too briefly', Rule.OBSERVES_FIRST, _limits(observe_first_s=1.0, baseline_s=1.0),
        _TAKEOVERS,
    ),
    Mutant('time of day', Rule.OBSERVES_FIRST,
        # It also waits for reports, which take about as long.
        together(
            method(CampaignDriver, 'tick', _time_of_day),
            attribute(ReportedSince, 'update', lambda *_: True),
        ), ('clock forward',)),
    Mutant('asks repeatedly', Rule.STOPS, _limits(tries=99), _NOT_STARTED),
    Mutant('a third time', Rule.STOPS, _limits(tries=3), _NOT_STARTED),
    Mutant(
        'left without a word', Rule.HAS_REASON,
        around(records.skipped, lambda skipped, state, osd, _: skipped(state, osd, '')), _LEFT_OUT,
    ),
    Mutant(
        'nothing is named', Rule.HAS_REASON,
        around(records.concluded, lambda end, state: replace(end(state), failure=None)), _LEFT_OUT,
    ),
    Mutant('no alarm is raised', Rule.ALARM, never(machine.why_waiting), _HOLDS),
    Mutant(
        'alarmed at once', Rule.ALARM,
        around(machine.why_waiting, lambda why, state, _: why(state, 1e9)), _HOLDS,
    ),
    Mutant(
        'any time is a wait', Rule.ALARM, attribute(CampaignDriver, '_wait_key', lambda *_: 0),
        _HOLDS,
    ),
    Mutant(
        'unknown is room', Rule.GUARDS_KNOWN, _measured(_known('used_bytes')), ('DB not sampled',)
    ),
    Mutant(
        'unknown is fast', Rule.GUARDS_KNOWN,
        _measured(lambda m: m._replace(unmeasured=frozenset())), ('writes not sampled',),
    ),
    Mutant('queries all', Rule.BOUNDED_TICK, method(CampaignDriver, '_observe', _queries_all)),
    Mutant(
        'queries at each step', Rule.BOUNDED_TICK,
        method(driver.OsdCommandQueue, 'poll', _queries_at_each_step),
    ),
    Mutant(
        'waits for whom it lost', Rule.ENDS, around(records.skipped, _kept_if_removed), ('purged',),
    ),
    Mutant(
        'waits for whom is out', Rule.ENDS, never(machine._why_given_up), ('dies and is out',)
    ),
    Mutant('never ends', Rule.ENDS, instead(records.concluded, lambda state: state)),
    Mutant('not recorded', Rule.RECORDED_ONCE, method(CampaignDriver, '__init__', _unheard)),
    Mutant(
        'recorded at the begin', Rule.RECORDED_ONCE,
        method(CampaignDriver, 'start', _recorded_at_the_begin),
    ),
    Mutant(
        'lost with the manager', Rule.RECORDED_ONCE,
        method(CampaignDriver, 'load', _lost_with_the_manager), _TAKEOVERS,
    ),
)  # fmt: skip
