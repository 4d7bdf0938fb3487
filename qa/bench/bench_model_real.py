#!/usr/bin/python3
"""The model of the tree against real OSDs whose memtables, levels and WAL are of real size.

``measure`` makes the runs of `bench_model_trials.json` that are not made yet (root, Debian
packages, some four minutes each); ``compare`` shows what the model predicts for them. Which runs
are held out was drawn before any was made: their results are shown only with ``--held-out``, and
the results keep when that was first done, so that a fit made after it would show. ``fit`` needs
scipy.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gzip
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(BENCH),
]

import bench_model_compare as comparing  # noqa: E402 - after the path to it
import bench_model_judge as judging  # noqa: E402
import bench_model_real_fit as fitting  # noqa: E402
import bench_model_steady as steady  # noqa: E402
from bench_model_compare import Comparison  # noqa: E402
from bench_model_trials import Trial, committed  # noqa: E402

from bench_model_events import read_events  # noqa: E402
from harness.admin_socket import ask, osd_socket, query_text  # noqa: E402
from harness.cluster import Cluster  # noqa: E402
from harness.layout import ClusterSpec  # noqa: E402
from harness.services import make_pools  # noqa: E402
from harness.workloads.catalogue import WORKLOADS, complete  # noqa: E402
from rocksdb_tuner.lsm.calibration import calibration  # noqa: E402
from rocksdb_tuner.observe.kv_stats import parse_kv_stats  # noqa: E402

RESULTS = BENCH / 'results/model-real.json'
KNOWLEDGE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'
POOL, IMAGE = 'load', 'image'
PG_NUM = 32
POLL_S = 2.0
#: Samples without a change, and their maximum number.
STILL, SETTLES_WITHIN = 4, 60
S3_OBJECTS = 12_000
QUIET = (
    'debug_osd', 'debug_bluestore', 'debug_bluefs', 'debug_bdev', 'debug_ms', 'debug_optracker',
    'debug_objecter', 'debug_monc', 'debug_auth', 'debug_finisher', 'debug_throttle',
)  # fmt: skip


def spec_of(trial: Trial) -> ClusterSpec:
    """One OSD with memory as by default, RocksDB's statistics on, and little else in its log."""
    return ClusterSpec(
        release=trial.release,
        osds=1,
        orchestrator=False,
        module=None,
        few_mgr_modules=True,
        block_size_bytes=96 << 30,
        osd_conf=(
            ('bluestore_rocksdb_options', trial.options),
            ('rocksdb_perf', 'true'),
            ('rocksdb_collect_extended_stats', 'true'),
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
            ('osd_min_pg_log_entries', str(trial.log_entries)),
            ('osd_max_pg_log_entries', str(trial.log_entries)),
            ('osd_memory_target', str(4 << 30)),
            # A core that follows requests writes none.
            ('osd_enable_op_tracker', 'false'),
            *((option, '0/0') for option in QUIET),
        ),
    )


def _prepare(cluster: Cluster, trial: Trial) -> None:
    if trial.clients == 'cephfs':
        # Its journal is trimmed as it goes: what it holds back is written to the database later.
        cluster.ceph('config', 'set', 'mds', 'mds_log_max_segments', '8')
    if trial.clients != 'rbd':
        return
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)
    cluster.client.run(
        'rbd', 'create', f'{POOL}/{IMAGE}', '--size', f'{trial.image_gib}G',
        '--image-feature', 'layering',
    )  # fmt: skip


def _run_clients(cluster: Cluster, trial: Trial) -> None:
    if trial.clients == 'rbd':
        cluster.client.run(
            'fio', '--name=load', '--ioengine=rbd', '--clientname=admin', f'--pool={POOL}',
            f'--rbdname={IMAGE}', '--rw=randwrite', f'--bs={trial.block_bytes}', '--iodepth=64',
            '--thread=1', f'--io_size={trial.writes * trial.block_bytes}', '--norandommap',
            f'--runtime={trial.seconds:g}', '--output-format=json',
            timeout_s=trial.seconds + 120,
        )  # fmt: skip
        return
    name = 'cephfs-metadata' if trial.clients == 'cephfs' else trial.clients
    given = {'objects': S3_OBJECTS} if name == 's3-delete' else {}
    WORKLOADS[name].run(cluster, trial.seconds, complete(name, trial.seconds, given))


