"""Faults planted in the product, one at a time, each of which the invariants must catch.

A mutant replaces one decision of the product at every use, and names the rule that must catch it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Callable, NamedTuple, Optional

import pytest

from rocksdb_tuner.judge import records as judge_records
from rocksdb_tuner.judge import verdict
from rocksdb_tuner.judge.records import Inconclusive, Judgement, Verdict
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.announce import Texts
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.reported import ReportedSince
from rocksdb_tuner.operations.rollout import (
    admission,
    announce,
    automatic,
    collapse,
    driver,
    machine,
    observer,
    osd_step,
    records,
    rollback,
    rules,
    soak,
    storage,
)
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep
from rocksdb_tuner.operations.rollout.rules import Needs, Step
from rocksdb_tuner.plan import batches as planned_batches
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry
from rocksdb_tuner.plan.records import OPTION, ChangeRequest, Purpose

from .chaos_events import ChaosEvent
from .rules import Rule
from .schedule import Change, Moment, Schedule

_PACKAGE = 'rocksdb_tuner'


class Patch:
    """Plants a fault for as long as a `MonkeyPatch` lives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def everywhere(self, found: Callable[..., Any], instead: Callable[..., Any]) -> None:
        """Replace a function in every module of the product that has it."""
        for name, module in list(sys.modules.items()):
            if name.startswith(_PACKAGE) and '.tests' not in name:
                for attribute, value in list(vars(module).items()):
                    if value is found:
                        self._monkeypatch.setattr(module, attribute, instead)
                    elif isinstance(value, Texts):
                        named = {key for key, known in vars(value).items() if known is found}
                        spoilt = replace(value, **dict.fromkeys(named, instead))
                        self._monkeypatch.setattr(module, attribute, spoilt)
                    elif isinstance(value, dict) and attribute == '_STEPS':
                        for step in [key for key, known in value.items() if known is found]:
                            self._monkeypatch.setitem(value, step, instead)

    def attribute(self, owner: object, name: str, value: object) -> None:
        self._monkeypatch.setattr(owner, name, value)

    def never(self, found: Callable[..., Any], answer: object = None) -> None:
        """Let a question always have this answer."""
        self.everywhere(found, lambda *_, **__: answer)


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Callable[[Patch], None]
    #: Without any of these, aimed at one of those moments, a schedule hardly shows it; empty: any
    #: schedule may, and any moment will do.
    shown_by: tuple[ChaosEvent, ...] = ()
    at: tuple[Moment, ...] = ()
    changes: tuple[Change, ...] = ()
    #: Only a soak for a gain that does not come shows it.
    without_gain: bool = False

    def may_show(self, planned: Schedule) -> bool:
        if self.changes and planned.change not in self.changes:
            return False
        promised = planned.soak.most_s > 0 and planned.purpose is Purpose.GAIN
        if self.without_gain and (planned.gains or not promised):
            return False
        return not self.shown_by or any(
            event.event in self.shown_by and (not self.at or event.moment in self.at)
            for event in planned.events
        )


Plant = Callable[[Patch], None]
MUTANTS: list[Mutant] = []
_BACK = tuple(moment for moment in Moment if moment.value.startswith('rolling back'))


def _mutant(
    name: str,
    rule: Rule,
    *shown_by: ChaosEvent,
    at: tuple[Moment, ...] = (),
    changes: tuple[Change, ...] = (),
    without_gain: bool = False,
) -> Callable[[Plant], Plant]:
    """Add what it decorates to `MUTANTS`."""

    def add(plant: Plant) -> Plant:
        MUTANTS.append(Mutant(name, rule, plant, shown_by, at, changes, without_gain))
        return plant

    return add


def never(*found: Callable[..., Any], answer: object = None) -> Plant:
    """Let these questions always have this answer."""

    def plant(patch: Patch) -> None:
        for question in found:
            patch.never(question, answer)

    return plant


def instead(found: Callable[..., Any], answer: Callable[..., Any]) -> Plant:
    """Let this question be answered in another way."""
    return lambda patch: patch.everywhere(found, answer)


def executes(change: Callable[[Any], Any]) -> Plant:
    """Let the cluster get another action than was decided upon and stored."""
    carry = observer.Cluster.execute

    def other(self: Any, action: Any, option: str) -> Any:
        return carry(self, change(action), option)

    return lambda patch: patch.attribute(observer.Cluster, 'execute', other)


def starts(change: Callable[[Any, Any, Any], Any]) -> Plant:
    """Let the start of an OSD be decided by another observation."""
    begin = machine._start_osd
    return instead(begin, lambda state, osd, seen: begin(state, osd, change(state, osd, seen)))


def _after_the_canary(state: Any, osd: Any, seen: Any, **changes: Any) -> Any:
    return seen if osd.osd_id == state.request.order[0] else replace(seen, **changes)


# -- gates


_mutant('flags and health ignored', Rule.GATES)(never(gates._held_cluster))


