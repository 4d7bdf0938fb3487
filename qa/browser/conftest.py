"""A browser at the dashboard of a real cluster, users of each role, and the tab as it is built."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright
from shared_cluster import new_cluster

from cluster_reports import (
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
)
from dashboard_client import User, make_users
from harness import Cluster, ClusterSpec, Progress, tab
from harness.host import Host
from harness.layout import DEFAULT_MEMORY
from harness.packages import install
from module_client import ModuleClient
from tests.conftest import pytest_addoption, release
from visitor import TIMEOUT_MS, Visitor

__all__ = [
    'pytest_addoption',
    'pytest_configure',
    'pytest_runtest_makereport',
    'pytest_sessionfinish',
    'release',
]

CHROMIUM = '/usr/bin/chromium'
WIDE: ViewportSize = {'width': 1280, 'height': 900}

# By default it gives up after 5 s, which a dashboard may need to start on a busy machine.
expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope='session', autouse=True)
def bundle() -> None:
    """The tab, built from its source, and a browser."""
    progress = Progress()
    install(Host(), ['chromium'], progress)
    tab.build(progress)


@pytest.fixture(scope='session')
def cluster(release: str, bundle: None) -> Iterator[Cluster]:
    spec = ClusterSpec(release=release, osds=3, dashboard=True, osd_conf=DEFAULT_MEMORY)
    with new_cluster(spec, often=True, soak_max='0') as client:
        yield client.cluster


@pytest.fixture(scope='session')
def tuner(cluster: Cluster) -> ModuleClient:
    client = ModuleClient(cluster)
    client.wait_for(lambda: client.status()['sampling']['osds'] == 3, 120, 'samples of all OSDs')
    return client


@pytest.fixture(scope='session')
def url(cluster: Cluster) -> str:
    return cluster.env()['DASHBOARD_URL'].rstrip('/')


@pytest.fixture(scope='session')
def users(cluster: Cluster, url: str) -> dict[str, User]:
    roles = ('administrator', 'cluster-manager', 'read-only', 'block-manager', 'rgw-manager')
    return make_users(cluster, url, roles)


@pytest.fixture(scope='session')
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=['--no-sandbox'])
        yield launched
        launched.close()


@pytest.fixture
def visitor(browser: Browser, url: str, release: str) -> Iterator[Visitor]:
    """An anonymous user, in a browser without state."""
    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    made = Visitor(page, url, release)
    page.on('pageerror', lambda error: made.errors.append(str(error.stack)))
    yield made
    context.close()


@pytest.fixture
def admin(visitor: Visitor, users: dict[str, User], tuner: ModuleClient) -> Visitor:
    assert tuner.status()['mode'] == 'recommend'
    visitor.log_in('administrator')
    return visitor
