"""Windows of trials from the counters to what they prove, on counters whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import bench_verdict_real
from bench_verdict_real import windows
from harness.record import FORMAT, save
from harness.trial_windows import draw
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.statistics import shift
from rocksdb_tuner.observe.sample import names_for
from verdict_independent import independent
from verdict_trials import Recorded, after_s, before_s, read

OSDS = 8
SOAK_S = (480.0, 480.0)
PERIOD_S = 5.0
#: Of each OSD in a period.
WRITES = 100
WRITE_MS, SYNC_MS = 5.0, 2.0
SLOWED_PERCENT = 25.0


def document(number: int, noise: float = 0.02) -> dict[str, Any]:
    """A window in which a slow OSD's writes and syncs take as much longer as its disk does."""
    plan = SoakPlan(*SOAK_S)
    change_s, end_s = before_s(plan) + 20.0, before_s(plan) + 20.0 + after_s(plan)
    groups = draw(OSDS, number)
    slowed = {group.slower: SLOWED_PERCENT for group in groups}
    lots = random.Random(number)
    counted = {n: [0.0, 0.0] for n in range(OSDS)}
    readings = []
    for i in range(int(end_s / PERIOD_S) + 3):
        time_s = i * PERIOD_S
        for n, sums in counted.items():
            longer = 1 + slowed.get(n, 0.0) / 100 if time_s > change_s else 1.0
            for place, each_ms in enumerate((WRITE_MS, SYNC_MS)):
                sums[place] += WRITES * each_ms * longer * lots.gauss(1, noise) * 1e6
        counters = {str(n): _counters(sums, i * WRITES) for n, sums in counted.items()}
        osds = {str(n): [True, True, 100 + n] for n in range(OSDS)}
        readings.append(
            {'time_s': time_s, 'osds': osds, 'pools': {}, 'cephfs_metadata': []}
            | {'counters': counters}
        )
    spans: list[Mapping[str, Any]] = [
        {'begin_s': 0.0, 'end_s': change_s, 'slowed_percent': {}},
        {'begin_s': change_s, 'end_s': end_s, 'slowed_percent': slowed},
    ]
    steady = {'what': 'steady', 'labels': [], 'machine_load': 1.0}
    return {
        'format': FORMAT,
        'name': 'verdict',
        'part': 'verdict',
        'release': 'pacific',
        'date': '2026-01-01',
        'cluster': {'osds': OSDS, 'pool_size': 1},
        'rate_iops': OSDS * WRITES / PERIOD_S,
        'spans': [{**steady, **span} for span in spans],
        'counters': names_for('pacific'),
        'readings': readings,
        'trials': {
            'number': number,
            'soak_s': SOAK_S,
            'groups': [asdict(group) for group in groups],
        },
    }


def _counters(sums: list[float], writes: int) -> list[Any]:
    found = {
        'osd.op_w': writes,
        'osd.op_w_latency': [round(sums[0]), writes],
        'bluestore.kv_sync_lat': [round(sums[1]), writes],
        'bluestore.commit_lat': [round(sums[0]), writes],
        'bluefs.bytes_written_wal': 4096 * writes,
    }
    return [found.get(name, 0) for name in names_for('pacific')]


@pytest.fixture(scope='module')
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Recorded, dict[str, Any]]]:
    folder: Path = tmp_path_factory.mktemp('windows')
    paths = [folder / f'verdict-window-{number:02}.json.xz' for number in range(2)]
    for number, path in enumerate(paths):
        save(document(number), path)
    return [read(path) for path in paths]


def test_slower_canaries_fail_and_unchanged_ones_pass(
    recordings: list[tuple[Recorded, dict[str, Any]]],
) -> None:
    found = independent(recordings)
    (soak,) = found['soaks']
    assert soak['soak_s'] == list(SOAK_S)
    assert soak['void'] == []
    assert soak['slower']['counts'] == {'fail': 4}
    assert soak['unchanged']['counts'] == {'pass': 4}
    for signal, mean in soak['slower']['true_percent'].items():
        assert mean['mean'] == pytest.approx(SLOWED_PERCENT, abs=2.0)
        assert soak['reckoned_worse'][signal]['counts'] == {'fail': 4}
        assert 0 < soak['unchanged']['uncertainty_percent'][signal] < 9.0
    assert {one['window'] for one in soak['slower']['each']} == {0, 1}
    assert soak['claims']['caught']['of_all']['count'] == 4
    assert not any(claim['proven'] for claim in soak['claims'].values())
    assert found['least_trials']['missed'] == [72, 110, 142]
    assert [window['write_iops'] for window in found['windows']] == [160, 160]


def test_window_counts_once(recordings: list[tuple[Recorded, dict[str, Any]]]) -> None:
    with pytest.raises(ValueError, match='a window is given twice'):
        independent([recordings[0], recordings[0]])


def test_void_trials_are_named_and_not_counted(
    recordings: list[tuple[Recorded, dict[str, Any]]],
) -> None:
    recorded, recorded_document = recordings[0]
    group = recorded_document['trials']['groups'][0]
    osd = group['unchanged']
    looks = [(at_s, {**samples, osd: None}) for at_s, samples in recorded.looks]
    broken = Recorded(recorded.osds, looks, recorded.spans)
    (soak,) = independent([(broken, recorded_document)])['soaks']
    assert soak['void'] == [f'window 0, osd.{osd}: restarted or without samples: osd.{osd}']
    assert (soak['unchanged']['trials'], soak['slower']['trials']) == (1, 2)


def test_soaks_are_judged_separately(
    recordings: list[tuple[Recorded, dict[str, Any]]],
) -> None:
    (first, document_1), (second, document_2) = recordings
    short = {**document_2, 'trials': {**document_2['trials'], 'soak_s': (240.0, 360.0)}}
    soaks = independent([(first, document_1), (second, short)])['soaks']
    assert [soak['soak_s'] for soak in soaks] == [list(SOAK_S), [240.0, 360.0]]
    assert [soak['slower']['trials'] for soak in soaks] == [2, 2]


def test_interrupted_recording_is_continued(tmp_path: Path) -> None:
    first, second = windows(tmp_path, 2, OSDS, SOAK_S)
    assert (first.number, second.number) == (0, 1)
    assert first.groups == draw(OSDS, 0)
    (tmp_path / 'verdict-window-00.json.xz').touch()
    (again,) = windows(tmp_path, 1, OSDS, SOAK_S)
    assert again == second
    (tmp_path / 'verdict-window-07.json.xz').touch()
    assert [window.number for window in windows(tmp_path, 2, OSDS, SOAK_S)] == [8, 9]


def test_soak_has_blocks_enough_for_a_verdict() -> None:
    """On white noise hardly one is left without a bound, as is every fourth with 8 blocks."""
    plan = SoakPlan(*bench_verdict_real.SOAK_S)
    assert _unbounded(round(plan.most_s / limits().block_s)) <= 0.01
    assert _unbounded(limits().least_blocks) >= 0.1


def _unbounded(blocks: int) -> float:
    """The share of intervals that are wider than twice the noise."""
    lots = random.Random(1)
    widths = []
    for _ in range(200):
        before, after = ([lots.gauss(0, 1) for _ in range(blocks)] for _ in range(2))
        widths.append(shift(before, after, z=2.27).half_width)
    return sum(width is None or width > 2 for width in widths) / len(widths)
