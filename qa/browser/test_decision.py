"""The picture of a decision, in a page that has just what the tab needs: no cluster is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tab_page import THEMES, tab_pages, violations

from sample_answers import answers
from sample_candidates import Considered, all_decisions, cores_unknown, crowd, none_feasible
from visitor import PANEL, SHOTS

pytestmark = pytest.mark.integration

WIDTHS = (1280, 800, 400)

Open = Callable[..., Page]


@pytest.fixture
def open_tab(browser: Browser, bundle: None) -> Iterator[Open]:
    """Opens the tab with these decisions."""
    with tab_pages(browser) as pages:

        def opened(decisions: list[Considered], state: str = 'quiet', **more: Any) -> Page:
            return pages.open(answers(12, state) | {'/candidates': decisions}, **more)

        yield opened


def of(page: Page, who: str) -> Locator:
    return page.locator(f'{PANEL} .rt-decision[data-who="{who}"]')


def overlapping(page: Page, who: str) -> list[list[str]]:
    """Pairs of labels of a picture that are over each other, as they are drawn."""
    found: list[list[str]] = (
        of(page, who)
        .locator('.rt-name')
        .evaluate_all(
            """(names) => {
              const boxes = names.map((n) => [n.textContent, n.getBBox()]);
              return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
                .filter(([, q]) => p.x < q.x + q.width && q.x < p.x + p.width &&
                  p.y + 2 < q.y + q.height - 2 && q.y + 2 < p.y + p.height - 2)
                .map(([b]) => [a, b]));
            }"""
        )
    )
    return found


def test_chosen_running_and_all_other_candidates_are_drawn(open_tab: Open) -> None:
    page = open_tab(all_decisions())
    ssd = of(page, 'osd/class:ssd')
    expect(ssd.locator('.rt-scatter .rt-mark-chosen')).to_have_count(1)
    expect(ssd.locator('.rt-scatter .rt-mark-running')).to_have_count(1)
    expect(ssd.locator('.rt-scatter .rt-mark-other')).to_have_count(6)
    names = ssd.locator('.rt-name').all_text_contents()
    assert {'variant-2022-d (chosen)', 'alternate-2019 (running)', 'derived'} <= set(names)
    assert len(names) == 8
    # Read out by screen readers.
    label = ssd.get_by_role('img').get_attribute('aria-label') or ''
    assert 'Chosen: variant-2022-d, gain +18% (+12 to +24%), worst loss 0% (-3 to +4%)' in label
    stays = of(page, 'osd/class:nvme').get_by_role('img').get_attribute('aria-label') or ''
    assert 'Chosen: bluestore-default-reef, which is running.' in stays


def test_estimate_of_the_chosen_candidate_is_in_the_eligible_area(open_tab: Open) -> None:
    page = open_tab(all_decisions())
    ssd = of(page, 'osd/class:ssd')
    region = ssd.locator('.rt-scatter .rt-region').bounding_box()
    mark = ssd.locator('.rt-scatter .rt-mark-chosen').bounding_box()
    running = ssd.locator('.rt-scatter .rt-mark-running').bounding_box()
    assert region is not None
    assert mark is not None
    assert running is not None
    middle = mark['x'] + mark['width'] / 2, mark['y'] + mark['height'] / 2
    assert region['x'] < middle[0] < region['x'] + region['width']
    assert region['y'] < middle[1] < region['y'] + region['height']
    assert running['x'] < region['x']


@pytest.mark.parametrize('width', WIDTHS)
def test_labels_do_not_overlap_or_exceed_the_page(open_tab: Open, width: int) -> None:
    page = open_tab([*all_decisions(), crowd()], width=width)
    for who in ('osd/class:ssd', 'osd/class:nvme', 'osd/class:crowd'):
        expect(of(page, who).locator('.rt-name').first).to_be_visible()
        assert overlapping(page, who) == [], who
    assert page.evaluate('document.documentElement.scrollWidth') <= width
    # What has no label is counted, and in the table.
    expect(of(page, 'osd/class:crowd')).to_contain_text('not labeled for lack of room')


def test_chart_is_redrawn_when_the_window_narrows(open_tab: Open) -> None:
    page = open_tab(all_decisions())
    svg = of(page, 'osd/class:ssd').get_by_role('img')
    expect(svg).to_be_visible()
    before = svg.bounding_box()
    page.set_viewport_size({'width': 400, 'height': 900})
    page.wait_for_timeout(300)
    after = svg.bounding_box()
    assert before is not None
    assert after is not None
    assert after['width'] < 400 < before['width']
    assert overlapping(page, 'osd/class:ssd') == []


def test_pointer_on_a_mark_shows_the_candidate(open_tab: Open) -> None:
    page = open_tab(all_decisions())
    ssd = of(page, 'osd/class:ssd')
    expect(ssd.locator('.rt-whisker')).to_have_count(8)
    ssd.locator('.rt-scatter .rt-mark-other').last.hover()
    expect(ssd.locator('.rt-tooltip')).to_contain_text('Gain on the kv_sync thread: ')
    page.mouse.move(0, 0)
    expect(ssd.locator('.rt-tooltip')).to_have_count(0)


def test_table_lists_every_feasible_candidate_and_shows_reasons_on_demand(
    open_tab: Open,
) -> None:
    page = open_tab(all_decisions())
    ssd = of(page, 'osd/class:ssd')
    reason = ssd.get_by_text('exceeds the 4.8 GiB').first
    expect(reason).to_be_hidden()
    ssd.locator('summary', has_text='Infeasible').click()
    expect(reason).to_be_visible()
    expect(ssd.locator('.rt-infeasible .rt-body > ul > li')).to_have_count(2)
    ssd.locator('summary', has_text='as a table').click()
    rows = ssd.get_by_role('rowheader')
    expect(rows).to_have_count(8)
    expect(rows.first).to_have_text('variant-2022-d')
    row = ssd.get_by_role('row', name='variant-2022-c')
    expect(row).to_contain_text('+22% (+14 to +29%)')
    expect(row).to_contain_text('writes to the DB device: +14% (+6 to +22%)')
    expect(row).to_contain_text('a loss of 5% is allowed')


def test_each_reason_against_a_candidate_is_a_separate_item(open_tab: Open) -> None:
    """Sentences that run together read as one."""
    ssd = of(open_tab(all_decisions()), 'osd/class:ssd')
    ssd.locator('summary', has_text='Infeasible').click()
    two = ssd.locator('.rt-infeasible .rt-body > ul > li').nth(1)
    expect(two.locator('li')).to_have_count(2)


@pytest.mark.parametrize('width', WIDTHS)
def test_candidate_table_does_not_scroll_sideways(open_tab: Open, width: int) -> None:
    """Not even in the narrow page of a tablet or a phone."""
    ssd = of(open_tab(all_decisions(), width=width), 'osd/class:ssd')
    ssd.locator('summary', has_text='as a table').click()
    box = ssd.locator('.rt-candidates')
    expect(box).to_be_visible()
    assert box.evaluate('(e) => e.scrollWidth <= e.clientWidth')


def test_group_without_candidates_has_no_section(open_tab: Open) -> None:
    page = open_tab(all_decisions())
    expect(of(page, 'osd/class:ssd')).to_have_count(1)
    expect(of(page, 'osd/class:hdd')).to_have_count(0)


def test_decision_of_each_group_comes_first_with_its_words(open_tab: Open) -> None:
    """The card on top of the tab has the record of `status`."""
    page = open_tab([], 'offer', may_change=True)
    (decision,) = answers(12, 'offer')['']['decisions']
    card = page.locator(f'{PANEL} .rt-card')
    for words in filter(None, decision.values()):
        if words != decision['who']:
            expect(card).to_contain_text(words)
    expect(card.get_by_role('button', name='Apply')).to_have_count(1)


def test_no_feasible_alternative_is_reported_with_its_reasons(
    open_tab: Open,
) -> None:
    """And not that effects are unknown: they were not computed."""
    small = of(open_tab([none_feasible()]), 'osd/class:small')
    expect(small).to_contain_text('No other option string is feasible for these OSDs.')
    expect(small).not_to_contain_text('is unknown')
    expect(small.locator('.rt-scatter')).to_have_count(0)
    expect(small.locator('summary', has_text='Infeasible')).to_contain_text('2 candidates')


def test_more_use_of_a_plentiful_resource_is_no_loss(open_tab: Open) -> None:
    """The chosen candidate is in the eligible area, and a note lists what is omitted."""
    page = open_tab([cores_unknown()])
    lz4 = of(page, 'osd/class:lz4')
    expect(lz4).to_contain_text('Additional use of CPU is not counted')
    region = lz4.locator('.rt-scatter .rt-region').bounding_box()
    mark = lz4.locator('.rt-scatter .rt-mark-chosen').bounding_box()
    assert region is not None
    assert mark is not None
    assert mark['y'] > region['y']
    lz4.locator('summary', has_text='as a table').click()
    expect(lz4.get_by_role('row', name='lz4-2025')).to_contain_text('CPU +25%')
    expect(of(open_tab(all_decisions()), 'osd/class:ssd')).not_to_contain_text('is not counted')


def test_unknown_effects_are_not_drawn_as_zero(open_tab: Open) -> None:
    qlc = of(open_tab(all_decisions()), 'osd/class:qlc')
    expect(qlc).to_contain_text('The effect of other option strings on CPU is unknown')
    expect(qlc.locator('.rt-scatter')).to_have_count(0)
    qlc.locator('summary', has_text='as a table').click()
    cells = qlc.get_by_role('row', name='variant-2022-d').get_by_role('cell')
    # The origin, the gain.
    expect(cells.nth(1)).to_have_text('\u2013')


def test_module_older_than_the_tab_has_no_decision(open_tab: Open) -> None:
    old = {'status': 400, 'json': {'detail': 'no command "candidates"'}}
    page = open_tab([], refused={'/candidates': old})
    expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
    expect(page.get_by_role('heading', name='Candidates')).to_have_count(0)
    assert 'no command' not in page.locator(PANEL).inner_text()


def test_rest_of_the_tab_works_without_an_answer(open_tab: Open) -> None:
    detail = 'The rocksdb_tuner module failed'
    failed = {'status': 500, 'json': {'detail': detail}}
    page = open_tab([], refused={'/candidates': failed})
    expect(page.locator(PANEL)).to_contain_text(f'Cannot read the candidates: {detail}')
    expect(page.locator(f'{PANEL} .rt-headline')).to_contain_text('No issues')
    expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
    assert page.locator(f'{PANEL} .rt-old').count() == 0


def test_no_heading_without_a_known_group(open_tab: Open) -> None:
    page = open_tab([])
    expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
    expect(page.get_by_role('heading', name='Candidates')).to_have_count(0)


@pytest.mark.parametrize('width', WIDTHS)
@pytest.mark.parametrize('theme', sorted(THEMES))
def test_it_is_accessible_in_the_colors_of_the_page(open_tab: Open, theme: str, width: int) -> None:
    page = open_tab([*all_decisions(), crowd()], theme=theme, width=width)
    expect(page.locator('.rt-scatter').first).to_be_visible()
    for summary in page.locator('.rt-decision summary').all():
        summary.click()
    SHOTS.mkdir(parents=True, exist_ok=True)
    for decision in ('ssd', 'nvme', 'qlc', 'crowd'):
        path = SHOTS / f'decision-{decision}-{theme}-{width}.png'
        of(page, f'osd/class:{decision}').screenshot(path=path)
    assert violations(page, '.rt-decision') == []
    # Axe does not look into pictures: names are in the color of the text on that of the ground.
    fill = page.locator('.rt-name').first.evaluate('(e) => getComputedStyle(e).fill')
    ink = THEMES[theme]['ink'].lstrip('#')
    assert fill == f'rgb({", ".join(str(int(ink[at : at + 2], 16)) for at in (0, 2, 4))})'
