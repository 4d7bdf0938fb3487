"""Measures the cost of RocksDB's statistics on real OSDs: see `osd_cost_design.py`."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
from bench_cpu_runs import options_of
from osd_cost_design import (
    ADMIN,
    ALL,
    DESIGNS,
    KV_STATS,
    OSDS,
    PERF_DUMP,
    THREADS,
    Cell,
    Design,
    Reading,
    Run,
    Setting,
)

from harness import osds
from harness.admin_socket import ask, osd_socket, query_text
from harness.cluster import Cluster
from harness.errors import HarnessError
from harness.layout import ClusterSpec
from harness.progress import Progress
from harness.services import make_pools
from harness.thread_cpu import thread_cpu_s
from harness.workloads.rbd import POOL, Fio, new_image
from rocksdb_tuner.plan.records import OPTION

IMAGE, IMAGE_BYTES = 'osd-cost', 1 << 30
#: Enough to load all OSDs alike.
PG_NUM = 128
#: Small memtables, so that flushes and compactions are always under way.
OPTION_SET, SCALE = 'small, LZ4', 64
#: Of each period, before its window.
WARM_UP_S = {'running': 8.0, 'restarted': 20.0}
#: Of the client, behind the window.
MARGIN_S = 10.0
CALLS = 10


@dataclass(frozen=True)
class Plan:
    """The extent of a measurement."""

    rate_iops: int = 800
    squares: int = 2
    window_s: float = 60.0

    @property
    def minutes(self) -> float:
        """About how long it takes on a quiet machine."""
        # Restarts take some 25 s more
        each = (sum(WARM_UP_S.values()) + 25.0) / len(DESIGNS) + self.window_s + MARGIN_S
        return 2 + len(DESIGNS) * self.squares * OSDS * each / 60


def spec(release: str) -> ClusterSpec:
    return ClusterSpec(
        release=release,
        osds=OSDS,
        pool_size=1,
        module=None,
        orchestrator=False,
        few_mgr_modules=True,
        osd_conf=(
            # A file calls itself a hard disk, and small writes would then go through RocksDB.
            ('bluestore_debug_enforce_settings', 'ssd'),
        ),
    )


def measure(release: str, directory: Path, plan: Plan, progress: Progress) -> Run:
    """Both designs on fresh OSDs; the cluster is gone when this returns."""
    loads = [os.getloadavg()[1]]
    cells: list[Cell] = []
    readings: list[Reading] = []
    with Cluster.up(spec(release), directory, progress) as cluster, cluster.quick_commands():
        _prepare(cluster)
        for design in DESIGNS:
            if not design.restarts:
                _leave_behind(cluster)
            for period in range(plan.squares * OSDS):
                with progress.step(f'{design.name}, period {period}'):
                    cells += _period(cluster, design, period, plan, readings)
                loads.append(os.getloadavg()[1])
        version = cluster.ceph('version').split()[2]
    return Run(
        version=version,
        date=dt.datetime.now(dt.timezone.utc).isoformat(timespec='minutes'),
        machine=machine.describe(),
        machine_load=round(max(loads), 1),
        rate_iops=plan.rate_iops,
        cells=tuple(cells),
        readings=tuple(readings),
    )


def _prepare(cluster: Cluster) -> None:
    """The option set, and an image without holes."""
    cluster.ceph('config', 'set', 'osd', OPTION, options_of(OPTION_SET, SCALE))
    osds.restart(cluster, range(OSDS))
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)
    new_image(cluster, IMAGE, IMAGE_BYTES)
    job = {'rw': 'write', 'bs': '4M', 'iodepth': '8', 'size': str(IMAGE_BYTES)}
    _fio(cluster, 'fill', job, 600.0)


def _fio(cluster: Cluster, name: str, job: Mapping[str, str], timeout_s: float) -> None:
    run, messages = Fio(cluster, IMAGE).run(name, job, timeout_s, 'write')
    if run.error:
        raise HarnessError(f'the client failed: {messages}')


def _leave_behind(cluster: Cluster) -> None:
    """All options on and off once: "off" of the running OSDs is not that of a new process."""
    for osd in range(OSDS):
        _set(cluster, osd, ALL)
        query_text(osd_socket(cluster, osd), KV_STATS)
        _set(cluster, osd, ())


def _period(
    cluster: Cluster, design: Design, period: int, plan: Plan, readings: list[Reading]
) -> list[Cell]:
    settings = [design.setting(osd, period) for osd in range(OSDS)]
    if design.restarts:
        _restart(cluster, settings)
    for osd, setting in enumerate(settings):
        if setting.once:
            _set(cluster, osd, setting.once)
            query_text(osd_socket(cluster, osd), KV_STATS)
        _set(cluster, osd, setting.running)
    warm_up_s = WARM_UP_S[design.name]
    with _client(cluster, plan, warm_up_s + plan.window_s + MARGIN_S):
        time.sleep(warm_up_s)
        before = [_look(cluster, osd) for osd in range(OSDS)]
        time.sleep(plan.window_s)
        after = [_look(cluster, osd) for osd in range(OSDS)]
        readings += [
            _reading(cluster, design, period, osd, setting, command)
            for osd, setting in enumerate(settings)
            for command in (PERF_DUMP, KV_STATS)[: 1 + setting.answers]
        ]
    return [
        _cell(design, period, osd, setting, before[osd], after[osd])
        for osd, setting in enumerate(settings)
    ]


def _restart(cluster: Cluster, settings: list[Setting]) -> None:
    for osd, setting in enumerate(settings):
        for option in ALL:
            value = 'true' if option in setting.at_start else 'false'
            cluster.ceph('config', 'set', f'osd.{osd}', option, value)
    osds.restart(cluster, range(OSDS))


@contextmanager
def _client(cluster: Cluster, plan: Plan, seconds: float) -> Iterator[None]:
    """4 KiB random writes at a pace that the OSDs keep up with."""
    job = {
        'rw': 'randwrite', 'bs': '4096', 'iodepth': '16', 'norandommap': '1', 'time_based': '1',
        'runtime': f'{seconds:g}', 'size': str(IMAGE_BYTES), 'rate_iops': str(plan.rate_iops),
    }  # fmt: skip
    with ThreadPoolExecutor(max_workers=1) as beside:
        done = beside.submit(_fio, cluster, 'load', job, seconds + 120.0)
        try:
            yield
        finally:
            done.result()


def _set(cluster: Cluster, osd: int, enabled: tuple[str, ...]) -> None:
    """Enable these options in the running OSD, as the module does, and no others."""
    socket = osd_socket(cluster, osd)
    for option in ALL:
        if option in enabled:
            query_text(socket, 'config set', var=option, val=['true'])
        else:
            query_text(socket, 'config unset', var=option)


@dataclass(frozen=True)
class _Look:
    at_s: float
    told: Mapping[str, Any]
    cpu_s: Mapping[str, float]


def _look(cluster: Cluster, osd: int) -> _Look:
    told = ask(osd_socket(cluster, osd), PERF_DUMP)
    return _Look(time.monotonic(), told, _cpu_s(cluster, osd))


def _cpu_s(cluster: Cluster, osd: int) -> Mapping[str, float]:
    pid = cluster.status().pid(f'osd.{osd}')
    if pid is None:
        raise HarnessError(f'osd.{osd} does not run')
    return thread_cpu_s(Path('/proc') / str(pid), THREADS)


def _cell(
    design: Design, period: int, osd: int, setting: Setting, before: _Look, after: _Look
) -> Cell:
    def grew(part: str, name: str, of: str) -> float:
        return float(after.told[part][name][of] - before.told[part][name][of])

    writes = after.told['osd']['op_w'] - before.told['osd']['op_w']
    if writes < 100:
        raise HarnessError(f'osd.{osd}: {writes} writes in a window')
    return Cell(
        design=design.name,
        period=period,
        osd=osd,
        setting=setting.name,
        seconds=round(after.at_s - before.at_s, 2),
        writes=writes,
        commits=round(grew('bluestore', 'kv_sync_lat', 'avgcount')),
        waited_s=round(grew('osd', 'op_w_latency', 'sum'), 4),
        cpu_s={name: round(after.cpu_s[name] - before.cpu_s[name], 5) for name in after.cpu_s},
    )


def _reading(
    cluster: Cluster, design: Design, period: int, osd: int, setting: Setting, command: str
) -> Reading:
    socket, answer = osd_socket(cluster, osd), ''
    before_s, began_s = _cpu_s(cluster, osd)[ADMIN], time.monotonic()
    for _ in range(CALLS):
        answer = query_text(socket, command)
    seconds = time.monotonic() - began_s
    return Reading(
        design=design.name,
        period=period,
        osd=osd,
        setting=setting.name,
        command=command,
        calls=CALLS,
        cpu_s=round(_cpu_s(cluster, osd)[ADMIN] - before_s, 6),
        seconds=round(seconds, 5),
        answer_bytes=len(answer),
    )
