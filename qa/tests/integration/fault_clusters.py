"""The cluster of a fault test: `@wide` and `@sets_profile` request another than the usual one."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fault_scenario import (
    PLAIN,
    REMOVE,
    SET,
    WIDE,
    FaultScenario,
    cluster_of,
    save,
    under_clients,
)

wide = pytest.mark.fault_shape(WIDE)
sets_profile = pytest.mark.fault_kind(SET)
#: An interrupted run skips the final checks.
_interrupted: list[bool] = []


def pytest_keyboard_interrupt() -> None:
    _interrupted.append(True)


def _asked(request: pytest.FixtureRequest, name: str, usual: Any) -> Any:
    marker = request.node.get_closest_marker(name)
    return marker.args[0] if marker else usual


@pytest.fixture
def scenario(request: pytest.FixtureRequest, release: str) -> Iterator[FaultScenario]:
    """A cluster under clients, all of whose data are checked in the end."""
    shape, kind = _asked(request, 'fault_shape', PLAIN), _asked(request, 'fault_kind', REMOVE)
    with cluster_of(shape, release, kind) as scenario:
        with under_clients(scenario):
            yield scenario
        if not _interrupted:
            _check(scenario, release)


def _check(scenario: FaultScenario, release: str) -> None:
    """All that was written to the cluster; what was found is kept if requested."""
    folder, cluster = os.environ.get('ROCKSDB_TUNER_FAULT_RESULTS'), scenario.cluster
    version = cluster.ceph_json('version')['version'].split()[2]
    found = scenario.check_integrity()
    if folder:
        path = Path(folder) / f'faults-{release}.json'
        save(scenario.results, [found], path, f'{release} {version}')
        if found.damage:
            # Stores are sparse files
            kept = Path(folder) / f'damaged-{release}-{scenario.shape.name}'
            copy = ('cp', '--archive', '--sparse=always', str(cluster.dir), str(kept))
            subprocess.run(copy, check=False)
    assert found.placement_groups > 0
    assert found.osds > 0
    if found.damage and os.environ.get('ROCKSDB_TUNER_FAULT_DAMAGE') == 'told':
        warnings.warn(f'stores are damaged: {found.damage}', stacklevel=1)
    else:
        assert found.damage == '', found.damage
