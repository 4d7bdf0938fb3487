"""A real experiment in the tab: planned, started, paused and aborted."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect
from test_experiment_commands import (
    ARMS,
    MODULE_OPTIONS,
    SIGNAL_TITLE,
    SMALL,
    impatient_module,
    spread_evenly,
    steady_writes,
)

from dashboard_client import make_users
from harness import Cluster, ClusterSpec, Progress
from harness.layout import DEFAULT_MEMORY
from module_client import OPTION, ModuleClient
from visitor import PANEL, TIMEOUT_MS, Visitor

pytestmark = [pytest.mark.integration, pytest.mark.experiment]

#: Until the history of the OSDs is long enough for a plan.
PLAN_S = 900
#: The OSD in flight is made safe first.
ABORT_MS = 300_000


@pytest.fixture(scope='module')
def eight_osds(release: str, bundle: None) -> Iterator[ModuleClient]:
    """With a custom profile that differs from what they run, and a module that plans early."""
    with tempfile.TemporaryDirectory(prefix='tuner-tab-experiment-') as directory:
        module = impatient_module(Path(directory))
        spec = ClusterSpec(
            release=release, osds=8, dashboard=True, osd_conf=DEFAULT_MEMORY, module=str(module)
        )
        with Cluster.up(spec, str(Path(directory) / 'cluster'), Progress()) as cluster:
            for name, value in MODULE_OPTIONS.items():
                cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)
            cluster.ceph('config', 'set', 'osd', OPTION, SMALL)
            spread_evenly(cluster)
            found = ModuleClient(cluster)
            found.restart_all()
            packed = {
                'name': 'packed',
                'title': 'Small memtables with LZ4',
                'options': ARMS['packed'],
                'releases': [release],
                'source': 'this test',
            }
            cluster.ceph('rocksdb-tuner', 'profile', 'add', '-i', '-', stdin=json.dumps(packed))
            with steady_writes(cluster):
                yield found


@pytest.fixture
def admin(browser: Browser, eight_osds: ModuleClient, release: str) -> Iterator[Visitor]:
    url = eight_osds.cluster.env()['DASHBOARD_URL'].rstrip('/')
    make_users(eight_osds.cluster, url, ['administrator'])
    context = browser.new_context(viewport={'width': 1280, 'height': 900})
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), url, release)
    visitor.page.on('pageerror', lambda error: visitor.errors.append(str(error.stack)))
    visitor.log_in('administrator')
    yield visitor
    context.close()


def planned(tuner: ModuleClient, form: Locator) -> bool:
    """Whether the preview is a plan by now.

    Until the history is long enough it reports how long to wait; OSDs that just started are too
    noisy.
    """
    form.get_by_role('button', name='Preview').click()
    expect(form.get_by_role('status')).not_to_have_text('')
    expect(form.get_by_role('status')).not_to_contain_text('Planning')
    found = form.get_by_role('button', name='Start …').count() > 0
    if not found:
        text = re.compile('try again in|Not possible here')
        expect(form.get_by_role('status')).to_contain_text(text)
    return found


def test_real_experiment_is_planned_started_paused_and_aborted(
    admin: Visitor, eight_osds: ModuleClient
) -> None:
    """A preview changes nothing, and an abort leaves nothing."""
    tuner, page = eight_osds, admin.page
    panel = page.locator(PANEL)
    before = tuner.entries()

    def confirm(button: str, action: str) -> None:
        page.get_by_role('button', name=button).click()
        dialog = page.get_by_role('dialog')
        dialog.get_by_role('button', name=action, exact=True).click()
        expect(dialog).to_have_count(0)

    admin.open_tab()
    page.locator(f'{PANEL} rocksdb-tuner-planner summary').click()
    form = page.locator('rocksdb-tuner-planner')
    form.get_by_label('packed').check()
    form.get_by_label('Signal').select_option(label=SIGNAL_TITLE)
    form.get_by_label('Smallest effect in %').fill('50')
    tuner.wait_for(lambda: planned(tuner, form), PLAN_S, 'a plan', every_s=20)
    expect(form.get_by_role('row', name='packed')).to_contain_text('osd ')
    admin.shot('real-experiment-plan')
    assert admin.violations() == []
    assert tuner.json('operation', 'status', schema='operation') is None
    assert tuner.entries() == before

    confirm('Start …', 'Start')
    expect(panel).to_contain_text('Experiment in progress')
    state = tuner.json('operation', 'status', schema='operation')
    assert state['actor'] == 'dashboard:the-administrator'
    assert [arm['name'] for arm in state['arms']] == ['packed']

    confirm('Pause …', 'Pause')
    expect(panel).to_contain_text('Waiting: ')
    expect(panel.get_by_role('button', name='Resume …')).to_be_visible()
    admin.shot('real-experiment-paused')
    confirm('Resume …', 'Resume')
    expect(panel.get_by_role('button', name='Pause …')).to_be_visible()
    assert admin.violations() == []

    confirm('Abort …', 'Abort')
    expect(panel).to_contain_text('Last experiment', timeout=ABORT_MS)
    assert tuner.json('operation', 'status', schema='operation')['phase'] == 'aborted'
    assert tuner.entries() == before
    admin.shot('real-experiment-aborted')
    assert admin.our_errors() == []
