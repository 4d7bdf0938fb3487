"""The tab in the dashboard of a real cluster, as a person with a browser meets it."""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dashboard_client import PASSWORD, User
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from real_workload import ended, run_workload
from sample_answers import answers
from visitor import API, PANEL, SHOTS, TAB, Visitor

pytestmark = pytest.mark.integration

WIDTHS = (1280, 1920, 400)
#: How often the tab is opened to see how long it takes.
LOOKS = 9
#: After a restart of the manager its dashboard takes some seconds.
RESTART_S = 120


def headline(page: Page) -> str:
    return page.locator(f'{PANEL} .rt-headline').inner_text()


def test_url_opens_the_tab_with_the_current_state(admin: Visitor) -> None:
    admin.open_tab()
    page = admin.page
    expect(page.locator(TAB)).to_have_attribute('aria-selected', 'true')
    assert 'Needs attention' not in headline(page)
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


def test_charts_appear_with_the_first_refresh_that_has_data(admin: Visitor) -> None:
    """A module that has just started has none at the first refresh."""
    page, made = admin.page, answers(osds=12, state='quiet')
    readings = 0
    #: The refresh in which they were requested.
    asked: list[int] = []

    def count(route: Any) -> None:
        nonlocal readings
        readings += 1
        route.fallback()

    def trend(route: Any) -> None:
        asked.append(readings)
        route.fulfill(json=made['/trend'] if len(asked) > 1 else [])

    with admin.answering(made):
        page.route(f'{API}/map', count)
        page.route(re.compile('/api/rocksdb_tuner/trend'), trend)
        admin.open_tab()
        expect(page.locator(PANEL)).to_contain_text('No history yet')
        expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
        assert asked[:2] == [1, 2]
    assert admin.our_errors() == []


@pytest.mark.parametrize('osds', [None, 1000, 10_000])
def test_time_until_the_tab_is_usable_is_measured(
    admin: Visitor, release: str, osds: int | None
) -> None:
    """From the click to state, map and charts, with the cluster's answers or with doubles.

    Times are not asserted: the machine runs other work. The first load is the slowest.
    """
    page = admin.page
    took_s = []
    with nullcontext() if osds is None else admin.answering(answers(osds)):
        for _ in range(LOOKS):
            page.goto(f'{admin.url}/#/osd')
            page.reload()
            page.wait_for_selector(TAB)
            began_s = time.monotonic()
            page.click(TAB)
            for shown in ('.rt-headline', 'canvas', '.rt-charts'):
                page.locator(f'{PANEL} {shown}').first.wait_for()
            took_s.append(round(time.monotonic() - began_s, 3))
    figures = {
        'release': release,
        'date': time.strftime('%Y-%m-%d'),
        'osds': osds or 3,
        'answers': 'of the cluster' if osds is None else 'made, given by the browser',
        'cpus': os.cpu_count(),
        'load': round(os.getloadavg()[0], 1),
        'looks': LOOKS,
        'usable_s': {
            'least': min(took_s),
            'median': statistics.median(took_s),
            'most': max(took_s),
        },
    }
    print(json.dumps(figures))
    if folder := os.environ.get('ROCKSDB_TUNER_TAB_RESULTS'):
        keep(Path(folder) / f'tab-{release}.json', figures)


def keep(path: Path, figures: dict[str, Any]) -> None:
    """In place of those of as many OSDs from before."""
    kept = json.loads(path.read_text()) if path.exists() else []
    others = [one for one in kept if one['osds'] != figures['osds']]
    path.write_text(json.dumps([*others, figures], indent=1) + '\n')


