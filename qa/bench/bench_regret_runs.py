"""A run of the regret on a real cluster: see `regret_trials.py`."""

from __future__ import annotations

import datetime as dt
import os
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_choice_judge import Window
from bench_choice_runs import IMAGE, NotMadeError, load, watched, window
from bench_choice_trials import ProofTrial
from bench_cpu_runs import POOL
from regret_judge import Run
from regret_trials import (
    BLOCK_BYTES,
    CLIENTS,
    DEFAULT,
    FORMS,
    OSDS,
    TUNER,
    Cell,
    Client,
    Trial,
    published,
)

from harness import cores, osds
from harness.cluster import Cluster
from harness.layout import ClusterSpec
from harness.progress import Progress
from harness.services import FILE_SYSTEM, RGW_ID, make_pools
from harness.slow_sync import slow_down
from harness.verdict_run import set_module_options
from harness.workloads import WorkloadResult, rbd, run_workload
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.plan.records import OPTION

#: Of a load: until its window begins, and all of it. After the first phase the tuner is queried.
FIRST_WARM_UP_S, FIRST_S = 30.0, 90.0
WARM_UP_S, PHASE_S = 12.0, 50.0
#: Of clients side by side, which make their objects first.
_MAKE_S = 5.0
#: Of one OSD: enough to load all of them alike.
_PGS_PER_OSD = 64
#: A memtable of the log of a placement group holds as many entries as in the proof of the choice.
_LOG_ENTRIES = 120
#: All on one core, without the interrupts of the disk, whose time is charged to the thread that
#: happens to run there.
ROCKSDB_THREADS = ('bstore_kv_sync', 'rocksdb:')
#: Index objects of a bucket: enough to load all OSDs alike.
_INDEX_SHARDS = 96
#: The application, and its pools that a workload writes to, by the first word of a client's name.
_POOLS = {
    's3': ('rgw', ('default.rgw.buckets.index', 'default.rgw.buckets.data')),
    'cephfs': ('cephfs', (f'{FILE_SYSTEM}_meta', f'{FILE_SYSTEM}_data')),
    'rbd': ('rbd', (rbd.POOL,)),
}


def spec_of(cell: Cell) -> ClusterSpec:
    form = FORMS[cell.form]
    return ClusterSpec(
        release=cell.release,
        osds=OSDS,
        pool_size=1,
        db_size_bytes=None if form.db_mib is None else form.db_mib << 20,
        block_size_bytes=24 << 30,
        few_mgr_modules=True,
        orchestrator=False,
        slow_sync=bool(form.sync_ms),
        osd_conf=(
            ('osd_memory_target', str(form.memory_gib << 30)),
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
            ('osd_min_pg_log_entries', str(_LOG_ENTRIES)),
            ('osd_max_pg_log_entries', str(_LOG_ENTRIES)),
        ),
    )


def load_of(trial: Trial) -> ProofTrial:
    """The clients, as the proof of the choice describes them."""
    return ProofTrial(
        trial.name, trial.seed, trial.cell.release, 'kv-sync', '', db_bytes=0,
        log_entries=_LOG_ENTRIES, block_bytes=BLOCK_BYTES.get(trial.cell.workload, 0),
        image_gib=3, objects=256, keys=25,
    )  # fmt: skip


@dataclass(frozen=True)
class _Ran:
    """When all clients were at work, by the monotonic clock."""

    began_s: float
    ended_s: float


def _run_clients(cluster: Cluster, trial: Trial, seconds: float) -> _Ran:
    """The programs of the trial's workload, side by side; what they prepare comes before."""
    began_s = time.monotonic()
    programs = CLIENTS.get(trial.cell.workload)
    if programs is None:
        load(cluster, load_of(trial), seconds)
        return _Ran(began_s, time.monotonic())

    def run(program: Client) -> WorkloadResult:
        return run_workload(cluster, program.workload, seconds, **program.parameters)

    with ThreadPoolExecutor(len(programs)) as pool:
        results = list(pool.map(run, programs))
    failed = [result.error_messages for result in results if not result.ok]
    if failed:
        raise NotMadeError(f'requests failed: {failed}')
    wall_s = time.time() - time.monotonic()
    return _Ran(
        max(result.began_s for result in results) - wall_s,
        min(result.began_s + result.seconds for result in results) - wall_s,
    )


def make(trial: Trial, directory: Path, progress: Progress) -> Run:
    """Fresh OSDs; the cluster is gone when this returns."""
    loads, began_s = [os.getloadavg()[1]], time.monotonic()
    with Cluster.up(spec_of(trial.cell), directory, progress) as cluster, cluster.quick_commands():
        set_module_options(cluster, ('sample_interval=5',))
        sync_ms = FORMS[trial.cell.form].sync_ms
        if sync_ms:
            slow_down(directory, dict.fromkeys(range(OSDS), 0.0), sync_ms)
        _prepare(cluster, trial)
        done = [_phase(cluster, trial, FIRST_WARM_UP_S, FIRST_S)]
        asked = _ask(cluster)
        progress.say(f'limit {asked.limit}: {asked.decision}')
        options = _options(cluster, trial, asked)
        for number, names in enumerate(trial.phases, 1):
            with progress.step(f'phase {number} of {len(trial.phases)}'):
                _set_options(cluster, [options[name] for name in names])
                done.append(_phase(cluster, trial, WARM_UP_S, PHASE_S))
        loads.append(os.getloadavg()[1])
        version = cluster.ceph('version').split()[2]
    return Run(
        trial=trial,
        version=version,
        date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
        minutes=round((time.monotonic() - began_s) / 60, 1),
        machine_load=round(max(loads), 1),
        others_cores=round(max(phase.others_cores for phase in done), 2),
        advice=asked.advice,
        conclusion=asked.decision,
        limit=asked.limit,
        options=options,
        did=tuple(phase.did for phase in done),
    )


