"""Faults planted in the product, one at a time, each of which the invariants must catch.

A mutant replaces one decision of the product at every use, and names the rule that must catch it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
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
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd, SetEntry
from rocksdb_tuner.plan.records import OPTION, ChangeRequest, Purpose

from .events import ChaosEvent, named
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

    def around(self, found: Callable[..., Any], other: Callable[..., Any]) -> None:
        """Replace a function by another one, which is given it first."""
        self.everywhere(found, lambda *args, **named: other(found, *args, **named))

    def method(self, owner: type, name: str, other: Callable[..., Any]) -> None:
        """The same of a method."""
        found = vars(owner)[name] if name in vars(owner) else getattr(owner, name)
        self.attribute(owner, name, lambda *args, **named: other(found, *args, **named))


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Callable[[Patch], None]
    #: Without any of these, aimed at one of those moments, a schedule hardly shows it; empty: any
    #: schedule may, and any moment will do.
    shown_by: Collection[ChaosEvent] = ()
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
    shown_by: str = '',
    *,
    at: tuple[Moment, ...] = (),
    changes: tuple[Change, ...] = (),
    without_gain: bool = False,
) -> Callable[[Plant], Plant]:
    """Add what it decorates to `MUTANTS`."""

    def add(plant: Plant) -> Plant:
        shown = named(shown_by)
        MUTANTS.append(Mutant(name, rule, plant, shown, at, changes, without_gain))
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


def around(found: Callable[..., Any], other: Callable[..., Any]) -> Plant:
    """The same by a function that is given the right one first."""
    return lambda patch: patch.around(found, other)


def method(owner: type, name: str, other: Callable[..., Any]) -> Plant:
    return lambda patch: patch.method(owner, name, other)


def attribute(owner: object, name: str, value: object) -> Plant:
    return lambda patch: patch.attribute(owner, name, value)


def together(*plants: Plant) -> Plant:
    def plant(patch: Patch) -> None:
        for one in plants:
            one(patch)

    return plant


def executes(change: Callable[[Any], Any]) -> Plant:
    """Let the cluster get another action than was decided upon and stored."""
    return method(
        observer.Cluster,
        'execute',
        lambda execute, self, action, option: execute(self, change(action), option),
    )


def starts(change: Callable[[Any, Any, Any], Any]) -> Plant:
    """Let the start of an OSD be decided by another observation."""
    return around(
        machine._start_osd,
        lambda begin, state, osd, seen: begin(state, osd, change(state, osd, seen)),
    )


def _after_the_canary(state: Any, osd: Any, seen: Any, **changes: Any) -> Any:
    return seen if osd.osd_id == state.request.order[0] else replace(seen, **changes)


def _limits(**limits: float) -> Plant:
    """With other limits of time."""
    return method(
        machine.Machine,
        'step',
        lambda step, self, *args: step(replace(self, limits=replace(self.limits, **limits)), *args),
    )


def _to(state: Any, osd: Any, step: OsdStep) -> Step:
    """The step that takes an OSD there."""
    return Step(records.with_osd(state, replace(osd, step=step)))


# -- gates


_mutant('flags and health ignored', Rule.GATES)(never(gates._held_cluster))
_mutant('placement groups ignored', Rule.GATES)(never(gates.placement_groups))
_mutant('ok-to-stop skipped', Rule.OK_TO_STOP, 'REFUSES_OK_TO_STOP')(never(gates._ok_to_stop))
_mutant('no answer is yes', Rule.OK_TO_STOP, 'REFUSES_OK_TO_STOP')(
    instead(gates._ok_to_stop, lambda seen, osd_id: seen.ok_to_stop.get(osd_id))
)
_mutant('upgrade ignored', Rule.NO_UPGRADE, 'UPGRADE_BEGINS OF_ANOTHER_RELEASE')(
    never(gates._upgrade)
)
_mutant('mixed versions ignored', Rule.NO_UPGRADE, 'OF_ANOTHER_RELEASE')(
    instead(gates._upgrade, lambda seen: seen.upgrade and f'upgrade: {seen.upgrade}')
)
_mutant('gates not checked again', Rule.GATES)(
    attribute(osd_step, 'why_closed', lambda state, _, seen: rules.why_held(state, seen))
)
_mutant('no_reports_reason', Rule.REPORTS_ARRIVE, 'REPORTS_STOP')(
    around(
        gates.closed_gate,
        lambda closed, seen, n: closed(replace(seen, no_reports_reason=None), n),
    )
)
_mutant('settling takes 5 s', Rule.GATES, 'REPORTS_ARE_RARE')(
    attribute(
        ReportedSince,
        '_reported',
        lambda self, _reader, _up, now_s: self._since.update(self._changes, now_s) >= 5.0,
    )
)
_mutant('no OSD has to report', Rule.GATES, 'REPORTS_ARE_RARE')(
    method(
        ReportedSince,
        '_reported',
        lambda reported, self, reader, _up, now_s: reported(self, reader, (), now_s),
    )
)


@_mutant('reports not needed', Rule.REPORTS_ARRIVE, 'REPORTS_STOP')
def _reports_not_needed(patch: Patch) -> None:
    def silent_and_content(observe: Any, self: Any, *args: Any) -> Any:
        self._allowed = replace(self._allowed, no_reports_reason=None)
        return observe(self, *args)

    patch.method(driver.Driver, '_observe', silent_and_content)


_mutant('samples not needed', Rule.SAMPLED, 'SAMPLES_STOP')(never(gates.without_samples))
_mutant('samples only of the canary', Rule.SAMPLED, 'SAMPLES_STOP')(
    instead(records.compared_osds, lambda state: state.request.order[:1])
)
_mutant('samples only before the canary', Rule.SAMPLED, 'SAMPLES_STOP')(
    starts(lambda *args: _after_the_canary(*args, unsampled=()))
)


# -- mode, pause, window, daily limit


_PAUSES = 'PAUSE OTHER_OPERATOR_PAUSES'


@_mutant('switch ignored in a tick', Rule.MODE, 'MODE_OFF_IN_A_WRITE')
def _switch_ignored(patch: Patch) -> None:
    def always_on(step: Any, self: Any, *args: Any) -> Any:
        self._changes_allowed = lambda: True
        return step(self, *args)

    patch.method(driver.Driver, '_step', always_on)


def _mode_seen(held: Any, state: Any, seen: Any) -> Any:
    return held(state, replace(seen, may_act=True))


_mutant('mode not checked', Rule.MODE, 'MODE_OFF MODE_OFF_IN_A_WRITE')(
    together(around(rules.why_held, _mode_seen), never(gates._mode), _switch_ignored)
)
_mutant('pause holds nothing', Rule.PAUSE_HOLDS, _PAUSES)(
    around(rules.why_held, lambda held, state, seen: held(replace(state, paused_by=None), seen))
)


@_mutant('pause ignored back', Rule.PAUSE_HOLDS, _PAUSES, at=_BACK)
def _pause_ignored_in_rollback(patch: Patch) -> None:
    def only_forward(held: Any, state: Any, seen: Any) -> Optional[str]:
        rolling_back = state.direction is Direction.BACK
        found: Optional[str] = held(replace(state, paused_by=None) if rolling_back else state, seen)
        return found

    patch.around(rules.why_held, only_forward)


_mutant('pause lost', Rule.PAUSE_HOLDS, _PAUSES, at=(Moment.RESTARTING, Moment.CHECKING))(
    around(osd_step.start_recovery, lambda fail, *args: replace(fail(*args), paused_by=None))
)
_mutant('window ignored', Rule.WINDOW, 'WINDOW_CLOSES')(
    method(
        driver.Driver,
        'tick',
        lambda tick, self, now_s, allowed, monotonic_s: tick(
            self, now_s, replace(allowed, outside_window=None), monotonic_s
        ),
    )
)
_mutant('daily limit ignored', Rule.DAILY_LIMIT, 'DAILY_LIMIT')(
    attribute(storage.PersistentClock, 'limit_reason', lambda *_: None)
)
_mutant('restarts not counted', Rule.DAILY_LIMIT, 'DAILY_LIMIT')(
    attribute(storage.PersistentClock, 'count_restart', lambda self: None)
)
_mutant('window for the canary', Rule.WINDOW, 'WINDOW_CLOSES')(
    starts(lambda *args: _after_the_canary(*args, schedule_reason=None))
)


# -- restarts


_mutant('second restart', Rule.ONE_OUTSTANDING, 'ORCHESTRATOR_LATE')(
    never(osd_step.why_restart_outstanding)
)


@_mutant('request forgotten', Rule.ONE_OUTSTANDING, 'ORCHESTRATOR_LATE')
def _request_forgotten(patch: Patch) -> None:
    def ask_without_record(ask: Any, *args: Any) -> Any:
        asked = ask(*args)
        return Step(replace(asked.state, asked=None), asked.actions)

    patch.around(osd_step._ask, ask_without_record)


def _killed_after(waited_s: float) -> Plant:
    """A process that is slow to start is restarted each time after so long."""

    def impatient(down: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if osd.step is OsdStep.RESTARTING and seen.waited_s >= waited_s:
            again = replace(osd, restarts_asked=osd.restarts_asked + 1)
            return Step(records.with_osd(state, again), (RestartOsd(osd.osd_id),))
        return down(rules_, state, osd, seen)

    return around(osd_step._down, impatient)


_mutant('killed while starting', Rule.BOUNDED_DOWNTIME, 'STARTS_SLOWLY')(_killed_after(60.0))
_mutant('requested every minute', Rule.STOPS, 'STARTS_SLOWLY')(_killed_after(60.0))
_mutant('killed shortly before it is up', Rule.BOUNDED_DOWNTIME, 'STARTS_SLOWLY')(
    _killed_after(250.0)
)


@_mutant('restarted again and again', Rule.STOPS, 'STUBBORN')
def _restarted_again_and_again(patch: Patch) -> None:
    """One that runs something else is restarted until it does."""

    def once_more(checking: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        step = checking(rules_, state, osd, seen)
        if step.state.direction is Direction.RECOVER:
            again = replace(osd, step=OsdStep.RESTART_DUE, nonce_before=osd.nonce_after)
            return Step(records.with_osd(state, again))
        return step

    patch.around(osd_step._checking, once_more)


@_mutant(
    'process_lost without the nonce', Rule.RUNS_NEW_OPTIONS, 'RESTARTED_BY_HAND',
    at=(Moment.CHECKING, Moment.SETTLING),
)  # fmt: skip
def _lost_without_nonce(patch: Patch) -> None:
    def by_up_only(lost: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        info = seen.osd(osd.osd_id)
        return None if info is not None and info.up else lost(rules_, state, osd, seen)

    patch.around(osd_step.process_lost, by_up_only)


def _done_once_asked(to: OsdStep, direction: Optional[Direction] = None) -> Plant:
    """A requested restart counts as done."""

    def done(restarting: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if direction in {None, state.direction}:
            return _to(state, osd, to)
        return restarting(rules_, state, osd, seen)

    return around(osd_step._restarting, done)


_mutant('gates open while one is down', Rule.ONE_DOWN)(
    # The next one is started while this one is down.
    together(
        never(gates._osds, gates.placement_groups, gates.not_yet_reported),
        never(gates._held_cluster, gates._ok_to_stop, osd_step.until_settled),
        _done_once_asked(OsdStep.VERIFIED),
    )
)
_mutant('two at once in a rollback', Rule.ONE_DOWN)(
    together(
        _done_once_asked(OsdStep.RESTORED, Direction.BACK),
        never(osd_step.why_restart_outstanding, gates.closed_gate),
    )
)
# A process may take as long as it likes to start.
_mutant('never gives up', Rule.STARTS_AGAIN)(_limits(boot_s=1e6))
_mutant('waits for what does not start', Rule.STARTS_AGAIN)(
    instead(osd_step._down, lambda rules_, state, *_: Step(records.waiting(state, 'it is down')))
)


# -- what runs


@_mutant('profile check left out', Rule.RUNS_NEW_OPTIONS, 'STUBBORN')
def _profile_check_skipped(patch: Patch) -> None:
    def believe(rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        lost = osd_step.process_lost(rules_, state, osd, seen)
        return lost or _to(state, osd, OsdStep.SETTLING)

    patch.everywhere(osd_step._checking, believe)


def _believed(_: Any, __: Any, seen: Any) -> Any:
    found = {n: replace(running, source='mon') for n, running in seen.running.items()}
    return replace(seen, running=found)


_mutant('any value accepted', Rule.RUNS_NEW_OPTIONS, 'STUBBORN')(
    around(
        osd_step._checking,
        lambda checking, rules_, *args: checking(
            replace(rules_, same_meaning=lambda *_: True), *args
        ),
    )
)
_mutant('any source accepted back', Rule.UNDO_EXACT, 'STUBBORN OVERRULED')(
    never(osd_step._runs_what_store_gives, answer=True)
)
_mutant('back without restarts', Rule.UNDO_EXACT)(
    instead(rollback._restore_step, lambda _, osd, __: replace(osd, step=OsdStep.RESTORED))
)
_mutant('ceph.conf ignored', Rule.STORE_DECIDES, 'NEXT_OVERRULED')(
    attribute(RunningOption, 'beats_config_store', property(lambda self: False))
)
_mutant('ceph.conf is the store', Rule.STORE_DECIDES, 'NEXT_OVERRULED')(starts(_believed))


# -- entries


@_mutant('not saved before', Rule.SAVED_BEFORE)
def _not_saved_before(patch: Patch) -> None:
    def act_before_saving(step: Any, self: Any, state: Any, *args: Any) -> Any:
        save = self._save
        self._save = lambda new: self.__dict__.update(_state=new)
        try:
            return step(self, state, *args)
        finally:
            self._save = save
            if self._state is not state:
                save(self._state)

    patch.method(driver.Driver, '_step', act_before_saving)


@_mutant('saved one behind', Rule.SAVED_BEFORE)
def _saved_one_behind(patch: Patch) -> None:
    """The step that is stored is the one before."""
    last: list[Any] = [None]

    def save_older(save: Any, self: Any, state: Any) -> None:
        older, last[0] = last[0], state
        alike = older is not None and older.rollout_id == state.rollout_id
        save(self, older if alike and not state.ended else state)

    patch.method(driver.Driver, '_store', save_older)


def _entry(of_osds: bool, change: Callable[[SetEntry], SetEntry]) -> Callable[[Any], Any]:
    """Change the entries that are set, of single OSDs only or of all."""
    return lambda action: (
        change(action)
        if isinstance(action, SetEntry) and (action.who.startswith('osd.') or not of_osds)
        else action
    )


def _shared_entries_only(turned: Any) -> Any:
    kept = tuple(who for who in turned.restoring if who.startswith('osd.'))
    return replace(turned, restoring=kept)


_mutant('others overwritten', Rule.OPERATOR_WINS, 'SETS_OSD SETS_ALL')(
    never(rollback.conflicting_entries, answer=())
)
_mutant('other string not watched', Rule.OPERATOR_WINS, 'SETS_OTHER_STRING')(
    never(rollback.conflicts_in_other_option, answer=())
)
_mutant('always the main option', Rule.AS_REQUESTED)(
    method(
        observer.Cluster,
        'execute',
        lambda execute, self, action, _: execute(self, action, OPTION),
    )
)
_mutant('rollback over others', Rule.OPERATOR_WINS, 'SETS_OSD SETS_ALL')(
    never(rollback.entries_blocking_rollback, rollback.conflicting_entries, answer=())
)
_mutant('undo forgets shared entries', Rule.UNDO_EXACT)(
    around(
        rollback.rolled_back,
        lambda turn, *args, **named: _shared_entries_only(turn(*args, **named)),
    )
)
# The previous entry is removed instead of restored.
_mutant('undo removes', Rule.UNDO_EXACT)(
    attribute(rules, 'entry_action', lambda who, _: RemoveEntry(who))
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


_DONE = (Phase.DONE, Outcome.DONE)
_mutant('own entries stay', Rule.END_AS_PLANNED)(
    instead(collapse.collapse, lambda _, state, __: Step(records.finished(state, *_DONE)))
)


@_mutant('one own entry stays', Rule.END_AS_PLANNED)
def _collapse_leaves_one(patch: Patch) -> None:
    def all_but_the_last(collapse_one: Any, rules_: Any, state: Any, seen: Any) -> Any:
        left = [osd for osd in state.osds if osd.step is OsdStep.VERIFIED]
        if len(left) == 1 and state.entries_done >= len(state.request.shared_entries):
            return Step(records.finished(state, *_DONE))
        return collapse_one(rules_, state, seen)

    patch.around(collapse.collapse, all_but_the_last)


_mutant(
    'collapse on an undecided OSD', Rule.NO_OUTSIDER, 'JOINS ANOTHER_CLASS_JOINS REPLACED'
)(never(collapse._why_keep_own_entries))  # fmt: skip
_mutant('outsiders not refused', Rule.NO_OUTSIDER, changes=(Change.REACHES_OTHERS,))(
    never(admission._refuse_outsiders, collapse._why_keep_own_entries)
)


# -- who is concerned, and who is left behind


_REPLACED = 'REPLACED REPLACED_BY_ANOTHER_CLASS'
_LOST = f'PURGED {_REPLACED}'
_mutant('identity not checked', Rule.SAME_OSD, _REPLACED)(never(admission.identity_mismatch))
_mutant('only the class is compared', Rule.SAME_OSD, 'REPLACED')(
    around(
        admission.not_as_planned,
        lambda found, before, info: found(replace(before, uuid_head=None), info),
    )
)
_mutant('down is away', Rule.LEFT_CORRECTLY, 'OSD_DIES HOST_DIES CRASHES BREAKS')(
    around(
        gates._away,
        lambda away, info: gates.Away.GONE if info is not None and not info.up else away(info),
    )
)


@_mutant('a new process is another OSD', Rule.LEFT_CORRECTLY)
def _any_new_process_is_another_osd(patch: Patch) -> None:
    def by_its_process(found: Any, state: Any, osd_id: int, seen: Any) -> Any:
        known = next((osd for osd in state.osds if osd.osd_id == osd_id), None)
        if seen.osd(osd_id) is not None and known and known.step is OsdStep.SETTLING:
            return f'osd.{osd_id} is another one'
        return found(state, osd_id, seen)

    patch.around(admission.identity_mismatch, by_its_process)


_mutant('left with its entry', Rule.LEFT_CLEAN, _LOST)(
    instead(admission.start_leaving, admission.left_behind)
)


@_mutant('previous entry not restored', Rule.LEFT_CLEAN, _LOST, changes=(Change.ALL_OVER_OWN,))
def _previous_entry_not_restored(patch: Patch) -> None:
    """The previous entry of the id is removed with that of the rollout."""

    def removed(restoring: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
        if state.direction is not Direction.FORWARD:
            return restoring(rules_, state, osd, seen)
        removing = rules.entry(rules_, state, seen, f'osd.{osd.osd_id}', None)
        return removing or Step(admission.left_behind(state, osd, 'gone'))

    patch.around(osd_step._restoring, removed)


_mutant('nothing is named', Rule.LEFT_NAMED, f'{_LOST} DIES_AND_IS_OUT')(
    never(admission.describe_left_behind)
)
_mutant('a number is named', Rule.LEFT_NAMED, f'{_LOST} DIES_AND_IS_OUT')(
    around(
        admission.describe_left_behind,
        lambda found, state: None if found(state) is None else 'some OSDs',
    )
)


# -- verdict and order


_mutant('failed verdict passes', Rule.VERDICT_FIRST, 'NEW_IS_SLOW')(
    instead(soak._failed, soak._passed)
)
_mutant('no benefit is one', Rule.NO_SPREAD, without_gain=True)(
    instead(soak._without_benefit, lambda *args: Step(soak._passed(*args)))
)
_mutant('no benefit is anyones', Rule.NO_SPREAD, without_gain=True)(
    never(planned_batches.without_gain, answer=Inconclusive.PROMOTE)
)
_mutant('batch before the verdict', Rule.VERDICT_FIRST)(
    attribute(machine, 'watched_batch', lambda state: None)
)
_mutant(
    'crash in the soak ignored', Rule.SAME_PROCESS, 'OSD_DIES RESTARTED_BY_HAND HOST_DIES CRASHES',
    at=(Moment.SOAKING, Moment.JUDGING),
)(never(soak.lost_process))  # fmt: skip


@_mutant('soak without the nonce', Rule.SAME_PROCESS, 'RESTARTED_BY_HAND', at=(Moment.SOAKING,))
def _soak_without_nonce(patch: Patch) -> None:
    def by_up_only(state: Any, batch: Any, cluster: Any) -> Any:
        up = {info.osd_id for info in cluster.osds if info.up}
        of_batch = (osd for osd in state.osds if osd.osd_id in batch.osds)
        return next((osd for osd in of_batch if osd.osd_id not in up), None)

    patch.everywhere(soak.lost_process, by_up_only)


_mutant('passes without data', Rule.MEASURED, 'CLIENTS_STOP')(
    never(verdict.judge, answer=Judgement(Verdict.NO_WORSE))
)


@_mutant('inconclusive is a pass', Rule.MEASURED, 'CLIENTS_STOP')
def _inconclusive_is_a_pass(patch: Patch) -> None:
    def passes(ends: Any, *args: Any) -> Any:
        found = ends(*args)
        return Verdict.NO_WORSE if found is Verdict.INCONCLUSIVE else found

    def judged_as_passed(judged: Any, state: Any, batch: Any, seen: Any, judgement: Any) -> Any:
        if judge_records.ends_with(judgement, seen.after_s, batch.soak) is Verdict.NO_WORSE:
            return Step(soak._passed(state, batch, replace(judgement, verdict=Verdict.NO_WORSE)))
        return judged(state, batch, seen, judgement)

    patch.around(judge_records.ends_with, passes)
    patch.around(soak._judged, judged_as_passed)


def _hurried(waits: Any, rules_: Any, state: Any, osd: Any, seen: Any) -> Any:
    """The next one is started before this one is done."""
    following = next((one for one in state.osds if one.step is OsdStep.PENDING), None)
    if following is not None:
        return _to(state, following, OsdStep.SETTING)
    return waits(rules_, state, osd, seen)


_mutant('started during another', Rule.ONE_AT_A_TIME)(around(osd_step._settling, _hurried))
_mutant('started while another is checked', Rule.ONE_AT_A_TIME)(
    around(osd_step._checking, _hurried)
)


# -- the end


def _abort_ends_at_once(direction: Direction) -> Plant:
    def at_once(aborted: Any, state: Any, actor: str, *args: Any) -> Any:
        if state.direction is direction:
            return records.ended(state, Ending(Outcome.ABORTED, f'aborted by {actor}'))
        return aborted(state, actor, *args)

    return around(machine.aborted, at_once)


def _stored_first(follow: Any, state: Any, after: Any, *args: Any) -> bool:
    begins = state.direction is not after.direction
    return not begins and bool(follow(state, after, *args))


_mutant('history not recorded', Rule.RECORDED)(
    attribute(driver.Driver, '_conclude', lambda self, state: None)
)
_mutant('outcome not recorded', Rule.RECORDED)(
    around(storage.record_of, lambda record, state: replace(record(state), outcome=Outcome.WAITING))
)
_mutant('abort leaves an OSD in flight', Rule.ALL_OR_NONE, 'ABORT')(
    _abort_ends_at_once(Direction.FORWARD)
)
_mutant(
    'recovery must be stored to begin', Rule.STARTS_AGAIN, 'STORE_REFUSES', at=(Moment.RESTARTING,)
)(around(osd_step.must_not_wait, _stored_first))  # fmt: skip
_mutant(
    'recovery waits for the store', Rule.STARTS_AGAIN, 'STORE_REFUSES', at=(Moment.RESTARTING,)
)(never(osd_step.must_not_wait, answer=False))  # fmt: skip
_mutant(
    'abort ends a recovery at once', Rule.NOT_ABANDONED, 'ABORT', at=(Moment.RECOVER_RESTORING,)
)(_abort_ends_at_once(Direction.RECOVER))  # fmt: skip
_mutant(
    'a second abort ends it at once', Rule.NOT_ABANDONED, 'ABORT', at=(Moment.RECOVER_RESTORING,)
)(never(machine.refuse_while_deadly))  # fmt: skip
_mutant('abort ends a rollback at once', Rule.NOT_ABANDONED, 'ABORT', at=(Moment.BACK_ENTRIES,))(
    _abort_ends_at_once(Direction.BACK)
)
_mutant('failure leaves others changed', Rule.ALL_OR_NONE, 'BREAKS STUBBORN OVERRULED CRASHES')(
    instead(rollback._after_recovery, lambda state, ending: Step(records.ended(state, ending)))
)
_mutant('no alarm', Rule.ALARM)(never(announce.why_failed))
_mutant(
    'no alarm while waiting', Rule.ALARM,
    'ORCHESTRATOR_GONE ORCHESTRATOR_IDLE ORCHESTRATOR_WRONG OVERRULED STUBBORN CLIENTS_STOP',
)(never(announce.why_waiting))  # fmt: skip
_mutant('leftovers not reported', Rule.OFFER_IS_VALID, 'ABORT SETS_ALL')(
    instead(rollback.describe_leftovers, lambda state, entries: state)
)
_mutant('refusal not reported', Rule.OFFER_IS_VALID, 'SETS_ALL SETS_OSD')(
    around(
        rollback.describe_leftovers,
        lambda reported, state, entries: reported(state, {} if entries else entries),
    )
)


@_mutant('waits for ever', Rule.ENDS)
def _waits_forever(patch: Patch) -> None:
    """An awaited request is not repeated."""

    def stuck(dispatch: Any, rules_: Any, state: Any, seen: Any) -> Any:
        osd = state.in_flight
        if osd is not None and osd.step is OsdStep.SETTLING and seen.pgs.active_clean == 0:
            return Step(replace(state, last_error='stuck'))
        return Step(state) if state.last_error == 'stuck' else dispatch(rules_, state, seen)

    patch.around(machine._dispatch, stuck)


_mutant('collapse never ends', Rule.ENDS)(
    instead(collapse.collapse, lambda rules_, state, seen: Step(state))
)


# -- managers and requests


_FAILOVERS = 'FAIL_OVER KILLED_AFTER_A_WRITE KILLED_BEFORE_A_WRITE MODULE_RELOADED'


def _all_osds(found: Needs, state: Any) -> Needs:
    ids = tuple(osd.osd_id for osd in state.osds)
    return replace(found, running=ids, ok_to_stop=ids)


def _needlessly(state: Any, *_: Any) -> Needs:
    """At each step monitors are queried for the entry of every OSD."""
    ids = tuple(osd.osd_id for osd in state.osds) * 20
    return Needs(running=ids, ok_to_stop=ids[:1], orchestrator=True)


_mutant('takes over without a sample', Rule.OBSERVES_FIRST, _FAILOVERS)(
    method(
        machine.Machine,
        'step',
        lambda step, self, state, seen, now_s: step(
            self, state, replace(seen, watched_s=1e9), now_s
        ),
    )
)
_mutant('observes too briefly', Rule.OBSERVES_FIRST, _FAILOVERS)(_limits(observe_first_s=2.0))
_mutant('any name means the last', Rule.REQUESTS, 'ROLLBACK_UNKNOWN')(
    method(driver.Driver, '_rollout', lambda rollout, self, name: rollout(self, None))
)
_mutant('second rollout accepted', Rule.REQUESTS, 'APPLY_ANOTHER')(
    attribute(driver.Driver, '_refuse_while_running', lambda self: None)
)
_mutant('queries every OSD', Rule.BOUNDED_TICK)(
    around(machine._needs, lambda needs, state, *args: _all_osds(needs(state, *args), state))
)
_mutant('queries needlessly', Rule.BOUNDED_TICK)(instead(machine._needs, _needlessly))
_mutant('begins at once by itself', Rule.NOT_UNASKED)(
    around(
        automatic.decide,
        lambda decide, *args: decide(*args[:4], replace(args[4], after_s=0.0)),
    )
)
_mutant('repeats what failed', Rule.NOT_UNASKED)(
    together(never(automatic._why_nothing), never(automatic._is_same, answer=False))
)
