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
    from .parameters import Parameters

CLIENTS = Path(__file__).resolve().parents[1] / 'clients'
PYTHON = '/usr/bin/python3'
#: A client ends by itself, and says what is stuck, before it has taken as long as so many steps
STEPS = 7


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
    order = {
        'workload': workload, 'seconds': seconds, 'stuck_s': STUCK_S, **parameters.as_dict(),
    }  # fmt: skip
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
            timeout_s=STEPS * limit_s(seconds=seconds, ops=parameters.objects or 0),
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
