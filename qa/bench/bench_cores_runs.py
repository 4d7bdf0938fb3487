"""OSDs that are throttled in a known way: their counters and their CPU usage."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench_cores_trials import Load, Throttle, Trial, trial_of

from harness import cores, slow_sync
from harness.admin_socket import ask, osd_socket
from harness.cluster import Cluster
from harness.layout import ClusterSpec
from harness.services import make_pools

OSDS = 3
IMAGE = 'image'
WARM_UP_S, SECONDS = 6.0, 15.0
_CGROUPS = Path('/sys/fs/cgroup')
_PERIOD_US = 100_000
_MOST_SHARES = 262_144

#: What is sent to the mgr by default in one release or another and has to do with time.
_COUNTERS: Mapping[str, tuple[str, ...]] = {
    'osd': (
        'op_w', 'op_r', 'op_rw', 'op_w_in_bytes', 'op_wip',
        *(f'op_{kind}{part}latency' for kind in ('w', 'r', 'rw')
          for part in ('_', '_process_', '_prepare_')),
        'op_before_queue_op_lat',
    ),
    'bluestore': (
        'kv_sync_lat', 'kv_flush_lat', 'kv_final_lat', 'state_prepare_lat', 'state_aio_wait_lat',
        'state_io_done_lat', 'state_kv_queued_lat', 'state_kv_commiting_lat', 'state_kv_done_lat',
        'state_finishing_lat', 'state_done_lat', 'throttle_lat', 'submit_lat', 'commit_lat',
        'txc_throttle_lat', 'txc_submit_lat', 'txc_commit_lat', 'onode_hits', 'onode_misses',
        'read_lat',
    ),
}  # fmt: skip


@dataclass(frozen=True)
class OsdSeen:
    """One OSD over one run."""

    osd: int
    seconds: float
    #: "osd.op_w": a number; "osd.op_w_latency": [seconds, times].
    counters: Mapping[str, float | list[float]]
    #: CPU that its threads used, and how long threads that could run waited for a core; without
    #: the kv_sync thread, which is held back by itself in some of the runs.
    cpu_s: float
    waited_s: float
    kv_sync_cpu_s: float
    kv_sync_waited_s: float


@dataclass(frozen=True)
class Run:
    trial: Trial
    version: str
    #: Share of the time that the machine's cores, and the first of them, had nothing to do.
    idle: float
    idle_first: float
    osds: list[OsdSeen]

    @property
    def is_proven(self) -> bool:
        """Whether what was to hold the clients back did.

        OSDs count as having cores enough where their threads wait for one no longer than five times
        what they run on it, and their kv_sync threads less than a fifth of the time. That is much:
        others kept the machine busy in all runs. It was decided after the runs that set thresholds
        were seen, and before those that are held out.
        """
        if self.trial.kind != 'cores':
            return self._has_cores()
        if self.trial.hold.how == 'cpu-shared':
            return self.idle_first <= 0.1
        allotted = self.trial.hold.strength / 100
        return all(
            osd.cpu_s + osd.kv_sync_cpu_s >= 0.85 * allotted * osd.seconds for osd in self.osds
        )

    def _has_cores(self) -> bool:
        if self.trial.hold.how != 'kv-quota' and any(
            osd.kv_sync_waited_s > 0.2 * osd.seconds for osd in self.osds
        ):
            return False
        return sum(osd.waited_s for osd in self.osds) <= 5 * sum(osd.cpu_s for osd in self.osds)


def spec(release: str) -> ClusterSpec:
    return ClusterSpec(
        release=release,
        osds=OSDS,
        orchestrator=False,
        module=None,
        few_mgr_modules=True,
        slow_sync=True,
        osd_conf=(
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
            ('osd_memory_target', str(2 << 30)),
            # An OSD without CPU is slow to report.
            ('osd_heartbeat_grace', '300'),
        ),
    )


def measure(trials: Sequence[Trial], directory: Path) -> Iterator[Run]:
    """All of one release, on one cluster."""
    with Cluster.up(spec(trials[0].release), directory) as cluster:
        cluster.install('rbd-client')
        for replicas in (1, OSDS):
            pool = _pool(replicas)
            make_pools(cluster.client, cluster.record.spec, (pool,), 'rbd', pg_num=32)
            sure = ('--yes-i-really-mean-it',) if replicas == 1 else ()
            cluster.ceph('osd', 'pool', 'set', pool, 'size', str(replicas), *sure)
            cluster.client.run(
                'rbd', 'create', f'{pool}/{IMAGE}', '--size', '1024', '--image-feature', 'layering'
            )
            # What is overwritten later is there.
            _run_clients(cluster, Load('fill', 1024, 8, replicas), 10.0)
        version = cluster.ceph('version').split()[2]
        for trial in trials:
            with _held(cluster, directory, trial.hold):
                yield _run(cluster, trial, version)


def _pool(replicas: int) -> str:
    return f'load{replicas}'


def _run_clients(cluster: Cluster, load: Load, seconds: float) -> None:
    pool = _pool(load.replicas)
    if load.clients == 'create':
        cluster.client.run(
            'rados', 'bench', '-p', pool, f'{seconds:.0f}', 'write',
            '-b', str(load.block_kib << 10), '-t', str(load.depth), '--no-cleanup',
            timeout_s=seconds + 120,
        )  # fmt: skip
        return
    kind = {'write': 'randwrite', 'mixed': 'randrw', 'fill': 'write'}[load.clients]
    rate = (f'--rate_iops={load.iops}',) if load.iops else ()
    cluster.client.run(
        'fio', '--name=load', '--ioengine=rbd', '--clientname=admin', f'--pool={pool}',
        f'--rbdname={IMAGE}', f'--rw={kind}', f'--bs={load.block_kib}k', f'--iodepth={load.depth}',
        '--thread=1', '--time_based', f'--runtime={seconds:g}', '--norandommap',
        '--output-format=json', *rate, timeout_s=seconds + 120,
    )  # fmt: skip


def _run(cluster: Cluster, trial: Trial, version: str) -> Run:
    failed: list[BaseException] = []

    def clients() -> None:
        try:
            _run_clients(cluster, trial.load, WARM_UP_S + SECONDS + 1)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=clients)
    thread.start()
    try:
        time.sleep(WARM_UP_S)
        idle, before = _idle(), [_sampled_at(cluster, osd) for osd in range(OSDS)]
        time.sleep(SECONDS)
        after, idle_after = [_sampled_at(cluster, osd) for osd in range(OSDS)], _idle()
    finally:
        thread.join()
    if failed:
        raise failed[0]
    shares = [
        (new[0] - old[0]) / max(1, new[1] - old[1])
        for old, new in zip(idle, idle_after, strict=True)
    ]
    return Run(
        trial,
        version,
        idle=round(shares[0], 4),
        idle_first=round(shares[1], 4),
        osds=[_seen(osd, before[osd], after[osd]) for osd in range(OSDS)],
    )


@dataclass(frozen=True)
class _Sample:
    time_s: float
    counters: Mapping[str, float | tuple[float, float]]
    scheduled: _Scheduled


def _sampled_at(cluster: Cluster, osd: int) -> _Sample:
    reported = ask(osd_socket(cluster, osd), 'perf dump')
    found: dict[str, float | tuple[float, float]] = {}
    for section, names in _COUNTERS.items():
        for name in names:
            value = reported[section].get(name)
            if isinstance(value, dict):
                found[f'{section}.{name}'] = (value['sum'], value['avgcount'])
            elif value is not None:
                found[f'{section}.{name}'] = value
    return _Sample(time.monotonic(), found, _scheduled(_pid(cluster, osd)))


def _pid(cluster: Cluster, osd: int) -> int:
    pid = cluster.status().pid(f'osd.{osd}')
    if pid is None:
        raise RuntimeError(f'osd.{osd} does not run')
    return pid


class _Scheduled(NamedTuple):
    """Seconds that threads ran, and waited for a core; those of the kv_sync thread apart."""

    cpu_s: float
    waited_s: float
    kv_sync_cpu_s: float
    kv_sync_waited_s: float


def _scheduled(pid: int) -> _Scheduled:
    found = [0.0] * len(_Scheduled._fields)
    for task in _threads(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            first = 2 if _is_kv_sync(task) else 0
            ran, waited, _ = (task / 'schedstat').read_text().split()
            found[first] += int(ran) * 1e-9
            found[first + 1] += int(waited) * 1e-9
    return _Scheduled(*found)


def _threads(pid: int) -> list[Path]:
    return list((Path('/proc') / str(pid) / 'task').iterdir())


def _seen(osd: int, before: _Sample, after: _Sample) -> OsdSeen:
    counters: dict[str, float | list[float]] = {}
    for name, new in after.counters.items():
        old = before.counters[name]
        if isinstance(new, tuple) and isinstance(old, tuple):
            counters[name] = [round(new[0] - old[0], 6), new[1] - old[1]]
        elif not isinstance(new, tuple) and not isinstance(old, tuple):
            counters[name] = new - old
    return OsdSeen(
        osd,
        seconds=round(after.time_s - before.time_s, 3),
        counters=counters,
        **{
            name: round(getattr(after.scheduled, name) - getattr(before.scheduled, name), 3)
            for name in _Scheduled._fields
        },
    )


def _idle() -> list[tuple[int, int]]:
    """Idle and all ticks of all cores together, and of the first."""
    found = []
    for line in Path('/proc/stat').read_text().splitlines()[:2]:
        ticks = [int(word) for word in line.split()[1:9]]
        # Waiting for a disk is idle too.
        found.append((ticks[3] + ticks[4], sum(ticks)))
    return found


# What holds OSDs back


@contextmanager
def _held(cluster: Cluster, directory: Path, hold: Throttle) -> Iterator[None]:
    pids = [_pid(cluster, osd) for osd in range(OSDS)]
    with ExitStack() as undo:
        if hold.how not in {'cpu-quota', 'cpu-shared'}:
            # These have cores, independent of other load on the machine.
            undo.enter_context(_group('cpu', 'first', pids, 'cgroup.procs'))
        if hold.how in {'cpu-quota', 'kv-quota', 'disk-mib', 'disk-iops'}:
            for pid in pids:
                undo.enter_context(_each(pid, directory, hold))
        elif hold.how == 'cpu-shared':
            undo.enter_context(_on_one_core(pids, hold.strength))
        elif hold.how == 'slow-sync':
            slow_sync.slow_down(directory, dict.fromkeys(range(OSDS), float(hold.strength)))
            undo.callback(slow_sync.slow_down, directory, {})
        elif hold.how != 'nothing':
            raise ValueError(hold.how)
        yield


def _each(pid: int, directory: Path, hold: Throttle) -> AbstractContextManager[None]:
    if hold.how == 'cpu-quota':
        return _quota([pid], 'cgroup.procs', f'{pid}', hold.strength)
    if hold.how == 'kv-quota':
        kv_sync = [int(task.name) for task in _threads(pid) if _is_kv_sync(task)]
        return _quota(kv_sync, 'tasks', f'{pid}', hold.strength)
    return _throttled(pid, directory, hold)


def _is_kv_sync(task: Path) -> bool:
    return (task / 'comm').read_text().startswith('bstore_kv_sync')


@contextmanager
def _group(controller: str, name: str, members: Sequence[int], file: str) -> Iterator[Path]:
    group = _CGROUPS / controller / f'qa-cores-{name}'
    group.mkdir()
    try:
        if controller == 'cpu':
            (group / 'cpu.shares').write_text(str(_MOST_SHARES))
        for member in members:
            (group / file).write_text(str(member))
        yield group
    finally:
        for left in (group / file).read_text().split():
            (_CGROUPS / controller / file).write_text(left)
        group.rmdir()


@contextmanager
def _quota(members: Sequence[int], file: str, name: str, percent: int) -> Iterator[None]:
    with _group('cpu', name, members, file) as group:
        (group / 'cpu.cfs_period_us').write_text(str(_PERIOD_US))
        (group / 'cpu.cfs_quota_us').write_text(str(_PERIOD_US * percent // 100))
        yield


@contextmanager
def _throttled(pid: int, directory: Path, hold: Throttle) -> Iterator[None]:
    device = directory.stat().st_dev
    # The device below the file system, of which a partition is throttled as a whole.
    number = f'{os.major(device)}:{os.minor(device)}'
    unit, limit = (
        ('bps', hold.strength << 20) if hold.how == 'disk-mib' else ('iops', hold.strength)
    )
    with _group('blkio', str(pid), [pid], 'cgroup.procs') as group:
        (group / f'blkio.throttle.write_{unit}_device').write_text(f'{number} {limit}')
        yield


@contextmanager
def _on_one_core(pids: Sequence[int], neighbors: int) -> Iterator[None]:
    busy = [
        subprocess.Popen(['taskset', '-c', '0', sys.executable, '-c', 'while True: pass'])
        for _ in range(neighbors)
    ]
    try:
        cores.pin(pids, {0})
        yield
    finally:
        cores.pin(pids, cores.ALL)
        for process in busy:
            process.kill()
            process.wait()


def document(runs: Sequence[Run], first_looked: str | None) -> dict[str, Any]:
    """The results, as they are kept."""
    return {
        'machine': 'two cores (AMD EPYC 9004, virtual) shared with other work; three OSDs on '
        'sparse files of one disk',
        'seconds': SECONDS,
        'held_out_first_looked_at': first_looked,
        'runs': [asdict(run) for run in runs],
    }


def runs_of(content: Mapping[str, Any]) -> list[Run]:
    return [
        Run(
            **{
                **entry,
                'trial': trial_of(entry['trial']),
                'osds': [OsdSeen(**osd) for osd in entry['osds']],
            }
        )
        for entry in content['runs']
    ]
