"""Predictions of the model for the runs at real size, compared with the measurements."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_model_compare import CHANGE, HELD, Comparison
from bench_model_steady import ColumnSeen, RealRun

from rocksdb_tuner.lsm.calibration import Calibration, Quantity, calibration
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import ColumnFamilyModel, Load, TreeModel
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.options.sharding import columns
from rocksdb_tuner.options.syntax import parse

#: The measured workload of the clients of a trial.
WORKLOADS = {'rbd': 'rbd-randwrite', 's3-put': 'omap-heavy', 's3-delete': 'omap-heavy'}
#: A column that gets less than this of all writes makes no difference.
LEAST_SHARE = 0.01
FLUSHES, COMPACTIONS = 'flush_bytes_per_wal_byte', 'compaction_bytes_per_wal_byte'


def predict(run: RealRun, known: Calibration) -> TreeModel:
    release = release_of(run.version, None)
    assert release is not None
    return model(
        TreeInputs(
            options=parse(run.trial.options),
            rocksdb_version=release.rocksdb_version,
            columns=columns(release.default_cfs),
            load=Load(
                workload=WORKLOADS[run.trial.clients],
                data_bytes=run.data_bytes,
                objects=run.objects,
                placement_groups=run.placement_groups,
                log_entries=log_entries(run),
                write_bytes=run.write_bytes_avg if run.trial.clients == 'rbd' else None,
                writes_per_object=writes_per_object(run) if run.trial.clients == 'rbd' else None,
            ),
        ),
        known,
    )


def writes_per_object(run: RealRun) -> float:
    """That an object had got on average in the steady state."""
    return (run.writes_before + run.writes / 2) / max(1, run.objects)


def log_entries(run: RealRun) -> float:
    """In the logs of all placement groups, which may not have been as long yet."""
    most = run.trial.log_entries * run.placement_groups
    return min(float(most), run.writes_before + run.writes / 2)


def compare(run: RealRun, known: Calibration) -> Iterator[Comparison]:
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
        yield _comparison(run, 'wal_bytes', predicted.wal.limit_bytes, run.wal_peak_bytes)
        yield _comparison(
            run, 'wal_device_bytes', predicted.wal.device_bytes.value, run.wal_peak_allocated_bytes
        )
    found = predicted.amplification
    if found.write is None:
        return
    assert found.flushes is not None
    assert found.compactions is not None
    if run.flushes:
        yield _comparison(run, FLUSHES, found.flushes, run.flushes)
    if run.compactions:
        yield _comparison(run, COMPACTIONS, found.compactions, run.compactions)
    if not run.write_amplification:
        return
    yield _comparison(run, 'write_amplification', found.write.value, run.write_amplification)


def _comparison(
    run: RealRun, quantity: str, predicted: float, measured: float, column: str = ''
) -> Comparison:
    trial = run.trial
    what = f'{trial.memtable_mib} MiB x {trial.merge}'
    return Comparison(
        run.version, f'{trial.name} {what}', trial.clients, quantity, column, predicted, measured
    )


def _of_column(run: RealRun, column: ColumnFamilyModel, own: ColumnSeen) -> Iterator[Comparison]:
    full, early = column.full_flush_bytes.value, column.expected_flush_bytes
    assert early is not None
    assert column.level0_file_bytes is not None
    by_memtables = own.full_flushes > own.early_flushes
    memory = own.full_flush_memory_bytes if by_memtables else own.early_flush_memory_bytes
    file = own.full_flush_file_bytes if by_memtables else own.early_flush_file_bytes
    if memory and by_memtables:
        yield _comparison(run, 'full_flush_bytes', full, memory, column.name)
    if memory and not by_memtables and column.flushed_by == 'wal':
        yield _comparison(run, 'early_flush_bytes', early.value, memory, column.name)
    large = own.level_0_bytes > LEAST_SHARE * sum(c.level_0_bytes for c in run.columns)
    if file and large and column.level0_file_bytes.value:
        yield _comparison(
            run, 'level0_file_bytes', column.level0_file_bytes.value, file, column.name
        )


def changes(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Every run against every other of the same clients, both ways: loads differ too."""
    amplified = [c for c in comparisons if c.quantity == 'write_amplification']
    return [
        Comparison(
            before.release, f'{before.option_set} to {after.option_set}', before.workload, CHANGE,
            '', after.predicted / before.predicted, after.measured / before.measured,
        )
        for before, after in itertools.permutations(amplified, 2)
        if before.workload == after.workload
    ]  # fmt: skip


def held(comparisons: Sequence[Comparison], stated: Mapping[str, Quantity]) -> Iterator[str]:
    """How many of the measured values lay in the interval that is stated, and how wide that is."""
    for quantity in dict.fromkeys(c.quantity for c in comparisons):
        ratios = sorted(c.ratio for c in comparisons if c.quantity == quantity)
        line = f'{quantity}: {len(ratios)} comparisons, {ratios[0]:.2f} to {ratios[-1]:.2f}'
        if quantity in stated:
            around = stated[quantity].around(1.0)
            inside = sum(around.low <= ratio <= around.high for ratio in ratios)
            line += (
                f'; {inside} ({inside / len(ratios):.0%}) within {around.low:g} to '
                f'{around.high:g}, a factor of {around.high / around.low:.2f}'
            )
        yield line


def fitted_intervals(ratios: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """The 80% prediction interval of the next ratio, if logarithms of ratios are normal.

    With few comparisons it is wider than the interval that covers 80% of them (Student's t).
    """
    from scipy.stats import t  # noqa: PLC0415 - only fitting needs it

    found: list[dict[str, Any]] = []
    for quantity, values in ratios.items():
        logs = [math.log(value) for value in values]
        number = len(logs)
        student = float(t.ppf((1 + HELD) / 2, number - 1))
        reach = student * statistics.stdev(logs) * math.sqrt(1 + 1 / number)
        middle = statistics.mean(logs)
        found.append(
            {
                'quantity': quantity,
                'low': math.floor(math.exp(middle - reach) * 100) / 100,
                'high': math.ceil(math.exp(middle + reach) * 100) / 100,
                'comparisons': number,
            }
        )
    return found


def report(
    runs: Sequence[RealRun], comparisons: Sequence[Comparison] | None = None
) -> Iterator[str]:
    known = calibration()
    if comparisons is None:
        comparisons = [c for run in runs for c in compare(run, known)]
    for run in runs:
        yield f'{run.trial.name}: {run.trial.clients}, {run.writes} writes'
    for c in comparisons:
        quantity = f'{c.quantity} {c.column}'.rstrip()
        yield (
            f'{c.release:8} {c.option_set:22} {c.workload:10} {quantity:32} '
            f'{c.predicted:14.2f} {c.measured:14.2f} {c.ratio:.2f}'
        )
    yield from held([*comparisons, *changes(comparisons)], known.quantities)
