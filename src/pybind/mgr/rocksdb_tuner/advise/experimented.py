"""Results of experiments on this cluster as evidence for recommendations. Pure.

A result applies to the same group, release and workload, and relative to the old option string of
the experiment. Of several results on the same change the newest applies.
"""

from __future__ import annotations

from typing import Optional

from ..judge.signals import objective_of, signal_named
from ..lsm.records import Estimate
from ..units import format_effect, format_time
from .case import Case
from .records import MeasuredArm, Prediction, Reason, Resource

#: Signals in `osd` that change with a judged signal.
SHOWN_AS = {
    'op_w_latency_ms': 'op_w_latency_ms',
    'kv_sync_ms_per_txn': 'kv_sync_busy',
    'db_bytes_per_txn': 'db_write_amp',
    'db_used_bytes': 'db_used_bytes',
}
#: Modeled resources whose use is a judged signal.
SHOWN_RESOURCES = (Resource.KV_SYNC, Resource.DB_DEVICE, Resource.DB_SPACE)


def of_case(case: Case) -> tuple[MeasuredArm, ...]:
    """Results that apply to the OSDs of ``case``, the newest first."""
    workload = None if case.writer is None else case.writer.workload_class.value
    found = [
        arm
        for arm in case.measured
        if arm.who == case.cohort.group.who
        and arm.release == case.release.name
        and arm.workload == workload
    ]
    return tuple(sorted(found, key=lambda arm: -arm.time_s))


def measured_effect(case: Case, options_from: str, options_to: str) -> Optional[MeasuredArm]:
    """The newest result on a change; None if it was never measured."""
    return next(
        (
            arm
            for arm in of_case(case)
            if case.alike(arm.options_from, options_from) and case.alike(arm.options, options_to)
        ),
        None,
    )


def winner_for(case: Case) -> Optional[MeasuredArm]:
    """The winner that the OSDs should run, or already run; None if there is none."""
    for arm in of_case(case):
        running = case.alike(arm.options_from, case.running) or case.alike(
            arm.options, case.running
        )
        newest = measured_effect(case, arm.options_from, arm.options)
        if arm.won and arm is newest and running:
            return arm
    return None


def measured_usage(case: Case, options_from: str, options_to: str) -> dict[Resource, Estimate]:
    """The measured use of a resource relative to ``options_from``; empty if there is none."""
    arm = measured_effect(case, options_from, options_to)
    if arm is None:
        return {}
    low, value, high = (
        1 + percent / 100 for percent in (arm.low_percent, arm.change_percent, arm.high_percent)
    )
    return {
        resource: Estimate(low, value, high)
        for resource in SHOWN_RESOURCES
        if objective_of(resource.value) == arm.signal
    }


def prediction_from(arm: MeasuredArm) -> Prediction:
    """The measured interval as the prediction for the rest of the group."""
    return Prediction(
        metric=_title(arm),
        signal=SHOWN_AS[arm.signal],
        estimate_percent=arm.change_percent,
        low_percent=arm.low_percent,
        high_percent=arm.high_percent,
        basis=f'experiment: {source_of(arm)}, measured on OSDs of this group',
    )


def reason_from(arm: MeasuredArm) -> Reason:
    """The running options lost the experiment."""
    text = f'In experiment {arm.experiment_id} the new options changed the {effect_of(arm)}.'
    return Reason(text, source_of(arm))


def effect_of(arm: MeasuredArm) -> str:
    """ "kv_sync time per write by -13% (-18 to -6%)" """
    effect = format_effect(arm.change_percent, arm.low_percent, arm.high_percent)
    return f'{_title(arm)} by {effect}'


def source_of(arm: MeasuredArm) -> str:
    day = (format_time(arm.time_s) or '').partition('T')[0]
    return f'experiment {arm.experiment_id} on this cluster' + (f', {day}' if day else '')


def runs_winner(arm: MeasuredArm) -> str:
    """Why nothing changes after the winner was applied."""
    return (
        f'The running options won experiment {arm.experiment_id}, which measured a change of the '
        f'{effect_of(arm)}.'
    )


def _title(arm: MeasuredArm) -> str:
    return signal_named(arm.signal).title
