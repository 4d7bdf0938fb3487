/** Building blocks shared by the sections. */

import { html, nothing, TemplateResult } from 'lit';

import type { SignalVerdict } from './answers';
import { duration, range, signalName, signedPercent } from './format';
import type { Cell } from './table';

/** The purpose of a change and what it requires of the canary. */
export const PURPOSE: Record<string, string> = {
  gain: 'gain: the canary must improve',
  safety: 'safety: the canary must not regress',
};

export type Kind = 'danger' | 'warning' | 'info' | 'good' | 'busy' | '';

/** Results of experiments. */
export const CONCLUSION: Record<string, [string, Kind]> = {
  winner: ['winner found', 'good'],
  'no-difference': ['no difference', ''],
  'no-gain': ['no gain', ''],
  unclear: ['inconclusive', 'warning'],
  failed: ['failed', 'danger'],
};

/** Style of a label, by outcome. */
export const OUTCOME: Record<string, Kind> = {
  done: 'good',
  'rolled-back': 'warning',
  failed: 'danger',
  aborted: 'warning',
  waiting: 'busy',
};

/** Style of a label, by phase of an OSD, verdict or effect. */
export const STYLE: Record<string, Kind> = {
  compacting: 'busy',
  settling: 'busy',
  done: 'good',
  skipped: 'warning',
  better: 'good',
  worse: 'danger',
  failed: 'danger',
};

export function judgedAs({ judged }: { judged: string | null }): string | null {
  return judged === 'no-worse' ? 'no worse' : judged;
}

/** The reason for the soak time; empty if unknown. */
export function flushes({ fill_s }: { fill_s: number | null }): string {
  return fill_s === null ? '' : ` (memtables take ${duration(fill_s)} to fill)`;
}

export function table(
  name: string,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
): TemplateResult {
  return html`<rocksdb-tuner-table .label=${name} .titles=${titles} .rows=${rows}></rocksdb-tuner-table>`;
}

/** The judged signals of a change. */
export function effects(
  found: readonly SignalVerdict[],
  change = 'Change vs. controls',
): TemplateResult | typeof nothing {
  if (!found.length) return nothing;
  return table(
    'Signals',
    ['Signal', 'Effect', change, 'Interval'],
    found.map((s) => [
      signalName(s.signal),
      { shown: label(s.effect, STYLE[s.effect]), by: s.effect },
      { shown: signedPercent(s.estimate_percent), by: s.estimate_percent },
      range(s.low_percent, s.high_percent),
    ]),
  );
}

/** An entry of a list that opens. */
export function item(
  title: unknown,
  side: unknown,
  body: TemplateResult,
  more: { id?: string; open?: boolean; opened?: () => void } = {},
): TemplateResult {
  return html`<details
    class="rt-item"
    data-id=${more.id ?? nothing}
    ?open=${more.open}
    @toggle=${(event: Event) => {
      if ((event.currentTarget as HTMLDetailsElement).open) more.opened?.();
    }}
  >
    <summary>
      <span class="rt-main">${title}</span> <span class="rt-side">${side}</span>
    </summary>
    <div class="rt-body">${body}</div>
  </details>`;
}

export function button(text: string, click: () => void, kind = 'btn-light', disabled = false): TemplateResult {
  return html`<button class=${`btn ${kind}`} ?disabled=${disabled} @click=${click}>${text}</button>`;
}

/** Classes of a button that changes something, and of one that ends or undoes it. */
export const ACT = 'btn-accent rt-act';
export const STOP = 'btn-danger rt-stop';

/** Commands with a copy button. */
export function commands(lines: readonly string[], what = 'Commands'): TemplateResult | typeof nothing {
  if (!lines.length) return nothing;
  const text = lines.join('\n');
  return html`<div class="rt-commands">
    <pre tabindex="0" role="group" aria-label=${what}>${text}</pre>
    <button class="rt-copy" aria-label=${`Copy: ${what}`} @click=${(e: Event) => {
  void copy(e, text);
}}>
      Copy
    </button>
  </div>`;
}

async function copy(event: Event, text: string): Promise<void> {
  const clicked = event.currentTarget as HTMLElement;
  const result = (await copied(text)) ? 'Copied' : 'Select and copy';
  clicked.textContent = result;
  window.setTimeout(() => (clicked.textContent = 'Copy'), 2000);
}

/** Browsers offer the clipboard API to HTTPS pages only, and many dashboards use HTTP. */
async function copied(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  const before = document.activeElement as HTMLElement | null;
  document.body.append(area);
  area.select();
  // Deprecated, but the only way without TLS.
  const done = document.execCommand('copy');
  area.remove();
  before?.focus();
  return done;
}

export function label(text: string, kind: Kind = ''): TemplateResult {
  return html`<span class=${`rt-label${kind ? ` rt-${kind}` : ''}`}>${text}</span>`;
}

export function facts(pairs: [string, unknown][]): TemplateResult {
  return html`<dl class="rt-facts">
    ${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
