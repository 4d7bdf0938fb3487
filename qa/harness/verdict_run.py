"""A real cluster under a steady client while nothing happens to it, or something worse.

What the OSDs counted is recorded with what was true at the time, so that the verdict can be held
against it (qa/bench/bench_verdict_real.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

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


@dataclass(frozen=True)
class Phase:
    """So many seconds in which nothing changes; these OSDs' syncs take so much longer."""

    seconds: float
    slowed_percent: Mapping[int, float] = field(default_factory=dict)


def parse_phase(text: str) -> Phase:
    """'900', or '330:0=25,4=30': every fdatasync of osd.0 takes 25 % longer."""
    seconds, _, what = text.partition(':')
    try:
        slowed = {}
        for part in filter(None, what.split(',')):
            osd, _, percent = part.partition('=')
            slowed[int(osd)] = float(percent)
        return Phase(float(seconds), slowed)
    except ValueError as error:
        raise HarnessError(f'{text!r} is no phase such as "900" or "330:0=25,4=30"') from error


@contextmanager
def _client(cluster: Cluster, rate_iops: int, seconds: float) -> Iterator[None]:
    """4 KiB random writes at a pace that the cluster keeps up with, on an image that fills."""
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)
    new_image(cluster, IMAGE, IMAGE_BYTES)
    job = {
        'rw': 'randwrite',
        'bs': '4096',
        'iodepth': '16',
        'norandommap': '1',
        'time_based': '1',
        'runtime': f'{seconds:g}',
        'size': str(IMAGE_BYTES),
        'rate_iops': str(rate_iops),
    }
    with ThreadPoolExecutor(max_workers=1) as beside:
        fio = Fio(cluster, IMAGE)
        done = beside.submit(fio.run, 'verdict', job, seconds + AROUND_S, 'write')
        try:
            yield
        finally:
            if not done.done():
                cluster.progress.say('wait for the client to end')
            run, messages = done.result()
    if run.error:
        raise HarnessError(f'the client failed: {messages}')


def run(
    cluster: Cluster, phases: Sequence[Phase], rate_iops: int, settle_s: float
) -> dict[str, Any]:
    """A recording (format 2) in whose spans it stands which OSDs were slowed down, and how."""
    spans: list[dict[str, Any]] = []
    seconds = settle_s + sum(phase.seconds for phase in phases)
    with _client(cluster, rate_iops, seconds + AROUND_S / 2):
        cluster.progress.say(f'let the cluster settle: {settle_s:g} s')
        time.sleep(settle_s)
        with Recorder(cluster) as recorder:
            began_s = time.time()
            try:
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
            finally:
                slow_down(cluster.dir, {})
    if not recorder.readings:
        raise HarnessError(f'nothing was read: {recorder.complaints}')
    return {
        'format': FORMAT,
        'name': 'verdict',
        'part': 'verdict',
        'release': cluster.release.name,
        'date': datetime.fromtimestamp(began_s, timezone.utc).strftime('%Y-%m-%d'),
        'cluster': asdict(cluster.record.spec),
        'rate_iops': rate_iops,
        'spans': spans,
        'counters': recorder.counters,
        'readings': [relative(reading, began_s) for reading in recorder.readings],
    }
