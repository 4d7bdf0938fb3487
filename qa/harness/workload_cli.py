"""The command line of qa/workload."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from .cli import parse_size, run_endable
from .client_procs import MARK
from .cluster import Cluster
from .errors import HarnessError
from .workloads import WORKLOADS, complete, run_workload

#: Options for the fields of `Parameters`; those in bytes end in "_bytes" there.
_PARAMETERS = {
    'iodepth': ('N', 'RBD: requests in flight'),
    'size': ('BYTES', 'RBD: size of the image'),
    'block-size': ('BYTES', 'RBD: size of a request'),
    'rate-iops': ('N', 'RBD, omap: no more per second'),
    'read-percent': ('N', 'RBD: share of the requests that read'),
    'threads': ('N', 'S3, CephFS, omap: parallel clients'),
    'object-size': ('BYTES', 'S3: size of an object'),
    'objects': ('N', 'S3, omap: number of objects'),
    'keys': ('N', 'omap: keys that a request sets'),
    'value-size': ('BYTES', 'omap: size of the value of a key'),
    'key-space': ('N', 'omap: number of different keys of an object'),
    'random-percent': ('N', 'omap: share of a value not compressible'),
    'requests': ('N', 'omap: end after so many requests'),
}


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
    for option, (metavar, text) in _PARAMETERS.items():
        name = option.replace('-', '_') + '_bytes' * (metavar == 'BYTES')
        read = parse_size if metavar == 'BYTES' else int
        parser.add_argument(f'--{option}', dest=name, type=read, metavar=metavar, help=text)
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


def main() -> int:
    """Run the command line; returns the exit status: 0 only if the client had no error."""
    arguments = build_parser().parse_args()
    _copy_mark(arguments.dir)
    return run_endable('qa/workload', lambda: _run(arguments))
