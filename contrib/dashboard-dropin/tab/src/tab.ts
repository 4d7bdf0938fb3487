/** Adds the tab to the ones of Cluster » OSDs, which Angular renders and removes. */

import { Api } from './panel/api';
import { RETURN_KEY, RocksDbTunerPanel } from './panel/panel';

const TAB_ID = 'rocksdb-tuner-tab';
const PANEL_ID = 'rocksdb-tuner-panel';
const NAME = 'rocksdb-tuner';
/** A page without a tab bar by then is not one that this code knows. */
const TAB_TIMEOUT_MS = 20_000;

/** Pages whose access was checked. Users log in and out without a reload, so each is checked. */
const checked = new WeakSet<Element>();
let waiting: number | undefined;
let reported = false;
/** Whether the tab was selected when the page was last shown. */
let open = false;

export function watch(base: string): void {
  const api = new Api(base);
  const update = (): void => {
    keepThroughLogin();
    const page = document.querySelector('cd-osd-list');
    if (!onPage()) {
      window.clearTimeout(waiting);
      waiting = undefined;
      return;
    }
    if (!page || !tabBar(page)) {
      // Starts when the page is opened, however often it is rendered.
      waiting ??= window.setTimeout(() => void report(api), TAB_TIMEOUT_MS);
      return;
    }
    window.clearTimeout(waiting);
    waiting = undefined;
    if (checked.has(page)) return;
    checked.add(page);
    void api.access().then(({ available, may_change }) => {
      if (available && page.isConnected) place(page, base, may_change);
    });
  };
  new MutationObserver(update).observe(document.body, { childList: true, subtree: true });
  update();
}

/**
 * After a login the dashboard returns to the previous page, but treats the query string as part of
 * the path and finds no such page. So it gets the path only, and the tab is remembered here.
 */
function keepThroughLogin(): void {
  if (open && !onPage()) {
    if (location.hash.startsWith('#/login')) sessionStorage.setItem(RETURN_KEY, '1');
    open = false;
  }
  const [, query = ''] = /^#\/login\?(.*)$/.exec(location.hash) ?? [];
  const returnUrl = new URLSearchParams(query).get('returnUrl') ?? '';
  if (!returnUrl.startsWith('/osd?') || !returnUrl.includes(`tab=${NAME}`)) return;
  sessionStorage.setItem(RETURN_KEY, '1');
  location.replace('#/login?returnUrl=%2Fosd');
}

function onPage(): boolean {
  return /^#\/osd(\?|$)/.test(location.hash);
}

/** Report it once, so that `status` shows it. Read-only users may not report. */
async function report(api: Api): Promise<void> {
  if (reported || !onPage()) return;
  const { available, may_change } = await api.access();
  if (!available || !may_change) return;
  reported = true;
  await api.reportTabMissing();
}

function tabBar(page: Element): { tabs: Element; content: HTMLElement } | null {
  const tabs = page.querySelector(':scope > .nav-tabs');
  const content = page.querySelector<HTMLElement>(':scope > .tab-content');
  return tabs && content ? { tabs, content } : null;
}

/** Whether to select the tab: the URL names it, or the session expired while it was selected. */
function shouldOpen(): boolean {
  const expired = sessionStorage.getItem(RETURN_KEY) !== null;
  sessionStorage.removeItem(RETURN_KEY);
  if (expired) history.replaceState(history.state, '', `#/osd?tab=${NAME}`);
  return expired || location.hash.includes(`tab=${NAME}`);
}

function place(page: Element, base: string, mayChange: boolean): void {
  const found = tabBar(page);
  if (!found || page.querySelector(`#${TAB_ID}`)) return;
  const { tabs, content } = found;

  const link = document.createElement('a');
  link.id = TAB_ID;
  link.className = 'nav-link';
  link.href = `#/osd?tab=${NAME}`;
  link.textContent = 'RocksDB Tuner';
  link.setAttribute('role', 'tab');
  link.setAttribute('aria-controls', PANEL_ID);

  const panel = document.createElement('rocksdb-tuner-panel') as RocksDbTunerPanel;
  panel.base = base;
  panel.mayChange = mayChange;
  panel.id = PANEL_ID;
  panel.tabIndex = 0;
  panel.setAttribute('role', 'tabpanel');
  panel.setAttribute('aria-labelledby', TAB_ID);

  const native = (): HTMLElement[] =>
    [...tabs.querySelectorAll<HTMLElement>('a.nav-link')].filter((a) => a !== link);
  let before: HTMLElement | undefined;
  const select = (ours: boolean): void => {
    open = ours;
    if (ours && !panel.isConnected) {
      before = native().find((a) => a.classList.contains('active'));
      content.after(panel);
    } else if (!ours) {
      panel.remove();
    }
    content.hidden = ours;
    link.classList.toggle('active', ours);
    link.setAttribute('aria-selected', String(ours));
    link.tabIndex = ours ? 0 : -1;
    before?.classList.toggle('active', !ours);
    before?.setAttribute('aria-selected', String(!ours));
  };

  link.addEventListener('click', (event) => {
    event.preventDefault();
    history.replaceState(history.state, '', `#/osd?tab=${NAME}`);
    select(true);
  });
  tabs.addEventListener('click', (event) => {
    const other = (event.target as Element).closest('a.nav-link');
    if (!other || other === link || !panel.isConnected) return;
    history.replaceState(history.state, '', '#/osd');
    select(false);
  });
  // Capture before ngbNav, which knows its own tabs only and would wrap around after the last one.
  tabs.addEventListener(
    'keydown',
    (event) => {
      const { key } = event as KeyboardEvent;
      const all = [...native(), link];
      const at = all.indexOf(document.activeElement as HTMLElement);
      if (at < 0) return;
      const last = all.length - 1;
      const to: Record<string, number> = {
        ArrowRight: at === last ? 0 : at + 1,
        ArrowLeft: at === 0 ? last : at - 1,
        Home: 0,
        End: last,
      };
      const next = to[key];
      if (next === undefined || (all[at] !== link && all[next] !== link)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      all[next]?.focus();
    },
    { capture: true },
  );
  link.addEventListener('keydown', (event) => {
    if (event.key === ' ') {
      event.preventDefault();
      link.click();
    }
  });

  if (tabs.tagName === 'UL') {
    const item = document.createElement('li');
    item.className = 'nav-item';
    item.setAttribute('role', 'presentation');
    item.append(link);
    tabs.append(item);
  } else {
    tabs.append(link);
  }
  select(shouldOpen());
}
