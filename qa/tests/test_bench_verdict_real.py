"""Windows of trials that were recorded on real OSDs, from the counters to what they prove."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from verdict_record import Recorded, read, windows

from bench_verdict_real import CHECKOUT, judged
from harness.trial_windows import draw

SOAK_S = (480.0, 480.0)


@pytest.fixture(scope='module')
def recorded() -> Recorded:
    return read(CHECKOUT / 'qa/bench/recordings/verdict-windows/verdict-window-00.json.xz')


def test_slower_canaries_fail_and_no_unchanged_one_does(recorded: Recorded) -> None:
    """As README says of all windows; a trial whose OSD was restarted is named and not counted."""
    osd = recorded.document['trials']['groups'][0]['unchanged']
    looks = [(at_s, {**samples, osd: None}) for at_s, samples in recorded.looks]
    found = judged([replace(recorded, looks=looks)])
    (soak,) = found['soaks']
    assert soak['void'] == [f'window 0, osd.{osd}: restarted or without samples: osd.{osd}']
    assert (soak['slower']['trials'], soak['unchanged']['trials']) == (24, 23)
    claims = {name: claim['of_all']['count'] for name, claim in soak['claims'].items()}
    assert claims.pop('caught') >= 23
    assert claims == {'false fail': 0, 'false better': 0, 'missed': 0}
    assert 20 < soak['slower']['true_percent']['kv_sync_ms_per_txn']['mean'] < 25


def test_interrupted_recording_is_continued(tmp_path: Path) -> None:
    first, second = windows(tmp_path, 2, 8, SOAK_S)
    assert (first.number, second.number) == (0, 1)
    assert first.groups == draw(8, 0)
    (tmp_path / 'verdict-window-00.json.xz').touch()
    (again,) = windows(tmp_path, 1, 8, SOAK_S)
    assert again == second
    (tmp_path / 'verdict-window-07.json.xz').touch()
    assert [window.number for window in windows(tmp_path, 2, 8, SOAK_S)] == [8, 9]
