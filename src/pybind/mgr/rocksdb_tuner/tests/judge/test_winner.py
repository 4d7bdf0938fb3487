"""The results of an experiment, and that it continues until there is one."""

from __future__ import annotations

import math
from typing import Optional

from rocksdb_tuner.judge.arms import (
    Answer,
    Arm,
    Comparison,
    Conclusion,
    Contrast,
    conclude,
)

#: Contrasts by their conclusion.
BETTER = Contrast(-0.2, -0.25, -0.15)
SAME = Contrast(0.0, -0.05, 0.05)
UNCLEAR = Contrast(-0.05, -0.2, 0.1)
NOT_BETTER = Contrast(0.1, -0.05, 0.25)
UNBOUNDED = Contrast(-0.1)


def arm(name: str, gain: Optional[Contrast], dropped: bool = False) -> Arm:
    return Arm(name, '', gain=gain, dropped_after=1 if dropped else None)


def compared(*arms: Arm, lead: Contrast = BETTER, blocks: int = 3) -> Comparison:
    names = [a.name for a in arms]
    return Comparison(arms, {(a, b): lead for a in names for b in names if a != b}, blocks)


def concluded(comparison: Comparison, over: bool = False) -> Optional[Conclusion]:
    return conclude(comparison, 0.1, over)


def answer(comparison: Comparison, over: bool = False) -> Optional[Answer]:
    found = concluded(comparison, over)
    return None if found is None else found.answer


def test_clear_winner_ends_the_experiment_at_once() -> None:
    """Better than the old set, and ahead of the runner-up."""
    found = concluded(compared(arm('a', SAME), arm('b', BETTER)))
    assert found == Conclusion(Answer.WINNER, 'b', 'a', BETTER)
    assert concluded(compared(arm('a', BETTER))) == Conclusion(Answer.WINNER, 'a')


def test_first_blocks_conclude_nothing_before_the_end() -> None:
    early = compared(arm('a', BETTER), blocks=2)
    assert answer(early) is None
    assert answer(early, over=True) is Answer.WINNER
    assert conclude(None, 0.1, over=False) is None
    assert conclude(None, 0.1, over=True) == Conclusion(Answer.UNCLEAR)


def test_equally_good_runner_up_does_not_delay_the_winner() -> None:
    """A difference below the least effect is none."""
    assert answer(compared(arm('a', BETTER), arm('b', BETTER), lead=SAME)) is Answer.WINNER


def test_experiment_continues_until_the_best_arm_is_known() -> None:
    """A lead that is not certain waits for the end."""
    close = compared(arm('a', BETTER), arm('b', UNCLEAR), lead=UNCLEAR)
    assert answer(close) is None
    found = concluded(close, over=True)
    assert found is not None
    assert (found.answer, found.winner, found.lead) == (Answer.WINNER, 'a', UNCLEAR)


def test_no_difference_is_a_result_with_a_bound() -> None:
    """Equivalence of all that are left."""
    found = concluded(compared(arm('a', SAME), arm('b', SAME)))
    assert found == Conclusion(Answer.NO_DIFFERENCE, within=math.expm1(0.05))


def test_no_possible_improvement_is_a_result() -> None:
    """Each is the same or worse, or all have ended."""
    assert answer(compared(arm('a', SAME), arm('b', NOT_BETTER))) is Answer.NO_GAIN
    assert answer(compared(arm('a', BETTER, dropped=True))) is Answer.NO_GAIN


def test_minimum_gain_is_a_share_of_the_old_figure() -> None:
    """10% less work is a factor of 1.1: both sides are logarithms."""
    least = math.log1p(0.1)
    for low, excluded in ((-0.999 * least, True), (-least, False), (-1.02 * least, False)):
        found = compared(arm('a', Contrast(0.05, low, 0.25)))
        assert (answer(found) is Answer.NO_GAIN) == excluded, low


def test_inconclusive_is_a_result_only_at_the_end() -> None:
    """Any unbounded one."""
    for gain in (UNCLEAR, UNBOUNDED, None):
        found = compared(arm('a', gain), arm('b', None))
        assert answer(found) is None
        assert answer(found, over=True) is Answer.UNCLEAR


def test_arm_without_known_effect_does_not_prevent_a_winner_at_the_end() -> None:
    """The unknown arm holds it up until then."""
    found = Comparison((arm('a', BETTER), arm('b', None)), {}, 3)
    assert answer(found) is None
    reported = concluded(found, over=True)
    assert reported is not None
    assert (reported.winner, reported.runner_up, reported.lead) == ('a', None, None)


def test_dropped_arm_does_not_win() -> None:
    """However well it does in the objective."""
    found = compared(arm('a', BETTER, dropped=True), arm('c', SAME))
    assert concluded(found) == Conclusion(Answer.NO_DIFFERENCE, within=math.expm1(0.05))
