"""The tab in the dashboard of a real cluster, as a person with a browser meets it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from dashboard_client import PASSWORD, User
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from sample_answers import answers
from visitor import PANEL, TAB, Visitor

pytestmark = pytest.mark.integration

WIDTHS = (1280, 1920, 400)
#: After a restart of the manager its dashboard takes some seconds.
RESTART_S = 120


def test_url_opens_the_tab_with_the_current_state(admin: Visitor) -> None:
    admin.open_tab()
    page = admin.page
    expect(page.locator(TAB)).to_have_attribute('aria-selected', 'true')
    expect(page.get_by_role('group', name='Device classes')).to_contain_text('ssd')
    expect(page.locator('rocksdb-tuner-map canvas')).to_be_visible()
    # It is the third, after the dashboard's own two.
    tabs = page.locator('cd-osd-list > .nav-tabs a.nav-link')
    expect(tabs).to_have_text([re.compile('OSDs List'), re.compile('Overall'), 'RocksDB Tuner'])
    for width in WIDTHS:
        page.set_viewport_size({'width': width, 'height': 900})
        page.wait_for_timeout(300)
        admin.shot(f'overview-{width}')
        # Nothing of it is wider than the page.
        wide = page.evaluate(
            f"""[...document.querySelectorAll('{PANEL} *')].filter((e) =>
              !e.closest('.rt-scroll') && !e.closest('.visually-hidden') &&
              e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML)"""
        )
        assert wide == [], width
    assert admin.our_errors() == []


def test_tab_survives_navigation_reload_and_lost_login(admin: Visitor) -> None:
    page = admin.page
    admin.open_tab()
    page.click('cd-osd-list > .nav-tabs a.nav-link >> nth=0')
    expect(page.locator(PANEL)).to_have_count(0)
    expect(page.locator('cd-osd-list > .tab-content')).to_be_visible()
    page.click(TAB)
    expect(page.locator(f'{PANEL} .rt-card').first).to_be_visible()
    assert page.evaluate('location.hash') == '#/osd?tab=rocksdb-tuner'
    page.reload()
    expect(page.locator(f'{PANEL} .rt-card').first).to_be_visible()
    expect(page.locator(TAB)).to_have_count(1)
    page.goto(f'{admin.url}/#/pool')
    expect(page.locator('cd-pool-list')).to_be_visible()
    expect(page.locator(PANEL)).to_have_count(0)
    page.go_back()
    expect(page.locator(TAB)).to_have_count(1)
    expect(page.locator(f'{PANEL} .rt-card').first).to_be_visible()
    page.context.clear_cookies()
    page.wait_for_url('**/#/login**')
    admin.fill_in('administrator')
    page.wait_for_function("!location.hash.startsWith('#/login')")
    if not page.locator(PANEL).count():
        page.goto(f'{admin.url}/#/osd')
    expect(page.locator(f'{PANEL} .rt-card').first).to_be_visible()
    assert admin.our_errors() == []


def test_tab_is_reachable_by_keyboard_and_keeps_focus_across_refreshes(
    admin: Visitor,
) -> None:
    page = admin.page
    page.goto(f'{admin.url}/#/osd')
    page.wait_for_selector(TAB)
    own = page.locator(f'cd-osd-list > .nav-tabs a.nav-link:not({TAB})')
    own.last.focus()
    page.keyboard.press('ArrowRight')
    expect(page.locator(TAB)).to_be_focused()
    page.keyboard.press('Enter')
    expect(page.locator(f'{PANEL} .rt-card').first).to_be_visible()
    page.keyboard.press('ArrowRight')
    expect(own.first).to_be_focused()
    page.keyboard.press('ArrowLeft')
    expect(page.locator(TAB)).to_be_focused()
    with admin.answering(answers(osds=60)):
        page.reload()
        summary = page.locator(f'{PANEL} summary', has_text='slow device').first
        summary.focus()
        page.keyboard.press('Enter')
        with page.expect_response('**/api/rocksdb_tuner/map'):
            pass
        with page.expect_response('**/api/rocksdb_tuner/map'):
            pass
        expect(summary).to_be_focused()
        expect(page.locator(f'{PANEL} details[open]')).to_have_count(1)


def test_user_without_read_permission_gets_no_tab(visitor: Visitor, users: dict[str, User]) -> None:
    assert 'block-manager' in users
    visitor.log_in('block-manager')
    visitor.page.goto(f'{visitor.url}/#/osd?tab=rocksdb-tuner')
    visitor.page.wait_for_timeout(4000)
    expect(visitor.page.locator(TAB)).to_have_count(0)
    expect(visitor.page.locator(PANEL)).to_have_count(0)
    visitor.shot('block-manager')


def test_anonymous_user_is_sent_to_login_and_back_to_the_tab(
    visitor: Visitor, users: dict[str, User]
) -> None:
    assert 'administrator' in users
    visitor.page.goto(f'{visitor.url}/#/osd?tab=rocksdb-tuner')
    visitor.page.wait_for_url('**/#/login**')
    visitor.fill_in('administrator')
    expect(visitor.page.locator(f'{PANEL} .rt-card').first).to_be_visible()


DISABLED = {'code': 'module_disabled', 'detail': 'The rocksdb_tuner module is not enabled.'}


def test_disabled_module_is_reported_as_such(admin: Visitor) -> None:
    with admin.answering({'': DISABLED}, 503):
        admin.page.goto(f'{admin.url}/#/osd?tab=rocksdb-tuner')
        alert = admin.page.locator(f'{PANEL} [role=alert]')
        expect(alert).to_contain_text('ceph mgr module enable rocksdb_tuner')
        admin.shot('state-disabled')
        assert admin.violations() == []
    assert admin.our_errors() == []


@pytest.mark.parametrize('state', ['recommended', 'rollout'])
def test_tab_is_accessible_in_the_style_of_the_dashboard(admin: Visitor, state: str) -> None:
    """All states are looked at in a page of their own (test_pages)."""
    with admin.answering(answers(osds=60, state=state)):
        admin.open_tab()
        closed = admin.page.locator(f'{PANEL} details:not([open]) > summary')
        while closed.count():
            closed.first.click()
        admin.page.wait_for_timeout(500)
        admin.shot(f'state-{state}')
        assert admin.violations() == []
        assert admin.violations(TAB) == []
    assert admin.our_errors() == []


def _confirm(page: Page, action: str) -> None:
    """On a busy machine a tick may miss its samples and take its advice back: then once more."""
    dialog = page.get_by_role('dialog')
    for _ in range(5):
        dialog.get_by_role('button', name=action, exact=True).click()
        try:
            expect(dialog).to_have_count(0, timeout=10_000)
        except AssertionError:
            # Refused with a message; the dialog stays open.
            expect(dialog.get_by_role('alert')).to_contain_text('recommendation')
        else:
            return
    raise AssertionError(dialog.inner_text())


def test_recommendation_goes_from_dry_run_to_done_and_back(
    admin: Visitor, tuner: ModuleClient
) -> None:
    page, cluster = admin.page, tuner.cluster
    # What clients wrote before would call for another set than the default
    cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/workload_memory', '0')
    cluster.ceph('config', 'set', 'osd.1', OPTION, ALTERNATE_2019)
    tuner.restart(1)
    tuner.wait_for_clean()
    found, wanted = tuner.wait_for_successor(1, timeout_s=90)
    admin.open_tab()
    item = admin.recommendation(found['id'])
    item.locator('summary').click()
    expect(item).to_contain_text('Option changes')
    item.get_by_role('button', name='Dry run').click()
    expect(item).to_contain_text('no changes were made')
    admin.shot('recommendation')
    assert admin.violations() == []
    assert tuner.operation() is None or tuner.operation()['recommendation'] != found['id']
    item.get_by_role('button', name='Apply …').click()
    dialog = page.get_by_role('dialog')
    expect(dialog).to_contain_text('osd 1')
    expect(dialog).to_contain_text('restarted')
    expect(dialog.get_by_role('button', name='Cancel')).to_be_focused()
    admin.shot('apply-dialog')
    assert admin.violations('dialog') == []
    # Escape changes nothing.
    page.keyboard.press('Escape')
    expect(dialog).to_have_count(0)
    assert tuner.entries() == [('osd.1', '', ALTERNATE_2019)]
    item.get_by_role('button', name='Apply …').click()
    _confirm(page, 'Apply')
    expect(page.locator(PANEL)).to_contain_text('Rollout in progress')
    admin.shot('rollout')
    expect(page.locator(PANEL)).to_contain_text('Last rollout', timeout=180_000)
    assert tuner.operation()['phase'] == 'done'
    assert tuner.entries() == wanted
    expect(page.locator(PANEL)).to_contain_text('dashboard:the-administrator')
    admin.shot('rollout-done')
    page.get_by_role('button', name='Roll back …').click()
    expect(page.get_by_role('dialog')).to_contain_text('Restores exactly the configuration before')
    page.get_by_role('dialog').get_by_role('button', name='Roll back', exact=True).click()
    tuner.wait_for_phase('rolled-back', 'failed')
    assert tuner.entries() == [('osd.1', '', ALTERNATE_2019)]
    expect(page.locator(PANEL)).to_contain_text('rolled-back')
    admin.shot('rolled-back')
    actors = [entry['actor'] for entry in tuner.json('history', schema='history')]
    assert set(actors) == {'dashboard:the-administrator'}
    tuner.remove_entries()


def test_page_without_a_place_for_the_tab_is_reported_in_the_status(
    visitor: Visitor, users: dict[str, User], tuner: ModuleClient
) -> None:
    """As a later release may have it; the page itself stays as it is."""
    assert 'administrator' in users
    visitor.page.add_init_script(
        """new MutationObserver(() => document.querySelectorAll('cd-osd-list > .nav-tabs')
          .forEach((e) => e.classList.replace('nav-tabs', 'other-tabs')))
          .observe(document, { childList: true, subtree: true });"""
    )
    visitor.log_in('administrator')
    visitor.page.goto(f'{visitor.url}/#/osd')
    expect(visitor.page.locator('cd-osd-list > .other-tabs a').first).to_be_visible()
    reported = tuner.wait_for(lambda: tuner.status()['notices'], 120, 'a notice')
    assert 'cannot be added' in reported[0]
    expect(visitor.page.locator(TAB)).to_have_count(0)


def test_dashboard_pages_work_with_a_broken_drop_in(
    visitor: Visitor, users: dict[str, User], tuner: ModuleClient
) -> None:
    """A file that fails on its last line: the page has no tab, and everything else goes on."""
    cluster = tuner.cluster
    controllers = cluster.client.host.outside(cluster.layout.mgr_modules / 'dashboard/controllers')
    files = [controllers / '_rocksdb_tuner_api.py', controllers / '_rocksdb_tuner_tab.py']
    shipped = [file.read_text() for file in files]
    try:
        for file, text in zip(files, shipped):
            file.write_text(f'{text}\n1 / 0\n')
        user = start_over(tuner, visitor.url)
        assert user.get('').status == 404
        visitor.log_in('administrator')
        for page, element in (('osd', 'cd-osd-list'), ('pool', 'cd-pool-list')):
            visitor.page.goto(f'{visitor.url}/#/{page}')
            expect(visitor.page.locator(f'{element} cd-table').first).to_be_visible()
        expect(visitor.page.locator(TAB)).to_have_count(0)
        assert 'rocksdb_tuner' not in visitor.page.content()
    finally:
        for file, text in zip(files, shipped):
            file.write_text(text)
        again = start_over(tuner, visitor.url)
        # The dashboard may answer before the module is there.
        tuner.wait_for(lambda: again.get('').status == 200, RESTART_S, 'an answer of the module')


def start_over(tuner: ModuleClient, url: str) -> User:
    """Restart the manager; returns the administrator, logged in to its dashboard."""
    before = tuner.cluster.ceph_json('mgr', 'dump')['active_gid']
    tuner.cluster.ceph('mgr', 'fail')

    def logged_in() -> User | None:
        if tuner.cluster.ceph_json('mgr', 'dump')['active_gid'] == before:
            return None
        try:
            return User(url).logged_in('the-administrator', PASSWORD)
        except (OSError, AssertionError) as error:
            print(f'not yet: {error}')
            return None

    found: User = tuner.wait_for(logged_in, RESTART_S, 'the dashboard after a restart')
    return found
