"""How trials of the verdict are cut out of a recording: by what was done, not by what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pytest

from harness.staggered import SLOT_S, TRIED_S, groups
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.soak import least_soak_s
from rocksdb_tuner.observe.sample import Sample
from verdict_trials import Case, Found, Recorded, Span, cases, disjoint, read, soak

RECORDINGS = Path(__file__).parents[1] / 'bench' / 'recordings'
DEFAULT = SoakPlan(600.0, 3600.0)
OSDS = 20
SLOW = groups(6)


def staggered() -> Recorded:
    """The disturbances of a staggered run; its OSDs counted nothing."""
    slots: list[tuple[float, Mapping[int, float]]] = [
        (TRIED_S, {}),
        (TRIED_S, dict.fromkeys(SLOW.second, 45.0)),
        (SLOT_S - 2 * TRIED_S, {}),
        (SLOT_S, dict.fromkeys(SLOW.first, 40.0)),
        (SLOT_S, dict.fromkeys(SLOW.second, 40.0)),
        (SLOT_S, dict.fromkeys((*SLOW.first, *SLOW.second), 40.0)),
    ]
    spans, begin_s = [], 0.0
    for seconds, slowed in slots:
        spans.append(Span(begin_s, begin_s + seconds, slowed))
        begin_s += seconds
    sample = Sample._make([0.0, 7, *[None] * (len(Sample._fields) - 2)])
    looks = [(10.0 * i, dict.fromkeys(range(OSDS), sample)) for i in range(int(begin_s / 10) + 1)]
    return Recorded(tuple(range(OSDS)), looks, spans)


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
    assert {case.changed[0] for case in found['slower']} == {*SLOW.first, *SLOW.second}
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
