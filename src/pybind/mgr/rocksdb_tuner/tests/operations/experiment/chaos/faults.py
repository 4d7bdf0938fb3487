"""Faults that can be planted in experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.experiment import judging, legs, measuring, states, watching
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine
from rocksdb_tuner.operations.experiment.records import (
    ExperimentEnding,
    ExperimentState,
    LegKind,
    Stage,
)
from rocksdb_tuner.operations.experiment.storage import ExperimentStorage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout import osd_step, rollback, rules
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.observer import Observer
from rocksdb_tuner.operations.rollout.records import Direction, OsdProgress, OsdStep
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.tests.chaos.mutants import Patch


def seen(patch: Patch, **changes: Any) -> None:
    """Let the machine see another cluster than there is."""
    observe = Observer.observe

    def mistaken(self: Observer, *args: Any, **named: Any) -> Any:
        return replace(observe(self, *args, **named), **changes)

    patch.attribute(Observer, 'observe', mistaken)


def entries_written(patch: Patch, change: Callable[[SetEntry], SetEntry]) -> None:
    execute = ExperimentDriver._execute

    def mistaken(self: ExperimentDriver, action: Any) -> Any:
        return execute(self, change(action) if isinstance(action, SetEntry) else action)

    patch.attribute(ExperimentDriver, '_execute', mistaken)


def turns(patch: Patch, change: Callable[[Any, Mapping[int, str]], Mapping[int, str]]) -> None:
    """Give OSDs other arms than planned."""
    begin = legs.change

    def mistaken(state: Any, osd_ids: Any) -> Any:
        arms = change(state, {n: state.osd(n).arm for n in osd_ids})
        leg = begin(state, arms)
        strings = {n: state.request.options(arm) for n, arm in arms.items()}
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
    patch.everywhere(watching.left_alone, lambda state, _: state)


def foreign_changes_ignored(patch: Patch) -> None:
    patch.everywhere(rollback.conflicting_entries, lambda *_: ())
    patch.everywhere(watching.left_alone, lambda state, _: state)


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
    now = Driver.now
    first: dict[int, Any] = {}

    def as_first(self: Driver, *, forward: bool) -> Any:
        tick = now(self, forward=forward)
        return tick._replace(schedule_reason=first.setdefault(id(self), tick.schedule_reason))

    patch.attribute(Driver, 'now', as_first)


# -- what is measured


def measured_in_any_case(patch: Patch, **changes: Any) -> None:
    now = measuring.measured_now
    patch.everywhere(now, lambda state: now(replace(state, **changes)))


# -- how it ends


def dropped_arms_are_tried_again(patch: Patch) -> None:
    back = ExperimentMachine._back
    left = ExperimentState.remaining.fget  # type: ignore[attr-defined]

    def again(self: Any, state: Any, *args: Any) -> Any:
        after = back(self, state, *args)
        ends = after.leg is not None or after.ended
        return after if ends else replace(after, stage=Stage.CHANGING)

    def remaining(state: Any) -> Any:
        changing = state.stage is Stage.CHANGING
        return tuple(arm.name for arm in state.request.arms) if changing else left(state)

    patch.attribute(ExperimentMachine, '_back', again)
    patch.attribute(ExperimentState, 'remaining', property(remaining))


def crash_is_only_recorded(patch: Patch) -> None:
    patch.everywhere(
        judging.failed, lambda state, arms, _: replace(state, crashed=tuple(sorted(arms)))
    )
    patch.attribute(
        ExperimentMachine,
        '_restore',
        lambda _, state, *__: replace(legs.merged(state), leg=None, leg_kind=None, ending=None),
    )


def ends_without_restoring(patch: Patch) -> None:
    patch.attribute(
        ExperimentMachine, '_restore', lambda _, state, __, now_s: states.finished(state, now_s)
    )


def one_osd_is_skipped(patch: Patch) -> None:
    back = legs.back

    def but_one(state: Any, kind: LegKind, osd_ids: Any) -> Any:
        ids = sorted(osd_ids)
        if state.leg is not None or len(ids) < 2:
            return back(state, kind, ids)
        turned = back(state, kind, ids[1:])
        return replace(
            turned,
            osds=tuple(replace(o, changed=o.changed and o.osd_id != ids[0]) for o in turned.osds),
        )

    patch.everywhere(back, but_one)


def any_running_process_accepted(patch: Patch) -> None:
    """A restoring leg skips the restart of an OSD of which only the entry was restored."""

    def whole(osd_id: int, *args: Any, restart_needed: bool = False, **named: Any) -> Any:
        if not restart_needed:
            return OsdProgress(osd_id, *args, **named)
        return OsdProgress(osd_id, OsdStep.SETTING, nonce_before=named['nonce_after'])

    patch.attribute(legs, 'OsdProgress', whole)


def crash_counts_as_success(patch: Patch) -> None:
    failed = judging.failed

    def fine(state: Any, arms: Any, reason: str) -> Any:
        return replace(failed(state, arms, reason), ending=ExperimentEnding(Outcome.DONE, reason))

    patch.everywhere(failed, fine)


def no_conclusion(patch: Patch) -> None:
    concluded = judging.concluded
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
        lambda state: (*state.request.plan.changed, *state.request.plan.controls),
    )
