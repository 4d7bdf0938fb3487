"""Answers about experiments in the states that they must be able to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from rocksdb_tuner.judge.records import Effect
from rocksdb_tuner.judge.winner import Answer
from rocksdb_tuner.operations.gates import GATES
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.present.answers.experiment import (
    ArmVerdict,
    DroppedArm,
    Experiment,
    ExperimentArm,
    ExperimentDesign,
    ExperimentEffect,
    ExperimentPeriod,
    ExperimentPhase,
    ExperimentPlan,
    ExperimentRefusal,
    PeriodArm,
    TracedArm,
    TracedBlock,
)

from .samples import LZ4, PACIFIC_DEFAULT

MERGED = PACIFIC_DEFAULT.replace('to_merge=1', 'to_merge=2')
_FIRST = (PeriodArm('lz4-64x16m-2025', (1, 4)), PeriodArm('merged', (2, 7)))
_SECOND = (PeriodArm('lz4-64x16m-2025', (2, 7)), PeriodArm('merged', (1, 4)))


def design() -> ExperimentDesign:
    return ExperimentDesign(
        who='osd/class:ssd',
        signal='kv_sync_ms_per_txn',
        min_effect_percent=10.0,
        max_duration_s=43200.0,
        options_from=PACIFIC_DEFAULT,
        controls=(0, 3, 5, 6, 8, 9),
        detectable_percent=8.123,
        unsafe_percent=14.2,
        duration_s=13200.0,
        block_s=600.0,
        restarts=12,
        periods=(
            ExperimentPeriod((), 6, 0),
            ExperimentPeriod(_FIRST, 6, 2),
            ExperimentPeriod(_SECOND, 6, 2),
        ),
    )


def arm(
    name: str,
    options: str,
    osds: tuple[int, ...],
    verdict: Optional[ArmVerdict] = None,
    *effects: ExperimentEffect,
    dropped: Optional[DroppedArm] = None,
) -> ExperimentArm:
    return ExperimentArm(name, options, osds, verdict, effects, dropped)


def planned() -> ExperimentPlan:
    return ExperimentPlan(
        id=None,
        phase=ExperimentPhase.PLANNED,
        arms=(arm('lz4-64x16m-2025', LZ4, (1, 4)), arm('merged', MERGED, (2, 7))),
        design=design(),
        winner=None,
        conclusion=None,
        summary='Compares 2 option strings on 4 OSDs with 6 unchanged OSDs for 3h40m.',
        started=None,
        ended=None,
        refusal=None,
        risk=('An OSD may fail to start with an option string: it is restored at once.',),
        unknown=('Effects that take longer than a period to appear are not measured.',),
        gates=GATES,
    )


def refused() -> ExperimentPlan:
    """Nothing can be told with so few OSDs."""
    no_plan = replace(
        design(),
        controls=(),
        detectable_percent=31.0,
        unsafe_percent=None,
        duration_s=None,
        block_s=None,
        restarts=None,
        periods=(),
    )
    return replace(
        planned(),
        arms=(arm('lz4-64x16m-2025', LZ4, ()), arm('merged', MERGED, ())),
        design=no_plan,
        summary='Not possible: a difference of 10% is not detectable.',
        refusal=ExperimentRefusal('a difference of 10% is not detectable', 24, None),
    )


def measuring() -> Experiment:
    """The second period; one arm is behind already."""
    return Experiment(
        id='E1',
        phase=ExperimentPhase.MEASURING,
        actor='client.admin',
        arms=(
            arm(
                'lz4-64x16m-2025',
                LZ4,
                (2, 7),
                ArmVerdict.UNCLEAR,
                ExperimentEffect('kv_sync_ms_per_txn', Effect.UNCLEAR, -12.5, -27.1, 4.3),
                ExperimentEffect('db_used_bytes', Effect.SAME, -1.5, -3.1, 0.3),
                ExperimentEffect('slow_ops', Effect.UNCLEAR, None, None, None),
            ),
            arm(
                'merged',
                MERGED,
                (),
                ArmVerdict.WORSE,
                ExperimentEffect('kv_sync_ms_per_txn', Effect.WORSE, 31.0, 18.2, 45.9),
                dropped=DroppedArm('worse: kv_sync_ms_per_txn', ('kv_sync_ms_per_txn',), 8),
            ),
        ),
        design=design(),
        adopt=False,
        period=2,
        blocks=13,
        trace=tuple(
            TracedBlock(
                number,
                1 if number < 13 else 2,
                f'2026-02-02T{number:02}:40:00Z',
                (
                    TracedArm('lz4-64x16m-2025', -12.5 + number / 7, None, None)
                    if number < 8
                    else TracedArm('lz4-64x16m-2025', -12.5, -27.1, 4.3),
                    TracedArm('merged', 31.0, 18.2, 45.9),
                ),
            )
            for number in range(7, 14)
        ),
        winner=None,
        conclusion=None,
        summary='Measuring period 2 of 2.',
        runner_up=None,
        lead=None,
        within_percent=None,
        unproven=(),
        paused_reason=None,
        paused_by=None,
        outcome=None,
        failure=None,
        started='2026-02-02T00:40:00Z',
        updated='2026-02-02T13:40:00Z',
        ended=None,
    )


def won() -> Experiment:
    under_way = measuring()
    best = ExperimentEffect('kv_sync_ms_per_txn', Effect.BETTER, -12.5, -18.1, -6.3)
    return replace(
        under_way,
        phase=ExperimentPhase.DONE,
        arms=(
            replace(under_way.arms[0], osds=(), verdict=ArmVerdict.BETTER, effect=(best,)),
            under_way.arms[1],
        ),
        winner='lz4-64x16m-2025',
        conclusion=Answer.WINNER,
        summary='lz4-64x16m-2025 is better: kv_sync time per transaction -13% (-18% to -6%).',
        unproven=('slow_ops',),
        outcome=Outcome.DONE,
        ended='2026-02-02T14:40:00Z',
    )
