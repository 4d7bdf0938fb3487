"""What a run for the verdict's error rates is told to do, and how processes are slowed down."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster import Cluster
from harness.errors import HarnessError
from harness.verdict_run import Pauses, Phase, SlowedDown, parse_phase


@pytest.mark.parametrize(
    ('text', 'phase'),
    [
        ('900', Phase(900.0)),
        ('330:0=10/60,14=2.5/50', Phase(330.0, {0: Pauses(10, 60), 14: Pauses(2.5, 50)})),
        ('1800:rollout', Phase(1800.0, rollout=True)),
    ],
)
def test_a_phase_is_read_as_it_is_written(text: str, phase: Phase) -> None:
    assert parse_phase(text) == phase


@pytest.mark.parametrize('text', ['', 'soon', '10:0', '10:0=5', '10:osd.0=5/50', '10:0=50/50'])
def test_what_is_no_phase_is_named(text: str) -> None:
    with pytest.raises(HarnessError, match='is no phase such as'):
        parse_phase(text)


def cluster_of(pids: Mapping[str, int | None]) -> Cluster:
    status = SimpleNamespace(pid=pids.__getitem__)
    return cast('Cluster', SimpleNamespace(status=lambda: status))


def test_a_process_is_stopped_again_and_again_and_runs_at_the_end() -> None:
    process = subprocess.Popen(['sleep', '60'])
    try:
        stat = Path(f'/proc/{process.pid}/stat')
        seen = set()
        with SlowedDown(cluster_of({'osd.3': process.pid}), {3: Pauses(20, 40)}):
            for _ in range(200):
                seen.add(stat.read_text().rpartition(')')[2].split()[0])
                time.sleep(0.003)
        assert 'T' in seen
        assert seen - {'T'}
        time.sleep(0.05)
        assert stat.read_text().rpartition(')')[2].split()[0] != 'T'
    finally:
        process.kill()
        process.wait()


def test_an_osd_that_does_not_run_is_named() -> None:
    nothing: Any = {'osd.3': None}
    with pytest.raises(HarnessError, match=r'osd\.3 does not run'):
        SlowedDown(cluster_of(nothing), {3: Pauses(20, 40)})
