"""A run of the proof of the choice on a real cluster: see `bench_choice_trials.py`."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_choice_judge import Effect, Option, ProofRun, Reported, Weighed, Window, forced
from bench_choice_trials import FIGURES, PG_NUM, SYNC_MS, ProofTrial
from bench_cpu_runs import POOL

from harness import cores, osds
from harness.admin_socket import ask, osd_socket
from harness.cluster import Cluster
from harness.errors import HarnessError
from harness.layout import ClusterSpec
from harness.progress import Progress
from harness.services import make_pools
from harness.slow_sync import slow_down
from harness.thread_cpu import thread_cpu_s
from harness.verdict_run import set_module_options
from rocksdb_tuner.advise.candidates import expected_usages
from rocksdb_tuner.advise.case import Case
from rocksdb_tuner.advise.cohort import Cohort, group_cohort
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.advise.records import OsdFacts
from rocksdb_tuner.advise.strings import safe_to_apply
from rocksdb_tuner.advise.usage import Usage
from rocksdb_tuner.advise.whatif.tree import fill_s
from rocksdb_tuner.collection.report import read_report
from rocksdb_tuner.offline.judge import judge
from rocksdb_tuner.plan.commands import ShownSteps
from rocksdb_tuner.plan.records import OPTION

FIRST, SECOND, IDLE = 0, 1, 2
IMAGE = 'image'
POLL_S = 2.0
#: Of one load: until its window begins, and all of it. Advice goes by a load that has lasted.
BEFORE_S, BEFORE_ALL_S = 45.0, 115.0
AFTER_S, AFTER_ALL_S = 30.0, 180.0
#: Duration of the load before the change, when the module is queried first.
REPORTED_S, REPORT_EVERY_S = 75.0, 5.0
COMPACT_S = 120.0
#: Of OSDs that become idle: the load; from its end until the module is queried; in total.
IDLE_LOAD_S, IDLE_S, IDLE_ALL_S = 60.0, 150.0, 180.0
#: Of the module, without and with OSDs that become idle: none is to be advised on for what it had
#: to do before.
MODULE_OPTIONS = (('sample_interval=5',), ('sample_interval=5', 'workload_memory=60'))
#: In one write to RBD and to omap at once.
RBD_DEPTH, OMAP_DEPTH = 24, 16


class NotMadeError(HarnessError):
    """A run without a result, for a reason unrelated to the test."""


def spec_of(trial: ProofTrial) -> ClusterSpec:
    """Two OSDs for the load, and one of another class that has none."""
    idle_class = 'ssd' if trial.device_class == 'hdd' else 'nvme'
    conf = [
        ('osd_min_pg_log_entries', str(trial.log_entries)),
        ('osd_max_pg_log_entries', str(trial.log_entries)),
        ('osd_enable_op_tracker', 'false'),
        # An OSD without CPU is slow to report.
        ('osd_heartbeat_grace', '300'),
    ]
    if trial.device_class != 'hdd':
        # A file calls itself a hard disk, and small writes would then go through RocksDB.
        conf.append(('bluestore_debug_enforce_settings', 'ssd'))
    return ClusterSpec(
        release=trial.release,
        osds=3,
        pool_size=1,
        device_classes=(trial.device_class, trial.device_class, idle_class),
        db_size_bytes=trial.db_bytes or None,
        block_size_bytes=24 << 30,
        few_mgr_modules=True,
        orchestrator=False,
        slow_sync=bool(SYNC_MS[trial.scenario]),
        osd_conf=tuple(conf),
    )


def load(cluster: Cluster, trial: ProofTrial, seconds: float) -> None:
    """The same clients each time, for so long."""
    if trial.block_bytes:
        cluster.client.run(
            'fio', '--name=load', '--ioengine=rbd', '--clientname=admin', f'--pool={POOL}',
            f'--rbdname={IMAGE}', '--rw=randwrite', f'--bs={trial.block_bytes}',
            f'--iodepth={RBD_DEPTH}', '--thread=1', '--time_based', f'--runtime={seconds:g}',
            '--norandommap', f'--randseed={trial.seed}', '--output-format=json',
            timeout_s=seconds + 120,
        )  # fmt: skip
        return
    order = {
        'pool': POOL,
        'objects': trial.objects,
        'keys': trial.keys,
        'seconds': seconds,
        'depth': OMAP_DEPTH,
    }
    source = (Path(__file__).parent / 'bench_model_omap.py').read_text()
    cluster.client.run(
        '/usr/bin/python3', '-B', '-', json.dumps(order), stdin=source, timeout_s=seconds + 120
    )


@dataclass(frozen=True)
class Look:
    """The counters of one OSD at one time."""

    at_s: float
    writes: int
    wal_bytes: int
    sst_bytes: int
    kv_sync_cpu_s: float
    rocksdb_cpu_s: float
    rounds: int
    rounds_s: float
    waited_s: float
    used_bytes: int
    db_fill: float | None
    transactions: int = 0
    ops: int = 0
    ops_waited_s: float = 0.0
    osd_cpu_s: float = 0.0


def look(cluster: Cluster, osd: int, pid: int) -> Look:
    socket = osd_socket(cluster, osd)
    told: Mapping[str, Any] = ask(socket, 'perf dump')
    files, total = told['bluefs'], told['bluefs']['db_total_bytes']
    spent_s = thread_cpu_s(Path('/proc') / str(pid))
    of_rocksdb = sum(spent_s[name] for name in ('bstore_kv_sync', 'rocksdb:high', 'rocksdb:low'))
    return Look(
        at_s=time.monotonic(),
        writes=told['osd']['op_w'],
        wal_bytes=files['bytes_written_wal'],
        sst_bytes=files['bytes_written_sst'],
        kv_sync_cpu_s=spent_s['bstore_kv_sync'],
        rocksdb_cpu_s=of_rocksdb,
        rounds=told['bluestore']['kv_sync_lat']['avgcount'],
        rounds_s=told['bluestore']['kv_sync_lat']['sum'],
        waited_s=told['osd']['op_w_latency']['sum'],
        used_bytes=files['db_used_bytes'] + files['slow_used_bytes'] + files['wal_used_bytes'],
        db_fill=files['db_used_bytes'] / total if total else None,
        transactions=told['bluestore']['state_kv_queued_lat']['avgcount'],
        ops=told['osd']['op'],
        ops_waited_s=told['osd']['op_latency']['sum'],
        osd_cpu_s=spent_s['all'],
    )


def window(looks: Sequence[Look], since_s: float, least_writes: int = 100) -> Window:
    """The work of an OSD from ``since_s`` to its last sample; NotMadeError for almost none."""
    found = [one for one in looks if one.at_s >= since_s]
    if len(found) < 3 or found[-1].writes - found[0].writes < least_writes:
        raise NotMadeError('hardly anything was written')
    first, last = found[0], found[-1]
    fills = [one.db_fill for one in found if one.db_fill is not None]
    return Window(
        seconds=round(last.at_s - first.at_s, 1),
        writes=last.writes - first.writes,
        wal_bytes=last.wal_bytes - first.wal_bytes,
        sst_bytes=last.sst_bytes - first.sst_bytes,
        kv_sync_cpu_s=round(last.kv_sync_cpu_s - first.kv_sync_cpu_s, 4),
        rocksdb_cpu_s=round(last.rocksdb_cpu_s - first.rocksdb_cpu_s, 4),
        rounds=last.rounds - first.rounds,
        rounds_s=round(last.rounds_s - first.rounds_s, 3),
        waited_s=round(last.waited_s - first.waited_s, 3),
        used_bytes=statistics.fmean(one.used_bytes for one in found),
        db_fill=max(fills, default=None),
        transactions=last.transactions - first.transactions,
        ops=last.ops - first.ops,
        ops_waited_s=round(last.ops_waited_s - first.ops_waited_s, 3),
        osd_cpu_s=round(last.osd_cpu_s - first.osd_cpu_s, 4),
    )


@contextmanager
def watched(
    cluster: Cluster, osd_ids: Sequence[int] = (FIRST, SECOND)
) -> Iterator[dict[int, list[Look]]]:
    """The counters of these OSDs meanwhile."""
    status = cluster.status()
    pids = {osd: status.pid(f'osd.{osd}') for osd in osd_ids}
    looks: dict[int, list[Look]] = {osd: [] for osd in pids}
    stop = threading.Event()

    def go() -> None:
        while not stop.is_set():
            for osd, pid in pids.items():
                try:
                    looks[osd].append(look(cluster, osd, pid or 0))
                except (OSError, ValueError):
                    # It is busy, or was cut off: the next sample is soon enough.
                    continue
            stop.wait(POLL_S)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield looks
    finally:
        stop.set()
        thread.join()


def _effects(document: Sequence[Mapping[str, Any]]) -> tuple[Effect, ...]:
    return tuple(
        Effect(e['resource'], e['estimate_percent'], e['low_percent'], e['high_percent'])
        for e in document
    )


def reported_by(
    limits: Sequence[str],
    group: Mapping[str, Any],
    decision: Mapping[str, Any],
    advice: Sequence[Mapping[str, Any]],
) -> Reported:
    """From the answers of ``status``, ``candidates`` and ``recommend`` on one group."""
    workload = group['workload']
    return Reported(
        limits=tuple(limits),
        workload=None if workload is None else workload['class'],
        resource=decision['resource'],
        conclusion=decision['decision']['because'],
        min_gain=decision['min_gain_percent'] / 100,
        max_loss=decision['max_loss_percent'] / 100,
        candidates=tuple(
            Weighed(
                c['name'],
                c['origin'],
                c['options'],
                c['chosen'],
                bool(c['infeasible']),
                _effects(c['effects']),
            )
            for c in decision['candidates']
        ),
        recommended=tuple(r['options_to'] for r in advice if r['restart_required']),
    )


class _Asked:
    """The module's answers on the loaded and the idle group."""

    def __init__(self, cluster: Cluster) -> None:
        spec = cluster.record.spec
        self._cluster = cluster
        self.who = {osd: f'osd/class:{spec.class_of_osd(osd)}' for osd in (FIRST, IDLE)}
        self.limits: dict[int, list[str]] = {osd: [] for osd in self.who}

    def ask(self) -> None:
        groups = self._by_who(self._cluster.ceph_json('rocksdb-tuner', 'status')['groups'])
        for osd, who in self.who.items():
            if who in groups:
                self.limits[osd].append(groups[who]['limit']['resource'])

    def told(self, osd: int) -> Reported:
        who = self.who[osd]
        ask = self._cluster.ceph_json
        groups = self._by_who(ask('rocksdb-tuner', 'status')['groups'])
        decisions = self._by_who(ask('rocksdb-tuner', 'recommend', '--all'))
        advice = [r for r in ask('rocksdb-tuner', 'recommend') if self._is_for(r, osd)]
        if who not in groups or who not in decisions:
            raise NotMadeError(f'the module knows nothing of {who}')
        return reported_by(self.limits[osd], groups[who], decisions[who], advice)

    def _is_for(self, recommendation: Mapping[str, Any], osd: int) -> bool:
        return recommendation['who'] in {self.who[osd], f'osd.{osd}', 'osd'}

    @staticmethod
    def _by_who(found: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {one['who']: one for one in found}


def case_of(report: str, osd: int) -> Case:
    """The OSDs of the same class as this one in the module's report."""
    snapshot = judge(read_report(json.loads(report))).snapshot
    groups = [g for g in snapshot.groups if any(o.info.osd_id == osd for o in g.osds)]
    if not groups:
        raise NotMadeError('; '.join(snapshot.limitations) or 'the report has no data on the OSDs')
    found = group_cohort(groups[0], snapshot.osds, True, ShownSteps())
    if not isinstance(found, Cohort):
        raise NotMadeError(found)
    return Case(found)


def _expected_effect(usage: Usage) -> Effect:
    low, value, high = (round(100 * (end - 1), 1) for end in usage.ratio.ends)
    return Effect(usage.resource.value, value, low, high)


def _cycle_s(case: Case, scenario: str, options: str) -> float | None:
    """How long it takes until what the figure shows has come once; None: not known."""
    if scenario == 'db-space':
        # Triggers a compaction.
        return 0.0
    filled_s = fill_s(case.running, options, case.situation)
    if filled_s is None:
        return None
    if scenario == 'kv-sync':
        return filled_s
    triggers = [
        int(case.effective(text).get('level0_file_num_compaction_trigger', '4'))
        for text in (case.running, options)
    ]
    return filled_s * max(triggers)


def to_force(case: Case, scenario: str, told: Reported, window_s: float) -> Option | None:
    """The set to test without a recommendation: see `bench_choice_trials.py`."""
    candidates = list(told.candidates)
    if not candidates:
        for known in profiles():
            text = known.options
            refused = bool(safe_to_apply(text, case.release.rocksdb_version))
            effects = () if refused else tuple(map(_expected_effect, expected_usages(case, text)))
            candidates.append(Weighed(known.name, 'profile', text, False, refused, effects))
    options = [Option(c, _cycle_s(case, scenario, c.options)) for c in candidates]
    # A disk is relieved by what RocksDB does not write to it.
    resource = 'db-device' if scenario == 'data-device' else FIGURES[scenario]
    return forced(options, resource, window_s)


def make(trial: ProofTrial, directory: Path, progress: Progress) -> ProofRun:
    """The cluster is gone when this returns."""
    load_at_start = os.getloadavg()[1]
    with Cluster.up(spec_of(trial), directory, progress) as cluster:
        set_module_options(cluster, MODULE_OPTIONS[trial.scenario == 'idle'])
        _prepare(cluster, trial)
        if trial.scenario == 'idle':
            told, idle = _become_idle(cluster, trial)
            target, windows = _Target('', '', ()), []
        else:
            told, idle, report, before = _sample_before(cluster, trial)
            progress.say(f'limits {told.limits}, {told.workload}: {told.conclusion}')
            if told.workload != trial.workload:
                raise NotMadeError(f'the load was classified as {told.workload}')
            case = case_of(report, FIRST)
            target = _target(trial, told, case)
            progress.say(f'change to {target.name}: {target.options}')
            windows = [before]
            for changed, beside in ((FIRST, SECOND), (SECOND, FIRST)):
                cluster.ceph('config', 'set', f'osd.{changed}', OPTION, target.options)
                cluster.ceph('config', 'rm', f'osd.{beside}', OPTION)
                windows.append(_sample_after(cluster, trial))
            if trial.scenario == 'db-space':
                grown = math.sqrt(windows[1][SECOND].used_bytes * windows[2][FIRST].used_bytes)
                target = replace(target, effects=effects_at(case, target.options, grown))
        return ProofRun(
            trial=trial,
            version=cluster.ceph('version').split()[2],
            date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
            machine_load=round(max(load_at_start, os.getloadavg()[1]), 1),
            told=told,
            idle=idle,
            to_name=target.name,
            to_options=target.options,
            predicted=target.effects,
            first=tuple(found[FIRST] for found in windows),
            second=tuple(found[SECOND] for found in windows),
        )


def effects_at(case: Case, options: str, used_bytes: float) -> tuple[Effect, ...]:
    """For a database that has grown since: the WAL is a smaller part of it then."""

    used = round(used_bytes)

    def grown(osd: OsdFacts) -> OsdFacts:
        if osd.signals is None:
            return osd
        total = osd.signals.db_total_bytes
        on_device = used if total is None else min(used, total)
        signals = osd.signals._replace(db_used_bytes=on_device, slow_used_bytes=used - on_device)
        return osd._replace(signals=signals)

    cohort = replace(case.cohort, osds=tuple(map(grown, case.cohort.osds)))
    return tuple(map(_expected_effect, expected_usages(Case(cohort), options)))


def _sample_before(
    cluster: Cluster, trial: ProofTrial
) -> tuple[Reported, Reported, str, Mapping[int, Window]]:
    """The answers on loaded and idle OSDs, the module's report, and the work of the OSDs."""
    asked = _Asked(cluster)
    with watched(cluster) as looks, clients(cluster, trial, BEFORE_ALL_S) as began_s:
        wait_until(began_s + REPORTED_S)
        while time.monotonic() < began_s + BEFORE_ALL_S - 2 * REPORT_EVERY_S:
            asked.ask()
            time.sleep(REPORT_EVERY_S)
        told, idle = asked.told(FIRST), asked.told(IDLE)
        report = cluster.ceph('rocksdb-tuner', 'report')
    return told, idle, report, {osd: window(looks[osd], began_s + BEFORE_S) for osd in looks}


def _sample_after(cluster: Cluster, trial: ProofTrial) -> Mapping[int, Window]:
    """The work of both OSDs once they have started with their options."""
    osds.restart(cluster, (FIRST, SECOND))
    _throttle(cluster, trial)
    with watched(cluster) as looks, clients(cluster, trial, AFTER_ALL_S) as began_s:
        since_s = began_s + AFTER_S
        if trial.scenario == 'db-space':
            _compact(cluster)
            since_s = max(since_s, time.monotonic())
    return {osd: window(looks[osd], since_s) for osd in looks}


def _become_idle(cluster: Cluster, trial: ProofTrial) -> tuple[Reported, Reported]:
    """The answers on OSDs whose load has ended, and on one that never had any."""
    with clients(cluster, trial, IDLE_LOAD_S):
        pass
    ended_s = time.monotonic()
    asked = _Asked(cluster)
    wait_until(ended_s + IDLE_S)
    while time.monotonic() < ended_s + IDLE_ALL_S:
        asked.ask()
        time.sleep(REPORT_EVERY_S)
    return asked.told(FIRST), asked.told(IDLE)


@dataclass(frozen=True)
class _Target:
    name: str
    options: str
    effects: tuple[Effect, ...]


def _target(trial: ProofTrial, told: Reported, case: Case) -> _Target:
    if told.chosen is not None:
        return _Target(told.chosen.name, told.chosen.options, told.chosen.effects)
    found = to_force(case, trial.scenario, told, AFTER_ALL_S - AFTER_S)
    if found is None:
        raise NotMadeError('the model predicts no effect of any option set')
    # What was not chosen was weighed in short: the effects with all that is not known of the OSDs.
    effects = tuple(map(_expected_effect, expected_usages(case, found.weighed.options)))
    return _Target(found.weighed.name, found.weighed.options, effects)


def _prepare(cluster: Cluster, trial: ProofTrial) -> None:
    cluster.ceph('config', 'set', 'osd', OPTION, trial.options)
    osds.restart(cluster, range(cluster.record.spec.osds))
    application = 'rbd' if trial.block_bytes else 'rgw'
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), application, pg_num=PG_NUM)
    if trial.block_bytes:
        cluster.client.run(
            'rbd', 'create', f'{POOL}/{IMAGE}', '--size', f'{trial.image_gib}G',
            '--image-feature', 'layering',
        )  # fmt: skip
    _throttle(cluster, trial)


