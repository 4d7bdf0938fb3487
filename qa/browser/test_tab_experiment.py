"""Experiments in the tab, with made answers: no cluster is started."""

from __future__ import annotations

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
    no_difference,
    refused,
)
from tab_page import THEMES, TabPages, tab_pages, violations

from sample_answers import answers
from sample_candidates import all_decisions
from visitor import PANEL, SHOTS

pytestmark = pytest.mark.integration

OSDS = 18
WIDTHS = (1400, 800, 400)


@pytest.fixture
def pages(browser: Browser, bundle: None) -> Iterator[TabPages]:
    with tab_pages(browser) as found:
        yield found


def planner(page: Page) -> Locator:
    """The form, opened."""
    page.locator(f'{PANEL} rocksdb-tuner-planner summary').click()
    return page.locator('rocksdb-tuner-planner')


def previewed(page: Page) -> Locator:
    form = planner(page)
    form.get_by_role('button', name='Preview').click()
    expect(form).to_contain_text('Preview: no changes were made')
    return form


def lane(page: Page, name: str) -> Locator:
    return page.locator(f'{PANEL} .rt-lane[data-arm="{name}"]')


def test_running_experiment_has_a_lane_per_arm(pages: TabPages) -> None:
    """With an interval for each block, and the reason where an arm was dropped."""
    page = pages.open(answers(OSDS, 'experiment'))
    expect(page.locator(f'{PANEL} .rt-headline').first).to_contain_text(
        'Experiment in progress: Measuring period 2 of 2, block 4 of 9.'
    )
    for name, blocks in ((BEST, 13), (OTHER, 13), (SLOW, 3)):
        expect(lane(page, name).locator('.rt-interval')).to_have_count(blocks)
    expect(lane(page, BEST)).to_contain_text('kv_sync time per write -17% (-26 to -6%)')
    expect(lane(page, BEST)).to_contain_text('osd 1, 9, then osd 4, 14')
    slow = lane(page, SLOW)
    expect(slow).to_contain_text('Dropped in period 1 after 3 blocks: kv_sync time per write')
    expect(slow.locator('.rt-drop')).to_have_count(1)
    # Read out by screen readers.
    label = lane(page, BEST).get_by_role('img').get_attribute('aria-label') or ''
    assert label.startswith(f'{BEST}: -')
    assert 'after block 4 of period 2' in label
    expect(page.get_by_role('progressbar', name='Measured blocks')).to_have_attribute('value', '22')


def test_nothing_is_drawn_before_the_first_period(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'experiment-baseline'))
    arms = page.locator(f'{PANEL} rocksdb-tuner-arms')
    expect(arms).to_contain_text('No arm was measured yet.')
    expect(arms.locator('svg')).to_have_count(0)


def test_waiting_reason_is_shown(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'experiment-waiting'), may_change=True)
    panel = page.locator(PANEL)
    expect(panel).to_contain_text('Experiment waiting: OSDs are down: osd.8')
    expect(panel.get_by_role('button', name='Resume …')).to_be_visible()
    expect(panel.get_by_role('button', name='Pause …')).to_have_count(0)


@pytest.mark.parametrize('control', ['Pause', 'Resume', 'Abort'])
def test_control_is_sent_only_after_confirmation(pages: TabPages, control: str) -> None:
    state = 'experiment-waiting' if control == 'Resume' else 'experiment'
    page = pages.open(answers(OSDS, state), may_change=True)
    button = page.get_by_role('button', name=f'{control} …')
    button.click()
    dialog = page.get_by_role('dialog')
    expect(dialog).to_contain_text(f'ceph rocksdb-tuner operation {control.lower()}')
    if control == 'Abort':
        expect(dialog).to_contain_text('osd 4, 6, 14, 17 run options of arms. They get their prev')
    dialog.get_by_role('button', name='Cancel').click()
    expect(dialog).to_have_count(0)
    assert pages.sent == []
    button.click()
    dialog.get_by_role('button', name=control, exact=True).click()
    expect(dialog).to_have_count(0)
    assert [sent.path for sent in pages.sent] == [f'/operation/{control.lower()}']