_mutant('placement groups ignored', Rule.GATES)(never(gates.placement_groups))


_mutant('ok-to-stop skipped', Rule.OK_TO_STOP, ChaosEvent.REFUSES_OK_TO_STOP)(
    never(gates._ok_to_stop)
)


_mutant('no answer is yes', Rule.OK_TO_STOP, ChaosEvent.REFUSES_OK_TO_STOP)(
    instead(gates._ok_to_stop, lambda seen, osd_id: seen.ok_to_stop.get(osd_id))
)


_mutant(
    'upgrade ignored', Rule.NO_UPGRADE, ChaosEvent.UPGRADE_BEGINS, ChaosEvent.OF_ANOTHER_RELEASE
)(never(gates._upgrade))


_mutant('mixed versions ignored', Rule.NO_UPGRADE, ChaosEvent.OF_ANOTHER_RELEASE)(
    instead(gates._upgrade, lambda seen: seen.upgrade and f'upgrade: {seen.upgrade}')
)


@_mutant('gates not checked again', Rule.GATES)
def _gates_not_checked_before_restart(patch: Patch) -> None:
    patch.attribute(osd_step, 'why_closed', lambda state, _, seen: rules.why_held(state, seen))


@_mutant('no_reports_reason', Rule.REPORTS_ARRIVE, ChaosEvent.REPORTS_STOP)
def _silence_ignored(patch: Patch) -> None:
    closed = gates.closed_gate
    patch.everywhere(closed, lambda seen, n: closed(replace(seen, no_reports_reason=None), n))


@_mutant('settling takes 5 s', Rule.GATES, ChaosEvent.REPORTS_ARE_RARE)
def _settling_fixed(patch: Patch) -> None:
    patch.attribute(
        ReportedSince,
        '_reported',
        lambda self, _reader, _up, now_s: self._since.update(self._changes, now_s) >= 5.0,
    )


@_mutant('no OSD has to report', Rule.GATES, ChaosEvent.REPORTS_ARE_RARE)
def _no_report_is_needed(patch: Patch) -> None:
    reported = ReportedSince._reported
    patch.attribute(
        ReportedSince,
        '_reported',
        lambda self, reader, _up, now_s: reported(self, reader, (), now_s),
    )


@_mutant('reports not needed', Rule.REPORTS_ARRIVE, ChaosEvent.REPORTS_STOP)
def _reports_not_needed(patch: Patch) -> None:
    observe = driver.Driver._observe

    def silent_and_content(self: Any, *args: Any, **named: Any) -> Any:
        self._allowed = replace(self._allowed, no_reports_reason=None)
        return observe(self, *args, **named)

    patch.attribute(driver.Driver, '_observe', silent_and_content)


_mutant('samples not needed', Rule.SAMPLED, ChaosEvent.SAMPLES_STOP)(never(gates.without_samples))


_mutant('samples only of the canary', Rule.SAMPLED, ChaosEvent.SAMPLES_STOP)(
    instead(records.compared_osds, lambda state: state.request.order[:1])
)
_mutant('samples only before the canary', Rule.SAMPLED, ChaosEvent.SAMPLES_STOP)(
    starts(lambda *args: _after_the_canary(*args, unsampled=()))
)


# -- mode, pause, window, daily limit


@_mutant('mode not checked', Rule.MODE, ChaosEvent.MODE_OFF, ChaosEvent.MODE_OFF_IN_A_WRITE)
def _mode_not_checked(patch: Patch) -> None:
    held = rules.why_held
    patch.everywhere(held, lambda state, seen: held(state, replace(seen, may_act=True)))
    patch.never(gates._mode)
    _switch_ignored(patch)


@_mutant('switch ignored in a tick', Rule.MODE, ChaosEvent.MODE_OFF_IN_A_WRITE)
def _switch_ignored(patch: Patch) -> None:
    step = driver.Driver._step

    def always_on(self: Any, *args: Any, **named: Any) -> Any:
        self._changes_allowed = lambda: True
        return step(self, *args, **named)

    patch.attribute(driver.Driver, '_step', always_on)


@_mutant(
    'pause holds nothing', Rule.PAUSE_HOLDS, ChaosEvent.PAUSE, ChaosEvent.OTHER_OPERATOR_PAUSES
)
def _pause_holds_nothing(patch: Patch) -> None:
    held = rules.why_held
    patch.everywhere(held, lambda state, seen: held(replace(state, paused_by=None), seen))


@_mutant(
    'pause ignored back',
    Rule.PAUSE_HOLDS,
    ChaosEvent.PAUSE,
    ChaosEvent.OTHER_OPERATOR_PAUSES,
    at=_BACK,
)
def _pause_ignored_in_rollback(patch: Patch) -> None:
    held = rules.why_held

    def only_forward(state: Any, seen: Any) -> Optional[str]:
        rolling_back = state.direction is Direction.BACK
        return held(replace(state, paused_by=None) if rolling_back else state, seen)

    patch.everywhere(held, only_forward)


