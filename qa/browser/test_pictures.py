"""The pictures of the manual: the tab in the dashboard of each release, in its light theme.

`make pictures` writes them. The answers are made ones: a picture changes with the tab alone.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from harness import Progress
from harness.host import Host
from harness.packages import install
from module_client import CHECKOUT
from sample_answers import answers
from visitor import PANEL, SHOTS, Visitor

pytestmark = pytest.mark.integration

IMAGES = CHECKOUT / 'doc/mgr/rocksdb_tuner/images'
#: What a page of the manual may load for one.
BYTES_MAX = 120_000
INVITATIONS = 'cd-telemetry-notification, cd-motd, .toast-container, #toast-container'
#: The name of a picture, the state on it, and what of the tab is opened and comes first. One of
#: each release, whose dashboards differ.
PICTURES = {
    'tentacle': ('recommendation', 'recommended', 'Reasons, changes and commands', '.rt-card'),
    'reef': ('finding', 'recommended', 'osd.7 keeps RocksDB data', 'h3:has-text("Findings")'),
    'pacific': ('verdict', 'verdict', 'OSDs in rollout order', 'h3:has-text("Rollout")'),
}
HEIGHT = 900


def optimized(source: Path, target: Path) -> None:
    """With a palette, a third of the size."""
    install(Host(), ['pngquant'], Progress())
    words = ['pngquant', '--force', '--strip', '--speed', '1', '--output', str(target), str(source)]
    subprocess.run(words, check=True)


def test_picture_of_the_manual_shows_the_tab(admin: Visitor, release: str) -> None:
    name, state, opened, first = PICTURES[release]
    page = admin.page
    page.emulate_media(color_scheme='light', reduced_motion='reduce')
    made = answers(osds=60, state=state)
    groups = {decision['who'] for decision in made['']['decisions']}
    made['/candidates'] = [one for one in made['/candidates'] if one['who'] in groups]
    with admin.answering(made):
        admin.open_tab()
        expect(page.locator(f'{PANEL} .rt-charts canvas').first).to_be_visible()
        # Invitations of the dashboard, which are no part of it
        page.add_style_tag(content=f'{INVITATIONS} {{ display: none !important }}')
        page.set_viewport_size({'width': 1280, 'height': HEIGHT})
        page.locator(f'{PANEL} summary', has_text=opened).click()
        top = page.locator(f'{PANEL} {first}').first
        # Below the bar of the dashboard
        top.evaluate('(e) => { e.style.scrollMarginTop = "4rem"; e.scrollIntoView(); }')
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        ground = page.evaluate('getComputedStyle(document.body).backgroundColor')
        assert ground in {'rgb(255, 255, 255)', 'rgb(244, 244, 244)', 'rgba(0, 0, 0, 0)'}
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f'{name}.png')
    small = SHOTS / f'small-{name}.png'
    optimized(SHOTS / f'{name}.png', small)
    assert 10_000 < small.stat().st_size < BYTES_MAX
    assert admin.our_errors() == []
    if 'ROCKSDB_TUNER_PICTURES' in os.environ:
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / f'dashboard-{name}.png').write_bytes(small.read_bytes())
