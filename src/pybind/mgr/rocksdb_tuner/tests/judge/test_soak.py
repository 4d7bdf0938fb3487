"""How long is measured before there is a verdict, or none."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.judge.records import (
    Effect,
    Judgement,
    SignalVerdict,
    SoakPlan,
    Verdict,
    block_length_s,
    contradiction,
    ends_with,
    least_soak_s,
    planned_block_s,
    warm_up_s,
)
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.observe.report_interval import ReportInterval

SOAK = SoakPlan(least_s=300.0, most_s=600.0)
PASS = Judgement(Verdict.NO_WORSE)
FAIL = Judgement(Verdict.WORSE, (SignalVerdict('op_w_latency_ms', Effect.WORSE, 30.0),))
UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
NOTHING = Judgement(Verdict.NO_DATA, missing=('writes',))


def test_block_length_grows_to_keep_the_whole_soak_in_at_least_eight_blocks() -> None:
    """30 s each, of which 120 are kept: up to an hour."""
    assert planned_block_s(SoakPlan(300.0, 3600.0)) == 30.0
    assert planned_block_s(SoakPlan(300.0, 7200.0)) == 60.0
    assert least_soak_s(SoakPlan(300.0, 3600.0)) == 300.0
    assert least_soak_s(SoakPlan(100.0, 3600.0)) == 240.0
    assert least_soak_s(SoakPlan(100.0, 7200.0)) == 480.0


def test_short_soak_has_shorter_blocks_but_each_with_two_reports() -> None:
    """Else the longest soak would end before it has enough of them to compare anything."""
    found = [planned_block_s(SoakPlan(0.0, most_s)) for most_s in (60.0, 80.0, 160.0, 240.0)]
    assert found == [10.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ('judgement', 'after_s', 'end'),
    [
        (FAIL, 0.0, Verdict.WORSE),
        (PASS, 299.9, None),
        (PASS, 300.0, Verdict.NO_WORSE),
        (PASS, 900.0, Verdict.NO_WORSE),
        (UNSURE, 300.0, None),
        (UNSURE, 599.9, None),
        (UNSURE, 600.0, Verdict.INCONCLUSIVE),
        (NOTHING, 599.9, None),
        (NOTHING, 600.0, Verdict.INCONCLUSIVE),
    ],
)
def test_failure_ends_the_soak_at_once_pass_at_its_minimum_and_doubt_at_its_maximum(
    judgement: Judgement, after_s: float, end: Optional[Verdict]
) -> None:
    assert ends_with(judgement, after_s, SOAK) is end


@pytest.mark.parametrize(
    'soak',
    [SoakPlan(600, 600), SoakPlan(600, 0), SoakPlan()],
)
def test_disabled_or_longest_soak_is_no_contradiction(soak: SoakPlan) -> None:
    assert contradiction(soak) is None


def test_soak_that_cannot_pass_names_the_options_and_a_remedy() -> None:
    reported = f' {contradiction(SoakPlan(601, 600))}'
    for name in (' soak_min', ' soak_max', 'rocksdb_tuner/soak_max 601'):
        assert name in reported


@pytest.mark.parametrize(
    ('verdict', 'harmless', 'stored', 'words'),
    [
        (Verdict.BETTER, True, 'pass', 'better'),
        (Verdict.NO_WORSE, True, 'pass', 'no worse'),
        (Verdict.WORSE, False, 'fail', 'worse'),
        (Verdict.INCONCLUSIVE, False, 'inconclusive', 'inconclusive'),
        (Verdict.NO_DATA, False, 'no-data', 'no-data'),
    ],
)
def test_names_of_verdicts(verdict: Verdict, harmless: bool, stored: str, words: str) -> None:
    """In what is stored and in texts; nothing passes for want of data."""
    assert (verdict.harmless, verdict.pass_or_fail, verdict.words) == (harmless, stored, words)


@pytest.mark.parametrize('interval_s', [5.0, 15.0, 30.0, 45.0, 60.0])
def test_block_has_a_newer_report_of_each_osd_and_warm_up_an_older_one_less(
    interval_s: float,
) -> None:
    reports = ReportInterval(interval_s)
    assert block_length_s(30.0, ReportInterval()) == 30.0
    # The report at its start may be as old as the interval.
    assert block_length_s(30.0, reports) > interval_s
    assert warm_up_s(reports) >= limits().warm_up_s + interval_s - 5.0