def _throttle(cluster: Cluster, trial: ProofTrial) -> None:
    """After each start: what is to bound the OSDs, as far as that is not their devices' size."""
    if trial.scenario == 'cores':
        pids = [cluster.status().pid(f'osd.{osd}') or 0 for osd in (FIRST, SECOND)]
        cores.pin(pids, {min(os.sched_getaffinity(0))})
    least_ms = SYNC_MS[trial.scenario]
    if least_ms:
        slow_down(cluster.dir, {FIRST: 0.0, SECOND: 0.0}, least_ms)


def _compact(cluster: Cluster) -> None:
    for osd in (FIRST, SECOND):
        cluster.ceph('tell', f'osd.{osd}', 'compact', timeout_s=COMPACT_S)


@contextmanager
def clients(cluster: Cluster, trial: ProofTrial, seconds: float) -> Iterator[float]:
    """The load during the block; it has ended when this returns."""
    failed: list[BaseException] = []

    def go() -> None:
        try:
            load(cluster, trial, seconds)
        except HarnessError as error:
            failed.append(error)

    thread = threading.Thread(target=go)
    began_s = time.monotonic()
    thread.start()
    try:
        yield began_s
    finally:
        thread.join()
    if failed:
        raise NotMadeError(f'the load failed: {failed[0]}')


def wait_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))
