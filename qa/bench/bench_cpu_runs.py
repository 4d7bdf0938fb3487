"""CPU of the threads of real OSDs, and the bytes that RocksDB flushed and compacted meanwhile.

The OSDs of one cluster have an option set each and share one load, without replicas: other load
on the machine affects all of them equally. CPU time is the scheduler's, thread by thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench_model_fit import column_of

from bench_model_events import Events, read_events
from harness.cluster import Cluster
from harness.layout import ClusterSpec
from harness.services import make_pools
from harness.thread_cpu import thread_cpu_s

POOL = 'load'
WARM_UP_S = 30.0
#: Sizes of the published sets divided by one of these give the same tree within minutes; by the
#: larger one, one that is in its steady state.
SCALES = (16, 64)
SETS = ('large', 'large, LZ4', 'small', 'small, LZ4')


def options_of(option_set: str, scale: int) -> str:
    """Small memtables that are not merged write most, so that much is compacted."""
    memory_kib = (256 << 10) // scale
    number, size_kib = (4, memory_kib) if 'large' in option_set else (32, memory_kib // 8)
    compression = 'kLZ4Compression' if 'LZ4' in option_set else 'kNoCompression'
    return (
        f'compression={compression},max_write_buffer_number={number},'
        f'write_buffer_size={size_kib}K,max_background_jobs=4,'
        f'max_bytes_for_level_base={memory_kib}K,target_file_size_base={memory_kib // 4}K,'
        f'max_total_wal_size={4 * memory_kib}K,writable_file_max_buffer_size=0,'
        'compaction_readahead_size=2M'
    )


@dataclass(frozen=True)
class ColumnRun:
    """The flushes and compactions of one column, over all its shards."""

    name: str
    #: Keys and values that were in memtables, and what became files of them, uncompressed and not.
    flushed_bytes: int
    flush_raw_bytes: int
    flush_file_bytes: int
    compaction_read_bytes: int
    compaction_written_bytes: int


@dataclass(frozen=True)
class CpuRun:
    release: str
    workload: str
    #: Runs of one round were at the same time.
    round: int
    scale: int
    option_set: str
    options: str
    osd: int
    seconds: float
    wal_bytes: int
    #: Commits of the kv_sync thread, and writes of clients.
    commits: int
    writes: int
    cpu_s: Mapping[str, float]
    columns: Sequence[ColumnRun]
    #: SST files at the end.
    live_bytes: int


@dataclass(frozen=True)
class _Load:
    run: Callable[[Cluster, float], None]
    seconds: float


def _run_rbd(cluster: Cluster, seconds: float) -> None:
    cluster.client.run(
        'fio', '--name=load', '--ioengine=rbd', '--clientname=admin', f'--pool={POOL}',
        '--rbdname=image', '--rw=randwrite', '--bs=4k', '--iodepth=64', '--thread=1',
        '--time_based', f'--runtime={seconds:g}', '--norandommap', '--output-format=json',
        timeout_s=seconds + 120,
    )  # fmt: skip


def _run_omap(cluster: Cluster, seconds: float) -> None:
    order = {'pool': POOL, 'objects': 256, 'keys': 25, 'seconds': seconds, 'depth': 16}
    source = (Path(__file__).parent / 'bench_model_omap.py').read_text()
    cluster.client.run(
        '/usr/bin/python3', '-B', '-', json.dumps(order), stdin=source, timeout_s=seconds + 120
    )


LOADS = {'rbd-randwrite': _Load(_run_rbd, 150.0), 'omap-heavy': _Load(_run_omap, 50.0)}


def spec(release: str, scale: int) -> ClusterSpec:
    return ClusterSpec(
        release=release,
        osds=len(SETS),
        pool_size=1,
        orchestrator=False,
        module=None,
        few_mgr_modules=True,
        osd_conf=(
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
            # A PG log that lives as many flushes as that of a full-size OSD.
            ('osd_target_pg_log_entries_per_osd', str(300_000 // scale)),
        ),
    )


def measure(release: str, directory: Path, number: int, scale: int) -> Iterator[CpuRun]:
    """One round: each option set under each load."""
    with Cluster.up(spec(release, scale), directory) as cluster:
        _set_options(cluster, number, scale)
        cluster.install('rbd-client')
        make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=128)
        cluster.client.run(
            'rbd', 'create', f'{POOL}/image', '--size', '4096', '--image-feature', 'layering'
        )
        for workload, load in LOADS.items():
            load.run(cluster, WARM_UP_S)
            since_micros = int(time.time() * 1e6)
            before = [_counted(cluster, osd) for osd in range(len(SETS))]
            load.run(cluster, load.seconds)
            after = [_counted(cluster, osd) for osd in range(len(SETS))]
            version = cluster.ceph('version').split()[2]
            for osd in range(len(SETS)):
                name = _set_of(osd, number)
                log = cluster.host.outside(cluster.layout.log(f'osd.{osd}'))
                with log.open(errors='replace') as lines:
                    events = read_events(lines, since_micros)
                reported = after[osd].since(before[osd])
                yield CpuRun(
                    release=version,
                    workload=workload,
                    round=number,
                    scale=scale,
                    option_set=name,
                    options=options_of(name, scale),
                    osd=osd,
                    seconds=load.seconds,
                    wal_bytes=reported.wal_bytes,
                    commits=reported.commits,
                    writes=reported.writes,
                    cpu_s=reported.cpu_s,
                    columns=_columns(events),
                    live_bytes=sum(files.bytes for files in events.live.values()),
                )


def _set_of(osd: int, number: int) -> str:
    """Another OSD has a set in the next round, as placement groups are not spread evenly."""
    return SETS[(osd + number) % len(SETS)]


def _set_options(cluster: Cluster, number: int, scale: int) -> None:
    for osd in range(len(SETS)):
        options = options_of(_set_of(osd, number), scale)
        cluster.ceph('config', 'set', f'osd.{osd}', 'bluestore_rocksdb_options', options)
    for osd in range(len(SETS)):
        cluster.restart_osd(osd)
    begin_s = time.monotonic()
    while time.monotonic() - begin_s < 120:
        status = cluster.ceph_json('osd', 'stat')
        if status['num_up_osds'] == len(SETS):
            return
        time.sleep(1)
    raise RuntimeError('an OSD does not come back with its option set')


@dataclass(frozen=True)
class _Counted:
    wal_bytes: int
    commits: int
    writes: int
    cpu_s: Mapping[str, float]

    def since(self, before: _Counted) -> _Counted:
        return _Counted(
            self.wal_bytes - before.wal_bytes,
            self.commits - before.commits,
            self.writes - before.writes,
            {name: round(self.cpu_s[name] - before.cpu_s[name], 4) for name in self.cpu_s},
        )


def _counted(cluster: Cluster, osd: int) -> _Counted:
    pid = cluster.status().pid(f'osd.{osd}')
    if pid is None:
        raise RuntimeError(f'osd.{osd} does not run')
    reported: dict[str, Any] = cluster.ceph_json('tell', f'osd.{osd}', 'perf', 'dump')
    return _Counted(
        wal_bytes=reported['bluefs']['bytes_written_wal'],
        commits=reported['bluestore']['kv_sync_lat']['avgcount'],
        writes=reported['osd']['op_w'],
        cpu_s=thread_cpu_s(Path('/proc') / str(pid)),
    )


def _columns(events: Events) -> list[ColumnRun]:
    found: dict[str, dict[str, int]] = {}

    def add(family: str, **amounts: int) -> None:
        column = found.setdefault(
            column_of(family),
            {f.name: 0 for f in fields(ColumnRun) if f.name != 'name'},
        )
        for name, amount in amounts.items():
            column[name] += amount

    for flush in events.flushes:
        add(
            flush.column_family,
            flushed_bytes=flush.data_bytes,
            flush_raw_bytes=flush.file_data_bytes or 0,
            flush_file_bytes=flush.file_bytes or 0,
        )
    for compaction in events.compactions:
        add(
            compaction.column_family,
            compaction_read_bytes=compaction.input_bytes,
            compaction_written_bytes=compaction.output_bytes,
        )
    return [ColumnRun(name, **amounts) for name, amounts in sorted(found.items())]


def document(runs: Sequence[CpuRun]) -> dict[str, Any]:
    """The results, as they are kept."""
    return {
        'machine': 'two cores (AMD EPYC 9004, virtual) shared with other work; four OSDs on sparse '
        'files, one option set each, under the same load, no replicas, 128 PGs',
        'warm_up_s': WARM_UP_S,
        'runs': [asdict(run) for run in runs],
    }


def read_runs(path: Path) -> list[CpuRun]:
    return [
        CpuRun(**{**entry, 'columns': [ColumnRun(**column) for column in entry['columns']]})
        for entry in json.loads(path.read_text())['runs']
    ]