def test_tab_survives_navigation_reload_and_lost_login(admin: Visitor) -> None:
    page = admin.page
    admin.open_tab()
    page.click('cd-osd-list > .nav-tabs a.nav-link >> nth=0')
    expect(page.locator(PANEL)).to_have_count(0)
    expect(page.locator('cd-osd-list > .tab-content')).to_be_visible()
    page.click(TAB)
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
    assert page.evaluate('location.hash') == '#/osd?tab=rocksdb-tuner'
    page.reload()
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
    expect(page.locator(TAB)).to_have_count(1)
    page.goto(f'{admin.url}/#/pool')
    expect(page.locator('cd-pool-list')).to_be_visible()
    expect(page.locator(PANEL)).to_have_count(0)
    page.go_back()
    expect(page.locator(TAB)).to_have_count(1)
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
    page.context.clear_cookies()
    page.wait_for_url('**/#/login**')
    admin.fill_in('administrator')
    page.wait_for_function("!location.hash.startsWith('#/login')")
    if not page.locator(PANEL).count():
        page.goto(f'{admin.url}/#/osd')
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
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
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
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
        page.locator('rocksdb-tuner-map canvas').focus()
        page.keyboard.press('ArrowRight')
        page.keyboard.press('ArrowRight')
        expect(page.locator('rocksdb-tuner-map [role=status]')).to_contain_text('osd.1 ')


def test_read_only_user_sees_everything_and_gets_no_change_buttons(
    visitor: Visitor, users: dict[str, User]
) -> None:
    assert 'read-only' in users
    visitor.log_in('read-only')
    with visitor.answering(answers(osds=3)):
        visitor.open_tab()
        visitor.page.click(f'{PANEL} summary:has-text("Change the options")')
        expect(visitor.page.get_by_text('requires update permission')).to_be_visible()
        expect(visitor.page.get_by_role('button', name='Dry run')).to_be_visible()
        for name in ('Apply …', 'Pause …', 'Abort …', 'Roll back …', 'recommend …'):
            expect(visitor.page.get_by_role('button', name=name)).to_have_count(0)
        visitor.shot('read-only')


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
    expect(visitor.page.locator(f'{PANEL} .rt-headline')).to_be_visible()


ERROR = {'detail': 'The rocksdb_tuner module failed; the mgr log has the details'}
DISABLED = {'code': 'module_disabled', 'detail': 'The rocksdb_tuner module is not enabled.'}


@pytest.mark.parametrize(
    ('state', 'status', 'body', 'shown'),
    [
        ('error', 500, ERROR, 'the mgr log has the details'),
        ('disabled', 503, DISABLED, 'ceph mgr module enable rocksdb_tuner'),
        ('no-permission', 403, {'detail': 'forbidden'}, 'Read permission for OSDs'),
    ],
)
def test_unresponsive_module_is_reported_as_such(
    admin: Visitor, state: str, status: int, body: Any, shown: str
) -> None:
    with admin.answering({'': body}, status):
        admin.page.goto(f'{admin.url}/#/osd?tab=rocksdb-tuner')
        expect(admin.page.locator(f'{PANEL} [role=alert]')).to_contain_text(shown)
        admin.shot(f'state-{state}')
        assert admin.violations() == []
    assert admin.our_errors() == []


@pytest.mark.parametrize(
    ('state', 'shown'),
    [
        ('empty', 'No samples yet'),
        ('off', 'The mode is off'),
        ('stale', 'Stale data'),
        ('quiet', 'No issues'),
        ('waiting', 'Rollout requires operator action'),
        ('annex', 'Sets bluestore_rocksdb_options_annex, which OSDs append'),
        ('offer', 'Compact'),
        ('campaign', 'Compaction campaign in progress: 6 of 12 OSDs'),
        ('campaign-waiting', 'Compaction campaign waiting: writes of clients take'),
        ('campaign-done', 'Last compaction campaign'),
        ('broken', 'Needs attention'),
    ],
)
def test_every_state_is_shown_and_accessible(admin: Visitor, state: str, shown: str) -> None:
    with admin.answering(answers(osds=12, state=state)):
        admin.open_tab()
        expect(admin.page.locator(PANEL)).to_contain_text(shown)
        closed = admin.page.locator(f'{PANEL} details:not([open]) > summary')
        while closed.count():
            closed.first.click()
        admin.page.wait_for_timeout(500)
        admin.shot(f'state-{state}')
        assert admin.violations() == []
        assert admin.violations(TAB) == []
    assert admin.our_errors() == []


