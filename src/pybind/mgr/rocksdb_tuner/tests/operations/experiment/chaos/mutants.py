"""Faults planted in experiments, one at a time, each of which its rule must catch."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, NamedTuple

from rocksdb_tuner.operations import gates
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine
from rocksdb_tuner.operations.experiment.measuring import ExperimentStorage
from rocksdb_tuner.operations.experiment.records import Stage
from rocksdb_tuner.tests.chaos.chaos_events import ChaosEvent
from rocksdb_tuner.tests.chaos.mutants import Patch

from . import faults
from .rules import Rule
from .schedule import Moment, Schedule


class Mutant(NamedTuple):
    name: str
    #: The rule that catches it.
    rule: Rule
    plant: Callable[[Patch], None]
    #: Without any of these a schedule hardly shows it; empty: any schedule may.
    shown_by: tuple[ChaosEvent, ...] = ()
    #: Other requirements of a schedule.
    needs: Callable[[Schedule], bool] = lambda _: True

    def may_show(self, planned: Schedule) -> bool:
        acts_of = {planned.event for chain in planned.events for planned in chain}
        return self.needs(planned) and (not self.shown_by or not acts_of.isdisjoint(self.shown_by))


_FAILOVERS = (
    ChaosEvent.FAIL_OVER,
    ChaosEvent.KILLED_BEFORE_A_WRITE,
    ChaosEvent.KILLED_AFTER_A_WRITE,
)
_PAUSES = (ChaosEvent.PAUSE, ChaosEvent.OTHER_OPERATOR_PAUSES)
_FAILURES = (ChaosEvent.BREAKS, ChaosEvent.CRASHES, ChaosEvent.OSD_DIES)
_SETS = (ChaosEvent.SETS_OSD,)


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


MUTANTS = (
    Mutant(
        'another string is written',
        Rule.AS_REQUESTED,
        lambda patch: faults.entries_written(patch, lambda a: replace(a, value=f'{a.value},x=1')),
    ),
    Mutant(
        'one entry for all OSDs is written',
        Rule.AS_REQUESTED,
        lambda patch: faults.entries_written(patch, lambda a: replace(a, who='osd')),
    ),
    Mutant(
        'a control is changed, too',
        Rule.ONLY_PLANNED,
        lambda patch: faults.turns(
            patch, lambda s, t: {**t, s.request.controls[-1]: s.arms[0].name}
        ),
    ),
    Mutant(
        'all OSDs get the first arm',
        Rule.ONLY_PLANNED,
        lambda patch: faults.turns(patch, lambda s, t: dict.fromkeys(t, s.arms[0].name)),
        needs=_several,
    ),
    Mutant(
        'arms are swapped',
        Rule.OF_ITS_ARM,
        lambda patch: faults.turns(patch, faults.arms_reversed),
        needs=_several,
    ),
    Mutant(
        'the last OSD gets the first arm',
        Rule.OF_ITS_ARM,
        lambda patch: faults.turns(patch, lambda s, t: {**t, [*t][-1]: s.arms[0].name}),
        needs=_several,
    ),
    Mutant('legs are not stored', Rule.SAVED_BEFORE, faults.legs_are_not_stored),
    Mutant('each state is stored a step late', Rule.SAVED_BEFORE, faults.stored_a_step_late),
    Mutant(
        'an OSD counts as restarted once it was requested', Rule.ONE_DOWN, faults.settled_at_once
    ),
    Mutant(
        'the next OSD is started while one is starting',
        Rule.ONE_DOWN,
        faults.settled_though_unclean,
    ),
    Mutant(
        'requests settle at once',
        Rule.ONE_OUTSTANDING,
        faults.settled_too_early,
        (ChaosEvent.ORCHESTRATOR_LATE,),
    ),
    Mutant(
        'outstanding requests are not checked',
        Rule.ONE_OUTSTANDING,
        faults.never_outstanding,
        (ChaosEvent.ORCHESTRATOR_LATE,),
    ),
    Mutant(
        'all gates are open',
        Rule.GATES,
        lambda patch: patch.never(gates.closed_gate),
        (ChaosEvent.FLAG, ChaosEvent.NEARFULL),
    ),
    Mutant(
        'flags do not hold a change',
        Rule.GATES,
        lambda patch: patch.never(gates._held_cluster),
        (ChaosEvent.FLAG, ChaosEvent.NEARFULL),
    ),
    Mutant(
        'foreign changes are ignored', Rule.OPERATOR_WINS, faults.foreign_changes_ignored, _SETS
    ),
    Mutant(
        'everything is restored over foreign changes',
        Rule.OPERATOR_WINS,
        faults.restores_over_foreign_entries,
        _SETS,
    ),
    Mutant('nothing holds a leg', Rule.PAUSE_HOLDS, faults.nothing_holds, _PAUSES),
    Mutant(
        'a leg knows of no pause', Rule.PAUSE_HOLDS, faults.pause_of_the_leg_is_forgotten, _PAUSES
    ),
    Mutant('the mode is not read', Rule.MODE, faults.mode_is_not_read, (ChaosEvent.MODE_OFF,)),
    Mutant(
        'nothing holds what is written',
        Rule.MODE,
        faults.nothing_holds_in_mode_off,
        (ChaosEvent.MODE_OFF,),
    ),
    Mutant(
        'the window is not seen',
        Rule.WINDOW,
        lambda patch: faults.seen(patch, schedule_reason=None),
        (ChaosEvent.WINDOW_CLOSES,),
    ),
    Mutant(
        'the window is that of the start',
        Rule.WINDOW,
        faults.window_of_the_start,
        (ChaosEvent.WINDOW_CLOSES,),
    ),
    Mutant(
        'a manager acts at once',
        Rule.OBSERVES_FIRST,
        lambda patch: faults.seen(patch, watched_s=1e6),
        _FAILOVERS,
    ),
    Mutant(
        'a manager samples for a second',
        Rule.OBSERVES_FIRST,
        faults.samples_for_a_second,
        _FAILOVERS,
    ),
    Mutant(
        'a dropped arm is tried again',
        Rule.DROPPED_STAYS_OFF,
        faults.dropped_arms_are_tried_again,
        needs=_slow_dropped,
    ),
    Mutant(
        'a crash is noted alone', Rule.DROPPED_STAYS_OFF, faults.crash_is_only_recorded, needs=_bad
    ),
    Mutant(
        'it is measured in a pause',
        Rule.UNDISTURBED,
        lambda patch: faults.measured_in_any_case(patch, paused_reason=None),
        needs=_paused_for_long,
    ),
    Mutant(
        'it is measured while OSDs are changed',
        Rule.UNDISTURBED,
        lambda patch: faults.measured_in_any_case(patch, leg=None, stage=Stage.MEASURING),
    ),
    Mutant('swapped arms are not seen', Rule.RIGHT_ARM, faults.swapped_unnoticed, needs=_several),
    Mutant(
        'restored OSDs are measured',
        Rule.RIGHT_ARM,
        faults.restored_osds_are_measured,
        needs=_slow_dropped,
    ),
    Mutant(
        'blocks are not stored',
        Rule.EVIDENCE_KEPT,
        lambda patch: patch.attribute(ExperimentStorage, 'save_blocks', lambda *_: None),
        (ChaosEvent.FAIL_OVER,),
    ),
    Mutant(
        'the last block is lost',
        Rule.EVIDENCE_KEPT,
        faults.last_block_is_lost,
        (ChaosEvent.FAIL_OVER,),
    ),
    Mutant('it ends without restoring', Rule.RESTORED, faults.ends_without_restoring),
    Mutant('one OSD is left out', Rule.RESTORED, faults.one_osd_is_skipped),
    Mutant(
        'no restart after entries were restored', Rule.RESTORED, faults.any_running_process_accepted
    ),
    Mutant('a crash is a success', Rule.RIGHT_END, faults.crash_counts_as_success, needs=_bad),
    Mutant('it ends without a conclusion', Rule.RIGHT_END, faults.no_conclusion),
    Mutant(
        'its end is not recorded',
        Rule.RECORDED,
        lambda patch: patch.attribute(ExperimentDriver, '_conclude', lambda *_: None),
    ),
    Mutant('its end is recorded otherwise', Rule.RECORDED, faults.recorded_otherwise),
    Mutant('blocks are not counted', Rule.ENDS, faults.blocks_are_not_counted),
    Mutant(
        'a leg never ends',
        Rule.ENDS,
        lambda patch: patch.attribute(ExperimentMachine, '_after_leg', lambda _, state, *__: state),
    ),
)
