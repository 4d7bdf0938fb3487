"""Fits nanoseconds of CPU per byte to runs: for flushes, compactions and compression.

RocksDB alone gives how the costs lie to one another, over more trees than an OSD makes within some
minutes. Real OSDs then give the factor by which theirs are larger: BlueFS, other processors, other
work in the same caches.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench_cpu_rocksdb import RocksDbRun
from bench_cpu_runs import CpuRun

from rocksdb_tuner.options.catalogue import NO_COMPRESSION

FLUSH, COMPACTION = 'flush', 'compaction'


@dataclass(frozen=True)
class Row:
    """The cost of one kind of job in one run; bytes as they are without compression."""

    kind: str
    compression: str
    cpu_ns: float
    #: By the name of the cost, as in `lsm/cpu.py`.
    amounts: Mapping[str, float]
    #: The same of runs that differ by their compression alone.
    beside: tuple[object, ...]

    def expected_ns(self, costs: Mapping[str, float]) -> float:
        return sum(costs[name] * amount for name, amount in self.amounts.items())


def flush_row(
    compression: str, cpu_s: float, taken: float, written: float, beside: tuple[object, ...]
) -> Row:
    amounts = {'flush_taken': taken, 'flush_written': written}
    if compression != NO_COMPRESSION:
        amounts[f'compress {compression}'] = written
    return Row(FLUSH, compression, cpu_s * 1e9, amounts, beside)


def compaction_row(
    compression: str, cpu_s: float, read: float, written: float, beside: tuple[object, ...]
) -> Row:
    amounts = {'compaction_read': read, 'compaction_written': written}
    if compression != NO_COMPRESSION:
        amounts[f'compress {compression}'] = written
        amounts[f'decompress {compression}'] = read
    return Row(COMPACTION, compression, cpu_s * 1e9, amounts, beside)


def rocksdb_rows(runs: Sequence[RocksDbRun]) -> list[Row]:
    """Keys shorten in a file: that is known from the same tree without compression."""
    shortened = {
        (run.workload, run.objects, run.memtable_mib, run.merge): run
        for run in runs
        if run.compression == NO_COMPRESSION
    }
    rows = []
    for run in runs:
        beside = (run.workload, run.objects, run.memtable_mib, run.merge)
        plain = shortened[beside]
        of_raw = plain.flush_written.file_bytes / plain.flush_written.raw_bytes
        rows.append(
            flush_row(
                run.compression,
                run.flush_cpu_s,
                run.wal_bytes,
                run.flush_written.raw_bytes * of_raw,
                beside,
            )
        )
        # One compaction of small families alone is no measurement.
        if run.compaction_read.raw_bytes > run.wal_bytes / 10:
            rows.append(
                compaction_row(
                    run.compression,
                    run.compaction_cpu_s,
                    run.compaction_read.raw_bytes * of_raw,
                    run.compaction_written.raw_bytes * of_raw,
                    beside,
                )
            )
    return rows


def osd_rows(runs: Sequence[CpuRun]) -> list[Row]:
    """A compressed run is unpacked by what the same column packs to, against the plain runs."""
    rows = []
    for run in runs:
        compression = compression_of(run)
        shape = run.option_set.split(',')[0]
        beside = (run.release, run.workload, run.round, shape)
        columns = {
            column.name: column
            for column in run.columns
            if column.flush_raw_bytes and column.flush_file_bytes
        }
        taken = float(sum(column.flushed_bytes for column in run.columns))
        written = read = rewritten = 0.0
        for name, column in columns.items():
            unpacked = column.flush_raw_bytes * shortening(name, run, runs)
            times = unpacked / column.flush_file_bytes
            written += unpacked
            read += column.compaction_read_bytes * times
            rewritten += column.compaction_written_bytes * times
        rows.append(flush_row(compression, run.cpu_s['rocksdb:high'], taken, written, beside))
        rows.append(compaction_row(compression, run.cpu_s['rocksdb:low'], read, rewritten, beside))
    return rows


def shortening(column: str, run: CpuRun, runs: Iterable[CpuRun]) -> float:
    """Bytes of an uncompressed file for each of keys and values, in runs of the same shape."""
    shape = run.option_set.split(',')[0]
    found = [
        c.flush_file_bytes / c.flush_raw_bytes
        for other in runs
        if (other.workload, other.scale) == (run.workload, run.scale)
        and other.option_set == shape
        and compression_of(other) == NO_COMPRESSION
        for c in other.columns
        if c.name == column and c.flush_raw_bytes
    ]
    return statistics.median(found) if found else 1.0


def compression_of(run: CpuRun) -> str:
    return dict(part.split('=', 1) for part in run.options.split(','))['compression']


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """Nanoseconds for a byte, none negative, with the least squares of relative errors."""
    # In addition to the dependencies of Ceph's packages; the module itself needs none of it.
    from scipy.optimize import nnls  # noqa: PLC0415 - only calibrating needs it

    names = sorted({name for row in rows for name in row.amounts})
    matrix = [[row.amounts.get(name, 0.0) / row.cpu_ns for name in names] for row in rows]
    solution, _ = nnls(matrix, [1.0] * len(rows))
    return {name: float(cost) for name, cost in zip(names, solution)}


def factors_of(rows: Iterable[Row], costs: Mapping[str, float], kind: str) -> list[float]:
    """The cost of jobs of a kind, relative to RocksDB alone; without compression."""
    return [
        row.cpu_ns / row.expected_ns(costs)
        for row in rows
        if row.kind == kind and row.compression == NO_COMPRESSION
    ]


def compression_factors(rows: Iterable[Row], costs: Mapping[str, float]) -> list[float]:
    """The same for compression: each compressed run compared with its uncompressed neighbor.

    The uncompressed cost of its flushes and compactions is the cost per byte of the neighbor.
    """
    rows = list(rows)
    plain = {(row.beside, row.kind): row for row in rows if row.compression == NO_COMPRESSION}
    found: dict[tuple[object, ...], tuple[float, float]] = {}
    for row in rows:
        twin = plain.get((row.beside, row.kind))
        if row.compression == NO_COMPRESSION or twin is None:
            continue
        own_ns = sum(costs[n] * a for n, a in row.amounts.items() if ' ' not in n)
        packing_ns = row.expected_ns(costs) - own_ns
        spent_ns = row.cpu_ns - own_ns * twin.cpu_ns / twin.expected_ns(costs)
        before = found.get(row.beside, (0.0, 0.0))
        found[row.beside] = (before[0] + spent_ns, before[1] + packing_ns)
    return [spent_ns / packing_ns for spent_ns, packing_ns in found.values()]
