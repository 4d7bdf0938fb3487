"""A page that has just what the tab needs, with made answers: no cluster is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable

from playwright.sync_api import Browser, BrowserContext, Page, Route

from module_client import CHECKOUT
from visitor import AXE, PANEL

BUNDLE = CHECKOUT / 'build/dashboard/_rocksdb_tuner_tab.js'
API = '/api/rocksdb_tuner'
#: Values of variables of Tentacle's page; other pages have none of them.
THEMES = {
    'light': {'ground': '#fff', 'ink': '#212121'},
    'dark': {'ground': '#262626', 'ink': '#f4f4f4'},
}


def host_page(ground: str, ink: str) -> str:
    """The parts of Cluster » OSDs that the script uses, in the colors of a theme."""
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>OSDs</title>
    <style>body {{ font: 12px/1.5 sans-serif; margin: 0 15px; background: {ground}; color: {ink};
      --cds-layer: {ground}; --cds-text-primary: {ink} }}
      .visually-hidden {{ position: absolute; clip-path: inset(50%) }}
      td, th {{ text-align: left; border-bottom: 1px solid #b8b8b8 }}</style></head><body>
    <cd-osd-list><ul class="nav-tabs" role="tablist"><li role="presentation">
      <a class="nav-link active" role="tab" href="#/osd">OSDs List</a></li></ul>
      <div class="tab-content"></div></cd-osd-list>
    <script src="/ui-api/rocksdb_tuner_tab/script"></script></body></html>"""


@dataclass
class Sent:
    """A change requested by the tab."""

    path: str
    body: Any


@dataclass
class TabPages:
    """Opens pages with the tab; scripts of theirs must not fail."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: Changes of all pages, in order, and queries of reads.
    sent: list[Sent] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(
        self,
        made: dict[str, Any],
        *,
        theme: str = 'light',
        width: int = 1280,
        may_change: bool = False,
        refused: dict[str, dict[str, Any]] | None = None,
        changed: Callable[[Sent], dict[str, Any]] = lambda _: {'status': 202, 'json': None},
    ) -> Page:
        """``refused``: other responses, by the end of their path."""
        context = self.browser.new_context(viewport={'width': width, 'height': 900})
        self.contexts.append(context)
        page = context.new_page()
        page.on('pageerror', lambda error: self.errors.append(str(error.stack)))

        def answer(route: Route) -> None:
            self.asked.append(route.request.url)
            path = '/' + route.request.url.split('/', 3)[3].partition('?')[0]
            within = path.removeprefix(API)
            if path == '/':
                route.fulfill(body=host_page(**THEMES[theme]), content_type='text/html')
            elif path.endswith('/script'):
                route.fulfill(path=BUNDLE, content_type='application/javascript')
            elif path.startswith('/ui-api'):
                route.fulfill(json={'available': True, 'may_change': may_change})
            elif route.request.method != 'GET':
                sent = Sent(within, route.request.post_data_json)
                self.sent.append(sent)
                route.fulfill(**changed(sent))
            elif refused and within in refused:
                route.fulfill(**refused[within])
            elif within in made:
                route.fulfill(json=made[within])
            else:
                route.fulfill(status=404, json={'detail': path})

        page.route('**/*', answer)
        page.goto('http://dashboard.test/#/osd?tab=rocksdb-tuner')
        page.wait_for_selector(f'{PANEL} .rt-card')
        return page


@contextmanager
def tab_pages(browser: Browser) -> Iterator[TabPages]:
    pages = TabPages(browser)
    yield pages
    for context in pages.contexts:
        context.close()
    assert pages.errors == []


def violations(page: Page, where: str) -> list[Any]:
    """The violations reported by axe: rules, and their elements."""
    page.add_script_tag(path=AXE)
    found = page.evaluate('async (where) => (await axe.run(where)).violations', where)
    return [(v['id'], [n['html'] for n in v['nodes']][:3]) for v in found]
