"""The CPU bench: how it counts threads, and runs that only differ by their compression."""

from __future__ import annotations

import pytest
from bench_cpu_fit import (
    COMPACTION,
    FLUSH,
    compaction_row,
    compression_factors,
    factors_of,
    flush_row,
)
from bench_cpu_runs import SCALES, SETS, options_of

from rocksdb_tuner.options.checks import check

COSTS = {
    'flush_taken': 1.0,
    'flush_written': 2.0,
    'compaction_read': 2.0,
    'compaction_written': 1.0,
    'compress kLZ4Compression': 1.5,
    'decompress kLZ4Compression': 0.25,
}


def test_compression_factor_is_separated_from_the_factor_of_all_work() -> None:
    """An OSD that takes 1.3 times as much for everything, and half of what LZ4 takes alone."""
    beside = ('16.2.15', 'omap-heavy', 0, 'large')
    flushed, read, written = 100e6, 300e6, 200e6
    plain_flush = 1.3 * (2 * flushed + 2 * flushed)
    plain_compaction = 1.3 * (2 * read + written)
    packing_flush = 0.5 * 1.5 * flushed
    packing_compaction = 0.5 * (1.5 * written + 0.25 * read)
    rows = [
        flush_row('kNoCompression', plain_flush / 1e9, 2 * flushed, flushed, beside),
        compaction_row('kNoCompression', plain_compaction / 1e9, read, written, beside),
        flush_row(
            'kLZ4Compression', (plain_flush + packing_flush) / 1e9, 2 * flushed, flushed, beside
        ),
        compaction_row(
            'kLZ4Compression', (plain_compaction + packing_compaction) / 1e9, read, written, beside
        ),
    ]
    assert factors_of(rows, COSTS, FLUSH) == pytest.approx([1.3])
    assert factors_of(rows, COSTS, COMPACTION) == pytest.approx([1.3])
    assert compression_factors(rows, COSTS) == pytest.approx([0.5])


@pytest.mark.parametrize('scale', SCALES)
@pytest.mark.parametrize('option_set', SETS)
def test_osds_start_with_the_option_sets_of_the_bench(option_set: str, scale: int) -> None:
    """On every version of RocksDB that is measured."""
    for version in ('6.8', '7.9'):
        assert check(options_of(option_set, scale), version).accepted
