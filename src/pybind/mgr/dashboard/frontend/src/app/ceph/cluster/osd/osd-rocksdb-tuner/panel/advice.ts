/** Decisions, findings and recommendations. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type { Decision, Finding, Plan, Recommendation, RecommendationInFull } from './answers';
import { duration, durations, evidence, ids, plural, range, who } from './format';
import { ACT, button, commands, facts, flushes, item, label, PURPOSE, table } from './parts';

const ANNEX = 'bluestore_rocksdb_options_annex';
const SEVERITY = { error: 'danger', warning: 'warning', info: 'info' } as const;
const RISK = { low: 'info', medium: 'warning', high: 'danger' } as const;

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
      return html`<section class=${`rt-card${d.next_command ? '' : ' rt-good'}`} data-who=${d.who} aria-label=${`Decision for ${who(d.who)}`}>
        <h3>${d.do}</h3>
        <p>${d.because}</p>
        ${facts([
          ['For', who(d.who)],
          ...(d.risk === null
            ? []
            : ([
                ['Gain', html`<span class="rt-gain">${d.gain ?? 'not predicted'}</span>`],
                ['Loss', d.loss ?? 'unknown'],
                ['Risk', d.risk],
              ] as [string, unknown][])),
        ])}
        ${commands(d.next_command === null ? [] : [d.next_command], 'Next command')}
        ${r ? html`${applying(r, host)} ${inFull(r, host, 'Reasons, changes and commands')}` : nothing}
      </section>`;
    },
  )}`;
}

/** Those that are not on a card. */
export function recommendations(
  advice: readonly Recommendation[],
  found: readonly Decision[],
  host: AdviceHost,
): TemplateResult | typeof nothing {
  const others = advice.filter(
    (r) => !found.some((d) => d.next_command === r.decision.next_command),
  );
  if (!others.length) return nothing;
  return html`<h3>Recommendations</h3>
    ${repeat(
      others,
      (r) => r.id,
      (r) => inFull(r, host, html`${label(`${r.risk} risk`, RISK[r.risk])} ${r.decision.do}`, true),
    )}`;
}

export function findings(found: readonly Finding[]): TemplateResult {
  return html`<h3>Findings</h3>
    ${found.length ? nothing : html`<p>No findings.</p>`}
    ${repeat(
      found,
      (f) => `${f.id} ${f.summary}`,
      (f) =>
        item(
          html`${label(f.severity, SEVERITY[f.severity])} ${f.summary}`,
          f.osds.length ? plural(f.osds.length, 'OSD') : nothing,
          html`<p>${f.remedy}</p>
            ${f.do_not ? html`<p><strong>${f.do_not}</strong></p>` : nothing}
            ${commands(f.commands, 'Remedy')}
            ${f.evidence.length
              ? table(
                  'Evidence',
                  ['Evidence', 'Value', 'Window'],
                  f.evidence.map((e) => [
                    e.signal,
                    { shown: html`<span class="rt-break">${evidence(e.value, e.unit)}</span>`, by: typeof e.value === 'number' ? e.value : `${e.value}` },
                    { shown: duration(e.window_s), by: e.window_s },
                  ]),
                )
              : nothing}
            <p class="rt-note">
              ${f.osds.length ? html`OSDs: ${ids(f.osds)}. ` : nothing}Source: ${f.source}
            </p>`,
        ),
    )}`;
}

function isRollout({ kind }: Recommendation): boolean {
  return kind === 'set-profile' || kind === 'remove-override';
}

/** Apply it, or why not. */
function applying(r: Recommendation, host: AdviceHost): TemplateResult | typeof nothing {
  if (!host.plans || r.kind === 'manual') return nothing;
  return html`<div class="rt-row">
    ${host.mayChange ? button('Apply …', () => host.apply(r), ACT, host.busy !== null) : nothing}
    ${isRollout(r) ? button('Dry run', () => host.showPlan(r.id)) : nothing}
    <span class="rt-note">
      ${host.mayChange ? nothing : 'Applying requires update permission for OSDs and the configuration.'}
      ${host.busy ? `${host.busy === 'experiment' ? 'An' : 'A'} ${host.busy} is in progress.` : nothing}
    </span>
  </div>
  ${planned(host.read.get(r.id)?.plan ?? null)}`;
}

function inFull(r: Recommendation, host: AdviceHost, title: unknown, alone = false): TemplateResult {
  const executable = isRollout(r) || r.kind === 'compact';
  const side = `${plural(r.osds.length, 'OSD')}${r.restart_required ? ', restart required' : ''}`;
  return item(
    title,
    side,
    html`${alone && executable ? html`${commands([`ceph rocksdb-tuner apply ${r.id}`], 'Command')} ${applying(r, host)}` : nothing}
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
      ${isRollout(r)
        ? html`<p>
            ${r.kind === 'remove-override' ? 'Removes' : 'Sets'}
            <code>${r.option}</code>${r.option === ANNEX
              ? ', which OSDs append to the option string'
              : nothing}.
          </p>`
        : nothing}
      ${difference(r, host)}
      <h4>${executable ? 'Commands for doing it manually' : 'Commands'}</h4>
      ${commands(r.commands, 'Manual commands')}
      ${r.undo_commands.length
        ? html`<h4>Commands for undoing it</h4>
            ${commands(r.undo_commands, 'Undo')}`
        : nothing}`,
    { id: r.id, opened: () => host.open(r.id) },
  );
}

function difference(r: Recommendation, host: AdviceHost): TemplateResult | typeof nothing {
  const reading = host.read.get(r.id);
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
    ${table(
      'Option changes',
      ['Option', 'Current', 'New', 'Description'],
      changes.map((c) => [
        c.option,
        c.from ?? 'default',
        c.to ?? 'default',
        host.meanings.get(c.option) ?? null,
      ]),
    )}`;
}

function planned(plan: Plan | null): TemplateResult | typeof nothing {
  if (!plan) return nothing;
  const [first, ...rest] = plan.batches;
  const { soak, controls } = plan;
  return html`<div role="status">
    <h4>Dry run: no changes were made</h4>
    <p>Purpose: ${PURPOSE[plan.purpose] ?? plan.purpose}.</p>
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
      ${durations(plan.expected_duration_s, plan.expected_duration_most_s)}.
    </p>
    ${plan.gates.length
      ? html`<p>Before each step:</p>
          <ul>
            ${plan.gates.map((gate) => html`<li>${gate}</li>`)}
          </ul>`
      : nothing}
  </div>`;
}
