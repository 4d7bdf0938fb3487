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
from .workloads import PARAMETERS, WORKLOADS, complete, run_workload


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
    for name, (metavar, text) in PARAMETERS.items():
        option = name.removesuffix('_bytes').replace('_', '-')
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
