"""A real cluster under a steady client while nothing happens to it, or something worse.

What the OSDs counted is recorded with what was true at the time, so that the verdict can be held
against it (qa/bench/bench_verdict_real.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from rocksdb_tuner.observe.sample import names_for

from .client import wait_until
from .cluster import Cluster
from .errors import HarnessError
from .record import FORMAT, Recorder, relative
from .services import make_pools
from .slow_sync import slow_down
from .workloads.rbd import POOL, Fio, new_image

IMAGE = 'qa-verdict'
IMAGE_BYTES = 1 << 30
#: More than there are OSDs by far, so that each is the primary of several.
PG_NUM = 128
#: So long the client may take to begin and to end.
AROUND_S = 120.0
#: Thousands of new placement groups, on two cores.
CLEAN_TIMEOUT_S = 900.0
#: The parts of a reading that list the OSDs.
MAPS = ('osds', 'pools', 'cephfs_metadata')


@dataclass(frozen=True)
class Phase:
    """So many seconds in which nothing changes; these OSDs' syncs take so much longer."""

    seconds: float
    slowed_percent: Mapping[int, float] = field(default_factory=dict)


@contextmanager
def steady_client(
    cluster: Cluster,
    rate_iops: int,
    seconds: float,
    pg_num: int = PG_NUM,
    image_bytes: int = IMAGE_BYTES,
) -> Iterator[Future[Any]]:
    """4 KiB random writes at a pace that the cluster keeps up with, on an image that fills.

    Yields what is done when the client has ended.
    """
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=pg_num)
    wait_until(cluster.pgs_are_clean, CLEAN_TIMEOUT_S, f'{pg_num} placement groups are clean')
    new_image(cluster, IMAGE, image_bytes)
    job = {
        'rw': 'randwrite',
        'bs': '4096',
        'iodepth': '16',
        'norandommap': '1',
        'time_based': '1',
        'runtime': f'{seconds:g}',
        'size': str(image_bytes),
        'rate_iops': str(rate_iops),
    }
    with ThreadPoolExecutor(max_workers=1) as beside:
        fio = Fio(cluster, IMAGE)
        done = beside.submit(fio.run, 'verdict', job, seconds + AROUND_S, 'write')
        try:
            yield done
        finally:
            if not done.done():
                cluster.progress.say('wait for the client to end')
            run, messages = done.result()
    if run.error:
        raise HarnessError(f'the client failed: {messages}')


def recorded(cluster: Cluster, phases: Iterable[Phase], rate_iops: int) -> dict[str, Any]:
    """A recording (format 2) whose spans list which OSDs were slowed down, and how.

    OSDs slowed down by the last phase stay slow.
    """
    spans: list[dict[str, Any]] = []
    with Recorder(cluster) as recorder:
        began_s = time.time()
        for phase in phases:
            cluster.progress.say(f'{phase}')
            begin_s = time.time()
            slow_down(cluster.dir, phase.slowed_percent)
            time.sleep(phase.seconds)
            spans.append(
                {
                    'what': 'steady',
                    'labels': [],
                    'slowed_percent': dict(phase.slowed_percent),
                    'begin_s': round(begin_s - began_s, 1),
                    'end_s': round(time.time() - began_s, 1),
                    'machine_load': round(os.getloadavg()[1], 1),
                }
            )
    if not recorder.readings:
        raise HarnessError(f'nothing was read: {recorder.complaints}')
    names = tuple(names_for(cluster.release.name))
    readings = [relative(reading, began_s) for reading in recorder.readings]
    spec = asdict(cluster.record.spec)
    # The path of the checkout is not recorded
    del spec['module']
    return {
        'format': FORMAT,
        'name': 'verdict',
        'part': 'verdict',
        'release': cluster.release.name,
        'date': datetime.fromtimestamp(began_s, timezone.utc).strftime('%Y-%m-%d'),
        'cluster': spec,
        'rate_iops': rate_iops,
        'spans': spans,
        'counters': names,
        'readings': [lean(reading, recorder.counters, names) for reading in readings],
    }


def lean(
    reading: Mapping[str, Any], counters: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    """What a verdict can be made of: a recording of many OSDs for an hour is kept in the checkout.

    ``counters`` are those that were read, ``names`` those that are kept.
    """
    kept = {name: reading[name] for name in ('time_s', *MAPS) if name in reading}
    places = [counters.index(name) for name in names]
    values = reading.get('counters', {})
    return {**kept, 'counters': {n: [at[i] for i in places] for n, at in values.items()}}
