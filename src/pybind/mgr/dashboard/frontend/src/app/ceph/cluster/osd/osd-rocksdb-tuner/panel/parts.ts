/** Building blocks shared by the sections. */

import { html, nothing, TemplateResult } from 'lit';

import { duration } from './format';

/** The purpose of a change and what it requires of the canary. */
export const PURPOSE: Record<string, string> = {
  gain: 'gain: the canary must improve',
  safety: 'safety: the canary must not regress',
};

export function judgedAs({ judged }: { judged: string | null }): string | null {
  return judged === 'no-worse' ? 'no worse' : judged;
}

/** The reason for the soak time; empty if unknown. */
export function flushes({ fill_s }: { fill_s: number | null }): string {
  return fill_s === null ? '' : ` (memtables take ${duration(fill_s)} to fill)`;
}

export const TABLE = 'table table-striped cds--data-table rt-table';

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
  const button = event.currentTarget as HTMLElement;
  const result = (await copied(text)) ? 'Copied' : 'Select and copy';
  button.textContent = result;
  window.setTimeout(() => (button.textContent = 'Copy'), 2000);
}

/** Browsers offer the clipboard API to HTTPS pages only, and many dashboards use HTTP. */
async function copied(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
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

export function label(
  text: string,
  kind: 'danger' | 'warning' | 'info' | 'good' | 'busy' | '' = '',
): TemplateResult {
  return html`<span class=${`rt-label${kind ? ` rt-${kind}` : ''}`}>${text}</span>`;
}

/** Results of experiments. */
export const CONCLUSION: Record<string, [string, 'good' | 'warning' | 'danger' | '']> = {
  winner: ['winner found', 'good'],
  'no-difference': ['no difference', ''],
  'no-gain': ['no gain', ''],
  unclear: ['inconclusive', 'warning'],
  failed: ['failed', 'danger'],
};

export function facts(pairs: [string, unknown][]): TemplateResult {
  return html`<dl class="rt-facts">
    ${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
