#!/usr/bin/python3
"""How often the verdict is wrong on real OSDs: independent trials, recorded and then judged.

`record` runs real clusters under a steady client and records the counters of their OSDs, a window
and a file for each; some OSDs become slower half-way: each sync of their disk takes so many percent
longer. It numbers windows on from those in the folder: a run that was interrupted is continued, and
several add up. How many there are to be has to be decided before any is judged. `judge FOLDER/*`
takes all of them. Blocks are built and judged by the module's own code, as in a rollout.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, Progress, trial_windows  # noqa: E402 - after the path to it
from harness.record import save  # noqa: E402
from rocksdb_tuner.judge.records import SoakPlan  # noqa: E402
from verdict_independent import independent  # noqa: E402
from verdict_trials import (  # noqa: E402
    after_s,
    before_s,
    read,
)

#: Of independent trials: the default minimum, and no longer. With only 8 blocks on either side (240
#: s) a quarter of soaks has no verdict even on white noise, whose independence so few do not show.
SOAK_S = (600.0, 600.0)
#: By default 32 OSDs take all the asynchronous requests that Linux has (fs.aio-max-nr).
MANY_OSDS = (('bdev_aio_max_queue_depth', '64'),)
#: The name of a window's recording.
WINDOW = 'verdict-window-{}.json.xz'
#: After a window no OSD is slow any more, but requests of before are under way.
WASHOUT_S = 20.0


def _judge(paths: Sequence[Path], out: Optional[Path]) -> None:
    text = json.dumps(independent([read(path) for path in paths]), indent=1)
    print(text)
    if out is not None:
        out.write_text(text + '\n')


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


def _record(spec: ClusterSpec, arguments: argparse.Namespace) -> None:
    """Each on fresh OSDs: memtables of 96 OSDs take 24 GiB within two windows."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    todo = windows(arguments.out, arguments.trials, arguments.osds, tuple(arguments.soak))
    for window in todo:
        with Cluster.up(spec, arguments.dir, Progress()) as cluster:
            document = trial_windows.record(cluster, window, arguments.rate_iops, arguments.settle)
            save(document, arguments.out / WINDOW.format(f'{window.number:02}'))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest='what', required=True)
    record = what.add_parser('record', help='run clusters and write down what their OSDs count')
    record.add_argument('--dir', type=Path, required=True, help='folder of the cluster')
    record.add_argument('--release', default='pacific')
    record.add_argument('--osds', type=int, default=96)
    record.add_argument('--hosts', type=int, default=4)
    record.add_argument('--rate-iops', type=int, default=960)
    record.add_argument('--settle', type=float, default=60.0, help='seconds before it begins')
    record.add_argument('--out', type=Path, required=True, help='a folder')
    record.add_argument('--trials', type=int, default=1, metavar='WINDOWS')
    record.add_argument(
        '--soak', type=float, nargs=2, default=SOAK_S, metavar=('MIN', 'MAX'),
        help='soak of the trials in seconds (default: %(default)s)',
    )  # fmt: skip
    judged = what.add_parser('judge', help='hold the verdict against recordings')
    judged.add_argument('recordings', type=Path, nargs='+')
    judged.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    if arguments.what == 'judge':
        _judge(arguments.recordings, arguments.out)
        return 0
    spec = ClusterSpec(
        release=arguments.release,
        osds=arguments.osds,
        crush_hosts=arguments.hosts,
        pool_size=1,
        osd_conf=MANY_OSDS,
        slow_sync=True,
        few_mgr_modules=True,
    )
    _record(spec, arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