@_mutant(
    'pause lost',
    Rule.PAUSE_HOLDS,
    ChaosEvent.PAUSE,
    ChaosEvent.OTHER_OPERATOR_PAUSES,
    at=(Moment.RESTARTING, Moment.CHECKING),
)
def _pause_lost_where_an_osd_fails(patch: Patch) -> None:
    fail = osd_step.start_recovery
    patch.everywhere(fail, lambda *args: replace(fail(*args), paused_by=None))


@_mutant('window ignored', Rule.WINDOW, ChaosEvent.WINDOW_CLOSES)
def _window_ignored(patch: Patch) -> None:
    tick = driver.Driver.tick

    def tick_in_any_window(self: Any, now_s: float, allowed: Any, monotonic_s: float) -> None:
        tick(self, now_s, replace(allowed, outside_window=None), monotonic_s)

    patch.attribute(driver.Driver, 'tick', tick_in_any_window)


@_mutant('daily limit ignored', Rule.DAILY_LIMIT, ChaosEvent.DAILY_LIMIT)
def _daily_limit_ignored(patch: Patch) -> None:
    patch.attribute(storage.PersistentClock, 'limit_reason', lambda *_: None)


@_mutant('restarts not counted', Rule.DAILY_LIMIT, ChaosEvent.DAILY_LIMIT)
def _restarts_not_counted(patch: Patch) -> None:
    patch.attribute(storage.PersistentClock, 'count_restart', lambda self: None)


_mutant('window for the canary', Rule.WINDOW, ChaosEvent.WINDOW_CLOSES)(
    starts(lambda *args: _after_the_canary(*args, schedule_reason=None))
)


# -- restarts


_mutant('second restart', Rule.ONE_OUTSTANDING, ChaosEvent.ORCHESTRATOR_LATE)(
    never(osd_step.why_restart_outstanding)
)


@_mutant('request forgotten', Rule.ONE_OUTSTANDING, ChaosEvent.ORCHESTRATOR_LATE)
def _request_forgotten(patch: Patch) -> None:
    ask = osd_step._ask

    def ask_without_record(*args: Any, **named: Any) -> Any:
        asked = ask(*args, **named)
        return Step(replace(asked.state, asked=None), asked.actions)

    patch.everywhere(ask, ask_without_record)


@_mutant('killed while starting', Rule.BOUNDED_DOWNTIME, ChaosEvent.STARTS_SLOWLY)
@_mutant('requested every minute', Rule.STOPS, ChaosEvent.STARTS_SLOWLY)
def _killed_while_starting(patch: Patch) -> None:
    """A process that is slow to start is restarted every minute."""
    _killed_after(patch, 60.0)


@_mutant('killed shortly before it is up', Rule.BOUNDED_DOWNTIME, ChaosEvent.STARTS_SLOWLY)
def _killed_shortly_before_it_is_up(patch: Patch) -> None:
    _killed_after(patch, 250.0)


