"""Faults planted in experiments, one at a time, each of which its rule must catch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, NamedTuple

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.experiment import machine, measuring, records
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine
from rocksdb_tuner.operations.experiment.measuring import Measuring
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout import osd_step, rollback, rules
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.observer import Observer
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, with_osd
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.store.stored import Stored
from rocksdb_tuner.tests.chaos.events import ChaosEvent, named
from rocksdb_tuner.tests.chaos.mutants import (
    Patch,
    Plant,
    around,
    attribute,
    executes,
    instead,
    method,
    never,
    together,
)

from .schedule import Moment, Schedule
from .watch import Rule


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Plant
    #: Without any of these a schedule hardly shows it; empty: any schedule may.
    shown_by: frozenset[ChaosEvent] = frozenset()
    #: Other requirements of a schedule.
    needs: Callable[[Schedule], bool] = lambda _: True

    def may_show(self, planned: Schedule) -> bool:
        acts_of = {planned.event for chain in planned.events for planned in chain}
        return self.needs(planned) and (not self.shown_by or not acts_of.isdisjoint(self.shown_by))


_FAILOVERS = named('FAIL_OVER KILLED_BEFORE_A_WRITE KILLED_AFTER_A_WRITE')
_PAUSES = named('PAUSE OTHER_OPERATOR_PAUSES')
_HOLDS = named('FLAG NEARFULL')
_SETS = named('SETS_OSD')
_LATE = named('ORCHESTRATOR_LATE')
_WINDOW = named('WINDOW_CLOSES')


def _several(planned: Schedule) -> bool:
    return len(planned.request.arms) > 1


def _bad(planned: Schedule) -> bool:
    return planned.bad is not None


def _paused_for_long(planned: Schedule) -> bool:
    """While it is measured, for more than a block."""
    return any(
        chain[0].event in _PAUSES
        and chain[0].moment in {Moment.BASELINE, Moment.MEASURING}
        and chain[1].after * planned.sample_every_s > 100.0
        for chain in planned.events
    )


def _slow_dropped(planned: Schedule) -> bool:
    """While another arm is measured further."""
    asked = planned.request
    names = [arm.name for arm in asked.arms]
    long = asked.blocks > 1 and asked.min_effect < 0.01
    return names == ['slow', 'same'] and long and planned.bad is None


# -- kinds of faults


def _seen(change: Callable[[Any], Any]) -> Plant:
    """Let the machine see another cluster than there is."""
    return method(Observer, 'observe', lambda observe, *args, **kw: change(observe(*args, **kw)))


def _written(change: Callable[[SetEntry], SetEntry]) -> Plant:
    """Entries are written otherwise."""
    return executes(lambda action: change(action) if isinstance(action, SetEntry) else action)


def _turns(change: Callable[[Any, Mapping[int, str]], Mapping[int, str]]) -> Plant:
    """Give OSDs other arms than planned."""

    def mistaken(begin: Any, state: Any, osd_ids: Any) -> Any:
        arms = change(state, {n: state.arm_of[n].name for n in osd_ids})
        leg: Any = begin(state, arms)
        options = {arm.name: arm.options for arm in state.arms}
        strings = {n: options[arm] for n, arm in arms.items()}
        wrong = replace(
            leg.leg.request,
            targets=tuple(strings.items()),
            final_entries=tuple((f'osd.{n}', string) for n, string in strings.items()),
        )
        return replace(leg, leg=replace(leg.leg, request=wrong))

    return around(records.change, mistaken)


def _measured_in_any_case(**changes: Any) -> Plant:
    return around(measuring.measured_now, lambda now, state: now(replace(state, **changes)))


# -- single faults


def _stored_a_step_late(patch: Patch) -> None:
    last: list[Any] = []

    def late(save: Any, self: Any, state: Any) -> None:
        before = last[-1] if last else state
        last[:] = [state]
        save(self, before)

    patch.method(ExperimentDriver, '_store', late)


def _but_blocks(save: Any, self: Any, record: Any) -> None:
    if self.key != measuring.BLOCKS:
        save(self, record)


def _without_last_block(known: Any, self: Any, state: Any) -> Any:
    if self._known.experiment_id == state.experiment_id:
        return known(self, state)
    found = known(self, state)
    self._known = replace(found, before=found.before[:-1], after=found.after[:-1])
    return self._known


def _verified_at_once(_: Any, state: Any, osd: Any, __: Any) -> Any:
    verified = replace(with_osd(state, replace(osd, step=OsdStep.VERIFIED)), asked=None)
    return rules.Step(verified)


_SETTLED_AT_ONCE = together(
    never(osd_step.until_settled, gates.closed_gate),
    instead(osd_step._restarting, _verified_at_once),
)
_FOREIGN_OVERWRITTEN = instead(records.left_alone, lambda state, _: state)


def _blind_on_the_way_back(changed: Any, state: Any, seen: Any) -> Any:
    return () if state.direction is Direction.BACK else changed(state, seen)


_FOREIGN_IGNORED = together(
    instead(rollback.conflicting_entries, lambda *_: ()), _FOREIGN_OVERWRITTEN
)
_SENT_IN_MODE_OFF = attribute(ExperimentDriver, '_is_suppressed', lambda *_: False)


def _window_of_the_start(patch: Patch) -> None:
    allowed: Any = vars(Driver)['allowed'].fget
    first: dict[int, Any] = {}

    def as_first(self: Driver) -> Any:
        found = allowed(self)
        return replace(found, outside_window=first.setdefault(id(self), found.outside_window))

    patch.attribute(Driver, 'allowed', property(as_first))


def _dropped_arms_are_tried_again(patch: Patch) -> None:
    left = ExperimentState.remaining.fget  # type: ignore[attr-defined]

    def again(back: Any, self: Any, state: Any, *args: Any) -> Any:
        after = back(self, state, *args)
        ends = after.leg is not None or after.ended
        return after if ends else replace(after, stage=Stage.CHANGING)

    def remaining(state: Any) -> Any:
        return state.arms if state.stage is Stage.CHANGING else left(state)

    patch.method(ExperimentMachine, '_after_leg', again)
    patch.attribute(ExperimentState, 'remaining', property(remaining))


def _noted(state: Any, osd_ids: Any, _: object) -> Any:
    arms = (replace(arm, crashed=not {*osd_ids}.isdisjoint(arm.osds)) for arm in state.arms)
    return records.with_arms(state, arms)


_CRASH_IS_ONLY_NOTED = together(
    instead(machine.crashed, _noted),
    attribute(
        ExperimentMachine,
        '_restore',
        lambda _, state, *__: replace(records.without_leg(state), ending=None),
    ),
)


def _but_one(back: Any, state: Any, osd_ids: Any) -> Any:
    ids = sorted(osd_ids)
    if state.leg is not None or len(ids) < 2:
        return back(state, ids)
    turned = back(state, ids[1:])
    osds = (replace(o, step=OsdStep.RESTORED) if o.osd_id == ids[0] else o for o in turned.osds)
    return replace(turned, osds=tuple(osds))


def _any_process_accepted(back: Any, state: Any, osd_ids: Any) -> Any:
    """A restoring leg skips the restart of an OSD of which only the entry was restored."""
    turned = back(state, osd_ids)
    if turned.leg is None or state.leg is not None:
        return turned
    osds = (replace(o, step=OsdStep.SETTING, nonce_before=o.nonce_after) for o in turned.leg.osds)
    return replace(turned, leg=replace(turned.leg, osds=tuple(osds)))


def _crash_is_done(failed: Any, state: Any, osd_ids: Any, reason: str) -> Any:
    return replace(failed(state, osd_ids, reason), ending=Ending(Outcome.DONE, reason))


def _recorded_otherwise(conclude: Any, self: Any, state: Any) -> None:
    on_end, self._on_end = self._on_end, lambda s: on_end(replace(s, failure='another'))
    conclude(self, state)
    self._on_end = on_end


_SWAPPED = _turns(lambda _, turns: dict(zip(turns, [*turns.values()][::-1])))
MUTANTS = (
    Mutant(
        'another string is written', Rule.AS_REQUESTED,
        _written(lambda a: replace(a, value=f'{a.value},x=1')),
    ),
    Mutant(
        'one entry for all OSDs is written', Rule.AS_REQUESTED,
        _written(lambda a: replace(a, who='osd')),
    ),
    Mutant(
        'a control is changed, too', Rule.ONLY_PLANNED,
        _turns(lambda s, t: {**t, s.request.controls[-1]: s.arms[0].name}),
    ),
    Mutant(
        'all OSDs get the first arm', Rule.ONLY_PLANNED,
        _turns(lambda s, t: dict.fromkeys(t, s.arms[0].name)), needs=_several,
    ),
    Mutant('arms are swapped', Rule.OF_ITS_ARM, _SWAPPED, needs=_several),
    Mutant(
        'the last OSD gets the first arm', Rule.OF_ITS_ARM,
        _turns(lambda s, t: {**t, [*t][-1]: s.arms[0].name}), needs=_several,
    ),
    Mutant(
        'legs are not stored', Rule.SAVED_BEFORE,
        method(
            ExperimentDriver, '_store',
            lambda save, self, state: None if state.leg is not None else save(self, state),
        ),
    ),
    Mutant('each state is stored a step late', Rule.SAVED_BEFORE, _stored_a_step_late),
    Mutant('an OSD counts as restarted once it was requested', Rule.ONE_DOWN, _SETTLED_AT_ONCE),
    Mutant(
        'the next OSD is started while one is starting', Rule.ONE_DOWN,
        together(_SETTLED_AT_ONCE, never(gates.placement_groups)),
    ),
    Mutant(
        'requests settle at once', Rule.ONE_OUTSTANDING,
        _seen(lambda view: replace(view, restart_settled=True)), _LATE,
    ),
    Mutant(
        'outstanding requests are not checked', Rule.ONE_OUTSTANDING,
        never(osd_step.why_restart_outstanding), _LATE,
    ),
    Mutant('all gates are open', Rule.GATES, never(gates.closed_gate), _HOLDS),
    Mutant('flags do not hold a change', Rule.GATES, never(gates._held_cluster), _HOLDS),
    Mutant('foreign changes are ignored', Rule.OPERATOR_WINS, _FOREIGN_IGNORED, _SETS),
    Mutant(
        'everything is restored over foreign changes', Rule.OPERATOR_WINS,
        together(
            around(rollback.conflicting_entries, _blind_on_the_way_back), _FOREIGN_OVERWRITTEN
        ),
        _SETS,
    ),
    Mutant('nothing holds a leg', Rule.PAUSE_HOLDS, never(rules.why_held), _PAUSES),
    Mutant(
        'a leg knows of no pause', Rule.PAUSE_HOLDS,
        method(
            Machine, 'step',
            lambda step, self, state, *args: step(self, replace(state, paused_by=None), *args),
        ),
        _PAUSES,
    ),
    Mutant(
        'the mode is not read', Rule.MODE,
        together(_seen(lambda view: replace(view, may_act=True)), _SENT_IN_MODE_OFF),
        named('MODE_OFF'),
    ),
    Mutant(
        'nothing holds what is written', Rule.MODE,
        together(never(rules.why_held), _SENT_IN_MODE_OFF), named('MODE_OFF'),
    ),
    Mutant(
        'the window is not seen', Rule.WINDOW,
        _seen(lambda view: replace(view, schedule_reason=None)), _WINDOW,
    ),
    Mutant(
        'the window is that of the start', Rule.WINDOW, _window_of_the_start, _WINDOW
    ),
    Mutant(
        'a manager acts at once', Rule.OBSERVES_FIRST,
        _seen(lambda view: replace(view, watched_s=1e6)), _FAILOVERS,
    ),
    Mutant(
        'a manager samples for a second', Rule.OBSERVES_FIRST,
        _seen(lambda view: replace(view, watched_s=10 * view.watched_s)), _FAILOVERS,
    ),
    Mutant(
        'a dropped arm is tried again', Rule.DROPPED_STAYS_OFF, _dropped_arms_are_tried_again,
        needs=_slow_dropped,
    ),
    Mutant('a crash is noted alone', Rule.DROPPED_STAYS_OFF, _CRASH_IS_ONLY_NOTED, needs=_bad),
    Mutant(
        'it is measured in a pause', Rule.UNDISTURBED, _measured_in_any_case(paused_reason=None),
        needs=_paused_for_long,
    ),
    Mutant(
        'it is measured while OSDs are changed', Rule.UNDISTURBED,
        _measured_in_any_case(leg=None, stage=Stage.MEASURING),
    ),
    Mutant(
        'swapped arms are not seen', Rule.RIGHT_ARM, together(_SWAPPED, _FOREIGN_IGNORED),
        needs=_several,
    ),
    Mutant(
        'restored OSDs are measured', Rule.RIGHT_ARM,
        instead(
            measuring.measured_osds,
            lambda state: (*state.request.changed, *state.request.controls),
        ),
        needs=_slow_dropped,
    ),
    Mutant(
        'blocks are not stored', Rule.EVIDENCE_KEPT, method(Stored, 'save', _but_blocks),
        named('FAIL_OVER'),
    ),
    Mutant(
        'the last block is lost', Rule.EVIDENCE_KEPT,
        method(Measuring, 'known', _without_last_block), named('FAIL_OVER'),
    ),
    Mutant(
        'it ends without restoring', Rule.RESTORED,
        attribute(
            ExperimentMachine, '_restore',
            lambda _, state, __, now_s: records.finished(state, now_s),
        ),
    ),
    Mutant('one OSD is left out', Rule.RESTORED, around(records.back, _but_one)),
    Mutant(
        'no restart after entries were restored', Rule.RESTORED,
        around(records.back, _any_process_accepted),
    ),
    Mutant(
        'a crash is a success', Rule.RIGHT_END,
        around(machine.crashed, _crash_is_done), needs=_bad,
    ),
    Mutant(
        'it ends without a conclusion', Rule.RIGHT_END,
        around(
            machine.concluded,
            lambda concluded, *args, **kw: replace(concluded(*args, **kw), conclusion=None),
        ),
    ),
    Mutant(
        'its end is not recorded', Rule.RECORDED,
        attribute(ExperimentDriver, '_conclude', lambda *_: None),
    ),
    Mutant(
        'its end is recorded otherwise', Rule.RECORDED,
        method(ExperimentDriver, '_conclude', _recorded_otherwise),
    ),
    Mutant(
        'blocks are not counted', Rule.ENDS,
        method(Measuring, 'found', lambda found, self, state: (0, found(self, state)[1])),
    ),
    Mutant(
        'a leg never ends', Rule.ENDS,
        attribute(ExperimentMachine, '_after_leg', lambda _, state, *__: state),
    ),
)  # fmt: skip
