"""How soon the module on real clusters knows what it reports: see `time_to_truth_judge.py`."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import machine
from rollout_judged import override
from time_to_truth_judge import (
    Classes,
    Enabling,
    Look,
    Onset,
    Rollout,
    Taken,
    events_of,
    minimums,
)

from harness.client import wait_until
from harness.cluster import Cluster
from harness.errors import HarnessError
from harness.layout import ClusterSpec
from harness.progress import Progress
from harness.verdict_run import set_module_options
from harness.workloads import run_workload
from harness.workloads.overwriter import Overwriter
from rocksdb_tuner.operations.phases import FINAL_PHASES

MODULE = 'rocksdb_tuner'
OSDS = 4
POLL_S = 0.5
#: Of a workload; idle before it, at most.
SECONDS, IDLE_S = 90.0, 300.0
FOUND_S = 600.0
#: Of the client during a rollout.
WRITES_PER_S = 200
SETTLE_S = 60.0
ADVICE_S, ROLLOUT_S = 600.0, 10_800.0
FINAL = frozenset(phase.value for phase in FINAL_PHASES)
#: Workloads, and their classes.
WORKLOADS: Mapping[str, str] = {
    'rbd-randwrite': 'rbd-small-write',
    's3-put': 'rgw-metadata',
    'cephfs-metadata': 'cephfs-metadata',
    'rbd-seqwrite': 'large-write',
    'rbd-randread': 'read-mostly',
}
#: A rollout neither waits for an operator nor is rolled back for want of a gain.
_TO_THE_END = {'soak_no_benefit': 'promote', 'soak_inconclusive': 'promote'}
#: Options of the module, by the name of a soak.
SOAKS: Mapping[str, Mapping[str, str]] = {
    'none': {**_TO_THE_END, 'soak_max': '0'},
    'short': {
        **_TO_THE_END, 'soak_min': '60', 'soak_max': '300',
        'batch_soak_min': '60', 'batch_soak_max': '120',
    },
    'default': _TO_THE_END,
}  # fmt: skip

_T = TypeVar('_T')


def spec(release: str) -> ClusterSpec:
    """A host for each OSD; all modules of Ceph, as in a manager in production.

    Room for the WAL, which the string that is found has no limit for, in an hour.
    """
    return ClusterSpec(release=release, osds=OSDS, crush_hosts=OSDS, block_size_bytes=32 << 30)


@contextmanager
def _cluster(release: str, directory: Path, progress: Progress) -> Iterator[Cluster]:
    with Cluster.up(spec(release), directory, progress) as cluster, cluster.quick_commands():
        yield cluster


def _taken(cluster: Cluster, loads: Sequence[float]) -> Taken:
    return Taken(
        version=cluster.ceph('version').split()[2],
        date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
        machine=machine.describe(),
        machine_load=round(max(loads), 1),
        osds=OSDS,
    )


def classes(release: str, directory: Path, workloads: Sequence[str], progress: Progress) -> Classes:
    """The module is enabled on a cluster with something to find, then each workload runs."""
    loads = [os.getloadavg()[1]]
    with _cluster(release, directory, progress) as cluster:
        override(cluster)
        with progress.step('enable the module'):
            enabling = _enable(cluster)
        onsets = []
        if any(name.startswith('s3') for name in workloads):
            cluster.install('s3-client')
            cluster.ensure_rgw()
        if 'cephfs-metadata' in workloads:
            cluster.install('cephfs-client')
            cluster.ensure_mds()
        for name in workloads:
            with progress.step(f'{name} for {SECONDS:g} s'):
                onsets.append(_onset(cluster, name))
            loads.append(os.getloadavg()[1])
        return Classes(_taken(cluster, loads), enabling, tuple(onsets))


def _enable(cluster: Cluster) -> Enabling:
    before = _active(cluster)
    cluster.ceph('mgr', 'module', 'disable', MODULE)
    # The manager starts again
    _, before = _first(lambda: _active(cluster, before), 'the manager is active')
    since_s = time.time()
    cluster.ceph('mgr', 'module', 'enable', MODULE)

    def sampled() -> bool:
        status = _tuner(cluster, 'status')
        return bool(status) and status['sampling']['osds'] == OSDS

    active_s, _ = _first(lambda: _active(cluster, before), 'the manager is active')
    answers_s, _ = _first(lambda: _tuner(cluster, 'status'), 'the module answers')
    sampled_s, _ = _first(sampled, 'all OSDs are sampled')
    found_s, found = _first(lambda: _tuner(cluster, 'findings'), 'there is a finding')
    return Enabling(
        active_s=round(active_s - since_s, 2),
        answers_s=round(answers_s - since_s, 2),
        sampled_s=round(sampled_s - since_s, 2),
        found_s=round(found_s - since_s, 2),
        findings=tuple(finding['id'] for finding in found),
    )


def _active(cluster: Cluster, before: int | None = None) -> int | None:
    """The id of the active manager's process; None without one, or if it is still ``before``."""
    dump = cluster.ceph_json('mgr', 'dump')
    active: int = dump['active_gid']
    return active if dump['available'] and active != before else None


