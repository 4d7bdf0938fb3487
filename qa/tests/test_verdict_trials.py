"""How trials of the verdict are cut out of a recording: by what was done, not by what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

import pytest

from harness.trial_windows import draw
from rocksdb_tuner.judge.records import SoakPlan, least_soak_s
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.observe.sample import Sample
from verdict_trials import (
    KINDS,
    Case,
    Found,
    Recorded,
    Span,
    after_s,
    before_s,
    cases,
    disjoint,
    drawn,
    read,
    soak,
    void,
)

RECORDINGS = Path(__file__).parents[1] / 'bench' / 'recordings'
DEFAULT = SoakPlan(600.0, 3600.0)
OSDS = 20
#: As `verdict-pacific` was recorded: the second group is also slow early in the first slot.
SLOT_S, TRIED_S = 680.0, 170.0
FIRST, SECOND = tuple(range(6)), tuple(range(6, 12))
SHORT = SoakPlan(240.0, 360.0)


def staggered() -> Recorded:
    """The disturbances of a staggered run; its OSDs counted nothing."""
    slots: list[tuple[float, Mapping[int, float]]] = [
        (TRIED_S, {}),
        (TRIED_S, dict.fromkeys(SECOND, 45.0)),
        (SLOT_S - 2 * TRIED_S, {}),
        (SLOT_S, dict.fromkeys(FIRST, 40.0)),
        (SLOT_S, dict.fromkeys(SECOND, 40.0)),
        (SLOT_S, dict.fromkeys((*FIRST, *SECOND), 40.0)),
    ]
    spans, begin_s = [], 0.0
    for seconds, slowed in slots:
        spans.append(Span(begin_s, begin_s + seconds, slowed))
        begin_s += seconds
    return uncounted(spans)


def uncounted(spans: list[Span]) -> Recorded:
    sample = process(7)
    last = int(spans[-1].end_s / 10) + 1
    looks = [(10.0 * i, dict.fromkeys(range(OSDS), sample)) for i in range(last)]
    return Recorded(tuple(range(OSDS)), looks, spans)


def process(nonce: int) -> Sample:
    return Sample._make([0.0, nonce, *[None] * (len(Sample._fields) - 2)])


def cut() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for kind, case in cases(staggered(), DEFAULT):
        found.setdefault(kind, []).append(case)
    return found


def test_staggered_hour_has_so_many_trials_of_each_kind() -> None:
    found = cut()
    assert {kind: len(of_kind) for kind, of_kind in found.items()} == {
        'slower': 18,
        'undone': 6,
        'nothing': 16,
    }
    assert {case.changed[0] for case in found['slower']} == {*FIRST, *SECOND}
    assert {case.changed[0] for case in found['nothing']} == set(range(12, 20))


def test_compared_osds_differ_only_in_the_change() -> None:
    recorded = staggered()
    for of_kind in cut().values():
        for case in of_kind:
            changed = case.changed[0]
            for begin_s, end_s in ((case.before_s, case.change_s), (case.change_s, case.end_s)):
                assert changed in recorded.unchanged(begin_s + 1, end_s - 1)
            assert set(case.controls) <= set(range(12, 20)) - {changed}
            assert len(case.controls) >= limits().most_controls - 1
            assert case.change_s - case.before_s >= least_soak_s(DEFAULT)
            assert case.end_s - case.change_s >= limits().warm_up_s + DEFAULT.least_s


def test_null_changes_of_one_osd_do_not_overlap() -> None:
    by_osd: dict[int, list[Case]] = {}
    for case in cut()['nothing']:
        by_osd.setdefault(case.changed[0], []).append(case)
    for first, second in by_osd.values():
        assert first.end_s <= second.before_s


def test_independent_trials_use_an_osd_at_one_time_once() -> None:
    found = cut()
    kept = disjoint([('slower', case) for case in found['slower']])
    assert len(kept) == 8
    for i, (_, one) in enumerate(kept):
        assert len(one.controls) == limits().least_controls
        for _, other in kept[:i]:
            shared = {*one.changed, *one.controls} & {*other.changed, *other.controls}
            apart = one.end_s <= other.before_s or other.end_s <= one.before_s
            assert apart or not shared


@lru_cache
def judged(name: str) -> Mapping[str, tuple[Found, ...]]:
    """The verdicts on all trials of a recording, by what was done."""
    recorded, _ = read(RECORDINGS / name)
    found: dict[str, tuple[Found, ...]] = {}
    for kind, case in cases(recorded, DEFAULT):
        result = soak(recorded, case, DEFAULT)
        if result is not None:
            found[kind] = (*found.get(kind, ()), result)
    return found


def test_truly_slower_osds_fail_every_time() -> None:
    found = Counter(one.kind for one in judged('verdict-pacific.json.xz')['slower'])
    assert found == {'fail': 18}


@pytest.mark.parametrize('name', ['verdict-pacific.json.xz', 'verdict-loaded-pacific.json.xz'])
def test_no_recorded_null_change_failed_or_was_called_better(name: str) -> None:
    found = Counter(one.kind for one in judged(name)['nothing'])
    assert sum(found.values()) >= 4
    assert set(found) <= {'pass', 'inconclusive'}


def window(number: int = 3, calm_s: float = 20.0 + before_s(SHORT)) -> dict[str, Any]:
    """What is recorded of a window beside counters."""
    groups = draw(OSDS, number)
    slowed = {str(group.slower): 25.0 for group in groups}
    end_s = calm_s + after_s(SHORT)
    return {
        'spans': [
            {'begin_s': 0.0, 'end_s': calm_s, 'slowed_percent': {}},
            {'begin_s': calm_s, 'end_s': end_s, 'slowed_percent': slowed},
        ],
        'trials': {
            'number': number,
            'soak_s': [SHORT.least_s, SHORT.most_s],
            'groups': [asdict(group) for group in groups],
        },
    }


def recorded_of(document: Mapping[str, Any]) -> Recorded:
    return uncounted(
        [
            Span(s['begin_s'], s['end_s'], {int(n): p for n, p in s['slowed_percent'].items()})
            for s in document['spans']
        ]
    )


def test_each_group_of_a_window_has_a_trial_of_each_kind() -> None:
    document = window()
    plan, trials = drawn(document)
    assert plan == SHORT
    assert Counter(trial.kind for trial in trials) == dict.fromkeys(KINDS, OSDS // 4)
    recorded = recorded_of(document)
    assert [void(recorded, trial) for trial in trials] == [None] * len(trials)
    for trial in trials:
        case = trial.case
        assert case.change_s - case.before_s >= least_soak_s(SHORT)
        assert case.end_s - case.change_s >= limits().warm_up_s + SHORT.most_s


def test_trials_of_a_kind_share_no_osd() -> None:
    document = window()
    _, trials = drawn(document)
    for kind in KINDS:
        used = [n for t in trials if t.kind == kind for n in (*t.case.changed, *t.case.controls)]
        assert len(used) == len(set(used))
    first, second = document['trials']['groups'][:2]
    first['controls'] = second['controls']
    with pytest.raises(ValueError, match='share an OSD'):
        drawn(document)


def test_window_without_room_for_its_soak_is_refused() -> None:
    with pytest.raises(ValueError, match='window 3 is too short'):
        drawn(window(calm_s=before_s(SHORT) - 10.0))


def test_trial_is_void_if_something_else_happened_to_its_osds() -> None:
    document = window()
    _, (slower, unchanged, *_) = drawn(document)
    slow = document['spans'][1]['slowed_percent']
    del slow[str(slower.case.changed[0])]
    assert void(recorded_of(document), slower) == f'not slowed down: osd.{slower.case.changed[0]}'
    assert void(recorded_of(document), unchanged) is None
    slow[str(unchanged.case.controls[0])] = 25.0
    assert void(recorded_of(document), unchanged) == 'slowed down, but not drawn for it'


@pytest.mark.parametrize('sample', [None, process(8)])
def test_trial_is_void_if_an_osd_restarted_or_sent_nothing(sample: Optional[Sample]) -> None:
    document = window()
    _, (slower, *_, other) = drawn(document)
    recorded = recorded_of(document)
    osd = slower.case.controls[1]
    for at_s, samples in recorded.looks:
        if slower.case.change_s <= at_s < slower.case.change_s + 20:
            assert isinstance(samples, dict)
            samples[osd] = sample
    assert void(recorded, slower) == f'restarted or without samples: osd.{osd}'
    assert void(recorded, other) is None