def test_removing_an_annex_shows_that_no_option_value_changes(admin: Visitor) -> None:
    """It is read once the recommendation is opened."""
    with admin.answering(answers(osds=12, state='annex-goes')):
        admin.open_tab()
        item = admin.page.locator(f'{PANEL} details[data-id]').first
        item.locator('summary').first.click()
        expect(item).to_contain_text('No option values change')
        admin.shot('state-annex-goes')
        assert admin.violations() == []
    assert admin.our_errors() == []


@pytest.mark.parametrize(('state', 'option'), [('rollout', OPTION), ('annex', f'{OPTION}_annex')])
def test_changing_option_is_shown_in_advice_rollout_and_confirmation(
    admin: Visitor, state: str, option: str
) -> None:
    """The string of OSDs, or the annex that they append to it."""
    made = answers(osds=3, state=state)
    page = admin.page
    facts = page.locator(f'{PANEL} .rt-facts', has_text='Verdict').first
    with admin.answering(made):
        admin.open_tab()
        expect(facts.locator('code')).to_have_text(option)
    # None can be applied during a rollout.
    with admin.answering(made | {'/operation': None}):
        page.reload()
        item = page.locator(f'{PANEL} details[data-id="{made["/recommendation"][0]["id"]}"]')
        item.locator('summary').click()
        expect(item).to_contain_text(re.compile(rf'Sets\s+{option}[,.]'))
        item.get_by_role('button', name='Apply …').click()
        expect(page.get_by_role('dialog')).to_contain_text(f'{option} of 3 OSDs')
        page.keyboard.press('Escape')
    assert admin.our_errors() == []


def test_campaign_moves_osd_by_osd_and_controls_need_confirmation(admin: Visitor) -> None:
    page = admin.page
    asked: list[str] = []

    def change(route: Any) -> None:
        asked.append(f'{route.request.method} {route.request.url.partition("/rocksdb_tuner")[2]}')
        route.fulfill(status=202, json=None)

    with admin.answering(answers(osds=12, state='offer')):
        admin.open_tab()
        item = page.locator(f'{PANEL} details[data-id="ssd-compact-1a2b3c"]')
        item.locator('summary').click()
        # It has no plan: what would be done is what it shows.
        expect(item.get_by_role('button', name='Dry run')).to_have_count(0)
        item.get_by_role('button', name='Apply …').click()
        dialog = page.get_by_role('dialog')
        expect(dialog).to_contain_text('neither rolled back nor stopped')
        admin.shot('compact-dialog')
        assert admin.violations('dialog') == []
        page.route(f'{API}/recommendation/*/apply', change)
        dialog.get_by_role('button', name='Compact', exact=True).click()
        expect(dialog).to_have_count(0)
    page.route(f'{API}/operation/*', change)
    with admin.answering(answers(osds=12, state='campaign')):
        # At the next refresh.
        expect(page.locator(PANEL)).to_contain_text('Compaction campaign in progress')
        expect(admin.row(1)).to_contain_text('done')
        expect(admin.row(1)).to_contain_text('10 GiB (DB -33%)')
        expect(admin.row(6)).to_contain_text('compacting')
        expect(page.locator(PANEL)).to_contain_text('osd.6 has been compacting for 2h 10m and has')
        expect(admin.row(2)).to_contain_text('no room')
        for name, reported in (
            ('Pause', 'osd 6 cannot be stopped'),
            ('Abort', '5 OSDs will not be compacted'),
        ):
            page.get_by_role('button', name=f'{name} …').click()
            expect(dialog).to_contain_text(reported)
            dialog.get_by_role('button', name=name, exact=True).click()
            expect(dialog).to_have_count(0)
    with admin.answering(answers(osds=12, state='campaign-waiting')):
        page.get_by_role('button', name='Resume …').click()
        dialog.get_by_role('button', name='Resume', exact=True).click()
        expect(dialog).to_have_count(0)
    assert asked == [
        'POST /recommendation/ssd-compact-1a2b3c/apply',
        *(f'POST /operation/{control}' for control in ('pause', 'abort', 'resume')),
    ]
    with admin.answering(answers(osds=12, state='campaign-done')):
        expect(page.locator(PANEL)).to_contain_text('Last compaction campaign')
        expect(page.locator(PANEL)).to_contain_text('Compaction of device class ssd')
        expect(page.get_by_role('button', name='Pause …')).to_have_count(0)
    assert admin.our_errors() == []


