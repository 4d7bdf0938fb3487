"""CPU usage of RocksDB in an OSD. Pure.

Three kinds of threads work on a WAL byte. The kv_sync thread writes it to the WAL and inserts it
into a memtable. A flush reads the memtable and writes the newest values. Compactions read these
with the overlapping files of the next level and write them again. CPU per WAL byte:

    kv_sync x (relative time with these memtables, see `kv_sync`)
    + flush cost per memtable byte
    + flush cost per written byte x flushed bytes
    + compaction cost per read byte x bytes read
    + compaction cost per written byte x bytes written
    + with compression, the cost per compressed and per decompressed byte x the same bytes

All bytes are uncompressed. Compactions read all that flushes and compactions wrote; they write the
same less the overwritten values.

Costs depend on the CPU they were measured on. A change between two option strings is a ratio, so a
common factor cancels out.

Time of the kv_sync thread per write, by memtable size.

One thread inserts all keys of an OSD's writes. A memtable is a skip list: the larger it is, the
more nodes an insert visits, and the fewer of them are in the CPU cache. The rest of the thread's
work (the WAL, batches, callbacks) does not depend on memtables. Let f be the inserts' share of the
time with memtables of the reference size r, and let the cost of an insert grow with the power e of
the size. The time per write, relative to that with memtables of size r, is

    (1 - f) + f x sum over column families of share x (memtable / r)^e
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from ..options.catalogue import NO_COMPRESSION
from .amplification import amplification
from .calibration import Calibration, Inserts, Quantity, WorkloadCalibration, calibration
from .keys import Population
from .memory import Family
from .records import ColumnFamilyModel, CompressionWork, CpuModel, CpuWork, Estimate, TreeModel


def kv_sync_time(columns: Sequence[ColumnFamilyModel], inserts: Inserts) -> Optional[Estimate]:
    """Time per write relative to the memtable size of the measurement.

    None if the written column families are unknown.
    """
    times = _times_by_parameters(columns, inserts)
    return None if times is None else Estimate(min(times), times[0], max(times))


def kv_sync_change(
    before: Sequence[ColumnFamilyModel], after: Sequence[ColumnFamilyModel], inserts: Inserts
) -> Optional[Estimate]:
    """Ratio of the time per write after to before a change of options."""
    old_times, new_times = (
        _times_by_parameters(before, inserts),
        _times_by_parameters(after, inserts),
    )
    if old_times is None or new_times is None:
        return None
    ratios = [new / old for old, new in zip(old_times, new_times)]
    return Estimate(min(ratios), ratios[0], max(ratios))


def _times_by_parameters(
    columns: Sequence[ColumnFamilyModel], inserts: Inserts
) -> Optional[list[float]]:
    """The expected value first, then the values at the ends of both parameters."""
    written = [
        (column.share * column.shards, _memtable_bytes(column) / inserts.memtable_bytes)
        for column in columns
        if column.share
    ]
    total = sum(part for part, _ in written)
    if not total:
        return None
    share, exponent = inserts.share, inserts.exponent
    parameters = [
        (share.value, exponent.value),
        *((f, e) for f in (share.low, share.high) for e in (exponent.low, exponent.high)),
    ]
    return [
        1 - f + f * sum(part / total * size**e for part, size in written) for f, e in parameters
    ]


def _memtable_bytes(column: ColumnFamilyModel) -> float:
    """Size of a memtable when it is sealed, or flushed early because the WAL is full."""
    if column.expected_flush_bytes is None:
        return float(column.write_buffer_bytes)
    merged = max(1, column.min_write_buffer_number_to_merge)
    if column.flushed_by == 'memtables':
        return column.expected_flush_bytes.value / merged
    return min(float(column.write_buffer_bytes), column.expected_flush_bytes.value)


_US_PER_KIB = 1024 / 1000
#: Parameters of a prediction besides costs.
_KV_SYNC_TIME = 'kv_sync_time'
_WRITTEN = 'written'
#: Costs with a common error.
_MEASURED_TOGETHER = {
    'flush_taken': 'flushes',
    'flush_written': 'flushes',
    'compaction_read': 'compactions',
    'compaction_written': 'compactions',
    'compress': 'compression',
    'decompress': 'compression',
}


def cpu(
    work: Optional[CpuWork],
    columns: Sequence[ColumnFamilyModel],
    workload: Optional[WorkloadCalibration],
    known: Calibration,
) -> Optional[CpuModel]:
    """None if the work is unknown or its CPU cost was not measured."""
    if work is None or workload is None:
        return None
    time = kv_sync_time(columns, known.inserts_of(workload.name))
    if time is None:
        return None
    costs = _costs([work], known)
    if costs is None:
        return None
    total = _combined(
        lambda values: _total_ns(work, values, values[_KV_SYNC_TIME], values[_WRITTEN]),
        {
            **costs,
            _KV_SYNC_TIME: time,
            _WRITTEN: known.quantities['write_amplification'].around(1.0),
        },
    )
    total = _as_wide_as(known.cpu.total, total)
    expected = {name: cost.value for name, cost in costs.items()}
    kv_sync, flushes, compactions, compression = (
        part * _US_PER_KIB for part in cpu_parts_ns(work, expected, time.value)
    )
    return CpuModel(
        us_per_wal_kib=_times(total, _US_PER_KIB),
        us_per_write=_times(total, workload.written_bytes / 1000),
        kv_sync_us_per_wal_kib=kv_sync,
        flushes_us_per_wal_kib=flushes,
        compactions_us_per_wal_kib=compactions,
        compression_us_per_wal_kib=compression,
        work=work,
    )


def cpu_change(
    before: TreeModel, after: TreeModel, known: Optional[Calibration] = None
) -> Optional[Estimate]:
    """Ratio of RocksDB's CPU after to before a change of options, for the same writes.

    None if either is unknown, or if their workloads differ. Each model carries its own data size:
    with compression the same keys take fewer bytes.
    """
    known = known or calibration()
    old, new = before.cpu, after.cpu
    if old is None or new is None or old.work.workload != new.work.workload:
        return None
    inserts = known.inserts_of(old.work.workload)
    time = kv_sync_time(before.column_families, inserts)
    change = kv_sync_change(before.column_families, after.column_families, inserts)
    if time is None or change is None:
        return None
    works = (old.work, new.work)
    costs = _costs(works, known)
    if costs is None:
        return None
    if old.work == new.work and change == Estimate(1.0, 1.0, 1.0):
        # The same tree: no predicted difference, hence no error.
        return change
    old_time = time.value

    def ratio(values: Mapping[str, float]) -> float:
        new_time = old_time * values[_KV_SYNC_TIME]
        return _total_ns(new.work, values, new_time, values[_WRITTEN]) / _total_ns(
            old.work, values, old_time, 1.0
        )

    written = known.quantities['write_amplification_change'].around(1.0)
    return _as_wide_as(
        known.cpu.change, _combined(ratio, {**costs, _KV_SYNC_TIME: change, _WRITTEN: written})
    )


def cpu_work(
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    workload: Optional[WorkloadCalibration],
    held: Optional[Population],
    data_of_shards: Optional[Sequence[float]],
    known: Calibration,
) -> Optional[CpuWork]:
    """None if the workload or the database size is unknown."""
    if workload is None or held is None or not data_of_shards:
        return None
    work = CpuWork(workload.name, 0.0, 0.0, 0.0, ())
    for family, column, data_bytes in zip(families, columns, data_of_shards):
        known_column = workload.columns.get(column.name)
        writes = column.writes_per_flush
        if known_column is None or not known_column.kinds or not writes:
            continue
        found = amplification([family], [column], workload, held, [data_bytes], known)
        flushes, compactions = found.flushes, found.compactions
        if not flushes or compactions is None:
            continue
        compression = family.options.compression
        # Assumption: compactions have the same mix of keys as flushes.
        unpacked = known_column.left_bytes(writes, held, NO_COMPRESSION) / known_column.left_bytes(
            writes, held, compression
        )
        grown = known_column.growth_bytes(compression) / workload.written_bytes
        dropped = max(0.0, flushes - grown) if compactions else 0.0
        work = _added(
            work,
            compression,
            flush_written=flushes * unpacked,
            compaction_read=(compactions + dropped) * unpacked,
            compaction_written=compactions * unpacked,
        )
    return work


def _added(
    work: CpuWork,
    compression: str,
    flush_written: float,
    compaction_read: float,
    compaction_written: float,
) -> CpuWork:
    """Add the work of another column family."""
    compressed = {found.name: found for found in work.compression}
    if compression != NO_COMPRESSION:
        before = compressed.get(compression, CompressionWork(compression, 0.0, 0.0))
        compressed[compression] = replace(
            before,
            compressed=before.compressed + flush_written + compaction_written,
            decompressed=before.decompressed + compaction_read,
        )
    return replace(
        work,
        flush_written=work.flush_written + flush_written,
        compaction_read=work.compaction_read + compaction_read,
        compaction_written=work.compaction_written + compaction_written,
        compression=tuple(compressed.values()),
    )


def cpu_parts_ns(
    work: CpuWork, costs: Mapping[str, float], kv_sync_time: float
) -> tuple[float, float, float, float]:
    """Nanoseconds per WAL byte: kv_sync, flushes, compactions, compression."""
    return (
        costs['kv_sync'] * kv_sync_time,
        costs['flush_taken'] + costs['flush_written'] * work.flush_written,
        costs['compaction_read'] * work.compaction_read
        + costs['compaction_written'] * work.compaction_written,
        sum(
            costs[_compress(found.name)] * found.compressed
            + costs[_decompress(found.name)] * found.decompressed
            for found in work.compression
        ),
    )


def _compress(name: str) -> str:
    return f'compress {name}'


def _decompress(name: str) -> str:
    return f'decompress {name}'


def _costs(works: Sequence[CpuWork], known: Calibration) -> Optional[dict[str, Estimate]]:
    """Nanoseconds per byte under one workload; None if any was not measured."""
    measured = known.cpu.costs.get(works[0].workload)
    if measured is None:
        return None
    costs = {
        'kv_sync': measured.kv_sync,
        'flush_taken': measured.flush_taken,
        'flush_written': measured.flush_written,
        'compaction_read': measured.compaction_read,
        'compaction_written': measured.compaction_written,
    }
    for found in (found for work in works for found in work.compression):
        cost = measured.compression.get(found.name)
        if cost is None:
            return None
        costs[_compress(found.name)] = cost.compress
        costs[_decompress(found.name)] = cost.decompress
    return costs


def _total_ns(
    work: CpuWork, costs: Mapping[str, float], kv_sync_time: float, written: float
) -> float:
    """CPU if ``written`` times the predicted bytes, WAL included, go to the device."""
    kv_sync, flushes, compactions, compression = cpu_parts_ns(work, costs, kv_sync_time)
    to_files = work.flush_written + work.compaction_written
    # The error is in the SST bytes only; the bound keeps it finite for next to no SST bytes.
    times = 1 + (written - 1) * (1 + 1 / max(to_files, 1.0))
    taken = costs['flush_taken']
    return kv_sync + taken + times * (flushes - taken + compactions + compression)


def _combined(
    of: Callable[[Mapping[str, float]], float], parameters: Mapping[str, Estimate]
) -> Estimate:
    """Propagate independent parameter errors.

    Each parameter is moved to the ends of its interval, costs with a common error together. The
    resulting log ratios are added in quadrature.
    """
    expected = {name: parameter.value for name, parameter in parameters.items()}
    value = of(expected)
    together: dict[str, list[str]] = {}
    for name in parameters:
        together.setdefault(_MEASURED_TOGETHER.get(name.split()[0], name), []).append(name)
    down = up = 0.0
    for names in together.values():
        lowest = {**expected, **{name: parameters[name].low for name in names}}
        highest = {**expected, **{name: parameters[name].high for name in names}}
        moves = [math.log(of(moved) / value) for moved in (lowest, highest)]
        down += min(0.0, *moves) ** 2
        up += max(0.0, *moves) ** 2
    return Estimate(value * math.exp(-math.sqrt(down)), value, value * math.exp(math.sqrt(up)))


def _as_wide_as(quantity: Quantity, found: Estimate) -> Estimate:
    """Widen an interval to the measured error of the whole prediction."""
    measured = quantity.around(found.value)
    return Estimate(min(found.low, measured.low), found.value, max(found.high, measured.high))


def _times(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(estimate.low * factor, estimate.value * factor, estimate.high * factor)
