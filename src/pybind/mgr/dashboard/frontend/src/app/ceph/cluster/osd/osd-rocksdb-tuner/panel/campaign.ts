/** The current or last compaction campaign, with the space reclaimed per OSD. */

import { html, nothing, TemplateResult } from 'lit';

import type { Campaign, OsdCompaction } from './answers';
import { bytes, milliseconds, moment, plural, signedPercent, who } from './format';
import { facts, label, TABLE } from './parts';
import { OUTCOME, underWay } from './rollout';

export type CampaignControl = 'pause' | 'resume' | 'abort';

export interface CampaignHost {
  mayChange: boolean;
  control(what: CampaignControl, campaign: Campaign): void;
}

const PHASE: Record<string, 'good' | 'warning' | 'busy' | ''> = {
  compacting: 'busy',
  settling: 'busy',
  done: 'good',
  skipped: 'warning',
};

export function finished({ osds }: Campaign): number {
  return osds.filter((o) => o.phase === 'done' || o.phase === 'skipped').length;
}

export function inFlight({ osds }: Campaign): OsdCompaction[] {
  return osds.filter((o) => o.phase === 'compacting' || o.phase === 'settling');
}

export function campaignSection(campaign: Campaign, host: CampaignHost): TemplateResult {
  const going = underWay(campaign);
  const waiting = campaign.phase === 'waiting';
  const skipped = campaign.osds.filter((o) => o.phase === 'skipped').length;
  const kind = going ? 'busy' : (OUTCOME[campaign.outcome ?? campaign.phase] ?? '');
  return html`<h3>${going ? 'Compaction campaign in progress' : 'Last compaction campaign'}</h3>
    ${waiting
      ? html`<div class="alert alert-warning" role="status">Waiting: ${campaign.paused_reason}</div>`
      : nothing}
    ${campaign.waits_for ? html`<p>Waiting for: ${campaign.waits_for}.</p>` : nothing}
    ${campaign.failure ? html`<div class="alert alert-warning">${campaign.failure}</div>` : nothing}
    ${facts([
      ['Phase', label(campaign.outcome ?? campaign.phase, kind)],
      ['Target', who(campaign.who)],
      [
        'OSDs',
        `${finished(campaign)} of ${campaign.osds.length}${skipped ? `, ${skipped} skipped` : ''}`,
      ],
      ['Reclaimed', reclaimed(campaign.used_before_bytes, campaign.used_after_bytes)],
      ['Client write latency before', milliseconds(campaign.baseline_ms)],
      ['Started by', campaign.actor],
      ['Started', moment(campaign.started)],
      ['Updated', moment(campaign.updated)],
    ])}
    <progress
      max=${campaign.osds.length || 1}
      value=${finished(campaign)}
      aria-label="Compacted or skipped OSDs"
    ></progress>
    ${controls(campaign, host, going, waiting)}
    <details class="rt-item" ?open=${going}>
      <summary>
        <span class="rt-main">OSDs in compaction order</span>
        <span class="rt-side">${plural(campaign.osds.length, 'OSD')}</span>
      </summary>
      <div class="rt-body rt-scroll"><table class=${TABLE}>
        <thead>
          <tr>
            <th scope="col">OSD</th><th scope="col">Host</th><th scope="col">Phase</th>
            <th scope="col">DB before</th><th scope="col">DB after</th>
            <th scope="col">Reclaimed</th><th scope="col">Maximum client write latency</th>
          </tr>
        </thead>
        <tbody>
          ${campaign.osds.map(
            (osd) => html`<tr>
              <th scope="row">osd.${osd.osd}</th>
              <td>${osd.host ?? '–'}</td>
              <td>
                ${label(osd.phase, PHASE[osd.phase] ?? '')}
                ${osd.reason ? html`<div class="rt-note">${osd.reason}</div>` : nothing}
              </td>
              <td class="rt-number">${bytes(osd.before_bytes)}</td>
              <td class="rt-number">${bytes(osd.after_bytes)}</td>
              <td class="rt-number">${reclaimed(osd.before_bytes, osd.after_bytes)}</td>
              <td class="rt-number">${milliseconds(osd.latency_ms)}</td>
            </tr>`,
          )}
        </tbody>
      </table></div>
    </details>`;
}

function controls(
  campaign: Campaign,
  host: CampaignHost,
  going: boolean,
  waiting: boolean,
): TemplateResult | typeof nothing {
  if (!host.mayChange || !going) return nothing;
  const button = (what: CampaignControl, text: string): TemplateResult =>
    html`<button class="btn btn-light" @click=${() => host.control(what, campaign)}>${text}</button>`;
  return html`<div class="rt-row">
    ${waiting ? button('resume', 'Resume …') : button('pause', 'Pause …')}
    ${button('abort', 'Abort …')}
  </div>`;
}

/** Negative if the DB grew. */
function reclaimed(before: number | null, after: number | null): string {
  if (before === null || after === null) return '–';
  const share = before > 0 ? ` (DB ${signedPercent((after / before - 1) * 100)})` : '';
  return `${before < after ? '−' : ''}${bytes(Math.abs(before - after))}${share}`;
}
