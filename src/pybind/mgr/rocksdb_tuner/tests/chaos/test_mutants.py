"""Each invariant is effective: faults planted in the product are caught by the rule that they
break.

All mutants see the schedules of one fixed seed until the expected rule fails. Schedules without the
events that reveal a mutant are skipped.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from .checks import Caught, hunted, unproven
from .generator import schedule
from .mutants import MUTANTS, Patch
from .rules import Rule
from .schedule_run import carried_out

#: Schedules drawn for a mutant, and those of them that are run.
MOST_DRAWN = 4000
MOST_TRIED = 150


def _hunted(number: int) -> Caught:
    mutant = MUTANTS[number]
    with pytest.MonkeyPatch.context() as monkeypatch:
        mutant.plant(Patch(monkeypatch))
        return hunted(mutant, schedule, lambda *run: carried_out(*run)[1], MOST_DRAWN, MOST_TRIED)


def test_every_mutant_is_caught_by_the_rule_it_breaks() -> None:
    escaped = []
    with multiprocessing.get_context('fork').Pool(os.cpu_count()) as pool:
        for mutant, caught in zip(MUTANTS, pool.imap(_hunted, range(len(MUTANTS)))):
            line = f'{mutant.name:34} {mutant.rule.name:18}'
            sys.stdout.write(f'{line} after {caught.after} ({caught.tried} tried)\n')
            if caught.after is None:
                escaped.append(mutant.name)
    assert not escaped, f'nothing catches: {escaped}'


def test_every_rule_catches_two_mutants() -> None:
    """Except the one against any exception, which could be planted anywhere."""
    assert unproven(MUTANTS, Rule) <= {'NO_TRACEBACK'}
