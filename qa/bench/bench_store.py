#!/usr/bin/python3
"""The cost of storing a rollout: bytes and keys for each step, and CPU time to store and load.

A rollout of OSDs with random process numbers, in batches of one OSD, goes through the steps of its
first OSDs, each of which is stored as the driver does. The store is in memory: what is measured is
the module's own work, and what it hands to the monitors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Callable, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rocksdb_tuner.mgr.records import FailureDomain  # noqa: E402 - after the path to it
from rocksdb_tuner.operations.rollout.records import (  # noqa: E402
    Before,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.storage import RolloutStorage  # noqa: E402
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest  # noqa: E402

RESULTS = CHECKOUT / 'qa/bench/results/store.json'
SIZES = (100, 1000, 10_000)
#: OSDs that are changed in a measurement, one after the other.
CHANGED = 100
STEPS = (
    OsdStep.SETTING,
    OsdStep.RESTART_DUE,
    OsdStep.RESTARTING,
    OsdStep.CHECKING,
    OsdStep.SETTLING,
    OsdStep.VERIFIED,
)
OPTIONS = (
    'compression=kNoCompression,max_write_buffer_number=128,min_write_buffer_number_to_merge=16,'
    'compaction_style=kCompactionStyleLevel,write_buffer_size=8388608,max_background_jobs=4,'
    'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=1073741824,'
    'max_bytes_for_level_multiplier=8,compaction_readahead_size=2MB,max_total_wal_size=1073741824,'
    'writable_file_max_buffer_size=0'
)


class CountingStore:
    """A store in memory that counts its writes."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.bytes = 0
        self.keys_written = 0
        self.largest = 0

    def get(self, key: str) -> Optional[str]:
        return self.values.get(key)

    def set(self, key: str, value: Optional[str]) -> None:
        if value is None:
            self.values.pop(key, None)
            return
        size = len(value.encode())
        self.bytes, self.keys_written = self.bytes + size, self.keys_written + 1
        self.largest = max(self.largest, size)
        self.values[key] = value

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(key for key in self.values if key.startswith(prefix))


@dataclass(frozen=True)
class Measured:
    """One size of rollout. CPU is that of the thread."""

    osds: int
    begin_bytes: int
    begin_keys: int
    begin_cpu_ms: float
    step_bytes_mean: float
    step_bytes_most: int
    step_keys_mean: float
    step_cpu_ms_median: float
    step_cpu_ms_most: float
    load_cpu_ms: float
    stored_bytes: int
    stored_keys: int
    largest_value_bytes: int
    archive_cpu_ms: float


def planned(count: int) -> RolloutState:
    ids = tuple(range(count))
    return RolloutState(
        rollout_id='r1',
        request=ChangeRequest(
            recommendation_id='ssd-lz4',
            kind=ChangeKind.SET_PROFILE,
            who='osd/class:ssd',
            targets=tuple((n, OPTIONS) for n in ids),
            order=ids,
            final_entries=(('osd', OPTIONS),),
            actor='client.admin',
            batches=tuple((n,) for n in ids),
            domains=tuple(FailureDomain('host', f'host{n // 24}') for n in ids),
        ),
        before=Before(
            entries=(('osd', 'compression=kLZ4Compression'),),
            osds=tuple(
                OsdBefore(
                    n,
                    'compression=kLZ4Compression',
                    'mon',
                    'reef',
                    f'{_random("uuid", n) >> 8:06x}',
                    'ssd',
                    'bluestore',
                )
                for n in ids
            ),
        ),
        osds=tuple(OsdProgress(n) for n in ids),
        started_s=1_700_000_000.0,
        updated_s=1_700_000_000.0,
    )


def _random(what: str, number: int) -> int:
    return zlib.crc32(f'{what} {number}'.encode())


def _cpu_ms(work: Callable[[], object]) -> float:
    begin_s = time.thread_time()
    work()
    return (time.thread_time() - begin_s) * 1e3


def measured(count: int) -> Measured:
    store = CountingStore()
    storage, state = RolloutStorage(store), planned(count)
    # Types are inspected once in the life of a manager.
    RolloutStorage(CountingStore()).save_current(planned(20))
    begin_cpu_ms = _cpu_ms(lambda: storage.save_current(state))
    begin_bytes, begin_keys = store.bytes, store.keys_written
    bytes_of: list[int] = []
    keys_of: list[int] = []
    cpu_of: list[float] = []
    for osd_id in range(min(CHANGED, count)):
        for step in STEPS:
            state = _with(state, osd_id, step)
            store.bytes = store.keys_written = 0
            cpu_of.append(_cpu_ms(lambda now=state: storage.save_current(now)))  # type: ignore[misc]
            bytes_of.append(store.bytes)
            keys_of.append(store.keys_written)
    stored_bytes, stored_keys = sum(map(len, store.values.values())), len(store.values)
    found: list[Optional[RolloutState]] = []
    load_cpu_ms = _cpu_ms(lambda: found.append(RolloutStorage(store).load_current()))
    if found != [state]:
        raise SystemExit('what was read is not what was stored')
    archive_cpu_ms = _cpu_ms(lambda: storage.archive(state))
    return Measured(
        osds=count,
        begin_bytes=begin_bytes,
        begin_keys=begin_keys,
        begin_cpu_ms=round(begin_cpu_ms, 2),
        step_bytes_mean=round(statistics.mean(bytes_of), 1),
        step_bytes_most=max(bytes_of),
        step_keys_mean=round(statistics.mean(keys_of), 3),
        step_cpu_ms_median=round(statistics.median(cpu_of), 3),
        step_cpu_ms_most=round(max(cpu_of), 3),
        load_cpu_ms=round(load_cpu_ms, 2),
        stored_bytes=stored_bytes,
        stored_keys=stored_keys,
        largest_value_bytes=store.largest,
        archive_cpu_ms=round(archive_cpu_ms, 2),
    )


def _with(state: RolloutState, osd_id: int, step: OsdStep) -> RolloutState:
    osds = list(state.osds)
    osds[osd_id] = replace(
        osds[osd_id],
        step=step,
        nonce_before=_random('before', osd_id),
        nonce_after=_random('after', osd_id),
    )
    return replace(state, osds=tuple(osds), updated_s=state.updated_s + 10.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--out', type=Path, default=RESULTS)
    arguments = parser.parse_args()
    rows = [measured(count) for count in SIZES]
    for row in rows:
        print(
            f'{row.osds:6} OSDs: begin {row.begin_bytes} bytes, {row.begin_cpu_ms:.1f} ms; step '
            f'{row.step_bytes_mean:.0f} bytes, {row.step_cpu_ms_median:.2f} ms; load '
            f'{row.load_cpu_ms:.1f} ms'
        )
    arguments.out.write_text(json.dumps({'sizes': list(map(asdict, rows))}, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
