"""The measures themselves: what counts as right, as late, as a change too many."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.workload.classify import Activity

from . import evaluation
from .evaluation import Judged, Seen
from .replay import Recording, Span

RBD, READS = 'rbd-small-write', 'read-mostly'


def recording(*spans: Span) -> Recording:
    return Recording('made', 'pacific', (), (), spans)


def seen(
    now_s: float,
    name: str,
    confidence: float = 0.95,
    window: Optional[tuple[float, float]] = None,
) -> Seen:
    return Seen(now_s, window or (now_s - 30, now_s), name, confidence, (), None)


def judged(truth: str, name: str, confidence: float = 0.95) -> Judged:
    return Judged('made', Span('', (truth,), 0, 99), seen(50, name, confidence))


def test_only_windows_within_one_span_are_evaluated() -> None:
    made = recording(Span('a', ('idle',), 0, 40), Span('b', (RBD,), 40, 100))
    found = evaluation.judge(made, [seen(t, 'idle') for t in (20, 30, 40, 50, 60, 70, 80)])
    assert [(j.seen.now_s, j.span.what) for j in found] == [
        (30, 'a'), (40, 'a'), (70, 'b'), (80, 'b'),
    ]  # fmt: skip


def test_each_of_several_correct_names_counts_and_a_wrong_one_counts_for_the_first() -> None:
    span = Span('both', (RBD, 'recovery'), 0, 99)
    right = Judged('made', span, seen(50, 'recovery'))
    wrong = Judged('made', span, seen(50, READS))
    assert (right.right, right.truth) == (True, 'recovery')
    assert (wrong.right, wrong.truth) == (False, RBD)


def test_scores_match_the_textbook() -> None:
    windows = [*[judged(RBD, RBD)] * 8, *[judged(RBD, READS)] * 2, *[judged(READS, READS)] * 6]
    scores = evaluation.scores(windows)
    assert scores[RBD].precision == 1.0
    assert scores[RBD].recall == 0.8
    assert scores[READS].precision == 0.75
    assert scores[READS].recall == 1.0
    expected = (2 * 0.8 / 1.8 + 2 * 0.75 / 1.75) / 2
    assert evaluation.macro_f1(windows) == pytest.approx(expected)


def test_confidence_is_evaluated_in_bins_and_unknown_claims_nothing() -> None:
    windows = [
        judged(RBD, RBD, 0.95), judged(RBD, READS, 0.9), judged(RBD, RBD, 0.8),
        judged(RBD, 'unknown', 0.0),
    ]  # fmt: skip
    assert evaluation.reliability(windows) == [
        (0.0, 0.5, 0, 0), (0.5, 0.75, 0, 0), (0.75, 0.9, 1, 1), (0.9, 1.0, 2, 1),
    ]  # fmt: skip


def osd_seen(
    now_s: float, operations_per_s: float, recovery_per_s: float = 0.0, wal_bytes_per_s: float = 0.0
) -> Seen:
    done = Activity(1, 10.0, operations_per_s, 0.0, 0.0, 0.0, 0.0, 0.0, recovery_per_s)
    return replace(seen(now_s, RBD), activity=done, wal_bytes_per_s=wal_bytes_per_s)


@pytest.mark.parametrize(
    ('now', 'truth'),
    [
        (osd_seen(80, 4, wal_bytes_per_s=2e4), 'idle'),
        (osd_seen(80, 40, wal_bytes_per_s=2e4), RBD),
        (osd_seen(80, 4, recovery_per_s=0.1, wal_bytes_per_s=2e4), RBD),
        (osd_seen(80, 4, wal_bytes_per_s=3e5), RBD),
    ],
    ids=['nothing', 'client operations', 'recovery', 'what replicas write'],
)
def test_osd_without_a_share_of_the_work_was_idle(now: Seen, truth: str) -> None:
    made = recording(Span('nobody', ('idle',), 0, 40), Span('client', (RBD,), 40, 99))
    before, judged_now = evaluation.judge_osd(made, [osd_seen(35, 3, wal_bytes_per_s=1.2e4), now])
    assert before.span.labels == ('idle',)
    assert judged_now.span.labels == (truth,)


def onset(shown: list[Seen], *spans: Span) -> tuple[Optional[float], int, int]:
    (found,) = evaluation.onsets(recording(*spans), shown, 0.0)
    return found.right_after_s, found.changes, found.true_changes


def test_onset_delay_ends_with_the_first_correct_name_and_counts_every_change() -> None:
    before, client = Span('nobody', ('idle',), 0, 20), Span('client', (RBD,), 20, 90)
    names = ['unknown', 'idle', 'idle', READS, RBD, READS, RBD]
    shown = [seen(10.0 * i, name) for i, name in enumerate(names)]
    assert onset(shown, before, client) == (20.0, 4, 1)
