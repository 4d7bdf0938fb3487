"""Real clients against a cluster, and the module's opinion of them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from harness import Cluster
from module_client import CHECKOUT, ModuleClient


def run_workload(cluster: Cluster, name: str, seconds: int, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            '/usr/bin/python3',
            str(CHECKOUT / 'qa/workload'),
            name,
            '--seconds',
            str(seconds),
            '--dir',
            str(cluster.dir),
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(client: subprocess.Popen[str], within_s: float = 300) -> Any:
    """The result reported by a client; the client must have succeeded."""
    output, _ = client.communicate(timeout=within_s)
    assert client.returncode == 0
    return json.loads(output)


def recognized_during(
    tuner: ModuleClient,
    name: str,
    expected: str,
    seconds: int,
    then: Callable[[], object] = lambda: None,
) -> Any:
    """Run a client; the module must classify it as ``expected`` within 60 s of its start.

    ``then`` is done while the client still runs: what it reads back at the end is another load.
    Returns the OSDs as the module shows them.
    """
    client = run_workload(tuner.cluster, name, seconds)
    try:
        started_s = time.monotonic()

        def recognized() -> Any:
            workload = tuner.group_workload()
            if workload and workload['class'] == expected:
                return workload
            assert client.poll() is None, f'{name} has ended, last recognized was {workload}'
            return None

        seen = tuner.wait_for(recognized, 60, f'{name} recognized as {expected}')
        print(f'{name}: {expected} after {time.monotonic() - started_s:.0f} s: {seen}')
        osds = tuner.osds()
        then()
        report = ended(client)
        assert report['errors'] == 0
        assert report['ops'] > 0
        return osds
    finally:
        if client.poll() is None:
            client.terminate()
            client.wait(30)
