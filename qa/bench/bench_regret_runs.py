"""A run of the regret on a real cluster: see `regret_trials.py`."""

from __future__ import annotations

import datetime as dt
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench_choice_judge import Window
from bench_choice_runs import IMAGE, NotMadeError, load, watched, window
from bench_choice_trials import PG_NUM, ProofTrial
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
)

from harness import osds
from harness.cluster import Cluster
from harness.layout import ClusterSpec
from harness.progress import Progress
from harness.services import FILE_SYSTEM, RGW_ID, make_pools
from harness.slow_sync import slow_down
from harness.verdict_run import set_module_options
from harness.workloads import WorkloadResult, rbd, run_workload
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.plan.records import OPTION

#: Of the load with defaults, after which the tuner is queried.
FIRST_S = 90.0
#: Of the load with one set each: until the window begins, and all of it.
WARM_UP_S, SECOND_S = 30.0, 120.0
#: A memtable of the log of a placement group holds as many entries as in the proof of the choice.
_LOG_ENTRIES = 120
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
    loads = [os.getloadavg()[1]]
    with Cluster.up(spec_of(trial.cell), directory, progress) as cluster:
        set_module_options(cluster, ('sample_interval=5',))
        sync_ms = FORMS[trial.cell.form].sync_ms
        if sync_ms:
            slow_down(directory, dict.fromkeys(range(OSDS), 0.0), sync_ms)
        _prepare(cluster, trial)
        asked = _ask(cluster, trial)
        default = cluster.ceph('config', 'show', 'osd.0', OPTION).strip()
        options = {
            DEFAULT: default,
            TUNER: asked.advice or default,
            trial.profile: profile(trial.profile).options,
        }
        did = _compare(cluster, trial, options)
        loads.append(os.getloadavg()[1])
        return Run(
            trial=trial,
            version=cluster.ceph('version').split()[2],
            date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
            machine_load=round(max(loads), 1),
            advice=asked.advice,
            conclusion=asked.conclusion,
            limit=asked.limit,
            options=options,
            did=did,
        )


def _prepare(cluster: Cluster, trial: Trial) -> None:
    """Pools with as many placement groups as load all OSDs alike; an image for random writes."""
    programs = CLIENTS.get(trial.cell.workload, ())
    kinds = {program.workload.partition('-')[0] for program in programs}
    spec, client = cluster.record.spec, cluster.client
    for kind in sorted(kinds):
        application, pools = _POOLS[kind]
        make_pools(client, spec, pools, application, pg_num=PG_NUM)
    if 's3' in kinds:
        shards = ('rgw_override_bucket_index_max_shards', str(_INDEX_SHARDS))
        cluster.ceph('config', 'set', f'client.{RGW_ID}', *shards)
    if programs:
        return
    cluster.install('rbd-client')
    of_rbd = trial.cell.workload in BLOCK_BYTES
    make_pools(client, spec, (POOL,), 'rbd' if of_rbd else 'rgw', pg_num=PG_NUM)
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
    conclusion: str | None
    limit: str


def _ask(cluster: Cluster, trial: Trial) -> _Asked:
    _run_clients(cluster, trial, FIRST_S)
    advice = cluster.ceph_json('rocksdb-tuner', 'recommend')
    groups = cluster.ceph_json('rocksdb-tuner', 'status')['groups']
    ends = [found['options_to'] for found in advice if found['restart_required']]
    if not groups or groups[0]['workload'] is None:
        raise NotMadeError('the module did not classify the load')
    group = groups[0]
    return _Asked(ends[0] if ends else None, group.get('conclusion'), group['limit']['resource'])


def _compare(cluster: Cluster, trial: Trial, options: dict[str, str]) -> dict[str, Window]:
    """The work of the OSDs under the same load, one option set each."""
    for osd, name in enumerate(trial.order):
        cluster.ceph('config', 'set', f'osd.{osd}', OPTION, options[name])
    everyone = range(OSDS)
    osds.restart(cluster, everyone)
    time.sleep(5)
    with watched(cluster, everyone) as looks:
        ran = _run_clients(cluster, trial, SECOND_S)
    return {
        name: window(
            [look for look in looks[osd] if look.at_s <= ran.ended_s], ran.began_s + WARM_UP_S
        )
        for osd, name in enumerate(trial.order)
    }
