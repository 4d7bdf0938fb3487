"""The runs on real OSDs with which the model of the tree is compared.

Each run creates a new OSD with one option set, loads it until it has levels, and measures while it
is loaded further: RocksDB's tickers, the events in its log, the files of BlueFS.
"""

from __future__ import annotations

from dataclasses import dataclass

POOL = 'load'
PG_NUM = 32
WARM_UP_S = 20.0

#: Sizes of the published sets divided by this give the same tree within a minute.
SCALE = 16


@dataclass(frozen=True)
class ColumnFamilyRun:
    """The activity of one column family while it was measured; None: no such activity."""

    name: str
    #: Keys and values that went through its memtables, and what became level 0 files of them.
    flushed_data_bytes: int
    level_0_bytes: int
    full_flushes: int
    early_flushes: int
    #: Medians over the flushes of full memtables.
    full_flush_memory_bytes: float | None
    full_flush_data_bytes: float | None
    full_flush_file_bytes: float | None
    #: Medians over the flushes triggered by the limit of the WAL.
    early_flush_memory_bytes: float | None
    early_flush_file_bytes: float | None
    level_0_compactions: int
    level_0_compaction_files: float | None
    compaction_output_bytes: int
    live_bytes: int


@dataclass(frozen=True)
class Run:
    option_set: str
    options: str
    scaled: bool
    workload: str
    release: str
    seconds: float
    client: dict[str, float]
    #: RocksDB's tickers while it was measured.
    wal_bytes: int
    flush_bytes: int
    compaction_bytes: int
    stall_micros: int
    #: SST files before and after, and after a full compaction: what they hold without what is old.
    sst_bytes_before: int
    sst_bytes_after: int
    sst_bytes_compacted: int
    #: The most that all WAL files held, and had allocated; from RocksDB's log and BlueFS.
    wal_peak_bytes: int | None
    wal_peak_allocated_bytes: int
    wal_limit_met: int
    column_families: list[ColumnFamilyRun]
