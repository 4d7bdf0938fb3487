"""CPU usage of RocksDB in an OSD. Pure.

Three kinds of threads work on a WAL byte. The kv_sync thread writes it to the WAL and inserts it
into a memtable. A flush reads the memtable and writes the newest values. Compactions read these
with the overlapping files of the next level and write them again. CPU per WAL byte:

    kv_sync x (relative time with these memtables, see `kv_sync_time`)
    + flush cost per memtable byte
    + flush cost per written byte x flushed bytes
    + compaction cost per read byte x bytes read
    + compaction cost per written byte x bytes written
    + with compression, the cost per compressed and per decompressed byte x the same bytes

All bytes are uncompressed. Compactions read all that flushes and compactions wrote; they write the
same less the overwritten values.

Costs depend on the CPU they were measured on. A change between two option strings is a ratio, so a
common factor cancels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..options.catalogue import NO_COMPRESSION
from .amplification import Flow
from .calibration import Calibration, Inserts, WorkloadCalibration, calibration
from .keys import Population
from .levels import Family
from .records import ColumnFamilyModel, CpuModel, Estimate, TreeModel


def kv_sync_time(columns: Sequence[ColumnFamilyModel], inserts: Inserts) -> Optional[Estimate]:
    """Time of the kv_sync thread per write, relative to the memtable size of the measurement.

    One thread inserts all keys of an OSD's writes. A memtable is a skip list: the larger it is, the
    more nodes an insert visits, and the fewer of them are in the CPU cache. The rest of the
    thread's work (the WAL, batches, callbacks) does not depend on memtables. Let f be the inserts'
    share of the time with memtables of the reference size r, and let the cost of an insert grow
    with the power e of the size. The time per write, relative to that with memtables of size r, is

        (1 - f) + f x sum over column families of share x (memtable / r)^e

    None if the written column families are unknown.
    """
    times = _times_by_parameters(columns, inserts)
    return None if times is None else Estimate(min(times), times[0], max(times))


def kv_sync_change(
    before: Sequence[ColumnFamilyModel], after: Sequence[ColumnFamilyModel], inserts: Inserts
) -> Optional[Estimate]:
    """Ratio of the time per write after to before a change of options."""
    old, new = _times_by_parameters(before, inserts), _times_by_parameters(after, inserts)
    if old is None or new is None:
        return None
    ratios = [later / earlier for earlier, later in zip(old, new)]
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
    if column.flushed_by == 'memtables':
        return column.expected_flush_bytes.value / max(1, column.min_write_buffer_number_to_merge)
    return min(float(column.write_buffer_bytes), column.expected_flush_bytes.value)


_US_PER_KIB = 1024 / 1000


def cpu(
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    flows: Sequence[Flow],
    workload: Optional[WorkloadCalibration],
    held: Optional[Population],
    known: Calibration,
) -> Optional[CpuModel]:
    """None if the workload is unknown, or the cost of its compression was not measured."""
    costs = known.cpu.costs.get(workload.name) if workload else None
    time = None if workload is None else kv_sync_time(columns, known.inserts_of(workload.name))
    if workload is None or held is None or costs is None or time is None or not flows:
        return None
    flushes, compactions, compression = costs.flush_taken.value, 0.0, 0.0
    for family, column, flow in zip(families, columns, flows):
        if not flow.flushed or not column.writes_per_flush:
            continue
        codec, keys = family.options.compression, workload.columns[column.name]
        # Assumption: compactions have the same mix of keys as flushes.
        unpacked = keys.left_bytes(column.writes_per_flush, held, NO_COMPRESSION) / keys.left_bytes(
            column.writes_per_flush, held, codec
        )
        dropped = max(0.0, flow.flushed - keys.growth_bytes(codec)) if flow.compacted else 0.0
        flushed, written, read = (
            part * unpacked / workload.written_bytes
            for part in (flow.flushed, flow.compacted, flow.compacted + dropped)
        )
        flushes += costs.flush_written.value * flushed
        compactions += costs.compaction_read.value * read
        compactions += costs.compaction_written.value * written
        if codec != NO_COMPRESSION:
            if codec not in costs.compression:
                return None
            compress, decompress = costs.compression[codec]
            compression += compress.value * (flushed + written) + decompress.value * read
    parts = costs.kv_sync.value * time.value, flushes, compactions, compression
    total = known.cpu.total.around(sum(parts))
    return CpuModel(
        workload.name,
        Estimate(*(end * _US_PER_KIB for end in total.ends)),
        Estimate(*(end * workload.written_bytes / 1000 for end in total.ends)),
        *(part * _US_PER_KIB for part in parts),
    )


def cpu_change(
    before: TreeModel, after: TreeModel, known: Optional[Calibration] = None
) -> Optional[Estimate]:
    """Ratio of RocksDB's CPU after to before a change of options, for the same writes.

    None if either is unknown, or if their workloads differ. Each model carries its own data size:
    with compression the same keys take fewer bytes.
    """
    old, new = before.cpu, after.cpu
    if old is None or new is None or old.workload != new.workload:
        return None
    if old == new:
        # The same tree: no predicted difference, hence no error.
        return Estimate(1.0, 1.0, 1.0)
    ratio = new.us_per_wal_kib.value / old.us_per_wal_kib.value
    return (known or calibration()).cpu.change.around(ratio)
