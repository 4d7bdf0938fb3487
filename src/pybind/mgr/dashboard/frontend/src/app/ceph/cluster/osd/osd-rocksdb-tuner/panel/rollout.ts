/** The current or last rollout, and the history. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type {
  Change,
  ExperimentEffect,
  ExperimentOutcome,
  FailureDomain,
  Judgment,
  Rollout,
  SignalVerdict,
  Status,
} from './answers';
import { duration, ids, moment, plural, range, signalName, signedPercent, who } from './format';
import { commands, CONCLUSION, facts, flushes, judgedAs, label, PURPOSE, TABLE } from './parts';

const STAGES = ['preflight', 'canary', 'soaking', 'judging', 'promoting', 'collapsing', 'done'];

/** Style of a label, by outcome. */
export const OUTCOME: Record<string, 'good' | 'warning' | 'danger' | 'busy' | ''> = {
  done: 'good',
  'rolled-back': 'warning',
  failed: 'danger',
  aborted: 'warning',
  waiting: 'busy',
};

export function underWay(operation: { outcome: string | null }): boolean {
  return operation.outcome === null;
}

export type Control = 'pause' | 'resume' | 'abort' | 'rollback' | 'ack';

export interface RolloutHost {
  mayChange: boolean;
  control(what: Control, rollout: Rollout): void;
  chart: TemplateResult | typeof nothing;
}

export function rolloutSection(rollout: Rollout, host: RolloutHost): TemplateResult {
  const going = underWay(rollout);
  const waiting = rollout.phase === 'waiting';
  return html`<h3>${going ? 'Rollout in progress' : 'Last rollout'}</h3>
    ${waiting
      ? html`<div class="alert alert-warning" role="status">
          Waiting: ${rollout.paused_reason}${rollout.paused_by ? ` (${rollout.paused_by})` : ''}
        </div>`
      : nothing}
    ${rollout.failure ? html`<div class="alert alert-warning">${rollout.failure}</div>` : nothing}
    ${rollout.direction === 'forward' && !waiting ? stages(rollout.phase) : nothing}
    ${facts([
      ['Phase', label(rollout.phase, going ? 'busy' : (OUTCOME[rollout.phase] ?? ''))],
      ['Target', who(rollout.who)],
      ['Option', html`<code>${rollout.option}</code>`],
      ['OSDs', `${rollout.osds_finished} of ${rollout.osds_total}`],
      ['Purpose', PURPOSE[rollout.purpose] ?? rollout.purpose],
      ['Verdict', judgedAs(rollout) ?? 'none yet'],
      ['Started by', rollout.actor],
      ['Started', moment(rollout.started)],
      ['Updated', moment(rollout.updated)],
    ])}
    <progress
      max=${rollout.osds_total || 1}
      value=${rollout.osds_finished}
      aria-label="Finished OSDs"
    ></progress>
    ${rollout.last_error
      ? html`<p class="rt-note">Last error: ${rollout.last_error}</p>`
      : nothing}
    ${controls(rollout, host, going, waiting)} ${soak(rollout)}
    ${judgement('Evidence for the canary verdict', rollout.judgement)}
    ${judgement('Evidence for the verdict on the newest batch', rollout.batch_judgement)}
    ${host.chart}
    <details class="rt-item">
      <summary><span class="rt-main">OSDs in rollout order</span></summary>
      <div class="rt-body rt-scroll"><table class=${TABLE}>
        <thead>
          <tr>
            <th scope="col">Batch</th><th scope="col">OSDs</th><th scope="col">Failure domain</th>
            <th scope="col">Phase</th>
            <th scope="col">Compared with</th><th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          ${rollout.batches.map(
            (batch, i) => html`<tr>
              <th scope="row">${i === 0 ? 'Canary' : i}</th>
              <td>${ids(batch.osds)}</td>
              <td>${batch.failure_domain ? within(batch.failure_domain) : '–'}</td>
              <td>${batch.phase}</td>
              <td>${batch.controls.length ? ids(batch.controls) : 'none, watched for crashes only'}</td>
              <td>${judgedAs(batch) ?? '–'}</td>
            </tr>`,
          )}
        </tbody>
      </table></div>
    </details>`;
}

function within({ type, name }: FailureDomain): string {
  return type === 'osd' ? name : `${type} ${name}`;
}

function stages(phase: string): TemplateResult {
  const at = STAGES.indexOf(phase);
  return html`<ol class="rt-steps" aria-label="Phases">
    ${STAGES.map((stage, i) =>
      i === at
        ? html`<li aria-current="step">${stage}</li>`
        : html`<li class=${i < at ? 'rt-past' : ''}>${stage}</li>`,
    )}
  </ol>`;
}

function controls(
  rollout: Rollout,
  host: RolloutHost,
  going: boolean,
  waiting: boolean,
): TemplateResult | typeof nothing {
  if (!host.mayChange) return nothing;
  const button = (what: Control, text: string): TemplateResult =>
    html`<button class="btn btn-light" @click=${() => host.control(what, rollout)}>${text}</button>`;
  return html`<div class="rt-row">
    ${going && !waiting ? button('pause', 'Pause …') : nothing}
    ${going && waiting ? button('resume', 'Resume …') : nothing}
    ${going && rollout.direction === 'forward' ? button('abort', 'Abort …') : nothing}
    ${rollout.phase !== 'rolled-back' && rollout.direction !== 'back'
      ? button('rollback', 'Roll back …')
      : nothing}
    ${rollout.phase === 'failed' || rollout.phase === 'rolled-back'
      ? button('ack', 'Acknowledge …')
      : nothing}
  </div>`;
}