def _killed_after(patch: Patch, waited_s: float) -> None:
    down = osd_step._down

    def impatient(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if osd.step is OsdStep.RESTARTING and seen.waited_s >= waited_s:
            again = replace(osd, restarts_asked=osd.restarts_asked + 1)
            return Step(records.with_osd(state, again), (RestartOsd(osd.osd_id),))
        return down(rules_, state, osd, seen)

    patch.everywhere(down, impatient)


@_mutant('restarted again and again', Rule.STOPS, ChaosEvent.STUBBORN)
def _restarted_again_and_again(patch: Patch) -> None:
    """One that runs something else is restarted until it does."""
    checking = osd_step._checking

    def once_more(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        step = checking(rules_, state, osd, seen)
        if step.state.direction is Direction.RECOVER:
            again = replace(osd, step=OsdStep.RESTART_DUE, nonce_before=osd.nonce_after)
            return Step(records.with_osd(state, again))
        return step

    patch.everywhere(checking, once_more)


@_mutant(
    'process_lost without the nonce',
    Rule.RUNS_NEW_OPTIONS,
    ChaosEvent.RESTARTED_BY_HAND,
    at=(Moment.CHECKING, Moment.SETTLING),
)
def _lost_without_nonce(patch: Patch) -> None:
    lost = osd_step.process_lost

    def by_up_only(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        info = seen.osd(osd.osd_id)
        if info is not None and info.up:
            return None
        return lost(rules_, state, osd, seen)

    patch.everywhere(lost, by_up_only)


@_mutant('gates open while one is down', Rule.ONE_DOWN)
def _down_osds_do_not_close_the_gate(patch: Patch) -> None:
    patch.never(gates._osds)
    patch.never(gates.placement_groups)
    patch.never(gates.not_yet_reported)
    patch.never(gates._held_cluster)
    patch.never(gates._ok_to_stop)
    # The next one is started while this one is down.
    settle = osd_step.until_settled
    patch.everywhere(settle, lambda *_: None)
    patch.attribute(machine, 'drive', _never_waits(osd_step.drive))


def _never_waits(drive: Callable[..., Any]) -> Callable[..., Any]:
    def go_on(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if osd.step is OsdStep.RESTARTING:
            return Step(records.with_osd(state, replace(osd, step=OsdStep.VERIFIED)))
        return drive(rules_, state, osd, seen)

    return go_on


@_mutant('two at once in a rollback', Rule.ONE_DOWN)
def _two_at_once_in_rollback(patch: Patch) -> None:
    """A requested restart counts as done."""
    restarting = osd_step._restarting

    def done(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if state.direction is Direction.BACK:
            return Step(records.with_osd(state, replace(osd, step=OsdStep.RESTORED)))
        return restarting(rules_, state, osd, seen)

    patch.everywhere(restarting, done)
    patch.never(osd_step.why_restart_outstanding)
    patch.never(gates.closed_gate)


@_mutant('never gives up', Rule.STARTS_AGAIN)
def _never_gives_up(patch: Patch) -> None:
    """A process may take as long as it likes to start."""
    step = machine.Machine.step

    def patient(self: Any, *args: Any) -> Any:
        return step(replace(self, limits=replace(self.limits, boot_s=1e6)), *args)

    patch.attribute(machine.Machine, 'step', patient)


_mutant('waits for what does not start', Rule.STARTS_AGAIN)(
    instead(osd_step._down, lambda rules_, state, *_: Step(records.waiting(state, 'it is down')))
)


# -- what runs


@_mutant('profile check left out', Rule.RUNS_NEW_OPTIONS, ChaosEvent.STUBBORN)
def _profile_check_skipped(patch: Patch) -> None:
    def believe(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        lost = osd_step.process_lost(rules_, state, osd, seen)
        return lost or Step(records.with_osd(state, replace(osd, step=OsdStep.SETTLING)))

    patch.everywhere(osd_step._checking, believe)


@_mutant('any value accepted', Rule.RUNS_NEW_OPTIONS, ChaosEvent.STUBBORN)
def _any_value_accepted_forward(patch: Patch) -> None:
    checking = osd_step._checking

    def any_value(rules_: Any, *args: Any) -> Any:
        return checking(replace(rules_, same_meaning=lambda *_: True), *args)

    patch.everywhere(checking, any_value)


_mutant('any source accepted back', Rule.UNDO_EXACT, ChaosEvent.STUBBORN, ChaosEvent.OVERRULED)(
    never(osd_step._runs_what_store_gives, answer=True)
)


_mutant('back without restarts', Rule.UNDO_EXACT)(
    instead(rollback._restore_step, lambda _, osd, __: replace(osd, step=OsdStep.RESTORED))
)


@_mutant('ceph.conf ignored', Rule.STORE_DECIDES, ChaosEvent.NEXT_OVERRULED)
def _elsewhere_ignored(patch: Patch) -> None:
    patch.attribute(RunningOption, 'beats_config_store', property(lambda self: False))


def _believed(_: Any, __: Any, seen: Any) -> Any:
    found = {n: replace(running, source='mon') for n, running in seen.running.items()}
    return replace(seen, running=found)


_mutant('ceph.conf is the store', Rule.STORE_DECIDES, ChaosEvent.NEXT_OVERRULED)(starts(_believed))


# -- entries


@_mutant('not saved before', Rule.SAVED_BEFORE)
def _not_saved_before(patch: Patch) -> None:
    step = driver.Driver._step

    def act_before_saving(self: Any, state: Any, *args: Any, **named: Any) -> Any:
        save = self._save
        self._save = lambda new: self.__dict__.update(_state=new)
        try:
            return step(self, state, *args, **named)
        finally:
            self._save = save
            if self._state is not state:
                save(self._state)

    patch.attribute(driver.Driver, '_step', act_before_saving)


@_mutant('saved one behind', Rule.SAVED_BEFORE)
def _saved_one_behind(patch: Patch) -> None:
    """The step that is stored is the one before."""
    save = driver.Driver._store
    last: list[Any] = [None]

    def save_older(self: Any, state: Any) -> None:
        older, last[0] = last[0], state
        alike = older is not None and older.rollout_id == state.rollout_id
        save(self, older if alike and not state.ended else state)

    patch.attribute(driver.Driver, '_store', save_older)


_mutant('others overwritten', Rule.OPERATOR_WINS, ChaosEvent.SETS_OSD, ChaosEvent.SETS_ALL)(
    never(rollback.conflicting_entries, answer=())
)


_mutant('other string not watched', Rule.OPERATOR_WINS, ChaosEvent.SETS_OTHER_STRING)(
    never(rollback.conflicts_in_other_option, answer=())
)


@_mutant('always the main option', Rule.AS_REQUESTED)
def _always_the_main_option(patch: Patch) -> None:
    carry = observer.Cluster.execute

    def written(self: Any, action: Any, option: str) -> Any:
        return carry(self, action, OPTION)

    patch.attribute(observer.Cluster, 'execute', written)


_mutant('rollback over others', Rule.OPERATOR_WINS, ChaosEvent.SETS_OSD, ChaosEvent.SETS_ALL)(
    never(rollback.entries_blocking_rollback, rollback.conflicting_entries, answer=())
)


@_mutant('undo forgets shared entries', Rule.UNDO_EXACT)
def _undo_forgets_shared_entries(patch: Patch) -> None:
    turn = rollback.rolled_back

    def only_own(*args: Any, **named: Any) -> Any:
        turned = turn(*args, **named)
        kept = tuple(who for who in turned.restoring if who.startswith('osd.'))
        return replace(turned, restoring=kept)

    patch.everywhere(turn, only_own)


@_mutant('undo removes', Rule.UNDO_EXACT)
def _undo_removes(patch: Patch) -> None:
    """The previous entry is removed instead of restored."""
    entry = rules.entry_action

    def remove(who: str, value: Optional[str]) -> Any:
        return entry(who, None)

    patch.attribute(rules, 'entry_action', remove)


def _entry(of_osds: bool, change: Callable[[SetEntry], SetEntry]) -> Callable[[Any], Any]:
    """Change the entries that are set, of single OSDs only or of all."""
    return lambda action: (
        change(action)
        if isinstance(action, SetEntry) and (action.who.startswith('osd.') or not of_osds)
        else action
    )


_mutant('entry of the wrong OSD', Rule.AS_REQUESTED)(
    executes(_entry(True, lambda a: SetEntry(f'osd.{int(a.who[4:]) + 5000}', a.value)))
)
_mutant('wrong OSD restarted', Rule.SAVED_BEFORE)(
    executes(lambda a: RestartOsd(a.osd_id ^ 1) if isinstance(a, RestartOsd) else a)
)
_mutant('another value written', Rule.AS_REQUESTED)(
    executes(_entry(False, lambda a: SetEntry(a.who, f'{a.value},max_background_jobs=2')))
)
_mutant('masked entry for one', Rule.NO_MASKS)(
    executes(_entry(True, lambda a: SetEntry(f'{a.who}/class:ssd', a.value)))
)


@_mutant('masked entry for all', Rule.NO_MASKS)
def _masked_entry_for_all(patch: Patch) -> None:
    shared: Callable[[ChangeRequest], Any] = vars(ChangeRequest)['shared_entries'].func

    def masked(request: ChangeRequest) -> Any:
        return tuple((f'{who}/class:ssd', value) for who, value in shared(request))

    patch.attribute(ChangeRequest, 'shared_entries', property(masked))


_mutant(
    'collapse on an undecided OSD',
    Rule.NO_OUTSIDER,
    ChaosEvent.JOINS,
    ChaosEvent.ANOTHER_CLASS_JOINS,
    ChaosEvent.REPLACED,
)(never(collapse._why_keep_own_entries))


@_mutant('own entries stay', Rule.END_AS_PLANNED)
def _collapse_forgets_own_entries(patch: Patch) -> None:
    def shared_only(rules_: Any, state: Any, seen: Any) -> Any:
        return Step(records.finished(state, Phase.DONE, Outcome.DONE))

    patch.everywhere(collapse.collapse, shared_only)


@_mutant('one own entry stays', Rule.END_AS_PLANNED)
def _collapse_leaves_one(patch: Patch) -> None:
    collapse_one = collapse.collapse

    def all_but_the_last(rules_: Any, state: Any, seen: Any) -> Any:
        left = [osd for osd in state.osds if osd.step is OsdStep.VERIFIED]
        shared = state.request.shared_entries
        if len(left) == 1 and state.entries_done >= len(shared):
            return Step(records.finished(state, Phase.DONE, Outcome.DONE))
        return collapse_one(rules_, state, seen)

    patch.everywhere(collapse_one, all_but_the_last)


_mutant('outsiders not refused', Rule.NO_OUTSIDER, changes=(Change.REACHES_OTHERS,))(
    never(admission._refuse_outsiders, collapse._why_keep_own_entries)
)


# -- who is concerned


_mutant(
    'identity not checked', Rule.SAME_OSD, ChaosEvent.REPLACED, ChaosEvent.REPLACED_BY_ANOTHER_CLASS
)(never(admission.identity_mismatch))


@_mutant('only the class is compared', Rule.SAME_OSD, ChaosEvent.REPLACED)
def _only_the_class_tells(patch: Patch) -> None:
    found = admission.not_as_planned
    patch.everywhere(found, lambda before, info: found(replace(before, uuid_head=None), info))


# -- who is left behind


@_mutant(
    'down is away',
    Rule.LEFT_CORRECTLY,
    ChaosEvent.OSD_DIES,
    ChaosEvent.HOST_DIES,
    ChaosEvent.CRASHES,
    ChaosEvent.BREAKS,
)
def _any_down_osd_is_absent(patch: Patch) -> None:
    found = gates._away

    def impatient(info: Any) -> Any:
        if info is not None and not info.up:
            return gates.Away.GONE
        return found(info)

    patch.everywhere(found, impatient)


@_mutant('a new process is another OSD', Rule.LEFT_CORRECTLY)
def _any_new_process_is_another_osd(patch: Patch) -> None:
    found = admission.identity_mismatch

    def by_its_process(state: Any, osd_id: int, seen: Any) -> Optional[str]:
        info = seen.osd(osd_id)
        known = next((osd for osd in state.osds if osd.osd_id == osd_id), None)
        if info is not None and known is not None and known.step is OsdStep.SETTLING:
            return f'osd.{osd_id} is another one'
        return found(state, osd_id, seen)

    patch.everywhere(found, by_its_process)


@_mutant(
    'left with its entry',
    Rule.LEFT_CLEAN,
    ChaosEvent.PURGED,
    ChaosEvent.REPLACED,
    ChaosEvent.REPLACED_BY_ANOTHER_CLASS,
)
def _left_behind_with_its_entry(patch: Patch) -> None:
    patch.everywhere(admission.start_leaving, admission.left_behind)


@_mutant(
    'previous entry not restored',
    Rule.LEFT_CLEAN,
    ChaosEvent.PURGED,
    ChaosEvent.REPLACED,
    ChaosEvent.REPLACED_BY_ANOTHER_CLASS,
    changes=(Change.ALL_OVER_OWN,),
)
def _previous_entry_not_restored(patch: Patch) -> None:
    """The previous entry of the id is removed with that of the rollout."""

    def removed(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if state.direction is not Direction.FORWARD:
            return restoring(rules_, state, osd, seen)
        removing = rules.entry(rules_, state, seen, f'osd.{osd.osd_id}', None)
        return removing or Step(admission.left_behind(state, osd, 'gone'))

    restoring = osd_step._restoring
    patch.everywhere(restoring, removed)


_mutant(
    'nothing is named',
    Rule.LEFT_NAMED,
    ChaosEvent.PURGED,
    ChaosEvent.REPLACED,
    ChaosEvent.REPLACED_BY_ANOTHER_CLASS,
    ChaosEvent.DIES_AND_IS_OUT,
)(never(admission.describe_left_behind))


@_mutant(
    'a number is named',
    Rule.LEFT_NAMED,
    ChaosEvent.PURGED,
    ChaosEvent.REPLACED,
    ChaosEvent.REPLACED_BY_ANOTHER_CLASS,
    ChaosEvent.DIES_AND_IS_OUT,
)
def _a_number_is_named(patch: Patch) -> None:
    found = admission.describe_left_behind

    def how_many(state: Any) -> Optional[str]:
        return None if found(state) is None else 'some OSDs'

    patch.everywhere(found, how_many)


# -- verdict and order


_mutant('failed verdict passes', Rule.VERDICT_FIRST, ChaosEvent.NEW_IS_SLOW)(
    instead(soak._failed, soak._passed)
)
_mutant('no benefit is one', Rule.NO_SPREAD, without_gain=True)(
    instead(soak._without_benefit, lambda *args: Step(soak._passed(*args)))
)
_mutant('no benefit is anyones', Rule.NO_SPREAD, without_gain=True)(
    never(planned_batches.without_gain, answer=Inconclusive.PROMOTE)
)


@_mutant('batch before the verdict', Rule.VERDICT_FIRST)
def _soak_skipped(patch: Patch) -> None:
    patch.attribute(machine, 'watched_batch', lambda state: None)


_mutant(
    'crash in the soak ignored',
    Rule.SAME_PROCESS,
    ChaosEvent.OSD_DIES,
    ChaosEvent.RESTARTED_BY_HAND,
    ChaosEvent.HOST_DIES,
    ChaosEvent.CRASHES,
    at=(Moment.SOAKING, Moment.JUDGING),
)(never(soak.lost_process))


@_mutant(
    'soak without the nonce', Rule.SAME_PROCESS, ChaosEvent.RESTARTED_BY_HAND, at=(Moment.SOAKING,)
)
def _soak_without_nonce(patch: Patch) -> None:
    def by_up_only(state: Any, batch: Any, cluster: Any) -> Any:
        up = {info.osd_id for info in cluster.osds if info.up}
        of_batch = (osd for osd in state.osds if osd.osd_id in batch.osds)
        return next((osd for osd in of_batch if osd.osd_id not in up), None)

    patch.everywhere(soak.lost_process, by_up_only)


_mutant('passes without data', Rule.MEASURED, ChaosEvent.CLIENTS_STOP)(
    never(verdict.judge, answer=Judgement(Verdict.NO_WORSE))
)


@_mutant('inconclusive is a pass', Rule.MEASURED, ChaosEvent.CLIENTS_STOP)
def _inconclusive_is_a_pass(patch: Patch) -> None:
    ends = judge_records.ends_with

    def passes(judgement: Any, after_s: float, plan: Any) -> Any:
        found = ends(judgement, after_s, plan)
        return Verdict.NO_WORSE if found is Verdict.INCONCLUSIVE else found

    judged = soak._judged

    def judged_as_passed(state: Any, batch: Any, seen: Any, judgement: Any) -> Any:
        if judge_records.ends_with(judgement, seen.after_s, batch.soak) is Verdict.NO_WORSE:
            return Step(soak._passed(state, batch, replace(judgement, verdict=Verdict.NO_WORSE)))
        return judged(state, batch, seen, judgement)

    patch.everywhere(ends, passes)
    patch.everywhere(judged, judged_as_passed)


@_mutant('started during another', Rule.ONE_AT_A_TIME)
def _started_during_another(patch: Patch) -> None:
    """The next one is started while the previous one settles."""
    settle = osd_step._settling

    def hurried(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        following = _first_pending(state)
        if following is not None:
            started = replace(following, step=OsdStep.SETTING)
            return Step(records.with_osd(state, started))
        return settle(rules_, state, osd, seen)

    patch.everywhere(settle, hurried)


def _first_pending(state: Any) -> Any:
    return next((osd for osd in state.osds if osd.step is OsdStep.PENDING), None)


@_mutant('started while another is checked', Rule.ONE_AT_A_TIME)
def _started_while_another_is_checked(patch: Patch) -> None:
    check = osd_step._checking

    def hurried(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        following = _first_pending(state)
        if following is not None:
            return Step(records.with_osd(state, replace(following, step=OsdStep.SETTING)))
        return check(rules_, state, osd, seen)

    patch.everywhere(check, hurried)


# -- the end


@_mutant('history not recorded', Rule.RECORDED)
def _history_not_recorded(patch: Patch) -> None:
    patch.attribute(driver.Driver, '_conclude', lambda self, state: None)


@_mutant('outcome not recorded', Rule.RECORDED)
def _outcome_not_recorded(patch: Patch) -> None:
    record = storage.record_of
    patch.everywhere(record, lambda state: replace(record(state), outcome=Outcome.WAITING))


@_mutant('abort leaves an OSD in flight', Rule.ALL_OR_NONE, ChaosEvent.ABORT)
def _abort_leaves_an_osd_in_flight(patch: Patch) -> None:
    _abort_ends_at_once(patch, Direction.FORWARD)


def _abort_ends_at_once(patch: Patch, direction: Direction) -> None:
    aborted = machine.aborted

    def at_once(state: Any, actor: str, *args: Any) -> Any:
        if state.direction is direction:
            return records.ended(state, Ending(Outcome.ABORTED, f'aborted by {actor}'))
        return aborted(state, actor, *args)

    patch.everywhere(aborted, at_once)


@_mutant(
    'recovery must be stored to begin',
    Rule.STARTS_AGAIN,
    ChaosEvent.STORE_REFUSES,
    at=(Moment.RESTARTING,),
)
def _recovery_must_be_stored_to_begin(patch: Patch) -> None:
    follow = osd_step.must_not_wait

    def stored_first(state: Any, after: Any, *args: Any) -> bool:
        begins = state.direction is not after.direction
        return not begins and follow(state, after, *args)

    patch.everywhere(follow, stored_first)


@_mutant(
    'failure leaves others changed',
    Rule.ALL_OR_NONE,
    ChaosEvent.BREAKS,
    ChaosEvent.STUBBORN,
    ChaosEvent.OVERRULED,
    ChaosEvent.CRASHES,
)
def _failure_leaves_others_changed(patch: Patch) -> None:
    patch.everywhere(
        rollback._after_recovery, lambda state, ending: Step(records.ended(state, ending))
    )


_mutant('no alarm', Rule.ALARM)(never(announce.why_failed))


_mutant(
    'no alarm while waiting',
    Rule.ALARM,
    ChaosEvent.ORCHESTRATOR_GONE,
    ChaosEvent.ORCHESTRATOR_IDLE,
    ChaosEvent.ORCHESTRATOR_WRONG,
    ChaosEvent.OVERRULED,
    ChaosEvent.STUBBORN,
    ChaosEvent.CLIENTS_STOP,
)(never(announce.why_waiting))


_mutant('leftovers not reported', Rule.OFFER_IS_VALID, ChaosEvent.ABORT, ChaosEvent.SETS_ALL)(
    instead(rollback.describe_leftovers, lambda state, entries: state)
)


@_mutant('refusal not reported', Rule.OFFER_IS_VALID, ChaosEvent.SETS_ALL, ChaosEvent.SETS_OSD)
def _refusal_not_reported(patch: Patch) -> None:
    reported = rollback.describe_leftovers
    patch.everywhere(reported, lambda state, entries: reported(state, {} if entries else entries))


@_mutant('waits for ever', Rule.ENDS)
def _waits_forever(patch: Patch) -> None:
    """An awaited request is not repeated."""
    dispatch = machine._dispatch

    def stuck(rules_: Any, state: Any, seen: Any) -> Any:
        osd = state.in_flight
        if osd is not None and osd.step is OsdStep.SETTLING and seen.pgs.active_clean == 0:
            return Step(replace(state, last_error='stuck'))
        if state.last_error == 'stuck':
            return Step(state)
        return dispatch(rules_, state, seen)

    patch.everywhere(dispatch, stuck)


_mutant('collapse never ends', Rule.ENDS)(
    instead(collapse.collapse, lambda rules_, state, seen: Step(state))
)


# -- managers and requests


@_mutant(
    'takes over without a sample',
    Rule.OBSERVES_FIRST,
    ChaosEvent.FAIL_OVER,
    ChaosEvent.KILLED_AFTER_A_WRITE,
    ChaosEvent.KILLED_BEFORE_A_WRITE,
    ChaosEvent.MODULE_RELOADED,
)
def _takes_over_without_a_sample(patch: Patch) -> None:
    step = machine.Machine.step

    def at_once(self: Any, state: Any, seen: Any, now_s: float) -> Any:
        return step(self, state, replace(seen, watched_s=1e9), now_s)

    patch.attribute(machine.Machine, 'step', at_once)


@_mutant(
    'observes too briefly',
    Rule.OBSERVES_FIRST,
    ChaosEvent.FAIL_OVER,
    ChaosEvent.KILLED_AFTER_A_WRITE,
    ChaosEvent.KILLED_BEFORE_A_WRITE,
    ChaosEvent.MODULE_RELOADED,
)
def _observes_too_briefly(patch: Patch) -> None:
    step = machine.Machine.step

    def hasty(self: Any, *args: Any) -> Any:
        return step(replace(self, limits=replace(self.limits, observe_first_s=2.0)), *args)

    patch.attribute(machine.Machine, 'step', hasty)


@_mutant('any name means the last', Rule.REQUESTS, ChaosEvent.ROLLBACK_UNKNOWN)
def _any_name_means_the_last(patch: Patch) -> None:
    rollout = driver.Driver._rollout
    patch.attribute(driver.Driver, '_rollout', lambda self, name: rollout(self, None))


@_mutant('second rollout accepted', Rule.REQUESTS, ChaosEvent.APPLY_ANOTHER)
def _second_rollout_accepted(patch: Patch) -> None:
    patch.attribute(driver.Driver, '_refuse_while_running', lambda self: None)


@_mutant('queries every OSD', Rule.BOUNDED_TICK)
def _queries_every_osd(patch: Patch) -> None:
    needs = machine._needs

    def of_all(state: Any, *args: Any) -> Any:
        found = needs(state, *args)
        ids = tuple(osd.osd_id for osd in state.osds)
        return replace(found, running=ids, ok_to_stop=ids)

    patch.everywhere(needs, of_all)


@_mutant('queries needlessly', Rule.BOUNDED_TICK)
def _queries_needlessly(patch: Patch) -> None:
    """At each step monitors are queried for the entry of every OSD."""

    def everything(state: Any, *_: Any) -> Needs:
        ids = tuple(osd.osd_id for osd in state.osds) * 20
        return Needs(running=ids, ok_to_stop=ids[:1], orchestrator=True)

    patch.everywhere(machine._needs, everything)


@_mutant('begins at once by itself', Rule.NOT_UNASKED)
def _starts_automatically_at_once(patch: Patch) -> None:
    decide = automatic.decide

    def hurried(
        recommendations: Any, ages: Any, preconditions: Any, now_s: float, policy: Any
    ) -> Any:
        return decide(recommendations, ages, preconditions, now_s, replace(policy, after_s=0.0))

    patch.everywhere(decide, hurried)
    patch.attribute(automatic, 'decide', hurried)


@_mutant('repeats what failed', Rule.NOT_UNASKED)
def _repeats_what_failed(patch: Patch) -> None:
    patch.never(automatic._why_nothing)
    patch.never(automatic._is_same, answer=False)


_mutant(
    'recovery waits for the store',
    Rule.STARTS_AGAIN,
    ChaosEvent.STORE_REFUSES,
    at=(Moment.RESTARTING,),
)(lambda patch: patch.never(osd_step.must_not_wait, answer=False))
_mutant(
    'abort ends a recovery at once',
    Rule.NOT_ABANDONED,
    ChaosEvent.ABORT,
    at=(Moment.RECOVER_RESTORING,),
)(lambda patch: _abort_ends_at_once(patch, Direction.RECOVER))
_mutant(
    'a second abort ends it at once',
    Rule.NOT_ABANDONED,
    ChaosEvent.ABORT,
    at=(Moment.RECOVER_RESTORING,),
)(lambda patch: patch.never(machine.refuse_while_deadly))
_mutant(
    'abort ends a rollback at once', Rule.NOT_ABANDONED, ChaosEvent.ABORT, at=(Moment.BACK_ENTRIES,)
)(lambda patch: _abort_ends_at_once(patch, Direction.BACK))
