"""A user of the dashboard in a browser, and the accessibility checks of axe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Locator, Page

from dashboard_client import PASSWORD
from module_client import CHECKOUT

AXE = CHECKOUT / 'build/axe.min.js'
SHOTS = CHECKOUT / 'build/screenshots'
TAB = '#rocksdb-tuner-tab'
PANEL = 'rocksdb-tuner-panel'
API = '**/api/rocksdb_tuner'
#: The dashboard takes its time to start in a browser, on a machine with others at work.
TIMEOUT_MS = 60_000


@dataclass
class Visitor:
    """A user with a page of the dashboard."""

    page: Page
    url: str
    release: str
    #: Errors of scripts; those of the dashboard itself are none of ours.
    errors: list[str] = field(default_factory=list)

    def log_in(self, role: str) -> None:
        self.page.goto(f'{self.url}/#/login')
        self.fill_in(role)
        # Where it leads to is called "dashboard" or, from Tentacle on, "overview".
        self.page.wait_for_function("!location.hash.startsWith('#/login')")

    def fill_in(self, role: str) -> None:
        self.page.fill('input[name=username]', f'the-{role}')
        self.page.fill('input[name=password]', PASSWORD)
        self.page.click('[type=submit]')

    def open_tab(self) -> None:
        """By its address, as from a bookmark."""
        self.page.goto(f'{self.url}/#/osd?tab=rocksdb-tuner')
        self.page.wait_for_selector(f'{PANEL} .rt-card')

    def recommendation(self, recommendation_id: str) -> Locator:
        """The card of a decision, or an entry of the list below."""
        details = f'[data-id="{recommendation_id}"]'
        return self.page.locator(f'{PANEL} .rt-card:has({details}), {PANEL} {details}').first

    def row(self, osd: int) -> Locator:
        """The row of an OSD in a table of the panel."""
        header = self.page.get_by_role('rowheader', name=f'osd.{osd}', exact=True)
        return self.page.locator(f'{PANEL} tr', has=header)

    def shot(self, name: str) -> None:
        """For human review: kept as an artifact."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        size = self.page.viewport_size
        assert size is not None
        # The page scrolls inside itself, so that only a high window shows all of it.
        height = self.page.evaluate(
            f"""Math.max({size['height']}, 150 + Math.ceil(
              document.querySelector('{PANEL}')?.getBoundingClientRect().height ?? 0))"""
        )
        self.page.set_viewport_size({'width': size['width'], 'height': min(height, 6000)})
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=SHOTS / f'{self.release}-{name}.png')
        self.page.set_viewport_size(size)

    def violations(self, where: str = PANEL) -> list[str]:
        """The violations reported by axe in a part of the page, by rule and with the elements."""
        if not self.page.evaluate('"axe" in window'):
            self.page.add_script_tag(path=AXE)
        found = self.page.evaluate('async (where) => (await axe.run(where)).violations', where)
        return [
            f'{v["id"]}: {v["help"]}: {[node["html"] for node in v["nodes"]][:3]}' for v in found
        ]

    @contextmanager
    def answering(self, answers: dict[str, Any], status: int = 200) -> Iterator[None]:
        """The module's answers are these, by the end of their path; others are as they are."""

        def answer(route: Any) -> None:
            path = route.request.url.partition('/api/rocksdb_tuner')[2].partition('?')[0]
            if path in answers:
                route.fulfill(status=status, json=answers[path])
            else:
                route.fallback()

        patterns = (API, f'{API}/**', f'{API}?**')
        for pattern in patterns:
            self.page.route(pattern, answer)
        try:
            yield
        finally:
            for pattern in patterns:
                self.page.unroute(pattern, answer)

    def our_errors(self) -> list[str]:
        return [error for error in self.errors if 'rocksdb_tuner' in error]
