/** The candidates that were compared for each device class, and the choice. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type { Candidate, Considered } from './answers';
import { inOrder, Weighed } from './decision';
import { plural, resourceName, signedPercent, spanned, who } from './format';
import { label, TABLE } from './parts';

const ORIGIN: Record<string, string> = {
  running: 'running',
  successor: 'default of later releases',
  default: 'default of the release',
  profile: 'profile',
  derived: 'derived for these OSDs',
};

export function candidates(all: readonly Considered[], error: string): TemplateResult | typeof nothing {
  const found = all.filter((c) => c.resource !== null);
  if (!found.length && !error) return nothing;
  return html`<h3>Candidates</h3>
    ${error
      ? html`<div class="alert alert-warning" role="status">
          Cannot read the candidates: ${error}
        </div>`
      : nothing}
    ${repeat(
      found,
      (d) => d.who,
      (d) => html`<section class="rt-decision" data-who=${d.who} aria-label=${`Candidates for ${who(d.who)}`}>
        <h4>${sentenceCase(who(d.who))}</h4>
        ${d.resource === null ? nothing : weighing(d, d.resource)}
      </section>`,
    )}`;
}

function weighing(decision: Considered, resource: string): TemplateResult {
  const infeasible = decision.candidates.filter((c) => c.infeasible.length);
  const rows = inOrder(decision, resource);
  return html`
    <rocksdb-tuner-scatter .decision=${decision}></rocksdb-tuner-scatter>
    <details class="rt-item">
      <summary>
        <span class="rt-main">Candidates as a table</span>
        <span class="rt-side">${plural(rows.length, 'candidate')}</span>
      </summary>
      <div class="rt-body rt-scroll rt-candidates" tabindex="0" role="group" aria-label="Candidates as a table">
        <table class=${TABLE}>
          <thead>
            <tr>
              <th scope="col">Candidate</th><th scope="col">Origin</th>
              <th scope="col">Gain on ${resourceName(resource)}</th>
              <th scope="col">Worst loss</th><th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            ${rows.map((row) => tableRow(row, resource))}
          </tbody>
        </table>
      </div>
    </details>
    ${infeasible.length
      ? html`<details class="rt-item rt-infeasible">
          <summary>
            <span class="rt-main">Infeasible candidates</span>
            <span class="rt-side">${plural(infeasible.length, 'candidate')}</span>
          </summary>
          <div class="rt-body">
            <ul>
              ${infeasible.map(
                (c) => html`<li>
                  <strong>${c.name}</strong>
                  <ul>
                    ${c.infeasible.map((reason) => html`<li>${reason}</li>`)}
                  </ul>
                </li>`,
              )}
            </ul>
          </div>
        </details>`
      : nothing}
  `;
}

function tableRow({ candidate, gain, loss, losesOn }: Weighed, resource: string): TemplateResult {
  const running = candidate.origin === 'running';
  const others = candidate.effects.filter(
    (e) => e.resource !== resource && e.resource !== losesOn,
  );
  return html`<tr>
    <th scope="row" title=${candidate.options}>${candidate.name}</th>
    <td>${ORIGIN[candidate.origin] ?? candidate.origin}</td>
    <td class="rt-number">${running ? '–' : spanned(gain)}</td>
    <td>
      ${running || losesOn === null ? '–' : html`${resourceName(losesOn)}: ${spanned(loss)}`}
      ${others.length
        ? html`<div class="rt-note">
            ${others
              .map((e) => `${resourceName(e.resource)} ${signedPercent(e.estimate_percent)}`)
              .join(', ')}
          </div>`
        : nothing}
    </td>
    <td>${result(candidate)}</td>
  </tr>`;
}

function result({ chosen, short, measured_in }: Candidate): TemplateResult {
  return html`${chosen ? label('chosen', 'good') : (short ?? '–')}
    ${measured_in ? html`<div class="rt-note">Measured in experiment ${measured_in}.</div>` : nothing}`;
}

function sentenceCase(text: string): string {
  return text.startsWith('device class ') ? `D${text.slice(1)}` : text;
}
