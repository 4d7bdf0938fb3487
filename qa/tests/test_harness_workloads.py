"""Reading what clients print, and judging it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import WorkloadResult
from harness.workloads import Latency, Verified, complete
from harness.workloads.fio_output import extract_json, read_run
from harness.workloads.rbd import verdict

DATA = Path(__file__).parent / 'data'
RESULT = WorkloadResult(
    's3-put',
    1.0,
    10,
    10.0,
    40960,
    Latency(1.0, 1.0, 2.0),
    0,
    (),
    Verified('x', 10, 0),
    {},
    began_s=1000.0,
)


def test_fio_numbers() -> None:
    """Operations, bytes, seconds and latencies of a real run of fio 3.33, in our units."""
    text = (DATA / 'fio-randwrite.json').read_text()
    run = read_run(text, 'write')
    job = extract_json(text)['jobs'][0]['write']
    assert run.ops == job['total_ios'] > 0
    assert run.bytes == run.ops * 4096
    assert run.seconds == pytest.approx(2, abs=0.5)
    assert run.latency_ms.mean == pytest.approx(job['lat_ns']['mean'] / 1e6, abs=0.001)
    assert run.latency_ms.p99 == pytest.approx(
        job['clat_ns']['percentile']['99.000000'] / 1e6, abs=0.001
    )
    assert run.error == 0


def test_verification_passes_only_when_complete() -> None:
    """All written blocks were read and good; a bad or a missing block is a failure."""
    good = read_run((DATA / 'fio-verify.json').read_text(), 'read')
    bad = read_run((DATA / 'fio-verify-failed.txt').read_text(), 'read')
    assert verdict('x', good.ops, good, '') == (Verified('x', good.ops, 0), '')
    assert verdict('x', good.ops + 5, good, 'why')[0].failed == 5
    verified, why = verdict('x', good.ops, bad, 'why')
    assert verified.failed > 0
    assert why == 'why'


@pytest.mark.parametrize(
    'change',
    [
        {'ops': 0},
        {'errors': 1},
        {'verified': Verified('x', 10, 1)},
    ],
)
def test_bad_runs_are_detected(change: dict[str, object]) -> None:
    """No operation at all, a client's error, or a wrong block: the run failed."""
    assert RESULT.ok
    assert not replace(RESULT, **change).ok  # type: ignore[arg-type]


def test_random_writes_have_room_for_the_whole_run() -> None:
    """No block is written twice, which the verification relies on, below 10000 IOPS."""
    for seconds in (1, 60, 3600):
        chosen = complete('rbd-randwrite', seconds, {})
        assert chosen['size_bytes'] // chosen['block_size_bytes'] >= seconds * 10_000
