/** Findings and recommendations. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type { Decision, Finding, Plan, Recommendation, RecommendationInFull } from './answers';
import { duration, durations, evidence, ids, plural, range, who } from './format';
import { commands, facts, flushes, label, PURPOSE, TABLE } from './parts';

const ANNEX = 'bluestore_rocksdb_options_annex';
const SEVERITY = { error: 'danger', warning: 'warning', info: 'info' } as const;

export function findings(found: readonly Finding[]): TemplateResult {
  return html`<h3>Findings</h3>
    ${found.length ? nothing : html`<p>No findings.</p>`}
    ${repeat(
      found,
      (f) => `${f.id} ${f.summary}`,
      (f) => html`<details class="rt-item">
        <summary>
          ${label(f.severity, SEVERITY[f.severity])}
          <span class="rt-main">${f.summary}</span>
          <span class="rt-side">${f.osds.length ? plural(f.osds.length, 'OSD') : nothing}</span>
        </summary>
        <div class="rt-body">
          <p>${f.remedy}</p>
          ${f.do_not ? html`<p><strong>Do not:</strong> ${f.do_not}</p>` : nothing}
          ${commands(f.commands, 'Remedy')} ${evidenceTable(f)}
          <p class="rt-note">
            ${f.osds.length ? html`OSDs: ${ids(f.osds)}. ` : nothing}Source: ${f.source}
          </p>
        </div>
      </details>`,
    )}`;
}

function evidenceTable(finding: Finding): TemplateResult | typeof nothing {
  if (!finding.evidence.length) return nothing;
  return html`<div class="rt-scroll"><table class=${TABLE}>
    <thead>
      <tr><th scope="col">Evidence</th><th scope="col">Value</th><th scope="col">Window</th></tr>
    </thead>
    <tbody>
      ${finding.evidence.map(
        (e) => html`<tr>
          <th scope="row">${e.signal}</th>
          <td class="rt-long">${evidence(e.value, e.unit)}</td>
          <td>${e.window_s === null ? '–' : duration(e.window_s)}</td>
        </tr>`,
      )}
    </tbody>
  </table></div>`;
}

export interface Reading {
  full: RecommendationInFull | null;
  plan: Plan | null;
}

export interface AdviceHost {
  mayChange: boolean;
  /** The operation in progress, which blocks all others. */
  busy: string | null;
  /** Whether a plan can be asked for. */
  plans: boolean;
  read: ReadonlyMap<string, Reading>;
  meanings: ReadonlyMap<string, string>;
  open(id: string): void;
  showPlan(id: string): void;
  apply(recommendation: Recommendation): void;
}

/** What to do about each group, in the words of the command line. */
export function decisions(
  found: readonly Decision[],
  advice: readonly Recommendation[],
  host: AdviceHost,
): TemplateResult {
  return html`${repeat(
    found,
    (d) => d.who,
    (d) => {
      const r = advice.find((one) => one.decision.next_command === d.next_command);
      return html`<section class="rt-card" data-who=${d.who} aria-label=${`Decision for ${who(d.who)}`}>
        <h3>${d.do}</h3>
        <p>${d.because}</p>
        ${facts([
          ['For', who(d.who)],
          ...(d.risk === null
            ? []
            : ([
                ['Gain', d.gain ?? 'not predicted'],
                ['Loss', d.loss ?? 'unknown'],
                ['Risk', d.risk],
              ] as [string, string][])),
        ])}
        ${commands(d.next_command === null ? [] : [d.next_command], 'Next command')}
        ${r && host.mayChange
          ? html`<button
              class="btn btn-accent rt-act"
              ?disabled=${host.busy !== null}
              @click=${() => host.apply(r)}
            >
              Apply …
            </button>`
          : nothing}
      </section>`;
    },
  )}`;
}

export function recommendations(
  found: readonly Recommendation[],
  host: AdviceHost,
): TemplateResult | typeof nothing {
  if (!found.length) return nothing;
  return html`<h3>Recommendations</h3>
    ${repeat(
      found,
      (r) => r.id,
      (r) => html`<details
        class="rt-item"
        data-id=${r.id}
        @toggle=${(event: Event) => {
          if ((event.currentTarget as HTMLDetailsElement).open) host.open(r.id);
        }}
      >
        <summary>
          ${label(`${r.risk} risk`, r.risk === 'low' ? 'info' : r.risk === 'medium' ? 'warning' : 'danger')}
          <span class="rt-main">${r.decision.do}</span>
          <span class="rt-side">
            ${plural(r.osds.length, 'OSD')}${r.restart_required ? ', restart required' : ''}
          </span>
        </summary>
        <div class="rt-body">${body(r, host)}</div>
      </details>`,
    )}`;
}

