"""The clusters of the fault tests: one at a time, of the shape that a test requests.

`@wide` and `@sets_profile` request anything other than the default. Tests of one shape run
consecutively, across files. `--part K/N` runs one of N parts of about the same length.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fault_scenario import (
    PLAIN,
    REMOVE,
    SET,
    SHAPES,
    WIDE,
    FaultScenario,
    Integrity,
    Result,
    Shape,
    cluster_of,
    save,
    under_clients,
)

wide = pytest.mark.fault_shape(WIDE.name)
sets_profile = pytest.mark.fault_kind(SET)


def _shape(item: pytest.Item) -> Shape:
    marker = item.get_closest_marker('fault_shape')
    return SHAPES[marker.args[0]] if marker else PLAIN


def parse_part(text: str) -> tuple[int, int]:
    """(1, 3) from "1/3"."""
    number, _, count = text.partition('/')
    try:
        part = int(number), int(count)
    except ValueError:
        part = 0, 0
    if not 1 <= part[0] <= part[1]:
        raise pytest.UsageError(f'{text!r} is no part: give K/N, such as 1/3')
    return part


def part_of(items: Sequence[pytest.Item], number: int, count: int) -> list[pytest.Item]:
    """The items of one part: neighbors, so that few parts need more than one shape."""
    bounds = [len(items) * n // count for n in range(count + 1)]
    return list(items[bounds[number - 1] : bounds[number]])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Others stay where they are: their fixtures know why
    faults = [item for item in items if item.get_closest_marker('faults')]
    if not faults:
        return
    others = [item for item in items if not item.get_closest_marker('faults')]
    order = list(SHAPES)
    faults.sort(key=lambda item: order.index(_shape(item).name))
    number, count = parse_part(config.getoption('--part'))
    chosen = part_of(faults, number, count)
    left = [item for item in faults if item not in chosen]
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = [*others, *chosen]


def pytest_keyboard_interrupt() -> None:
    """An interrupted run skips the final checks."""
    Clusters.interrupted = True


class Clusters:
    """The running cluster, and the check results of it and of earlier ones."""

    interrupted = False

    def __init__(self, release: str) -> None:
        self._release = release
        self._scenario: FaultScenario | None = None
        self._version = ''
        self._stack = contextlib.ExitStack()
        self._integrity: list[Integrity] = []
        self._results: list[Result] = []

    def of(self, shape: Shape) -> FaultScenario:
        """The scenario of this shape; a running cluster of another one is checked and stopped
        first.
        """
        if self._scenario is not None and self._scenario.shape is not shape:
            self.close()
        if self._scenario is None:
            self._scenario = scenario = self._stack.enter_context(cluster_of(shape, self._release))
            self._version = scenario.cluster.ceph_json('version')['version'].split()[2]
        return self._scenario

    def close(self) -> None:
        """Check all that was written to the cluster that is up, and take it down."""
        scenario, self._scenario = self._scenario, None
        if scenario is None:
            return
        with self._stack.pop_all():
            if self.interrupted:
                return
            found = scenario.check_integrity()
            if found.damage:
                self._keep(scenario)
            self._results += scenario.results
            scenario.results.clear()
            self._integrity.append(found)
            self.save()
        assert found.placement_groups > 0
        assert found.osds > 0
        damage = found.damage
        if damage and os.environ.get('ROCKSDB_TUNER_FAULT_DAMAGE') == 'told':
            warnings.warn(f'stores are damaged: {damage}', stacklevel=1)
        else:
            assert damage == '', damage

    def _keep(self, scenario: FaultScenario) -> None:
        """The stores and logs of a cluster whose stores are damaged, if results are kept."""
        folder = os.environ.get('ROCKSDB_TUNER_FAULT_RESULTS')
        if folder:
            kept = Path(folder) / f'damaged-{self._release}-{scenario.shape.name}'
            # Stores are sparse files
            subprocess.run(
                ['cp', '--archive', '--sparse=always', str(scenario.cluster.dir), str(kept)],
                check=False,
            )

    def save(self) -> None:
        """Save the measurements if requested."""
        folder = os.environ.get('ROCKSDB_TUNER_FAULT_RESULTS')
        rows = [*self._results, *(self._scenario.results if self._scenario else ())]
        if folder and rows:
            path = Path(folder) / f'faults-{self._release}.json'
            save(rows, self._integrity, path, f'{self._release} {self._version}')
            self._integrity.clear()


@pytest.fixture(scope='session')
def fault_clusters(release: str) -> Iterator[Clusters]:
    clusters = Clusters(release)
    try:
        yield clusters
    finally:
        clusters.close()


@pytest.fixture
def shared_scenario(request: pytest.FixtureRequest, fault_clusters: Clusters) -> FaultScenario:
    """The requested cluster, as the previous test left it."""
    return fault_clusters.of(_shape(request.node))


@pytest.fixture
def scenario(
    request: pytest.FixtureRequest, shared_scenario: FaultScenario, fault_clusters: Clusters
) -> Iterator[FaultScenario]:
    """The same as every test finds it, under clients."""
    marker = request.node.get_closest_marker('fault_kind')
    shared_scenario.restore(marker.args[0] if marker else REMOVE)
    with under_clients(shared_scenario):
        yield shared_scenario
    fault_clusters.save()