def test_loading_and_lost_connection_are_shown(admin: Visitor) -> None:
    page = admin.page
    page.route(f'{API}/map', lambda _route: None)
    page.goto(f'{admin.url}/#/osd?tab=rocksdb-tuner')
    expect(page.locator(f'{PANEL} [role=status]')).to_contain_text('Loading')
    admin.shot('state-loading')
    page.unroute(f'{API}/map')
    page.reload()
    expect(page.locator(f'{PANEL} .rt-headline')).to_be_visible()
    page.route(f'{API}/map', lambda route: route.abort())
    # At the next refresh.
    alert = page.locator(f'{PANEL} [role=alert]')
    expect(alert).to_contain_text('does not respond')
    # Earlier data stays, marked as old.
    expect(page.locator(f'{PANEL} .rt-old .rt-headline')).to_be_visible()
    admin.shot('state-unreachable')
    page.unroute(f'{API}/map')
    page.get_by_role('button', name='Try again').click()
    expect(alert).to_have_count(0)


@pytest.mark.parametrize('osds', [1000, 10_000])
def test_map_shows_many_osds_and_responds(admin: Visitor, osds: int) -> None:
    page = admin.page
    with admin.answering(answers(osds)):
        admin.open_tab()
        canvas = page.locator('rocksdb-tuner-map canvas')
        box = canvas.bounding_box()
        assert box is not None
        assert 50 < box['height'] < 900
        for value in ('kv_sync_busy', 'db_used_ratio', 'profiles', 'workloads'):
            began_s = time.monotonic()
            page.get_by_label('Color by').select_option(value)
            page.evaluate('new Promise((done) => requestAnimationFrame(done))')
            print(f'{osds} OSDs recolored after {time.monotonic() - began_s:.3f} s')
            admin.shot(f'map-{osds}-{value}')
        with page.expect_response('**/api/rocksdb_tuner/trend?osds=**'):
            canvas.click(position={'x': 4, 'y': 22})
        canvas.hover(position={'x': 4, 'y': 22})
        expect(page.locator('.rt-tooltip')).to_contain_text('osd.')
    assert admin.our_errors() == []


def test_workload_appears_while_it_runs(admin: Visitor, tuner: ModuleClient) -> None:
    admin.open_tab()
    client = run_workload(tuner.cluster, 'rbd-randwrite', 60)
    try:
        groups = admin.page.get_by_role('group', name='Device classes')
        expect(groups).to_contain_text('rbd-small-write')
        admin.page.wait_for_timeout(8000)
        admin.shot('workload')
        assert ended(client)['errors'] == 0
    finally:
        if client.poll() is None:
            client.terminate()
            client.wait(30)


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
    item = page.locator(f'{PANEL} details[data-id="{found["id"]}"]')
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


def test_screenshots_are_taken(release: str) -> None:
    """Of this run, for each width and state."""
    names = {path.name for path in SHOTS.glob(f'{release}-*.png')}
    assert {f'{release}-overview-{width}.png' for width in WIDTHS} <= names
