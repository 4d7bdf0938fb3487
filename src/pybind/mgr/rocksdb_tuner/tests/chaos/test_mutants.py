"""Each invariant is effective: faults planted in the product are caught by the rule that they
break.

All mutants see the schedules of one fixed seed, ``mutants:0``, ``mutants:1`` and so on, until the
expected rule fails. Schedules without the events that reveal a mutant are skipped.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter

import pytest

from .checks import Caught, hunted
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
        return hunted(
            (schedule(f'mutants:{drawn}') for drawn in range(MOST_DRAWN)),
            mutant.may_show,
            lambda planned: carried_out(planned, mutant.rule)[1],
            mutant.rule,
            MOST_TRIED,
        )


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
    biting = Counter(mutant.rule for mutant in MUTANTS)
    assert {rule.name for rule in Rule if biting[rule] < 2} <= {rule.name for rule in UNPROVEN}


#: Any exception counts, and could be planted anywhere.
UNPROVEN = frozenset({Rule.NO_TRACEBACK})


def test_each_mutant_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
