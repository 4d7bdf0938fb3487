"""Faults that can be planted in experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.experiment import machine, measuring, records
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine
from rocksdb_tuner.operations.experiment.measuring import ExperimentStorage
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout import osd_step, rollback, rules
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.observer import Cluster, Observer
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.tests.chaos.mutants import Patch


def seen(patch: Patch, **changes: Any) -> None:
    """Let the machine see another cluster than there is."""
    observe = Observer.observe

    def mistaken(self: Observer, *args: Any, **named: Any) -> Any:
        return replace(observe(self, *args, **named), **changes)

    patch.attribute(Observer, 'observe', mistaken)


def entries_written(patch: Patch, change: Callable[[SetEntry], SetEntry]) -> None:
    execute = Cluster.execute

    def mistaken(self: Cluster, action: Any, option: str) -> Any:
        return execute(self, change(action) if isinstance(action, SetEntry) else action, option)

    patch.attribute(Cluster, 'execute', mistaken)


def turns(patch: Patch, change: Callable[[Any, Mapping[int, str]], Mapping[int, str]]) -> None:
    """Give OSDs other arms than planned."""
    begin = records.change

    def mistaken(state: Any, osd_ids: Any) -> Any:
        arms = change(state, {n: state.arm_of[n].name for n in osd_ids})
        leg = begin(state, arms)
        options = {arm.name: arm.options for arm in state.arms}
        strings = {n: options[arm] for n, arm in arms.items()}
        wrong = replace(
            leg.leg.request,  # type: ignore[union-attr]
            targets=tuple(strings.items()),
            final_entries=tuple((f'osd.{n}', string) for n, string in strings.items()),
        )
        return replace(leg, leg=replace(leg.leg, request=wrong))  # type: ignore[type-var]

    patch.everywhere(begin, mistaken)


def arms_reversed(_: Any, turns: Mapping[int, str]) -> Mapping[int, str]:
    return dict(zip(turns, [*turns.values()][::-1]))


def swapped_unnoticed(patch: Patch) -> None:
    turns(patch, arms_reversed)
    foreign_changes_ignored(patch)


def samples_for_a_second(patch: Patch) -> None:
    observe = Observer.observe

    def impatient(self: Observer, *args: Any, **named: Any) -> Any:
        seen = observe(self, *args, **named)
        return replace(seen, watched_s=10 * seen.watched_s)

    patch.attribute(Observer, 'observe', impatient)


# -- what is stored


def legs_are_not_stored(patch: Patch) -> None:
    save = ExperimentStorage.save
    patch.attribute(
        ExperimentStorage,
        'save',
        lambda self, state: None if state.leg is not None else save(self, state),
    )


def stored_a_step_late(patch: Patch) -> None:
    save = ExperimentStorage.save
    last: list[Any] = []

    def late(self: ExperimentStorage, state: Any) -> None:
        before = last[-1] if last else state
        last[:] = [state]
        save(self, before)

    patch.attribute(ExperimentStorage, 'save', late)


def last_block_is_lost(patch: Patch) -> None:
    load = ExperimentStorage.load_blocks

    def without_last(self: ExperimentStorage, experiment_id: str) -> Any:
        found = load(self, experiment_id)
        return replace(found, before=found.before[:-1], after=found.after[:-1])

    patch.attribute(ExperimentStorage, 'load_blocks', without_last)


# -- how OSDs are changed


def settled_at_once(patch: Patch) -> None:
    patch.never(osd_step.until_settled)
    patch.never(gates.closed_gate)

    def hasty(_: Any, state: Any, osd: Any, __: Any) -> Any:
        osds = tuple(
            replace(o, step=OsdStep.VERIFIED) if o.osd_id == osd.osd_id else o for o in state.osds
        )
        return rules.Step(replace(state, osds=osds, asked=None))

    patch.everywhere(osd_step._restarting, hasty)


def never_outstanding(patch: Patch) -> None:
    patch.never(osd_step.why_restart_outstanding)


def settled_too_early(patch: Patch) -> None:
    patch.attribute(Observer, '_restart_settled', lambda *_: True)


# -- operators


def restores_over_foreign_entries(patch: Patch) -> None:
    changed = rollback.conflicting_entries

    def blind(state: Any, seen: Any) -> Any:
        return () if state.direction is Direction.BACK else changed(state, seen)

    patch.everywhere(changed, blind)
    patch.everywhere(records.left_alone, lambda state, _: state)


def foreign_changes_ignored(patch: Patch) -> None:
    patch.everywhere(rollback.conflicting_entries, lambda *_: ())
    patch.everywhere(records.left_alone, lambda state, _: state)


def pause_of_the_leg_is_forgotten(patch: Patch) -> None:
    step = Machine.step

    def not_paused(self: Any, state: Any, *args: Any) -> Any:
        return step(self, replace(state, paused_by=None), *args)

    patch.attribute(Machine, 'step', not_paused)


def nothing_holds(patch: Patch) -> None:
    patch.never(rules.why_held)


def nothing_holds_in_mode_off(patch: Patch) -> None:
    nothing_holds(patch)
    patch.attribute(ExperimentDriver, '_is_suppressed', lambda *_: False)


def mode_is_not_read(patch: Patch) -> None:
    seen(patch, may_act=True)
    patch.attribute(ExperimentDriver, '_is_suppressed', lambda *_: False)


def window_of_the_start(patch: Patch) -> None:
    allowed: Any = vars(Driver)['allowed'].fget
    first: dict[int, Any] = {}

    def as_first(self: Driver) -> Any:
        found = allowed(self)
        return replace(found, outside_window=first.setdefault(id(self), found.outside_window))

    patch.attribute(Driver, 'allowed', property(as_first))


# -- what is measured


def measured_in_any_case(patch: Patch, **changes: Any) -> None:
    now = measuring.measured_now
    patch.everywhere(now, lambda state: now(replace(state, **changes)))


# -- how it ends


def dropped_arms_are_tried_again(patch: Patch) -> None:
    back = ExperimentMachine._after_leg
    left = ExperimentState.remaining.fget  # type: ignore[attr-defined]

    def again(self: Any, state: Any, *args: Any) -> Any:
        after = back(self, state, *args)
        ends = after.leg is not None or after.ended
        return after if ends else replace(after, stage=Stage.CHANGING)

    def remaining(state: Any) -> Any:
        return state.arms if state.stage is Stage.CHANGING else left(state)

    patch.attribute(ExperimentMachine, '_after_leg', again)
    patch.attribute(ExperimentState, 'remaining', property(remaining))


def crash_is_only_recorded(patch: Patch) -> None:
    patch.everywhere(
        machine.crashed,
        lambda state, osd_ids, _: records.with_arms(
            state,
            (replace(arm, crashed=not {*osd_ids}.isdisjoint(arm.osds)) for arm in state.arms),
        ),
    )
    patch.attribute(
        ExperimentMachine,
        '_restore',
        lambda _, state, *__: replace(records.without_leg(state), ending=None),
    )


def ends_without_restoring(patch: Patch) -> None:
    patch.attribute(
        ExperimentMachine, '_restore', lambda _, state, __, now_s: records.finished(state, now_s)
    )


def one_osd_is_skipped(patch: Patch) -> None:
    back = records.back

    def but_one(state: Any, osd_ids: Any) -> Any:
        ids = sorted(osd_ids)
        if state.leg is not None or len(ids) < 2:
            return back(state, ids)
        turned = back(state, ids[1:])
        osds = (replace(o, step=OsdStep.RESTORED) if o.osd_id == ids[0] else o for o in turned.osds)
        return replace(turned, osds=tuple(osds))

    patch.everywhere(back, but_one)


def any_running_process_accepted(patch: Patch) -> None:
    """A restoring leg skips the restart of an OSD of which only the entry was restored."""

    back = records.back

    def whole(state: Any, osd_ids: Any) -> Any:
        turned = back(state, osd_ids)
        if turned.leg is None or state.leg is not None:
            return turned
        osds = (
            replace(o, step=OsdStep.SETTING, nonce_before=o.nonce_after) for o in turned.leg.osds
        )
        return replace(turned, leg=replace(turned.leg, osds=tuple(osds)))

    patch.everywhere(back, whole)


def crash_counts_as_success(patch: Patch) -> None:
    failed = machine.crashed

    def fine(state: Any, osd_ids: Any, reason: str) -> Any:
        return replace(failed(state, osd_ids, reason), ending=Ending(Outcome.DONE, reason))

    patch.everywhere(failed, fine)


def no_conclusion(patch: Patch) -> None:
    concluded = machine.concluded
    patch.everywhere(
        concluded, lambda *args, **named: replace(concluded(*args, **named), conclusion=None)
    )


def recorded_otherwise(patch: Patch) -> None:
    conclude = ExperimentDriver._conclude

    def otherwise(self: ExperimentDriver, state: Any) -> None:
        on_end, self._on_end = self._on_end, lambda s: on_end(replace(s, failure='another'))
        conclude(self, state)
        self._on_end = on_end

    patch.attribute(ExperimentDriver, '_conclude', otherwise)


def settled_though_unclean(patch: Patch) -> None:
    settled_at_once(patch)
    patch.never(gates.placement_groups)


def blocks_are_not_counted(patch: Patch) -> None:
    found = measuring.Measuring.found
    patch.attribute(
        measuring.Measuring, 'found', lambda self, state: found(self, state)._replace(blocks=0)
    )


def restored_osds_are_measured(patch: Patch) -> None:
    patch.everywhere(
        measuring.measured_osds,
        lambda state: (*state.request.changed, *state.request.controls),
    )
