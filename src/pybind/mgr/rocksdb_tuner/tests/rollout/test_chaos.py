"""Random faults and acts of operators, in any order: the invariants hold and every path ends.

A new seed every time, printed; ``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run, and the
``<seed>:<number>`` that a failure names repeats that one schedule alone. How many there are is
``ROCKSDB_TUNER_CHAOS_SCHEDULES``; ``make check`` carries out 10,000.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
import traceback
from collections import Counter
from dataclasses import replace
from typing import Optional

import pytest

from .chaos import _ACTS, Act, Chaos, Schedule, schedule

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = int(os.environ.get('ROCKSDB_TUNER_CHAOS_SCHEDULES', '300'))


def _failure(planned: Schedule) -> Optional[str]:
    """What broke; None if nothing did."""
    try:
        Chaos(planned).carry_out()
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        return traceback.format_exc()[-1500:]
    return None


def _outcome(seed: str) -> tuple[str, str]:
    """(phase in which it ended, '') or ('', what broke)."""
    try:
        return Chaos(schedule(seed)).carry_out(), ''
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        return '', traceback.format_exc()[-1500:]


def _shortest(planned: Schedule) -> Schedule:
    """The schedule without the acts that it fails without."""
    for index in reversed(range(len(planned.acts))):
        kept = (*planned.acts[:index], *planned.acts[index + 1 :])
        shorter = replace(planned, acts=kept)
        if _failure(shorter) is not None:
            planned = shorter
    return planned


def _seeds() -> list[str]:
    return [SEED] if ':' in SEED else [f'{SEED}:{number}' for number in range(SCHEDULES)]


def test_any_schedule_keeps_the_invariants_and_ends() -> None:
    seeds = _seeds()
    # Shown by pytest where it fails; the name of a schedule stands in the failure, too.
    sys.stdout.write(f'ROCKSDB_TUNER_CHAOS_SEED={SEED}, {len(seeds)} schedules\n')
    ended: Counter[str] = Counter()
    with multiprocessing.get_context('fork').Pool(os.cpu_count()) as pool:
        for seed, (phase, broken) in zip(seeds, pool.imap(_outcome, seeds, chunksize=20)):
            if broken:
                shortest = _shortest(schedule(seed))
                pytest.fail(
                    f'ROCKSDB_TUNER_CHAOS_SEED={seed}: {broken}\n'
                    f'without what it fails without too: {shortest}\n{_failure(shortest)}'
                )
            ended[phase] += 1
    sys.stdout.write(f'{dict(ended)}\n')
    # Schedules that all end alike would prove little.
    assert len(seeds) < 300 or min(ended[p] for p in ('done', 'rolled-back', 'failed')) > 10


def test_a_seed_always_gives_the_same_schedule_and_the_same_course() -> None:
    for number in range(3):
        seed = f'repeated:{number}'
        assert schedule(seed) == schedule(seed)
        courses = []
        for _ in range(2):
            chaos = Chaos(schedule(seed))
            chaos.carry_out()
            courses.append((chaos.cluster.commands, chaos.run.state))
        assert courses[0] == courses[1]


def test_every_act_can_be_drawn_and_is_carried_out() -> None:
    assert set(_ACTS) == set(Act)
    drawn = {act for n in range(300) for _, act, _ in schedule(f'acts:{n}').acts}
    assert drawn == set(Act)
