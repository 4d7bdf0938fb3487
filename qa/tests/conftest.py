"""The release that tests on real clusters run: pytest -m integration --release reef."""

from __future__ import annotations

import pytest

from harness.releases import RELEASES

# Before they are imported: else a failure in one of them does not show what was compared.
pytest.register_assert_rewrite(
    'announced', 'fault_clusters', 'fault_scenario', 'module_client', 'real_workload'
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--release',
        choices=tuple(RELEASES),
        default='pacific',
        help='the Ceph release whose real clusters the integration tests use',
    )


@pytest.fixture(scope='session')
def release(request: pytest.FixtureRequest) -> str:
    """The name of the release under test."""
    name: str = request.config.getoption('--release')
    return name
