"""The runs on real OSDs with which the model of the tree is compared.

Each run creates a new OSD with one option set, loads it until it has levels, and measures while it
is loaded further: RocksDB's tickers, the events in its log, the files of BlueFS.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench_model_events import Compaction, Events, Flush, LiveFiles, read_events
from harness.cluster import Cluster
from harness.layout import ClusterSpec
from harness.services import make_pools
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.observe.kv_stats import KvStats, parse_kv_stats

POOL = 'load'
PG_NUM = 32
WARM_UP_S = 20.0
WAL_POLL_S = 3.0
#: Keys of a file in `bluefs files list` that are allocated bytes; later releases add its inode, its
#: size and its time.
_DEVICES = ('wal', 'db', 'slow')

#: Sizes of the published sets divided by this give the same tree within a minute.
SCALE = 16
_COMMON = 'writable_file_max_buffer_size=0,compaction_readahead_size=2M'
_SMALL = f'{_COMMON},target_file_size_base=4M'


@dataclass(frozen=True)
class OptionRun:
    name: str
    options: str
    #: Whether sizes are SCALE times smaller than the set is used with.
    scaled: bool


OPTION_RUNS: tuple[OptionRun, ...] = (
    OptionRun(
        'pacific/16',
        'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
        'write_buffer_size=16M,max_background_compactions=2,max_total_wal_size=64M,'
        f'max_bytes_for_level_base=16M,{_SMALL}',
        scaled=True,
    ),
    OptionRun(
        'reef/16',
        'compression=kLZ4Compression,max_write_buffer_number=64,'
        'min_write_buffer_number_to_merge=6,write_buffer_size=1M,max_background_jobs=4,'
        'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=64M,'
        f'max_bytes_for_level_multiplier=8,max_total_wal_size=64M,{_SMALL}',
        scaled=True,
    ),
    OptionRun(
        'variant-2022-d/16',
        'compression=kNoCompression,max_write_buffer_number=128,'
        'min_write_buffer_number_to_merge=16,write_buffer_size=512K,max_background_jobs=4,'
        'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=64M,'
        f'max_bytes_for_level_multiplier=8,max_total_wal_size=64M,{_SMALL}',
        scaled=True,
    ),
    OptionRun(
        'alternate-2019/16',
        'compression=kNoCompression,max_write_buffer_number=32,'
        'min_write_buffer_number_to_merge=2,write_buffer_size=4M,max_background_jobs=4,'
        'level0_file_num_compaction_trigger=8,level0_slowdown_writes_trigger=32,'
        'level0_stop_writes_trigger=64,max_bytes_for_level_base=32M,'
        f'max_bytes_for_level_multiplier=8,{_SMALL}',
        scaled=True,
    ),
    OptionRun(
        'pacific with 16 small memtables/16',
        'compression=kNoCompression,max_write_buffer_number=16,min_write_buffer_number_to_merge=1,'
        'write_buffer_size=4M,max_background_compactions=2,max_total_wal_size=64M,'
        f'max_bytes_for_level_base=16M,{_SMALL}',
        scaled=True,
    ),
    OptionRun(
        'rocksdb-default/16',
        'write_buffer_size=4M,max_bytes_for_level_base=16M,target_file_size_base=4M',
        scaled=True,
    ),
    OptionRun('lz4-2025', profile('lz4-2025').options, scaled=False),
    OptionRun(
        'bluestore-default-pacific', profile('bluestore-default-pacific').options, scaled=False
    ),
)


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


@dataclass(frozen=True)
class Load:
    """One client: prepare it on a new cluster, then run it for some seconds."""

    prepare: Callable[[Cluster], None]
    run: Callable[[Cluster, float], dict[str, float]]
    #: Long enough for level 0 to fill more than once.
    measured_s: float


def _prepare_pool(cluster: Cluster) -> None:
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)


def _prepare_rbd(cluster: Cluster) -> None:
    cluster.install('rbd-client')
    _prepare_pool(cluster)
    cluster.client.run(
        'rbd', 'create', f'{POOL}/image', '--size', '1024', '--image-feature', 'layering'
    )


def _run_rbd(cluster: Cluster, seconds: float) -> dict[str, float]:
    done = cluster.client.run(
        'fio', '--name=load', '--ioengine=rbd', '--clientname=admin', f'--pool={POOL}',
        '--rbdname=image', '--rw=randwrite', '--bs=4k', '--iodepth=16', '--thread=1',
        '--time_based', f'--runtime={seconds:g}', '--norandommap', '--output-format=json',
        timeout_s=seconds + 120,
    )  # fmt: skip
    written = json.loads(done.stdout[done.stdout.index('{') :])['jobs'][0]['write']
    return {'ops': written['total_ios'], 'seconds': round(written['runtime'] / 1000, 2)}


def _run_omap(cluster: Cluster, seconds: float) -> dict[str, float]:
    order = {
        'pool': POOL, 'objects': 64, 'keys': 25, 'seconds': seconds, 'depth': 8,
    }  # fmt: skip
    source = (Path(__file__).parent / 'bench_model_omap.py').read_text()
    done = cluster.client.run(
        '/usr/bin/python3', '-B', '-', json.dumps(order), stdin=source, timeout_s=seconds + 120
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


LOADS: dict[str, Load] = {
    'rbd-randwrite': Load(_prepare_rbd, _run_rbd, 90.0),
    'omap-heavy': Load(_prepare_pool, _run_omap, 35.0),
}


def spec_of(option_run: OptionRun, release: str) -> ClusterSpec:
    """One OSD of a release with this option set, RocksDB's statistics on."""
    osd_conf = [
        ('bluestore_rocksdb_options', option_run.options),
        ('rocksdb_perf', 'true'),
        ('rocksdb_collect_extended_stats', 'true'),
        # A file calls itself a hard disk, and small writes would then go through RocksDB.
        ('bluestore_debug_enforce_settings', 'ssd'),
    ]
    if option_run.scaled:
        # A PG log that lives as many flushes as that of a full-size OSD.
        osd_conf.append(('osd_target_pg_log_entries_per_osd', str(300000 // SCALE)))
    return ClusterSpec(
        release=release, osds=1, orchestrator=False, module=None, osd_conf=tuple(osd_conf)
    )


def measure(option_run: OptionRun, workload: str, release: str, directory: Path) -> Run:
    """One run, on a cluster that is made for it and taken down again."""
    load = LOADS[workload]
    with Cluster.up(spec_of(option_run, release), directory) as cluster:
        load.prepare(cluster)
        load.run(cluster, WARM_UP_S)
        since_micros = int(time.time() * 1e6)
        before, sst_before = _tickers(cluster), _sst_bytes(cluster)
        with _wal_watched(cluster) as allocated:
            client = load.run(cluster, load.measured_s)
        after, sst_after = _tickers(cluster), _sst_bytes(cluster)
        log = cluster.host.outside(cluster.layout.log('osd.0'))
        with log.open(errors='replace') as lines:
            events = read_events(lines, since_micros)
        cluster.ceph('tell', 'osd.0', 'compact', timeout_s=300)
        compacted = _sst_bytes(cluster)
        return Run(
            option_set=option_run.name,
            options=option_run.options,
            scaled=option_run.scaled,
            workload=workload,
            release=cluster.ceph('version').split()[2],
            seconds=load.measured_s,
            client=client,
            wal_bytes=_increase(before.wal_bytes, after.wal_bytes),
            flush_bytes=_increase(before.flush_write_bytes, after.flush_write_bytes),
            compaction_bytes=_increase(before.compact_write_bytes, after.compact_write_bytes),
            stall_micros=_increase(before.stall_micros, after.stall_micros),
            sst_bytes_before=sst_before,
            sst_bytes_after=sst_after,
            sst_bytes_compacted=compacted,
            wal_peak_bytes=max((size for size, _ in events.wal_sizes), default=None),
            wal_peak_allocated_bytes=max(allocated),
            wal_limit_met=len(events.wal_limits),
            column_families=_column_families(events),
        )


def _increase(before: int | None, after: int | None) -> int:
    if before is None or after is None:
        raise RuntimeError('the OSD does not offer its statistics')
    return after - before


def _tickers(cluster: Cluster) -> KvStats:
    return parse_kv_stats(cluster.ceph('tell', 'osd.0', 'dump_objectstore_kv_stats'))


def _files(cluster: Cluster, suffix: str) -> int:
    """Bytes that BlueFS has allocated to the files of a kind."""
    listed: list[dict[str, Any]] = cluster.ceph_json('tell', 'osd.0', 'bluefs', 'files', 'list')
    return sum(
        value
        for file in listed
        if file['name'].endswith(suffix)
        for name, value in file.items()
        if name.startswith(_DEVICES)
    )


def _sst_bytes(cluster: Cluster) -> int:
    return _files(cluster, '.sst')


@contextmanager
def _wal_watched(cluster: Cluster) -> Iterator[Sequence[int]]:
    sizes = [_files(cluster, '.log')]
    stop = threading.Event()

    def poll() -> None:
        while not stop.wait(WAL_POLL_S):
            sizes.append(_files(cluster, '.log'))

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield sizes
    finally:
        stop.set()
        thread.join()


def _column_families(events: Events) -> list[ColumnFamilyRun]:
    names = {f.column_family for f in events.flushes} | set(events.live)
    return [
        _column_family(
            name,
            [f for f in events.flushes if f.column_family == name],
            [c for c in events.compactions if c.column_family == name],
            events.live.get(name, LiveFiles()).bytes,
        )
        for name in sorted(names)
    ]


def _column_family(
    name: str, flushes: Sequence[Flush], compactions: Sequence[Compaction], live_bytes: int
) -> ColumnFamilyRun:
    full = [flush for flush in flushes if flush.full]
    early = [flush for flush in flushes if not flush.full]
    of_level_0 = [c for c in compactions if c.from_level == 0 and c.to_level > 0]
    return ColumnFamilyRun(
        name=name,
        flushed_data_bytes=sum(f.data_bytes for f in flushes),
        level_0_bytes=sum(f.file_bytes or 0 for f in flushes),
        full_flushes=len(full),
        early_flushes=len(early),
        full_flush_memory_bytes=_median([f.memory_bytes for f in full]),
        full_flush_data_bytes=_median([f.data_bytes for f in full]),
        full_flush_file_bytes=_median([f.file_bytes or 0 for f in full]),
        early_flush_memory_bytes=_median([f.memory_bytes for f in early]),
        early_flush_file_bytes=_median([f.file_bytes or 0 for f in early]),
        level_0_compactions=len(of_level_0),
        level_0_compaction_files=_median([c.level_0_files for c in of_level_0]),
        compaction_output_bytes=sum(c.output_bytes for c in compactions),
        live_bytes=live_bytes,
    )


def _median(values: Sequence[int]) -> float | None:
    return float(statistics.median(values)) if values else None


def document(runs: Sequence[Run]) -> dict[str, Any]:
    """The results, as they are kept."""
    return {
        'machine': 'two cores shared with other work, OSDs on sparse files, one OSD, 32 PGs',
        'warm_up_s': WARM_UP_S,
        'runs': [asdict(run) for run in runs],
    }
