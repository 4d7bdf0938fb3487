"""The command line of qa/workload."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .cli import parse_size, run_endable
from .cluster import Cluster
from .errors import HarnessError
from .procs import MARK
from .workloads import WORKLOADS, complete, run_workload


def build_parser() -> argparse.ArgumentParser:
    names = '\n'.join(f'  {name:<16} {workload.help}' for name, workload in WORKLOADS.items())
    parser = argparse.ArgumentParser(
        prog='qa/workload',
        description='Run a real client on a running cluster and print its result as JSON.',
        epilog=f'workloads:\n{names}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('name', metavar='NAME', help='one of the workloads below')
    parser.add_argument('--seconds', type=float, required=True, metavar='S')
    parser.add_argument(
        '--dir', type=Path, help='folder of the cluster ($QA_CLUSTER_DIR, or qa/.clusters/RELEASE)'
    )
    parser.add_argument('--iodepth', type=int, metavar='N', help='RBD: requests in flight')
    parser.add_argument(
        '--size', dest='size_bytes', type=parse_size, metavar='BYTES', help='RBD: size of the image'
    )
    parser.add_argument(
        '--block-size',
        dest='block_size_bytes',
        type=parse_size,
        metavar='BYTES',
        help='RBD: size of a request',
    )
    parser.add_argument('--rate-iops', type=int, metavar='N', help='RBD, omap: no more per second')
    parser.add_argument(
        '--threads', type=int, metavar='N', help='S3, CephFS, omap: parallel clients'
    )
    parser.add_argument(
        '--object-size',
        dest='object_size_bytes',
        type=parse_size,
        metavar='BYTES',
        help='S3: size of an object',
    )
    parser.add_argument('--objects', type=int, metavar='N', help='S3, omap: number of objects')
    parser.add_argument(
        '--read-percent', type=int, metavar='N', help='RBD: share of the requests that read'
    )
    parser.add_argument('--keys', type=int, metavar='N', help='omap: keys that a request sets')
    parser.add_argument(
        '--value-size',
        dest='value_size_bytes',
        type=parse_size,
        metavar='BYTES',
        help='omap: size of the value of a key',
    )
    parser.add_argument(
        '--key-space', type=int, metavar='N', help='omap: number of different keys of an object'
    )
    parser.add_argument(
        '--random-percent', type=int, metavar='N', help='omap: share of a value not compressible'
    )
    parser.add_argument(
        '--requests', type=int, metavar='N', help='omap: end after so many requests'
    )
    return parser


def _copy_mark(directory: Path | None) -> None:
    """Re-execute with the mark of the cluster: as one of its clients, which end with it."""
    with contextlib.suppress(HarnessError):
        fsid = Cluster.open(directory).record.fsid
        if os.environ.get(MARK) != fsid:
            os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, MARK: fsid})


def _run(arguments: argparse.Namespace) -> int:
    values = dict(vars(arguments))
    name, seconds, directory = values.pop('name'), values.pop('seconds'), values.pop('dir')
    given = {key: value for key, value in values.items() if value is not None}
    complete(name, seconds, given)  # before any query of a cluster
    result = run_workload(Cluster.open(directory), name, seconds, **given)
    print(result.to_json())
    return 0 if result.ok else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 only if the client had no error."""
    arguments = build_parser().parse_args(argv)
    if argv is None:
        _copy_mark(arguments.dir)
    return run_endable('qa/workload', lambda: _run(arguments), ends=argv is None)
