#!/usr/bin/python3
"""What the model of the tree predicts for the stored runs of OSDs of real size, and what they did.

The runs (`results/model-real.json`) were made, and the model fitted to those that are not held out,
by benches that are in the log only.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('src/pybind/mgr', 'qa', 'qa/doubles')]

from rocksdb_tuner.lsm.calibration import (  # noqa: E402 - after the path to it
    Calibration,
    Quantity,
    calibration,
)
from rocksdb_tuner.lsm.model import TreeInputs, model  # noqa: E402
from rocksdb_tuner.lsm.records import ColumnFamilyModel, Load, TreeModel  # noqa: E402
from rocksdb_tuner.options.releases import release_of  # noqa: E402
from rocksdb_tuner.options.syntax import columns, parse  # noqa: E402

RESULTS = CHECKOUT / 'qa/bench/results/model-real.json'
WAL_LIMIT_MIB = 1024
#: The measured workload of the clients of a trial.
WORKLOADS = {'rbd': 'rbd-randwrite', 's3-put': 'omap-heavy', 's3-delete': 'omap-heavy'}
#: A column that gets less than this of all writes makes no difference.
LEAST_SHARE = 0.01
#: Nor do columns of which nothing is known, with less than this of level 0.
LEFT_OUT = 0.1


#: A run, its trial or one of its columns, as stored.
Stored = SimpleNamespace


def options_of(trial: Stored) -> str:
    number = max(4, 1024 // trial.memtable_mib, 2 * trial.merge)
    return (
        f'compression={trial.compression},max_write_buffer_number={number},'
        f'min_write_buffer_number_to_merge={trial.merge},'
        f'write_buffer_size={trial.memtable_mib << 20},max_background_jobs=4,'
        f'level0_file_num_compaction_trigger={trial.trigger},'
        f'max_bytes_for_level_base={trial.level_base_mib << 20},'
        'max_bytes_for_level_multiplier=8,writable_file_max_buffer_size=0,'
        f'compaction_readahead_size=2097152,max_total_wal_size={WAL_LIMIT_MIB << 20}'
    )


def data_bytes(run: Stored) -> float:
    """The content of the database as counted by RocksDB: deleted files stay some seconds."""
    if run.sst_bytes_compacted == run.sst_bytes_after:
        # Tentacle answers before the full compaction has ended
        return float(run.sst_bytes_mean)
    return float(sum(column.live_bytes for column in run.columns))


def for_each_wal_byte(run: Stored, rates: Sequence[float | None]) -> float | None:
    """None: too few to compare."""
    sizes = [column.level_0_bytes for column in run.columns]
    left_out = sum(size for rate, size in zip(rates, sizes, strict=True) if rate is None)
    if not sum(sizes) or left_out > LEFT_OUT * sum(sizes):
        return None
    return float(sum(rate or 0.0 for rate in rates) / (run.wal_bytes / run.writes))


@dataclass(frozen=True)
class Comparison:
    run: Stored
    quantity: str
    predicted: float
    measured: float
    #: "O" and the like; '' where it is about the whole database.
    column: str = ''

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted


def read(path: Path = RESULTS) -> list[Stored]:
    text = path.read_text(encoding='utf-8')
    found: list[Stored] = json.loads(text, object_hook=lambda entry: Stored(**entry)).runs
    return found


def predict(run: Stored, known: Calibration) -> TreeModel:
    release = release_of(run.version, None)
    assert release is not None
    until_middle = run.writes_before + run.writes / 2
    rbd = run.trial.clients == 'rbd'
    load = Load(
        workload=WORKLOADS[run.trial.clients],
        data_bytes=data_bytes(run),
        objects=run.objects,
        placement_groups=run.placement_groups,
        # The logs may not have been as long yet
        log_entries=min(float(run.trial.log_entries * run.placement_groups), until_middle),
        write_bytes=run.write_bytes_avg if rbd else None,
        writes_per_object=until_middle / max(1, run.objects) if rbd else None,
    )
    inputs = TreeInputs(
        parse(options_of(run.trial)),
        release.rocksdb_version,
        columns(release.default_cfs),
        load=load,
    )
    return model(inputs, known)


def compare(run: Stored, known: Calibration) -> Iterator[Comparison]:
    """Every quantity that this run shows."""
    if run.trial.clients not in WORKLOADS:
        return
    predicted = predict(run, known)
    flushed = sum(c.flushed_data_bytes for c in run.columns)
    seen = {column.name: column for column in run.columns}
    for column in predicted.column_families:
        own = seen.get(column.name)
        if own and own.flushed_data_bytes > LEAST_SHARE * flushed:
            yield from _of_column(run, column, own)
    if run.wal_limit_met and run.wal_peak_bytes:
        yield Comparison(run, 'wal_bytes', predicted.wal.limit_bytes, run.wal_peak_bytes)
        device = predicted.wal.device_bytes.value
        yield Comparison(run, 'wal_device_bytes', device, run.wal_peak_allocated_bytes)
    found = predicted.amplification
    flushes = for_each_wal_byte(run, [c.level_0_bytes_per_write for c in run.columns])
    compactions = for_each_wal_byte(run, [c.compaction_bytes_per_write for c in run.columns])
    if found.write is None or found.flushes is None or found.compactions is None:
        return
    if flushes:
        yield Comparison(run, 'flush_bytes_per_wal_byte', found.flushes, flushes)
    if compactions:
        yield Comparison(run, 'compaction_bytes_per_wal_byte', found.compactions, compactions)
    if flushes is not None and compactions is not None:
        measured = 1 + flushes + compactions
        yield Comparison(run, 'write_amplification', found.write.value, measured)


def _of_column(run: Stored, column: ColumnFamilyModel, own: Stored) -> Iterator[Comparison]:
    early, predicted_file = column.expected_flush_bytes, column.level0_file_bytes
    assert early is not None
    assert predicted_file is not None
    by_memtables = own.full_flushes > own.early_flushes
    memory = own.full_flush_memory_bytes if by_memtables else own.early_flush_memory_bytes
    file = own.full_flush_file_bytes if by_memtables else own.early_flush_file_bytes
    name = column.name
    if memory and by_memtables:
        yield Comparison(run, 'full_flush_bytes', column.full_flush_bytes.value, memory, name)
    elif memory and column.flushed_by == 'wal':
        yield Comparison(run, 'early_flush_bytes', early.value, memory, name)
    large = own.level_0_bytes > LEAST_SHARE * sum(c.level_0_bytes for c in run.columns)
    if file and large and predicted_file.value:
        yield Comparison(run, 'level0_file_bytes', predicted_file.value, file, name)


def changes(comparisons: Sequence[Comparison]) -> list[float]:
    """Ratios of every run against every other of the same clients, both ways: loads differ too."""
    amplified = [c for c in comparisons if c.quantity == 'write_amplification']
    return [
        after.ratio / before.ratio
        for before, after in itertools.permutations(amplified, 2)
        if before.run.trial.clients == after.run.trial.clients
    ]


def held(
    comparisons: Sequence[Comparison], stated: Mapping[str, Quantity]
) -> dict[str, tuple[int, int]]:
    """Of each quantity with an interval, how many measured values lay in it, and of how many."""
    ratios = {'write_amplification_change': changes(comparisons)}
    for c in comparisons:
        ratios.setdefault(c.quantity, []).append(c.ratio)
    around = {name: stated[name].around(1.0) for name in ratios if name in stated}
    return {
        name: (sum(one.low <= ratio <= one.high for ratio in ratios[name]), len(ratios[name]))
        for name, one in around.items()
    }


def main() -> int:
    known = calibration()
    comparisons = [c for run in read() for c in compare(run, known)]
    for c in comparisons:
        what = f'{c.run.trial.name} {c.quantity} {c.column}'
        print(f'{what:48} {c.predicted:14.2f} {c.measured:14.2f} {c.ratio:.2f}')
    for quantity, (inside, number) in held(comparisons, known.quantities).items():
        print(f'{quantity}: {inside} of {number} ({inside / number:.0%}) in the stated interval')
    return 0


if __name__ == '__main__':
    sys.exit(main())