function body(r: Recommendation, host: AdviceHost): TemplateResult {
  const reading = host.read.get(r.id);
  const rolledOut = r.kind === 'set-profile' || r.kind === 'remove-override';
  const executable = rolledOut || r.kind === 'compact';
  return html`
    <h4>Why</h4>
    <ul>
      ${r.reasons.map((x) => html`<li>${x.statement} <small class="rt-note">(${x.source})</small></li>`)}
    </ul>
    <h4>Predicted effect</h4>
    ${r.prediction
      ? html`<ul>${r.prediction.map(
          (p) => html`<li>
            ${p.metric}: <strong>${range(p.low_percent, p.high_percent)}</strong>
            <small class="rt-note">(${p.basis})</small>
          </li>`,
        )}</ul>`
      : html`<p>No prediction: no published measurement or model applies.</p>`}
    ${rolledOut ? optionLine(r) : nothing} ${difference(r, reading, host)}
    ${executable
      ? html`<div class="rt-row">
          ${rolledOut && host.plans
            ? html`<button class="btn btn-light" @click=${() => host.showPlan(r.id)}>Dry run</button>`
            : nothing}
          ${host.mayChange
            ? html`<button
                class="btn btn-accent rt-act"
                ?disabled=${host.busy !== null}
                @click=${() => host.apply(r)}
              >
                Apply …
              </button>`
            : host.plans
              ? html`<span class="rt-note">
                  Applying requires update permission for OSDs and the configuration.
                </span>`
              : nothing}
          ${host.busy ? html`<span class="rt-note">${host.busy === 'experiment' ? 'An' : 'A'} ${host.busy} is in progress.</span>` : nothing}
        </div>`
      : nothing}
    ${reading?.plan ? plan(reading.plan) : nothing}
    <h4>Commands</h4>
    ${commands(executable ? [`ceph rocksdb-tuner apply ${r.id}`] : r.commands, 'Commands')}
    ${executable
      ? html`<p class="rt-note">
            Or manually${r.undo_commands.length ? ', with the commands to undo it' : ''}:
          </p>
          ${commands(r.commands, 'Manual commands')} ${commands(r.undo_commands, 'Undo')}`
      : nothing}
  `;
}

function optionLine({ kind, option }: Recommendation): TemplateResult {
  return html`<p>
    ${kind === 'remove-override' ? 'Removes' : 'Sets'}
    <code>${option}</code>${option === ANNEX
      ? ', which OSDs append to the option string'
      : nothing}.
  </p>`;
}

function difference(
  r: Recommendation,
  reading: Reading | undefined,
  host: AdviceHost,
): TemplateResult | typeof nothing {
  if (r.options_from === r.options_to) return nothing;
  const changes = reading?.full?.difference;
  if (!changes) {
    return reading?.full
      ? html`<h4>Option string</h4>
          ${commands([r.options_to], 'New option string')}`
      : html`<p role="status">Loading changes …</p>`;
  }
  if (!changes.length) return html`<p>No option values change.</p>`;
  return html`<h4>Option changes</h4>
    <div class="rt-scroll"><table class=${TABLE}>
      <thead>
        <tr>
          <th scope="col">Option</th><th scope="col">Current</th><th scope="col">New</th>
          <th scope="col">Description</th>
        </tr>
      </thead>
      <tbody>
        ${changes.map(
          (c) => html`<tr>
            <th scope="row">${c.option}</th>
            <td>${c.from ?? 'default'}</td>
            <td>${c.to ?? 'default'}</td>
            <td>${host.meanings.get(c.option) ?? '–'}</td>
          </tr>`,
        )}
      </tbody>
    </table></div>`;
}

function plan(planned: Plan): TemplateResult {
  const [first, ...rest] = planned.batches;
  const { soak, controls } = planned;
  return html`<div role="status">
    <h4>Dry run: no changes were made</h4>
    <p>Purpose: ${PURPOSE[planned.purpose] ?? planned.purpose}.</p>
    <ol>
      <li>Change the canary: ${first ? ids(first.osds) : 'no OSD'}</li>
      ${soak.most_s
        ? html`<li>
            Soak for ${durations(soak.least_s, soak.most_s)}${flushes(soak)}${controls.length
              ? html` and compare with ${ids(controls)}; if inconclusive: ${soak.inconclusive}, if
                  neither better nor worse: ${soak.no_benefit}`
              : nothing}
          </li>`
        : nothing}
      ${rest.length
        ? html`<li>
            Change ${plural(rest.length, 'batch', 'batches')} of at most one failure domain each:
            ${ids(rest.flatMap((b) => b.osds))}${soak.batches?.most_s
              ? `; each soaks for ${durations(soak.batches.least_s, soak.batches.most_s)}`
              : nothing}
          </li>`
        : nothing}
    </ol>
    <p>
      Expected duration without waiting:
      ${durations(planned.expected_duration_s, planned.expected_duration_most_s)}.
    </p>
    ${planned.gates.length
      ? html`<p>Before each step:</p>
          <ul>
            ${planned.gates.map((gate) => html`<li>${gate}</li>`)}
          </ul>`
      : nothing}
  </div>`;
}