class _Watch:
    """An OSD's counters through its admin socket: a command line tool would take a core."""

    def __init__(self, cluster: Cluster) -> None:
        self._socket = osd_socket(cluster, 0)

    def look(self) -> steady.Look:
        perf = ask(self._socket, 'perf dump')
        kv = parse_kv_stats(query_text(self._socket, 'dump_objectstore_kv_stats'))
        files: list[dict[str, Any]] = ask(self._socket, 'bluefs files list')
        return steady.Look(
            micros=int(time.time() * 1e6),
            writes=perf['osd']['op_w'],
            write_bytes=perf['osd']['op_w_in_bytes'],
            onodes=perf['bluestore'].get('bluestore_onodes', perf['bluestore'].get('onodes', 0)),
            wal_bytes=_known(kv.wal_bytes),
            flush_bytes=_known(kv.flush_write_bytes),
            compaction_bytes=_known(kv.compact_write_bytes),
            bluefs_wal_bytes=perf['bluefs'].get('bytes_written_wal', 0),
            bluefs_sst_bytes=perf['bluefs'].get('bytes_written_sst', 0),
            sst_bytes=_allocated(files, '.sst'),
            wal_allocated_bytes=_allocated(files, '.log'),
        )


def _known(value: int | None) -> int:
    if value is None:
        raise RuntimeError('the OSD does not offer its statistics')
    return value


def _allocated(files: Sequence[dict[str, Any]], suffix: str) -> int:
    return sum(
        value
        for file in files
        if file['name'].endswith(suffix)
        for name, value in file.items()
        if name.startswith(('wal', 'db', 'slow'))
    )


def _settled(watch: _Watch) -> int:
    """SST bytes when nothing changes any more: Tentacle answers before it has compacted all."""
    sizes = [watch.look().sst_bytes]
    for _ in range(SETTLES_WITHIN):
        time.sleep(POLL_S)
        sizes.append(watch.look().sst_bytes)
        if len(sizes) > STILL and len(set(sizes[-STILL:])) == 1:
            break
    return sizes[-1]


@contextmanager
def _watched(watch: _Watch) -> Iterator[list[steady.Look]]:
    looks = [watch.look()]
    stop = threading.Event()

    def go() -> None:
        while not stop.wait(POLL_S):
            try:
                looks.append(watch.look())
            except OSError:
                # It is busy: the next sample is soon enough.
                continue

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield looks
    finally:
        stop.set()
        thread.join()
        looks.append(watch.look())


@dataclass(frozen=True)
class Raw:
    """All raw results of a run, from which the rest can be recomputed."""

    trial: Trial
    version: str
    placement_groups: int
    objects: int
    looks: list[steady.Look]
    sst_bytes_compacted: int
    #: RocksDB's lines of the OSD's log.
    log: list[str]


def run(trial: Trial, directory: Path) -> Raw:
    with Cluster.up(spec_of(trial), directory) as cluster:
        _prepare(cluster, trial)
        watch = _Watch(cluster)
        with _watched(watch) as looks:
            _run_clients(cluster, trial)
        pools = cluster.ceph_json('df')['pools']
        pgs = cluster.ceph_json('status')['pgmap']['num_pgs']
        cluster.ceph('tell', 'osd.0', 'compact', timeout_s=300)
        compacted = _settled(watch)
        log = cluster.host.outside(cluster.layout.log('osd.0'))
        with log.open(errors='replace') as lines:
            kept = [line for line in lines if ' rocksdb: ' in line]
        return Raw(
            trial=trial,
            version=cluster.ceph('version').split()[2],
            placement_groups=pgs,
            objects=sum(pool['stats']['objects'] for pool in pools),
            looks=looks,
            sst_bytes_compacted=compacted,
            log=kept,
        )


def keep(raw: Raw, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f'{raw.trial.name}.json.gz', 'wt') as file:
        json.dump(asdict(raw), file)


def kept(path: Path) -> Raw:
    with gzip.open(path, 'rt') as file:
        content = json.load(file)
    content['trial'] = Trial(**content['trial'])
    content['looks'] = [steady.Look(**look) for look in content['looks']]
    return Raw(**content)


def seen(raw: Raw) -> steady.RealRun:
    """The result of a run, from its steady state on."""
    events = read_events(raw.log, 0)
    return steady.real_run(
        steady.Made(
            raw.trial, raw.version, raw.placement_groups, raw.objects, raw.sst_bytes_compacted
        ),
        raw.looks,
        events,
    )


