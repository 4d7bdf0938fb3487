/** Places the tab beside those of Cluster » OSDs, which Angular draws and takes away. */

import { Api } from './api';
import { RETURN_KEY } from './panel';
import type { RocksDbTunerPanel } from './panel';

const TAB_ID = 'rocksdb-tuner-tab';
const PANEL_ID = 'rocksdb-tuner-panel';
const NAME = 'rocksdb-tuner';
/** A page that has no place for a tab by then has changed since this was written. */
const PLACE_TIMEOUT_MS = 20_000;

/** Pages that were asked about; of each anew, since users log in and out without a reload. */
const asked = new WeakSet<Element>();
let waiting: number | undefined;
let reported = false;
/** Whether the tab was the open one when the page was last there. */
let open = false;

export function watch(base: string): void {
  const api = new Api(base);
  const look = (): void => {
    keepThroughLogin();
    const page = document.querySelector('cd-osd-list');
    if (!onPage()) {
      window.clearTimeout(waiting);
      waiting = undefined;
      return;
    }
    if (!page || !places(page)) {
      // Counted from when the page was opened, however often it is drawn.
      waiting ??= window.setTimeout(() => void report(api), PLACE_TIMEOUT_MS);
      return;
    }
    window.clearTimeout(waiting);
    waiting = undefined;
    if (asked.has(page)) return;
    asked.add(page);
    void api.access().then(({ available, may_change }) => {
      if (available && page.isConnected) place(page, base, may_change);
    });
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}

/**
 * After a login the dashboard goes back to where one was, but takes what follows a "?" for a part
 * of the path, and finds no such page: so it is told the page only, and the tab is kept here.
 */
function keepThroughLogin(): void {
  if (open && !onPage()) {
    if (location.hash.startsWith('#/login')) sessionStorage.setItem(RETURN_KEY, '1');
    open = false;
  }
  const [, query = ''] = /^#\/login\?(.*)$/.exec(location.hash) ?? [];
  const back = new URLSearchParams(query).get('returnUrl') ?? '';
  if (!back.startsWith('/osd?') || !back.includes(`tab=${NAME}`)) return;
  sessionStorage.setItem(RETURN_KEY, '1');
  location.replace('#/login?returnUrl=%2Fosd');
}

function onPage(): boolean {
  return /^#\/osd(\?|$)/.test(location.hash);
}

/** Once: the module's status says it to whoever looks. Readers may not change that. */
async function report(api: Api): Promise<void> {
  if (reported || !onPage()) return;
  const { available, may_change } = await api.access();
  if (!available || !may_change) return;
  reported = true;
  await api.cannotBePlaced();
}

function places(page: Element): { tabs: Element; content: HTMLElement } | null {
  const tabs = page.querySelector(':scope > .nav-tabs');
  const content = page.querySelector<HTMLElement>(':scope > .tab-content');
  return tabs && content ? { tabs, content } : null;
}

/** Whether the tab is to be open: by the address, or because the login was lost while it was. */
function wanted(): boolean {
  const lost = sessionStorage.getItem(RETURN_KEY) !== null;
  sessionStorage.removeItem(RETURN_KEY);
  if (lost) history.replaceState(history.state, '', `#/osd?tab=${NAME}`);
  return lost || location.hash.includes(`tab=${NAME}`);
}

function place(page: Element, base: string, mayChange: boolean): void {
  const found = places(page);
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
  // Before ngbNav, which moves between its own tabs only: from its last one it would go on to its
  // first.
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
  select(wanted());
}
