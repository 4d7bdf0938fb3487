"""Running the client programs in clients/, which need Ceph's or Amazon's Python libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .result import WorkloadError, WorkloadResult, result_from_client

if TYPE_CHECKING:
    from ..cluster import Cluster
    from .parameters import Parameters

CLIENTS = Path(__file__).resolve().parents[1] / 'clients'
PYTHON = '/usr/bin/python3'
GRACE_S = 1800.0


def run_client(
    cluster: Cluster,
    program: str,
    workload: str,
    seconds: float,
    *,
    parameters: Parameters,
    environment: Mapping[str, str],
) -> WorkloadResult:
    """Run a client program, which takes its orders as JSON and answers in JSON."""
    order = {'workload': workload, 'seconds': seconds, **parameters.as_dict()}
    # As text, not as a file: the client may run in a chroot that does not hold the checkout
    source = (CLIENTS / program).read_text()
    with cluster.progress.step(f'{workload} for {seconds:g} s'):
        done = cluster.client.run(
            PYTHON,
            '-B',
            '-',
            json.dumps(order),
            stdin=source,
            environment=environment,
            timeout_s=seconds + GRACE_S,
            check=False,
        )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise WorkloadError(
            f'the client of {workload} ended with status {done.returncode}: {said}'
        ) from error
    return result_from_client(workload, answer, parameters.as_dict())
