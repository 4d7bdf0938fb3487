"""Running the client programs in clients/, which need Ceph's or Amazon's Python libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .limits import STUCK_S, limit_s
from .result import WorkloadError, WorkloadResult, result_from_client

if TYPE_CHECKING:
    from ..cluster import Cluster
    from .catalogue import Parameters

CLIENTS = Path(__file__).resolve().parents[1] / 'clients'
#: The module that they import.
SHARED = 'client_outcome'
PYTHON = '/usr/bin/python3'
#: A client ends by itself, and reports what is stuck, before it has taken as long as so many steps
STEPS = 7


def text_of(program: str) -> str:
    """A client program and what all of them share, for the standard input of Python.

    As text, not as files: the client may run in a chroot that does not hold the checkout.
    """
    shared, own = ((CLIENTS / name).read_text() for name in (f'{SHARED}.py', program))
    return f"""import sys, types
shared = sys.modules[{SHARED!r}] = types.ModuleType({SHARED!r})
exec(compile({shared!r}, '{SHARED}.py', 'exec'), vars(shared))
exec(compile({own!r}, {program!r}, 'exec'))
"""


def run_client(
    cluster: Cluster,
    program: str,
    workload: str,
    seconds: float,
    *,
    parameters: Parameters,
    environment: Mapping[str, str] | None = None,
) -> WorkloadResult:
    """Run a client program, which takes its orders as JSON and answers in JSON."""
    order = {
        'workload': workload, 'seconds': seconds, 'stuck_s': STUCK_S, **parameters,
    }  # fmt: skip
    with cluster.progress.step(f'{workload} for {seconds:g} s'):
        done = cluster.client.run(
            PYTHON,
            '-B',
            '-',
            json.dumps(order),
            stdin=text_of(program),
            environment=environment,
            timeout_s=STEPS * limit_s(seconds=seconds, ops=parameters.get('objects', 0)),
            check=False,
        )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        message = (done.stderr or done.stdout).strip()[-2000:]
        raise WorkloadError(
            f'the client of {workload} ended with status {done.returncode}: {message}'
        ) from error
    return result_from_client(workload, answer, dict(parameters))