def test_failed_experiment_is_acknowledged(pages: TabPages) -> None:
    failed = {**aborted(3), 'phase': 'failed', 'outcome': 'failed', 'failure': 'osd.4 crashed'}
    page = pages.open(answers(OSDS, 'quiet') | {'/operation': failed}, may_change=True)
    expect(page.locator(PANEL)).to_contain_text('osd.4 crashed')
    page.get_by_role('button', name='Acknowledge …').click()
    page.get_by_role('dialog').get_by_role('button', name='Acknowledge', exact=True).click()
    expect(page.get_by_role('dialog')).to_have_count(0)
    assert [sent.path for sent in pages.sent] == ['/operation/resume']


def test_plan_is_requested_with_the_form_values(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'quiet'))
    form = planner(page)
    form.get_by_label('Signal').select_option(label='client write latency')
    form.get_by_label('Smallest effect in %').fill('7.5')
    form.get_by_label('Maximum duration in hours').fill('6')
    form.get_by_label('lz4-2025').check()
    form.get_by_label('rocksdb-default').check()
    # By the keyboard alone.
    form.get_by_role('button', name='Preview').focus()
    page.keyboard.press('Enter')
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


def test_plan_shows_osds_duration_and_risks(pages: TabPages) -> None:
    form = previewed(pages.open(answers(OSDS, 'quiet')))
    (asked,) = (url for url in pages.asked if '/experiment/plan' in url)
    # Unset values are left to the module.
    assert set(parse_qs(urlsplit(asked).query)) == {'who', 'min_effect', 'max_duration'}
    expect(form.get_by_role('row', name=BEST)).to_contain_text('osd 1, 9, then osd 4, 14')
    expect(form.get_by_role('row', name=BEST)).to_contain_text('-24 to -12%')
    expect(form.get_by_role('row', name='unchanged')).to_contain_text('osd 0, 3, 5, 8, 10\u201313')
    for text in ('9 blocks of 10m', '5h 36m', '18 restarts of OSDs', 'No OSD is down'):
        expect(form).to_contain_text(text)
    # Not for read-only users.
    expect(form.get_by_role('button', name='Start …')).to_have_count(0)