def _options(cluster: Cluster, trial: Trial, asked: _Asked) -> dict[str, str]:
    """Of all published profiles, also those without a place: the tuner may end with one."""
    default = cluster.ceph('config', 'show', 'osd.0', OPTION).strip()
    return {
        DEFAULT: default,
        TUNER: asked.advice or default,
        **{name: profile(name).options for name in sorted(published(trial.cell.release))},
    }


def _set_options(cluster: Cluster, options: Sequence[str]) -> None:
    """One set for each OSD; all of them restart."""
    for osd, text in enumerate(options):
        cluster.ceph('config', 'set', f'osd.{osd}', OPTION, text)
    osds.restart(cluster, range(OSDS))


def _prepare(cluster: Cluster, trial: Trial) -> None:
    """Pools with as many placement groups as load all OSDs alike; an image for random writes."""
    programs = CLIENTS.get(trial.cell.workload, ())
    kinds = {program.workload.partition('-')[0] for program in programs}
    spec, client = cluster.record.spec, cluster.client
    pg_num = OSDS * _PGS_PER_OSD
    for kind in sorted(kinds):
        application, pools = _POOLS[kind]
        make_pools(client, spec, pools, application, pg_num=pg_num // len(pools))
    if 's3' in kinds:
        shards = ('rgw_override_bucket_index_max_shards', str(_INDEX_SHARDS))
        cluster.ceph('config', 'set', f'client.{RGW_ID}', *shards)
    if len(programs) > 1:
        # What they read is there, and they begin together in the first phase.
        _run_clients(cluster, trial, _MAKE_S)
    if programs:
        return
    cluster.install('rbd-client')
    of_rbd = trial.cell.workload in BLOCK_BYTES
    make_pools(client, spec, (POOL,), 'rbd' if of_rbd else 'rgw', pg_num=pg_num)
    if of_rbd:
        cluster.client.run(
            'rbd', 'create', f'{POOL}/{IMAGE}', '--size', f'{load_of(trial).image_gib}G',
            '--image-feature', 'layering',
        )  # fmt: skip


@dataclass(frozen=True)
class _Asked:
    """What the tuner answers after the load."""

    #: The recommended options; None: no change.
    advice: str | None
    #: What the module says to do, and why.
    decision: str
    limit: str


def _ask(cluster: Cluster) -> _Asked:
    advice = cluster.ceph_json('rocksdb-tuner', 'recommend')
    status = cluster.ceph_json('rocksdb-tuner', 'status')
    groups = status['groups']
    ends = [found['options_to'] for found in advice if found['restart_required']]
    group: dict[str, Any] = groups[0] if groups else {'workload': None}
    if group['workload'] is None or group['workload']['class'] == 'idle':
        # Too little for advice on the load, as where other work takes the cores
        raise NotMadeError('the module did not classify the load, or as idle')
    (decision,) = [d for d in status['decisions'] if d['who'] == group['who']]
    said = f'{decision["do"]}: {decision["because"]}'
    return _Asked(ends[0] if ends else None, said, group['limit']['resource'])


@dataclass(frozen=True)
class _Phase:
    #: By OSD.
    did: tuple[Window, ...]
    others_cores: float


def _phase(cluster: Cluster, trial: Trial, warm_up_s: float, seconds: float) -> _Phase:
    """The work of the OSDs under the load."""
    shared, pids = FORMS[trial.cell.form].cores, _osd_pids(cluster)
    # OSDs have restarted with other options.
    if shared is not None:
        cores.pin(pids, range(shared))
    else:
        cores.pin(pids, {cores.least_interrupted()}, ROCKSDB_THREADS)
    began_s, busy_s, own_s = time.monotonic(), _busy_s(), _own_s(cluster)
    with watched(cluster, range(OSDS)) as looks:
        ran = _run_clients(cluster, trial, seconds)
    others_s = (_busy_s() - busy_s) - (_own_s(cluster) - own_s)
    windows = []
    for osd in range(OSDS):
        seen = [look for look in looks[osd] if look.at_s <= ran.ended_s]
        windows.append(window(seen, ran.began_s + warm_up_s, least_writes=0))
    return _Phase(tuple(windows), max(0.0, others_s) / (time.monotonic() - began_s))


def _osd_pids(cluster: Cluster) -> list[int]:
    daemons = cluster.status()
    found = (daemons.pid(f'osd.{osd}') for osd in range(OSDS))
    return [pid for pid in found if pid is not None]


def _busy_s() -> float:
    """CPU time of the machine that was not idle, or that the hypervisor gave to others."""
    ticks = [int(word) for word in Path('/proc/stat').read_text().splitlines()[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf('SC_CLK_TCK')


def _own_s(cluster: Cluster) -> float:
    """CPU time of the daemons, of this process and of the clients that it has ended."""
    spent = 0.0
    for daemon in cluster.status().daemons:
        if daemon.pid is not None:
            # After the name, which may have spaces in it
            fields = Path(f'/proc/{daemon.pid}/stat').read_text().rpartition(')')[2].split()
            spent += (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent
