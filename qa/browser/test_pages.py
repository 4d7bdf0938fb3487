"""The tab with made answers, in a page that has just what it needs: no cluster is started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sample_experiments import (
    BEST,
    OPTIONS,
    OTHER,
    SIGNAL,
    SLOW,
    WHO,
    aborted,
    arm,
    effect,
    no_difference,
    refused,
)
from tab_page import THEMES, TabPages, tab_pages, violations

from module_client import OPTION
from sample_answers import answers
from sample_candidates import all_decisions, cores_unknown, none_feasible
from visitor import PANEL, SHOTS

pytestmark = [pytest.mark.integration, pytest.mark.pages]

OSDS = 18
WIDTHS = (1280, 400)
#: Text of each state, with everything opened.
STATES = {
    'empty': 'there are no samples yet',
    'off': 'the mode is off',
    'stale': 'old: OSDs are not reporting',
    'quiet': 'No findings',
    'recommended': 'Reasons, changes and commands',
    'verdict': 'Evidence for the canary verdict',
    'waiting': 'Waiting: no orchestrator can restart daemons',
    'annex': 'Sets bluestore_rocksdb_options_annex, which OSDs append',
    'annex-goes': 'No option values change',
    'offer': 'Compact 18 OSDs',
    'campaign': 'osd.6 has been compacting for 2h 10m and has not answered',
    'campaign-waiting': 'Waiting: writes of clients take 9.1 ms',
    'campaign-done': 'Last compaction campaign',
    'broken': 'did not come back within 300 s',
    'experiment-baseline': 'not measured yet',
    'experiment-waiting': 'Waiting: OSDs are down: osd.8',
    'experiment-won': f'Result: winner found: {BEST}',
}


@pytest.fixture
def pages(browser: Browser, bundle: None) -> Iterator[TabPages]:
    with tab_pages(browser) as found:
        yield found


def entry(page: Page, text: str | re.Pattern[str]) -> Locator:
    """An entry of a list, opened."""
    found = page.locator(f'{PANEL} details', has=page.locator('summary', has_text=text)).first
    found.locator('summary').first.click()
    return found


def open_all(page: Page) -> None:
    closed = page.locator(f'{PANEL} details:not([open]) > summary')
    while closed.count():
        closed.first.click()
    page.wait_for_timeout(300)


def candidates_of(page: Page, device_class: str) -> Locator:
    """The candidates of a device class, opened.

    They come after the rest of the tab, in which the history names device classes, too.
    """
    return entry(page, re.compile(rf'device class {device_class}\s+\d+ candidates?'))


def column(table: Locator, number: int) -> list[str]:
    return table.locator(f'tbody tr > :nth-child({number})').all_inner_texts()


@pytest.mark.parametrize('state', STATES)
def test_every_state_is_shown_accessible_and_within_the_page(pages: TabPages, state: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = pages.open(answers(OSDS, state), may_change=True)
    open_all(page)
    expect(page.locator(PANEL)).to_contain_text(STATES[state])
    assert violations(page, PANEL) == []
    page.screenshot(path=SHOTS / f'state-{state}.png', full_page=True)
    for width in WIDTHS:
        page.set_viewport_size({'width': width, 'height': 900})
        # Charts follow the width.
        page.wait_for_function(
            '(width) => document.documentElement.scrollWidth <= width', arg=width
        )


@pytest.mark.parametrize(
    ('state', 'words'),
    [('empty', 'no samples yet'), ('off', 'mode is off'), ('quiet', 'evaluated')],
)
def test_decision_comes_first_and_nothing_repeats_it(
    pages: TabPages, state: str, words: str
) -> None:
    page = pages.open(answers(OSDS, state))
    expect(page.locator(f'{PANEL} > div > :first-child')).to_have_class(re.compile('rt-card'))
    assert page.locator(PANEL).inner_text().lower().count(words) == 1


def test_card_has_the_words_of_status_and_applies_after_confirmation(pages: TabPages) -> None:
    made = answers(OSDS, 'recommended')
    page = pages.open(made, may_change=True)
    decision = made['']['decisions'][0]
    card = page.locator(f'{PANEL} .rt-card').first
    for part in ('do', 'because', 'gain', 'loss', 'risk', 'next_command'):
        expect(card).to_contain_text(decision[part])
    # It is not in a list below once more.
    expect(page.get_by_role('heading', name='Recommendations')).to_have_count(0)
    card.get_by_role('button', name='Dry run').click()
    expect(card).to_contain_text('no changes were made')
    card.get_by_role('button', name='Apply …').click()
    dialog = page.get_by_role('dialog')
    for text in (f'Gain: {decision["gain"]}', f'{OPTION} of 18 OSDs', 'restarted', 'roll it back'):
        expect(dialog).to_contain_text(text)
    expect(dialog.get_by_role('button', name='Cancel')).to_be_focused()
    page.keyboard.press('Escape')
    assert pages.sent == []
    card.get_by_role('button', name='Apply …').click()
    dialog.get_by_role('button', name='Apply', exact=True).click()
    expect(dialog).to_have_count(0)
    assert [sent.path for sent in pages.sent] == ['/recommendation/ssd-1a2b3c/apply']


def test_reader_sees_everything_and_gets_no_change_buttons(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'rollout'))
    open_all(page)
    expect(page.get_by_text('requires update permission')).to_be_visible()
    expect(page.get_by_role('button', name='Dry run')).to_be_visible()
    for name in ('Apply …', 'Pause …', 'Abort …', 'Roll back …', 'recommend …'):
        expect(page.get_by_role('button', name=name)).to_have_count(0)


def test_table_of_osds_sorts_searches_and_pages(pages: TabPages) -> None:
    page = pages.open(answers(60, 'quiet'))
    found = entry(page, 'OSDs as a table')
    expect(found).to_contain_text('1 to 10 of 60')
    assert column(found, 1) == [f'osd.{osd}' for osd in range(10)]
    found.get_by_role('button', name='Next').click()
    expect(found).to_contain_text('11 to 20 of 60')
    found.get_by_role('button', name='kv_sync busy').click()
    found.get_by_role('button', name='kv_sync busy').click()
    expect(found.get_by_role('columnheader', name='kv_sync busy')).to_have_attribute(
        'aria-sort', 'descending'
    )
    found.get_by_role('button', name='Previous').click()
    busy = [float(text.rstrip('%')) for text in column(found, 6)]
    assert busy == sorted(busy, reverse=True)
    found.get_by_role('searchbox').fill('NODE2')
    expect(found).to_contain_text('1 to 10 of 12')
    assert set(column(found, 2)) == {'node2'}
    found.get_by_role('searchbox').fill('nowhere')
    expect(found).to_contain_text('None of 0')
    found.get_by_role('searchbox').fill('osd.31')
    found.get_by_role('button', name='osd.31').click()
    assert [url for url in pages.asked if url.endswith('/trend?osds=31')]


def test_unknown_values_are_last_in_both_directions(pages: TabPages) -> None:
    page = pages.open(answers(12, 'campaign'))
    found = page.locator(f'{PANEL} details', has_text='OSDs in compaction order')
    for _ in range(2):
        found.get_by_role('button', name='DB after').click()
        # One was skipped, and six are not compacted yet.
        assert [text == '\u2013' for text in column(found, 5)] == [False] * 5 + [True] * 7


def test_every_candidate_is_listed_with_its_result(pages: TabPages) -> None:
    """The chosen one first, infeasible ones last, with their reasons; unknown is not 0."""
    made = answers(OSDS, 'quiet') | {'/candidates': [*all_decisions(), cores_unknown()]}
    page = pages.open(made)
    ssd = candidates_of(page, 'ssd')
    assert column(ssd, 1)[:2] == ['variant-2022-d', 'alternate-2019']
    row = ssd.get_by_role('row', name='variant-2022-c')
    expect(row).to_contain_text('-22% (-29 to -14%)')
    expect(row).to_contain_text('writes to the DB device +14% (+6 to +22%)')
    expect(row).to_contain_text('a loss of 5% is allowed')
    expect(ssd.get_by_role('row', name='variant-2022-a')).to_contain_text('no longer fit')
    expect(ssd.locator('.rt-label', has_text='chosen')).to_have_count(1)
    qlc = candidates_of(page, 'qlc')
    assert column(qlc, 3) == ['\u2013', '\u2013']
    lz4 = candidates_of(page, 'lz4')
    expect(lz4).to_contain_text('Additional use of CPU is not counted')
    expect(lz4.get_by_role('row', name='lz4-2025').nth(0)).to_contain_text('CPU +25%')
    # None was compared for these.
    expect(page.locator(f'{PANEL} summary', has_text='device class hdd')).to_have_count(0)


def test_rest_of_the_tab_works_without_candidates(pages: TabPages) -> None:
    failed = {'/candidates': {'status': 500, 'json': {'detail': 'it failed'}}}
    page = pages.open(answers(OSDS, 'quiet'), refused=failed)
    expect(page.get_by_text('Cannot read the candidates: it failed')).to_be_visible()
    expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
    assert page.locator(f'{PANEL} .rt-old').count() == 0


def test_no_feasible_alternative_has_its_reasons(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'quiet') | {'/candidates': [none_feasible()]})
    found = candidates_of(page, 'small')
    assert len([text for text in column(found, 6) if 'exceeds' in text]) == 2


#: State, control, where it is sent, and what its confirmation says.
CONTROLS = [
    ('rollout', 'Pause', '/operation/pause', 'They keep the new options.'),
    ('rollout', 'Abort', '/operation/abort', 'roll back to restore them'),
    ('rollout', 'Roll back', '/rollback', 'Restores exactly the configuration before rollout'),
    ('waiting', 'Resume', '/operation/resume', 'each restarted as planned'),
    ('broken', 'Acknowledge', '/operation/resume', 'Clears its health check.'),
    ('campaign', 'Pause', '/operation/pause', 'osd 9 cannot be stopped'),
    ('campaign', 'Abort', '/operation/abort', '8 OSDs will not be compacted'),
    ('campaign-waiting', 'Resume', '/operation/resume', 'Continues with 8 OSDs'),
    ('experiment', 'Pause', '/operation/pause', 'keep them until you resume or abort'),
    ('experiment', 'Abort', '/operation/abort', 'osd 1, 4, 9, 14 run options of arms. They get'),
    ('experiment-waiting', 'Resume', '/operation/resume', 'including restarts of OSDs'),
]


@pytest.mark.parametrize(('state', 'control', 'path', 'says'), CONTROLS)
def test_control_is_sent_only_after_a_confirmation_that_says_what_happens(
    pages: TabPages, state: str, control: str, path: str, says: str
) -> None:
    page = pages.open(answers(OSDS, state), may_change=True)
    button = page.get_by_role('button', name=f'{control} …')
    button.click()
    dialog = page.get_by_role('dialog')
    expect(dialog).to_contain_text(says)
    expect(dialog).to_contain_text(f'ceph rocksdb-tuner {path[1:].replace("/", " ")}')
    confirm = dialog.get_by_role('button', name=control, exact=True)
    # What ends or undoes something is red, and nothing else.
    for one in (button, confirm):
        stops = one.evaluate('(e) => e.classList.contains("rt-stop")')
        assert stops == (control in {'Abort', 'Roll back'})
    dialog.get_by_role('button', name='Cancel').click()
    expect(dialog).to_have_count(0)
    assert pages.sent == []
    button.click()
    confirm.click()
    expect(dialog).to_have_count(0)
    assert [sent.path for sent in pages.sent] == [path]


def test_compaction_is_confirmed_with_its_consequences(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'offer'), may_change=True)
    card = page.locator(f'{PANEL} .rt-card').first
    # It has no plan.
    expect(card.get_by_role('button', name='Dry run')).to_have_count(0)
    card.get_by_role('button', name='Apply …').click()
    dialog = page.get_by_role('dialog')
    expect(dialog).to_contain_text('neither rolled back nor stopped')
    dialog.get_by_role('button', name='Compact', exact=True).click()
    expect(dialog).to_have_count(0)
    assert [sent.path for sent in pages.sent] == ['/recommendation/ssd-compact-1a2b3c/apply']


def test_campaign_shows_every_osd(pages: TabPages) -> None:
    page = pages.open(answers(12, 'campaign'))
    rows = page.locator(f'{PANEL} details', has_text='OSDs in compaction order')
    for osd, shown in ((1, '10 GiB (DB -33%)'), (2, 'no room'), (6, 'compacting')):
        row = rows.get_by_role('row', name=re.compile(f'^osd.{osd} '))
        expect(row).to_contain_text(shown)


@pytest.mark.parametrize(('state', 'option'), [('rollout', OPTION), ('annex', f'{OPTION}_annex')])
def test_rollout_names_the_option_that_it_changes(pages: TabPages, state: str, option: str) -> None:
    page = pages.open(answers(3, state))
    facts = page.locator(f'{PANEL} .rt-facts', has_text='Verdict').first
    expect(facts.locator('code')).to_have_text(option)


def test_charts_appear_with_the_first_refresh_that_has_data(pages: TabPages) -> None:
    """A module that has just started has none at the first refresh."""
    # It refreshes more often while an operation is under way.
    made = answers(12, 'rollout')
    trend = made['/trend']
    made['/trend'] = []
    page = pages.open(made)
    expect(page.locator(PANEL)).to_contain_text('No history yet')
    made['/trend'] = trend
    expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()


def test_old_data_stays_while_the_dashboard_does_not_respond(pages: TabPages) -> None:
    page = pages.open(answers(12, 'rollout'))
    page.route('**/api/rocksdb_tuner/map', lambda route: route.abort())
    alert = page.locator(f'{PANEL} [role=alert]')
    expect(alert).to_contain_text('does not respond')
    expect(page.locator(f'{PANEL} .rt-old .rt-card').first).to_be_visible()
    page.unroute('**/api/rocksdb_tuner/map')
    page.get_by_role('button', name='Try again').click()
    expect(alert).to_have_count(0)


def test_map_shows_many_osds_and_responds(pages: TabPages) -> None:
    page = pages.open(answers(10_000))
    canvas = page.locator('rocksdb-tuner-map canvas')
    box = canvas.bounding_box()
    assert box is not None
    assert 50 < box['height'] < 900
    for value in ('kv_sync_busy', 'db_used_ratio', 'profiles', 'workloads'):
        page.get_by_label('Color by').select_option(value)
        page.evaluate('new Promise((done) => requestAnimationFrame(done))')
    with page.expect_response('**/api/rocksdb_tuner/trend?osds=**'):
        canvas.click(position={'x': 4, 'y': 22})
    canvas.hover(position={'x': 4, 'y': 22})
    expect(page.locator('.rt-tooltip')).to_contain_text('osd.')


@pytest.mark.parametrize('theme', sorted(THEMES))
def test_dialog_and_tables_are_readable_in_every_theme(pages: TabPages, theme: str) -> None:
    page = pages.open(answers(OSDS, 'rollout'), theme=theme, may_change=True)
    for part in ('.rt-card', '.rt-item', 'rocksdb-tuner-planner'):
        assert violations(page, part) == [], part
    page.get_by_role('button', name='Roll back …').click()
    assert violations(page, 'dialog') == []


def previewed(page: Page) -> Locator:
    form = entry(page, 'Plan an experiment')
    form.get_by_role('button', name='Preview').click()
    expect(form).to_contain_text('Preview: no changes were made')
    return form


def test_plan_is_requested_with_the_form_values(pages: TabPages) -> None:
    form = entry(pages.open(answers(OSDS, 'rollout')), 'Plan an experiment')
    form.get_by_label('Signal').select_option(label='client write latency')
    form.get_by_label('Smallest effect in %').fill('7.5')
    form.get_by_label('Maximum duration in hours').fill('6')
    form.get_by_label('lz4-2025').check()
    form.get_by_label('rocksdb-default').check()
    # By the keyboard alone.
    form.get_by_role('button', name='Preview').focus()
    form.page.keyboard.press('Enter')
    expect(form).to_contain_text('3 option strings on 6 OSDs')
    (asked,) = (url for url in pages.asked if '/experiment/plan' in url)
    assert parse_qs(urlsplit(asked).query) == {
        'who': ['osd/class:ssd'],
        'arms': ['lz4-2025,rocksdb-default'],
        'signal': ['op_w_latency_ms'],
        'min_effect': ['7.5'],
        'max_duration': ['21600'],
    }
    assert pages.sent == []
    # Two refreshes later it has its values.
    for _ in range(2):
        with form.page.expect_response('**/api/rocksdb_tuner/map', timeout=30_000):
            pass
    expect(form.get_by_label('Smallest effect in %')).to_have_value('7.5')
    expect(form.get_by_label('lz4-2025')).to_be_checked()


def test_plan_shows_osds_duration_and_risks(pages: TabPages) -> None:
    form = previewed(pages.open(answers(OSDS, 'quiet')))
    (asked,) = (url for url in pages.asked if '/experiment/plan' in url)
    # Unset values are left to the module.
    assert set(parse_qs(urlsplit(asked).query)) == {'who', 'min_effect', 'max_duration'}
    expect(form.get_by_role('row', name=BEST)).to_contain_text('osd 1, 9')
    expect(form.get_by_role('row', name=BEST)).to_contain_text('-24 to -12%')
    expect(form.get_by_role('row', name='unchanged')).to_contain_text('osd 0, 3, 5, 8, 10\u201313')
    for text in ('3h 36m', '12 restarts of OSDs', 'No OSD is down'):
        expect(form).to_contain_text(text)
    # Not for read-only users.
    expect(form.get_by_role('button', name='Start …')).to_have_count(0)


@pytest.mark.parametrize(
    ('osds', 'duration_s', 'takes'),
    [
        (24, 64800.0, 'It would take a group of 24 OSDs or 18h with these OSDs.'),
        (None, None, None),
    ],
)
def test_refusal_shows_reason_and_requirements(
    pages: TabPages, osds: int | None, duration_s: float | None, takes: str | None
) -> None:
    made = answers(OSDS, 'quiet') | {'/experiment/plan': refused(osds, duration_s)}
    form = previewed(pages.open(made, may_change=True))
    expect(form).to_contain_text('Not possible here: an effect of 10% is not detectable')
    if takes is None:
        expect(form).not_to_contain_text('It would take')
    else:
        expect(form).to_contain_text(takes)
    expect(form.get_by_role('button', name='Start …')).to_have_count(0)


def test_error_replaces_the_plan(pages: TabPages) -> None:
    detail = 'the noise of kv_sync_ms_per_txn is known for 20m of the required 2h: try again in 1h'
    failed = {'/experiment/plan': {'status': 503, 'json': {'detail': detail}}}
    form = entry(pages.open(answers(OSDS, 'quiet'), refused=failed), 'Plan an experiment')
    form.get_by_role('button', name='Preview').click()
    expect(form.get_by_role('status').last).to_contain_text(detail)


def test_start_shows_risk_and_duration_and_sends_the_previewed_plan(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'quiet'), may_change=True)
    form = previewed(page)
    form.get_by_role('button', name='Start …').click()
    dialog = page.get_by_role('dialog')
    for text in (
        '3 option strings on 6 OSDs',
        '12 restarts of OSDs',
        'options that are not proven here',
        'Expected duration without waiting: 3h 36m.',
        'are not measured',
        'exactly their current options back',
    ):
        expect(dialog).to_contain_text(text)
    dialog.get_by_role('button', name='Cancel').click()
    assert pages.sent == []
    form.get_by_role('button', name='Start …').click()
    dialog.get_by_label('Then apply the winner').check()
    dialog.get_by_role('button', name='Start', exact=True).click()
    expect(dialog).to_have_count(0)
    (sent,) = pages.sent
    assert (sent.path, sent.body) == (
        '/experiment',
        {
            'who': WHO,
            'arms': f'{BEST},{OTHER},{SLOW}',
            'signal': SIGNAL,
            'min_effect': '10',
            'max_duration': '43200',
            'adopt': True,
        },
    )


def test_refused_change_shows_the_reason_in_the_dialog(pages: TabPages) -> None:
    detail = 'a rollout is in progress'
    page = pages.open(
        answers(OSDS, 'quiet'),
        may_change=True,
        changed=lambda _: {'status': 409, 'json': {'detail': detail}},
    )
    previewed(page).get_by_role('button', name='Start …').click()
    dialog = page.get_by_role('dialog')
    dialog.get_by_role('button', name='Start', exact=True).click()
    expect(dialog.get_by_role('alert')).to_have_text(detail)


def test_nothing_starts_while_a_rollout_runs(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'rollout'), may_change=True)
    form = previewed(page)
    expect(form.get_by_role('button', name='Start …')).to_be_disabled()
    expect(form).to_contain_text('Wait until the rollout in progress ends.')
    open_all(page)
    expect(page.get_by_role('button', name='Apply …').first).to_be_disabled()


def test_arms_of_a_running_experiment_have_their_effects(pages: TabPages) -> None:
    """With the reason where an arm was dropped."""
    page = pages.open(answers(OSDS, 'experiment'))
    expect(page.locator(PANEL)).to_contain_text('Measuring the arms, block 4 of 9.')
    arms = page.get_by_role('group', name='Arms')
    expect(arms.get_by_role('row', name=BEST)).to_contain_text('-17% (-26 to -6%)')
    expect(arms.get_by_role('row', name=SLOW)).to_contain_text('kv_sync time per write is worse')


def winners(made: dict[str, Any]) -> dict[str, Any]:
    """With the recommendation of the winner."""
    found = answers(OSDS, 'recommended')
    (offer, *_) = found['/recommendation']
    chosen = {**offer, 'who': WHO, 'kind': 'set-profile', 'options_to': OPTIONS[BEST]}
    plan = found[f'/recommendation/{offer["id"]}/plan']
    return made | {'/recommendation': [chosen], f'/recommendation/{offer["id"]}/plan': plan}


def test_winner_is_applied_if_it_is_recommended(pages: TabPages) -> None:
    won = answers(OSDS, 'experiment-won')
    page = pages.open(won, may_change=True)
    expect(page.locator(PANEL)).to_contain_text(f'Result: winner found: {BEST}')
    expect(page.get_by_role('button', name='Apply the winner …')).to_have_count(0)
    page = pages.open(winners(won), may_change=True)
    expect(page.locator(PANEL)).to_contain_text('Not shown to be no worse: spans with slow')
    page.get_by_role('button', name='Apply the winner …').click()
    dialog = page.get_by_role('dialog')
    dialog.get_by_role('button', name='Apply', exact=True).click()
    expect(dialog).to_have_count(0)
    (sent,) = pages.sent
    assert sent.path.endswith('/apply')


def test_experiment_without_a_winner_has_a_result_or_is_acknowledged(pages: TabPages) -> None:
    made = answers(OSDS, 'quiet') | {'/operation': no_difference()}
    panel = pages.open(made).locator(PANEL)
    expect(panel).to_contain_text('Result: no difference')
    expect(panel).to_contain_text('No arm differs from the old options by more than 6%.')
    failed = {**aborted(3), 'phase': 'failed', 'outcome': 'failed', 'failure': 'osd.4 crashed'}
    page = pages.open(made | {'/operation': failed}, may_change=True)
    expect(page.locator(PANEL)).to_contain_text('osd.4 crashed')
    expect(page.get_by_role('button', name='Acknowledge …')).to_be_visible()


def test_history_shows_the_newest_changes_and_results_of_experiments(pages: TabPages) -> None:
    made = answers(OSDS, 'quiet')
    found = {
        'signal': SIGNAL,
        'min_effect_percent': 10.0,
        'conclusion': 'winner',
        'winner': BEST,
        'arms': [arm(BEST, 'better', effect(SIGNAL, 'better', -17.0, -21.0, -12.0))],
    }
    change = {**made['/history'][0], 'outcome': 'done'}
    many = [{**change, 'id': f'r{number}'} for number in range(12)]
    made['/history'] = [*many, {**change, 'id': 'E1', 'experiment': found}]
    page = pages.open(made)
    won = entry(page, 'Experiment on device class ssd')
    expect(won.get_by_role('row', name=BEST)).to_contain_text('-17% (-21 to -12%)')
    expect(won.get_by_role('heading', name='From', exact=True)).to_have_count(0)
    expect(page.locator(f'{PANEL} summary time')).to_have_count(10)
    page.get_by_role('button', name='Show older changes').click()
    expect(page.locator(f'{PANEL} summary time')).to_have_count(13)