@pytest.mark.parametrize(
    ('osds', 'duration_s', 'takes'),
    [
        (24, None, 'It would take a group of 24 OSDs.'),
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
    page = pages.open(
        answers(OSDS, 'quiet'),
        refused={'/experiment/plan': {'status': 503, 'json': {'detail': detail}}},
    )
    form = planner(page)
    form.get_by_role('button', name='Preview').click()
    expect(form.get_by_role('status')).to_contain_text(detail)
    # The rest of the tab is as before.
    expect(page.locator(f'{PANEL} .rt-headline')).to_contain_text('No issues')


def test_start_shows_risk_restarts_and_duration_and_sends_the_previewed_plan(
    pages: TabPages,
) -> None:
    page = pages.open(answers(OSDS, 'quiet'), may_change=True)
    form = previewed(page)
    form.get_by_role('button', name='Start …').click()
    dialog = page.get_by_role('dialog')
    for text in (
        '3 option strings on 6 OSDs',
        '18 restarts of OSDs',
        'options that are not proven here',
        'Expected duration without waiting: 5h 36m.',
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


def test_refused_start_shows_the_reason_in_the_dialog(pages: TabPages) -> None:
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


def test_no_start_while_a_rollout_runs(pages: TabPages) -> None:
    form = previewed(pages.open(answers(OSDS, 'rollout'), may_change=True))
    expect(form.get_by_role('button', name='Start …')).to_be_disabled()
    expect(form).to_contain_text('Wait until the rollout in progress ends.')


def test_form_keeps_its_values_across_refreshes(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'quiet'))
    form = planner(page)
    form.get_by_label('Smallest effect in %').fill('5')
    form.get_by_label('lz4-2025').check()
    for _ in range(2):
        with page.expect_response('**/api/rocksdb_tuner/map', timeout=30_000):
            pass
    expect(form.get_by_label('Smallest effect in %')).to_have_value('5')
    expect(form.get_by_label('lz4-2025')).to_be_checked()


def winners(made: dict[str, Any]) -> dict[str, Any]:
    """With the recommendation of the winner."""
    found = answers(OSDS, 'rollout')
    (offer, *_) = found['/recommendation']
    chosen = {**offer, 'who': WHO, 'kind': 'set-profile', 'options_to': OPTIONS[BEST]}
    plan = found[f'/recommendation/{offer["id"]}/plan']
    return made | {'/recommendation': [chosen], f'/recommendation/{offer["id"]}/plan': plan}


def test_winner_is_compared_with_old_options_and_runner_up(pages: TabPages) -> None:
    page = pages.open(winners(answers(OSDS, 'experiment-won')), may_change=True)
    panel = page.locator(PANEL)
    expect(panel).to_contain_text(f'Result: winner found: {BEST}')
    expect(panel).to_contain_text('Not shown to be no worse: spans with slow requests')
    expect(page.get_by_role('row', name='old options')).to_contain_text('-21 to -12%')
    expect(page.get_by_role('row', name=f'runner-up {OTHER}')).to_contain_text('-20 to -6%')
    page.get_by_role('button', name='Apply the winner …').click()
    dialog = page.get_by_role('dialog')
    dialog.get_by_role('button', name='Apply', exact=True).click()
    expect(dialog).to_have_count(0)
    (sent,) = pages.sent
    assert sent.path.endswith('/apply')


def test_nothing_to_apply_without_a_recommendation_of_the_winner(pages: TabPages) -> None:
    page = pages.open(answers(OSDS, 'experiment-won'), may_change=True)
    expect(page.locator(PANEL)).to_contain_text('Result: winner found')
    expect(page.get_by_role('button', name='Apply the winner …')).to_have_count(0)


def test_no_difference_is_a_result(pages: TabPages) -> None:
    made = answers(OSDS, 'quiet') | {'/operation': no_difference()}
    panel = pages.open(made).locator(PANEL)
    expect(panel).to_contain_text('Result: no difference')
    expect(panel).to_contain_text('No arm differs from the old options by more than 6%.')


def test_history_shows_the_result_and_no_change(pages: TabPages) -> None:
    made = answers(OSDS, 'quiet')
    tried = {'name': BEST, 'options': OPTIONS[BEST], 'dropped': None}
    found = {
        'signal': SIGNAL,
        'min_effect_percent': 10.0,
        'conclusion': 'winner',
        'winner': BEST,
        'arms': [{**tried, 'change_percent': -17.0, 'low_percent': -21.0, 'high_percent': -12.0}],
    }
    made['/history'] = [{**made['/history'][0], 'id': 'E1', 'outcome': 'done', 'experiment': found}]
    page = pages.open(made)
    page.locator(f'{PANEL} summary', has_text='Experiment on device class ssd').click()
    expect(page.get_by_role('row', name=BEST)).to_contain_text('-21 to -12%')
    expect(page.get_by_role('heading', name='From', exact=True)).to_have_count(0)


def test_candidate_names_the_experiment_that_measured_it(pages: TabPages) -> None:
    ssd, *others = all_decisions()
    candidates = [{**one, 'measured_in': 'E2'} for one in ssd['candidates']]
    made = answers(OSDS, 'quiet')
    made['/candidates'] = [{**ssd, 'candidates': candidates}, *others]
    decision = pages.open(made).locator(f'{PANEL} .rt-decision[data-who="{WHO}"]')
    decision.locator('summary', has_text='as a table').click()
    expect(decision.get_by_role('row', name=BEST).first).to_contain_text(
        'Measured in experiment E2'
    )


@pytest.mark.parametrize('width', WIDTHS)
@pytest.mark.parametrize('theme', sorted(THEMES))
def test_experiment_is_accessible_and_fits_the_page(
    pages: TabPages, theme: str, width: int
) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    for state in ('experiment', 'experiment-won'):
        page = pages.open(answers(OSDS, state), theme=theme, width=width, may_change=True)
        previewed(page)
        for summary in page.locator(f'{PANEL} summary', has_text='option strings of').all():
            summary.click()
        assert page.evaluate('document.documentElement.scrollWidth') <= width
        page.set_viewport_size({'width': width, 'height': 4000})
        page.screenshot(path=SHOTS / f'{state}-{theme}-{width}.png')
        for part in ('rocksdb-tuner-arms', 'rocksdb-tuner-planner', PANEL):
            if part != PANEL or theme == 'light':
                assert violations(page, part) == [], part
