"""The HTML file that `offline --html` writes, in a browser: no cluster and no server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from module_client import CHECKOUT
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.tests.offline.test_same_answers import World, a_stale_string
from visitor import AXE, SHOTS

pytestmark = [pytest.mark.integration, pytest.mark.pages]


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For a cluster with findings, as written by the installed program."""
    folder = tmp_path_factory.mktemp('report')
    world = World()
    a_stale_string(world)
    (folder / 'report.json').write_text(report(world.tuner.collection(), anonymous=False))
    words = ['make', '-s', 'install', f'DESTDIR={folder}/root']
    subprocess.run(words, cwd=CHECKOUT, check=True)
    program = [sys.executable, '-m', 'rocksdb_tuner.offline', str(folder / 'report.json')]
    subprocess.run(
        [*program, '--html', str(folder / 'report.html')],
        cwd=folder / 'root/usr/share/ceph/mgr',
        env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'},
        check=True,
    )
    return folder / 'report.html'


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    """The file in a browser without a network; any console message fails the test."""
    context = browser.new_context(offline=True, viewport={'width': 1280, 'height': 1800})
    opened = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {'error', 'warning'}:
            complaints.append(message.text)

    opened.on('console', note)
    opened.on('pageerror', lambda error: complaints.append(str(error)))
    opened.goto(file.as_uri())
    yield opened
    context.close()
    assert complaints == []


def test_report_begins_with_the_decision(page: Page) -> None:
    panel = page.locator('rocksdb-tuner-panel')
    first = panel.locator('> div > :first-child')
    expect(first).to_have_class('rt-card')
    for words in ('Change the options from', 'Gain', 'Loss', 'Risk', 'ceph rocksdb-tuner apply'):
        expect(first).to_contain_text(words)
    expect(panel.get_by_role('heading', name='Findings')).to_be_visible()
    expect(panel.locator('rocksdb-tuner-map canvas').first).to_be_visible()
    page.screenshot(path=SHOTS / 'report.png', full_page=True)


def test_recommendation_opens_with_commands_and_without_buttons(page: Page) -> None:
    """There is nothing that would apply it."""
    panel = page.locator('rocksdb-tuner-panel')
    panel.locator('details[data-id]').first.locator('summary').click()
    expect(panel.get_by_text('Predicted effect')).to_be_visible()
    expect(panel.locator('td', has_text='Memtables that one column family')).to_be_visible()
    expect(panel.locator('pre', has_text='ceph config set osd.0')).to_be_visible()
    for name in ('Apply', 'Dry run', 'Change mode'):
        expect(panel.get_by_role('button', name=name)).to_have_count(0)


def test_it_is_accessible(page: Page) -> None:
    expect(page.get_by_role('heading', name='Findings')).to_be_visible()
    page.evaluate(AXE.read_text())
    found = page.evaluate('axe.run().then(r => r.violations.map(v => v.id))')
    assert found == []