def _tuner(cluster: Cluster, *words: str) -> Any:
    """The answer of the module; None while it does not answer."""
    try:
        return cluster.ceph_json('rocksdb-tuner', *words)
    except HarnessError:
        return None


def _first(look: Callable[[], _T], what: str) -> tuple[float, _T]:
    """The time of the first answer that is true, and the answer."""
    deadline_s = time.monotonic() + FOUND_S
    while time.monotonic() < deadline_s:
        found = look()
        if found:
            return time.time(), found
        time.sleep(POLL_S)
    raise HarnessError(f'{what}: not so after {FOUND_S:g} s')


def _class(cluster: Cluster) -> str | None:
    groups = cluster.ceph_json('rocksdb-tuner', 'workload')['groups']
    workload = groups[0]['workload'] if groups else None
    return None if workload is None else str(workload['class'])


def _onset(cluster: Cluster, name: str) -> Onset:
    wait_until(lambda: _class(cluster) == 'idle', IDLE_S, 'the OSDs are idle', poll_s=1.0)
    seen: list[tuple[float, str | None]] = []
    with ThreadPoolExecutor(max_workers=1) as beside:
        done = beside.submit(run_workload, cluster, name, SECONDS)
        while not done.done():
            found = _class(cluster)
            if not seen or seen[-1][1] != found:
                seen.append((time.time(), found))
            time.sleep(POLL_S)
        result = done.result()
    if not result.ok:
        raise HarnessError(f'{name} failed: {result.error_messages}')
    return Onset(
        workload=name,
        expected=WORKLOADS[name],
        interval_s=_tuner(cluster, 'status')['sampling']['interval_s'],
        seconds=result.seconds,
        classes=tuple((round(at_s - result.began_s, 2), found) for at_s, found in seen),
    )


def rollout(release: str, directory: Path, soak: str, progress: Progress) -> Rollout:
    """All OSDs run an old default, and what the module recommends for them is applied."""
    loads = [os.getloadavg()[1]]
    with _cluster(release, directory, progress) as cluster:
        set_module_options(cluster, (f'{name}={value}' for name, value in SOAKS[soak].items()))
        override(cluster)
        writer = Overwriter(cluster, WRITES_PER_S, 0, round(SETTLE_S + ADVICE_S + ROLLOUT_S))
        writer.start()
        try:
            time.sleep(SETTLE_S)
            found = _rollout(cluster, soak, loads)
        finally:
            writer.kill()
        return found


def _rollout(cluster: Cluster, soak: str, loads: list[float]) -> Rollout:
    def advised() -> Any:
        advice = cluster.ceph_json('rocksdb-tuner', 'recommend')
        return next((one['id'] for one in advice if one['restart_required']), None)

    wait_until(lambda: advised() is not None, ADVICE_S, 'a recommendation', poll_s=1.0)
    recommendation = advised()
    began_s = time.time()
    cluster.ceph('rocksdb-tuner', 'recommendation', 'apply', recommendation)
    looks: list[Look] = []
    state = _tuner(cluster, 'operation', 'status')
    while state['phase'] not in FINAL and time.time() - began_s < ROLLOUT_S:
        _look(cluster, state, time.time() - began_s, looks)
        loads.append(os.getloadavg()[1])
        time.sleep(POLL_S)
        state = cluster.ceph_json('rocksdb-tuner', 'operation', 'status')
    # Lines of the managers come to the log of the monitors with a delay.
    time.sleep(10)
    log = cluster.host.outside(cluster.layout.logs / 'cluster.log')
    baseline_s, canary_s, batch_s = minimums(state['soak'])
    return Rollout(
        taken=_taken(cluster, loads),
        options=SOAKS[soak],
        recommendation=recommendation,
        batches=tuple(tuple(batch['osds']) for batch in state['batches']),
        baseline_s=baseline_s,
        canary_s=canary_s,
        batch_s=batch_s,
        events=tuple(events_of(log.read_text(errors='replace').splitlines(), state['id'], began_s)),
        looks=tuple(looks),
        phase=state['phase'],
    )


def _look(cluster: Cluster, state: Any, at_s: float, looks: list[Look]) -> None:
    verdicts = tuple(batch['verdict'] for batch in state['batches'])
    found = Look(round(at_s, 2), cluster.pgs_are_clean(), verdicts)
    if not looks or (looks[-1].clean, looks[-1].verdicts) != (found.clean, found.verdicts):
        looks.append(found)
