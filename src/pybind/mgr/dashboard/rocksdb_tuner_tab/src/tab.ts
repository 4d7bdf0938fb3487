/** Places the tab beside those of Cluster » OSDs, which Angular draws and takes away. */

import { mayShow } from './api';
import type { RocksDbTunerPanel } from './panel';

const TAB_ID = 'rocksdb-tuner-tab';
const PANEL_ID = 'rocksdb-tuner-panel';
const NAME = 'rocksdb-tuner';

/** Pages that were asked about; of each anew, since users log in and out without a reload. */
const asked = new WeakSet<Element>();

export function watch(base: string): void {
  const look = (): void => {
    const page = document.querySelector('cd-osd-list');
    if (!page || asked.has(page) || !places(page)) return;
    asked.add(page);
    void mayShow(base).then((may) => {
      if (may && page.isConnected) place(page, base);
    });
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}

function places(page: Element): { tabs: Element; content: HTMLElement } | null {
  const tabs = page.querySelector(':scope > .nav-tabs');
  const content = page.querySelector<HTMLElement>(':scope > .tab-content');
  return tabs && content ? { tabs, content } : null;
}

function place(page: Element, base: string): void {
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
  panel.id = PANEL_ID;
  panel.tabIndex = 0;
  panel.setAttribute('role', 'tabpanel');
  panel.setAttribute('aria-labelledby', TAB_ID);
  panel.style.display = 'block';

  const native = (): HTMLElement[] =>
    [...tabs.querySelectorAll<HTMLElement>('a.nav-link')].filter((a) => a !== link);
  let before: HTMLElement | undefined;
  const select = (ours: boolean): void => {
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
  tabs.addEventListener('keydown', (event) => {
    const { key } = event as KeyboardEvent;
    const all = [...native(), link];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    // ngbNav moves between its own tabs.
    if (at < 0 || !step || (all[at] !== link && all[at + step] !== link)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const next = all[(at + step + all.length) % all.length];
    next?.focus();
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
  select(location.hash.includes(`tab=${NAME}`));
}
