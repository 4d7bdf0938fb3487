"""The accuracy on workloads that set no threshold: the bars that a release must reach.

The windows are those of recordings of real clients (data/README.md), split by run: a held-out run
was never used to choose a threshold.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from . import evaluation, replay
from .evaluation import Judged, Onset


def held_out() -> list[str]:
    return [name for name in replay.campaign() if replay.load(name).part == 'held-out']


@lru_cache(maxsize=1)
def judged() -> tuple[list[Judged], list[Onset]]:
    windows: list[Judged] = []
    onsets: list[Onset] = []
    for name in held_out():
        recording = replay.load(name)
        for offset_s in evaluation.OFFSETS_S:
            shown = evaluation.watch(recording, offset_s)
            windows += evaluation.judge(recording, shown)
            onsets += evaluation.onsets(recording, shown)
    return windows, onsets


def test_macro_averaged_f1_of_windows_is_at_least_95_percent() -> None:
    windows, _ = judged()
    assert evaluation.macro_f1(windows) >= 0.95


@pytest.mark.parametrize('part', ['held-out', 'set'])
def test_confident_class_of_a_single_osd_is_right_too(part: str) -> None:
    """The truth for an OSD without a share of the work is that it was idle."""
    windows = []
    for name in replay.campaign():
        recording = replay.load(name)
        if recording.part != part:
            continue
        for osd in recording.cluster_map().osds:
            for offset_s in evaluation.OFFSETS_S:
                shown = evaluation.watch(recording, offset_s, osd.osd_id)
                windows += evaluation.judge_osd(recording, shown)
    _, _, sure, right = evaluation.reliability(windows)[-1]
    assert sure > 100
    assert right / sure >= 0.9


def test_windows_with_90_percent_confidence_are_right_in_nine_of_ten() -> None:
    windows, _ = judged()
    _, _, sure, right = evaluation.reliability(windows)[-1]
    assert sure > 100
    assert right / sure >= 0.9


@pytest.mark.parametrize('name', held_out())
def test_correct_class_is_found_within_60_s(name: str) -> None:
    for onset in judged()[1]:
        if onset.run == name:
            assert onset.right_after_s is not None, f'{onset.span.what} was never recognized'
            assert onset.right_after_s <= 60


@pytest.mark.parametrize('name', held_out())
def test_workload_change_is_at_most_one_class_change(name: str) -> None:
    for onset in judged()[1]:
        if onset.run == name:
            assert onset.changes <= onset.true_changes, onset.span.what


def test_recovery_scrub_and_trimming_are_never_classified_as_clients() -> None:
    windows, _ = judged()
    assert evaluation.taken_for_clients(windows) == []


@pytest.mark.parametrize('name', replay.campaign())
def test_healthy_default_cluster_has_no_finding_above_info(name: str) -> None:
    """By the module in the recorded cluster, under any client."""
    message = [r.findings for r in replay.load(name).readings if r.findings is not None]
    assert message
    assert {severity for findings in message for _, severity in findings} <= {'info'}