function soak({ phase, soak: found }: Rollout): TemplateResult | typeof nothing {
  if (!found.most_s) return nothing;
  if (phase === 'preflight' && found.baseline_least_s) {
    return html`<p>
      Measuring the baseline of the canary and ${ids(found.controls)}:
      ${duration(found.baseline_s)} of ${duration(found.baseline_least_s)}.
    </p>`;
  }
  return html`<p>
    The canary has soaked for ${duration(found.soaked_s)} (minimum ${duration(found.least_s)},
    maximum ${duration(found.most_s)})${flushes(found)}${found.controls.length
      ? html`, compared with ${ids(found.controls)}`
      : nothing}.
    ${found.controls.length
      ? html`If inconclusive: ${found.inconclusive}. If neither better nor worse:
          ${found.no_benefit}.`
      : nothing}
  </p>`;
}

function judgement(title: string, found: Judgment | null): TemplateResult | typeof nothing {
  if (!found) return nothing;
  return html`<h4>${title}</h4>
    ${effects(found.signals)}
    ${found.cause ? html`<p>${found.cause}</p>` : nothing}
    ${found.missing.length ? html`<p>Missing: ${found.missing.join('; ')}</p>` : nothing}`;
}

type Effect = SignalVerdict | ExperimentEffect;

export function effects(
  found: readonly Effect[],
  change = 'Change vs. controls',
): TemplateResult | typeof nothing {
  if (!found.length) return nothing;
  return html`<div class="rt-scroll"><table class=${TABLE}>
    <thead>
      <tr>
        <th scope="col">Signal</th><th scope="col">Effect</th>
        <th scope="col">${change}</th><th scope="col">Interval</th>
      </tr>
    </thead>
    <tbody>
      ${found.map(
        (s) => html`<tr>
          <th scope="row">${signalName(s.signal)}</th>
          <td>${s.effect}</td>
          <td>${signedPercent('change_percent' in s ? s.change_percent : s.estimate_percent)}</td>
          <td>${range(s.low_percent, s.high_percent)}</td>
        </tr>`,
      )}
    </tbody>
  </table></div>`;
}

/** The ids of compaction campaigns start with it. */
const CAMPAIGN = 'c';

const RESULT: Record<string, string> = {
  right: 'as predicted',
  direction: 'in the predicted direction, different amount',
  wrong: 'not as predicted',
};

export function history(
  changes: readonly Change[],
  record: Status['track_record'],
): TemplateResult {
  return html`<h3>History</h3>
    ${record.compared
      ? html`<p>
          ${plural(record.compared, 'change')} compared with the prediction:
          ${record.right} as predicted, ${record.direction} in the predicted direction only,
          ${record.wrong} wrong.
          ${record.interval_score !== null && record.naive_interval_score !== null
            ? `Interval score ${record.interval_score.toFixed(0)}, compared with
              ${record.naive_interval_score.toFixed(0)} for a forecast of no change (lower is better).`
            : nothing}
        </p>`
      : nothing}
    ${changes.length === 0
      ? html`<p>No changes yet.</p>`
      : repeat(
          [...changes].reverse(),
          (c) => c.id,
          (c) => html`<details class="rt-item">
            <summary>
              ${label(c.outcome, OUTCOME[c.outcome] ?? '')}
              <span class="rt-main">
                ${c.experiment ? 'Experiment on ' : c.id.startsWith(CAMPAIGN) ? 'Compaction of ' : nothing}${who(c.who)}, by ${c.actor}
              </span>
              <time class="rt-side" datetime=${c.time ?? ''}>${moment(c.time)}</time>
            </summary>
            <div class="rt-body">
              ${c.reason ? html`<p>${c.reason}</p>` : nothing}
              ${c.experiment ? experiment(c.experiment) : change(c)}
            </div>
          </details>`,
        )}`;
}

function change(c: Change): TemplateResult {
  return html`${facts([
      ...(c.id.startsWith(CAMPAIGN)
        ? []
        : [['Option', html`<code>${c.option}</code>`] as [string, unknown]]),
      ['Predicted', c.prediction ?? 'nothing'],
      ['Measured', c.measured ?? 'nothing'],
      ['Verdict', judgedAs(c) ?? 'none'],
      ...(c.comparison
        ? [['Outcome', RESULT[c.comparison.result] ?? c.comparison.result] as [string, string]]
        : []),
    ])}
    ${c.id.startsWith(CAMPAIGN) ? effects(c.measured_effects, 'Change') : effects(c.measured_effects)}
    ${c.id.startsWith(CAMPAIGN)
      ? nothing
      : html`<h4>From</h4>
          ${commands([c.from], 'Option string before')}
          <h4>To</h4>
          ${commands([c.to], 'Option string after')}`}`;
}

function experiment({ signal, conclusion, winner, arms }: ExperimentOutcome): TemplateResult {
  return html`${facts([
      ['Result', CONCLUSION[conclusion ?? '']?.[0] ?? 'none'],
      ['Winner', winner ?? 'none'],
    ])}
    <div class="rt-scroll"><table class=${TABLE}>
      <thead>
        <tr>
          <th scope="col">Arm</th><th scope="col">Change in ${signalName(signal)}</th>
          <th scope="col">Interval</th><th scope="col">Dropped</th>
        </tr>
      </thead>
      <tbody>
        ${arms.map(
          (arm) => html`<tr>
            <th scope="row" title=${arm.options}>${arm.name}</th>
            <td>${signedPercent(arm.change_percent)}</td>
            <td>${range(arm.low_percent, arm.high_percent)}</td>
            <td>${arm.dropped ?? '–'}</td>
          </tr>`,
        )}
      </tbody>
    </table></div>`;
}
