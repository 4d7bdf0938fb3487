"""Which runs at real size the model is fitted to, and which it is tested with.

Memtables of 8 to 256 MiB, merges of 1 to 16, blocks of 4 and 16 KiB, small and large images, short
and long PG logs, also S3 and CephFS: a part of all products, so that no two of these factors always
go together. Which runs are held out is drawn once, before any is made (`bench_model_trials.json`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

DESIGN = Path(__file__).resolve().parent / 'bench_model_trials.json'
#: Of the draw which runs are held out, and in which order all are made.
SEED = 20261123
WAL_LIMIT_MIB = 1024


@dataclass(frozen=True)
class Trial:
    """One run; what does not apply to its clients is 0."""

    name: str
    release: str
    #: "rbd", "s3-put", "s3-delete" or "cephfs"
    clients: str
    memtable_mib: int
    merge: int
    trigger: int
    level_base_mib: int
    compression: str
    #: Of one placement group.
    log_entries: int
    block_bytes: int
    image_gib: int
    #: At most, whichever is first.
    writes: int
    seconds: float
    held_out: bool = False

    @property
    def options(self) -> str:
        number = max(4, 1024 // self.memtable_mib, 2 * self.merge)
        return (
            f'compression={self.compression},max_write_buffer_number={number},'
            f'min_write_buffer_number_to_merge={self.merge},'
            f'write_buffer_size={self.memtable_mib << 20},max_background_jobs=4,'
            f'level0_file_num_compaction_trigger={self.trigger},'
            f'max_bytes_for_level_base={self.level_base_mib << 20},'
            'max_bytes_for_level_multiplier=8,writable_file_max_buffer_size=0,'
            f'compaction_readahead_size=2097152,max_total_wal_size={WAL_LIMIT_MIB << 20}'
        )


def committed() -> list[Trial]:
    """The draw as it was written down before any run."""
    content = json.loads(DESIGN.read_text())
    return [Trial(**entry) for entry in (*content['trials'], *content['later'])]
