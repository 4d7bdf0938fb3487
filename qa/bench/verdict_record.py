#!/usr/bin/python3
"""Recordings of independent trials of the verdict on real OSDs.

`bench_verdict_real.py` judges them. This runs real clusters under a steady client and records
the counters of their OSDs, a window and a file for each (see harness/trial_windows.py). It numbers
windows on from those in the folder. How many there are to be has to be decided before any is
judged.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, Progress, trial_windows  # noqa: E402 - after the path to it
from harness.record import save  # noqa: E402
from rocksdb_tuner.judge.evidence import measured  # noqa: E402
from rocksdb_tuner.judge.records import SoakPlan, least_soak_s  # noqa: E402
from rocksdb_tuner.judge.signals import limits  # noqa: E402
from rocksdb_tuner.observe.sample import Sample, names_for, take_sample  # noqa: E402
from rocksdb_tuner.observe.window import window  # noqa: E402
from rocksdb_tuner.tests.judge.simulated import OneReport  # noqa: E402
from rocksdb_tuner.tests.workload.replay import SAMPLE_INTERVAL_S, load_file  # noqa: E402

#: Of independent trials: the default minimum, and no longer. With only 8 blocks on either side (240
#: s) a quarter of soaks has no verdict even on white noise, whose independence so few do not show.
SOAK_S = (600.0, 600.0)
#: By default 32 OSDs take all the asynchronous requests that Linux has (fs.aio-max-nr).
MANY_OSDS = (('bdev_aio_max_queue_depth', '64'),)
#: The name of a window's recording.
WINDOW = 'verdict-window-{}.json.xz'
#: After a window no OSD is slow any more, but requests of before are under way.
WASHOUT_S = 20.0
Samples = Mapping[int, Optional[Sample]]


@dataclass(frozen=True)
class Recorded:
    """The samples the module would have taken, every ten seconds, and the window's document."""

    looks: Sequence[tuple[float, Samples]]
    document: Mapping[str, Any]

    def between(self, begin_s: float, end_s: float) -> Iterator[tuple[float, Samples]]:
        return (look for look in self.looks if begin_s <= look[0] <= end_s)

    def mean(self, osd: int, begin_s: float, end_s: float, signal: str) -> Optional[float]:
        """One signal of one OSD in all of that time."""
        known = [s for _, at in self.between(begin_s, end_s) if (s := at[osd]) is not None]
        span = window(known[0], known[-1]) if len(known) > 1 else None
        value: Optional[float] = getattr(measured(span, None, 1), signal)
        return value


def read(path: Path) -> Recorded:
    recording = load_file(path)
    names = names_for(recording.release)
    newest: dict[int, Optional[Sample]] = dict.fromkeys(r.osd_id for r in recording.reports)
    looks: list[tuple[float, Samples]] = []
    now_s = recording.reports[0].time_s
    for report in recording.reports:
        while report.time_s > now_s:
            looks.append((now_s, dict(newest)))
            now_s += SAMPLE_INTERVAL_S
        sample = take_sample(OneReport(report), report.osd_id, report.nonce, names, report.time_s)
        newest[report.osd_id] = sample or newest[report.osd_id]
    looks.append((now_s, newest))
    return Recorded(looks, json.loads(lzma.decompress(path.read_bytes())))


def before_s(plan: SoakPlan) -> float:
    """So long that all blocks of the time before are complete, whenever it begins."""
    return least_soak_s(plan) + 2 * SAMPLE_INTERVAL_S


def after_s(plan: SoakPlan) -> float:
    """So long that all blocks of the longest soak are complete, whenever it begins."""
    return limits().warm_up_s + plan.most_s + 2 * SAMPLE_INTERVAL_S


def windows(
    folder: Path, count: int, osds: int, soak_s: tuple[float, float]
) -> list[trial_windows.TrialWindow]:
    """So many windows beyond those that are recorded in the folder."""
    plan = SoakPlan(*soak_s)
    recorded = [
        int(path.name.split('-')[2].split('.')[0]) for path in folder.glob(WINDOW.format('*'))
    ]
    first = max(recorded, default=-1) + 1
    return [
        trial_windows.TrialWindow(
            number=number,
            groups=trial_windows.draw(osds, number),
            soak_s=soak_s,
            calm_s=WASHOUT_S + before_s(plan),
            slow_s=after_s(plan),
        )
        for number in range(first, first + count)
    ]


def main() -> int:
    """Each window on fresh OSDs: memtables of 96 OSDs take 24 GiB within two windows."""
    record = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.add_argument('--dir', type=Path, required=True, help='folder of the cluster')
    record.add_argument('--release', default='pacific')
    record.add_argument('--osds', type=int, default=96)
    record.add_argument('--hosts', type=int, default=4)
    record.add_argument('--rate-iops', type=int, default=960)
    record.add_argument('--settle', type=float, default=60.0, help='seconds before it begins')
    record.add_argument('--out', type=Path, required=True, help='a folder')
    record.add_argument('--trials', type=int, default=1, metavar='WINDOWS')
    record.add_argument('--soak', type=float, nargs=2, default=SOAK_S, metavar=('MIN', 'MAX'))
    arguments = record.parse_args()
    spec = ClusterSpec(
        release=arguments.release, osds=arguments.osds, crush_hosts=arguments.hosts, pool_size=1,
        osd_conf=MANY_OSDS, slow_sync=True, few_mgr_modules=True,
    )  # fmt: skip
    arguments.out.mkdir(parents=True, exist_ok=True)
    for one in windows(arguments.out, arguments.trials, arguments.osds, tuple(arguments.soak)):
        with Cluster.up(spec, arguments.dir, Progress()) as cluster:
            document = trial_windows.record(cluster, one, arguments.rate_iops, arguments.settle)
            save(document, arguments.out / WINDOW.format(f'{one.number:02}'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
