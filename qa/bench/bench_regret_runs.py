"""A run of the regret on a real cluster: see `regret_trials.py`."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

from bench_choice_judge import Window
from bench_choice_runs import IMAGE, NotMadeError, clients, wait_until, watched, window
from bench_choice_trials import PG_NUM, ProofTrial
from bench_cpu_runs import POOL
from regret_judge import Run
from regret_trials import DEFAULT, FORMS, OSDS, TUNER, Cell, Trial

from harness import osds
from harness.cluster import Cluster
from harness.layout import DEFAULT_MEMORY, ClusterSpec
from harness.progress import Progress
from harness.services import make_pools
from harness.verdict_run import set_module_options
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.plan.records import OPTION

#: Of the load with defaults: until the tuner is queried, and in total.
ASKED_S, FIRST_S = 75.0, 90.0
#: Of the load with one set each: until the window begins, and all of it.
WARM_UP_S, SECOND_S = 30.0, 120.0
#: A memtable of the log of a placement group holds as many entries as in the proof of the choice.
_LOG_ENTRIES = 120
_BLOCK_BYTES = {'rbd-4k': 4096, 'rbd-16k': 16384, 'rbd-32k': 32768}


def spec_of(cell: Cell) -> ClusterSpec:
    db_mib = FORMS[cell.form]
    return ClusterSpec(
        release=cell.release,
        osds=OSDS,
        pool_size=1,
        db_size_bytes=None if db_mib is None else db_mib << 20,
        block_size_bytes=24 << 30,
        few_mgr_modules=True,
        orchestrator=False,
        osd_conf=(
            *DEFAULT_MEMORY,
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
        log_entries=_LOG_ENTRIES, block_bytes=_BLOCK_BYTES.get(trial.cell.workload, 0),
        image_gib=3, objects=256, keys=25,
    )  # fmt: skip


def make(trial: Trial, directory: Path, progress: Progress) -> Run:
    """Fresh OSDs; the cluster is gone when this returns."""
    loads = [os.getloadavg()[1]]
    with Cluster.up(spec_of(trial.cell), directory, progress) as cluster:
        set_module_options(cluster, ('sample_interval=5',))
        _prepare(cluster, trial)
        advice, conclusion = _ask(cluster, trial)
        default = cluster.ceph('config', 'show', 'osd.0', OPTION).strip()
        options = {
            DEFAULT: default,
            TUNER: advice or default,
            trial.profile: profile(trial.profile).options,
        }
        did = _compare(cluster, trial, options)
        loads.append(os.getloadavg()[1])
        return Run(
            trial=trial,
            version=cluster.ceph('version').split()[2],
            date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
            machine_load=round(max(loads), 1),
            advice=advice,
            conclusion=conclusion,
            options=options,
            did=did,
        )


def _prepare(cluster: Cluster, trial: Trial) -> None:
    cluster.install('rbd-client')
    of_rbd = trial.cell.workload in _BLOCK_BYTES
    application = 'rbd' if of_rbd else 'rgw'
    make_pools(cluster.client, cluster.record.spec, (POOL,), application, pg_num=PG_NUM)
    if of_rbd:
        cluster.client.run(
            'rbd', 'create', f'{POOL}/{IMAGE}', '--size', f'{load_of(trial).image_gib}G',
            '--image-feature', 'layering',
        )  # fmt: skip


def _ask(cluster: Cluster, trial: Trial) -> tuple[str | None, str | None]:
    """(what the tuner recommends under the load, None for no change; its conclusion)."""
    with clients(cluster, load_of(trial), FIRST_S) as began_s:
        wait_until(began_s + ASKED_S)
        advice = cluster.ceph_json('rocksdb-tuner', 'recommend')
        groups = cluster.ceph_json('rocksdb-tuner', 'status')['groups']
    ends = [found['options_to'] for found in advice if found['restart_required']]
    if not groups or groups[0]['workload'] is None:
        raise NotMadeError('the module did not classify the load')
    return (ends[0] if ends else None), groups[0].get('conclusion')


def _compare(cluster: Cluster, trial: Trial, options: dict[str, str]) -> dict[str, Window]:
    """The work of the OSDs under the same load, one option set each."""
    for osd, name in enumerate(trial.order):
        cluster.ceph('config', 'set', f'osd.{osd}', OPTION, options[name])
    everyone = range(OSDS)
    osds.restart(cluster, everyone)
    time.sleep(5)
    with watched(cluster, everyone) as looks, clients(cluster, load_of(trial), SECOND_S) as began_s:
        pass
    return {name: window(looks[osd], began_s + WARM_UP_S) for osd, name in enumerate(trial.order)}