def document(runs: Sequence[steady.RealRun], first_looked: str | None) -> dict[str, Any]:
    return {
        'machine': 'two cores shared with other work, one OSD on a sparse file, pools of size 1',
        'held_out_first_looked_at': first_looked,
        'runs': [asdict(run) for run in runs],
    }


def read(path: Path) -> tuple[list[steady.RealRun], str | None]:
    if not path.exists():
        return [], None
    content = json.loads(path.read_text())
    names = {field.name for field in fields(steady.RealRun)}
    runs = []
    for entry in content['runs']:
        found = {name: value for name, value in entry.items() if name in names}
        found['trial'] = Trial(**entry['trial'])
        found['columns'] = [steady.ColumnSeen(**column) for column in entry['columns']]
        runs.append(steady.RealRun(**found))
    return runs, content['held_out_first_looked_at']


def _write(path: Path, runs: Sequence[steady.RealRun], first_looked: str | None) -> None:
    path.write_text(json.dumps(document(runs, first_looked), indent=1) + '\n')


def _measure(arguments: argparse.Namespace) -> None:
    """Runs that are there stay, so that an interrupted measurement can go on."""
    for trial in committed():
        if arguments.only and trial.name not in arguments.only:
            continue
        if arguments.release and trial.release != arguments.release:
            continue
        mark = arguments.raw / f'{trial.name}.begun'
        arguments.raw.mkdir(parents=True, exist_ok=True)
        try:
            # Two may measure side by side.
            mark.touch(exist_ok=False)
        except FileExistsError:
            continue
        print(trial.name, trial.options, flush=True)
        try:
            raw = run(trial, arguments.dir)
        except BaseException:
            mark.unlink()
            raise
        keep(raw, arguments.raw)
        made = raw.looks[-1].writes - raw.looks[0].writes
        print(f'{trial.name}: {made} writes', flush=True)


def _collect(arguments: argparse.Namespace) -> None:
    _, first_looked = read(arguments.results)
    raws = sorted(arguments.raw.glob('*.json.gz'))
    _write(arguments.results, [seen(kept(path)) for path in raws], first_looked)


def shown(runs: Sequence[steady.RealRun], held_out: bool) -> list[steady.RealRun]:
    """Only the requested runs: those fitted to, or those that test the fit."""
    return [run for run in runs if run.trial.held_out is held_out]


def _compare(arguments: argparse.Namespace) -> None:
    runs, first_looked = read(arguments.results)
    if arguments.held_out and first_looked is None:
        now = dt.datetime.now(dt.timezone.utc)
        first_looked = now.isoformat(timespec='seconds')
        _write(arguments.results, runs, first_looked)
    chosen = shown(runs, arguments.held_out)
    for line in judging.report(chosen):
        print(line)


def _fit(arguments: argparse.Namespace) -> None:
    """Into ``knowledge/model.json``, from the runs that are fitted to alone."""
    runs, _ = read(arguments.results)
    content = fitting.installed(
        json.loads(KNOWLEDGE.read_text()), shown(runs, held_out=False), scaled_omap()
    )
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')


def scaled_omap() -> list[Comparison]:
    """The runs of the other workload, which are of scaled option sets."""
    files = [path for path in sorted(RESULTS.parent.glob('model-*.json')) if path != RESULTS]
    runs = [run for path in files for run in comparing.read_runs(path)]
    overlap = calibration().overlap
    return [c for c in comparing.compare_all(runs, overlap) if c.workload == 'omap-heavy']


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--results', type=Path, default=RESULTS)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-model-real'))
    measure.add_argument('--raw', type=Path, default=Path('/tmp/bench-model-real.raw'))
    measure.add_argument('--release')
    measure.add_argument('--only', action='append', metavar='TRIAL', help='may be repeated')
    measure.set_defaults(run=_measure)
    collect = commands.add_parser('collect', help='write the results of what was measured')
    collect.add_argument('--raw', type=Path, default=Path('/tmp/bench-model-real.raw'))
    collect.set_defaults(run=_collect)
    commands.add_parser('fit', help='write knowledge/model.json').set_defaults(run=_fit)
    compare = commands.add_parser('compare')
    compare.add_argument(
        '--held-out', action='store_true', help='show the runs that are not fitted to; noted'
    )
    compare.set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
