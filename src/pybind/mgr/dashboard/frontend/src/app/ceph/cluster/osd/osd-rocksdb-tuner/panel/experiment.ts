/** The current or last experiment. */

import { html, nothing, TemplateResult } from 'lit';

import type { Experiment, ExperimentEffect, Recommendation } from './answers';
import type { Api } from './api';
import type { Question } from './dialog';
import { duration, ids, moment, plural, range, signalName, signedPercent, who } from './format';
import { commands, CONCLUSION, facts, label, TABLE } from './parts';
import { effects, OUTCOME, underWay } from './rollout';

export type ExperimentControl = 'pause' | 'resume' | 'abort' | 'ack';

export interface ExperimentHost {
  mayChange: boolean;
  /** Whether an operation is in progress. */
  busy: boolean;
  recommendations: readonly Recommendation[];
  control(what: ExperimentControl, experiment: Experiment): void;
  apply(recommendation: Recommendation): void;
}

type Change = Pick<ExperimentEffect, 'estimate_percent' | 'low_percent' | 'high_percent'>;

export function experimentView(e: Experiment, host: ExperimentHost): TemplateResult {
  const going = underWay(e);
  const waiting = e.phase === 'waiting';
  const total = e.periods.reduce((sum, p) => sum + p.blocks, 0);
  return html`
    ${waiting
      ? html`<div class="alert alert-warning" role="status">
          Waiting: ${e.paused_reason}${e.paused_by ? ` (${e.paused_by})` : ''}
        </div>`
      : nothing}
    ${e.failure ? html`<div class="alert alert-warning">${e.failure}</div>` : nothing}
    ${e.conclusion ? verdict(e, host) : waiting ? nothing : html`<p>${e.summary}</p>`}
    ${facts([
      ['Phase', label(e.phase, going ? 'busy' : (OUTCOME[e.outcome ?? e.phase] ?? ''))],
      ['Target', who(e.who)],
      ['Signal', signalName(e.signal)],
      ['Smallest effect', `${e.min_effect_percent}%`],
      ['Unchanged OSDs', ids(e.controls)],
      ['Planned duration', duration(e.duration_s)],
      ['At the end', e.adopt ? 'apply the winner to the group' : 'restore all OSDs'],
      ['Started by', e.actor],
      ['Started', moment(e.started)],
      going ? ['Updated', moment(e.updated)] : ['Ended', moment(e.ended)],
    ])}
    ${going
      ? html`<progress max=${total || 1} value=${e.blocks} aria-label="Measured blocks"></progress>
          <p class="rt-note">Block ${e.blocks} of ${total}, ${duration(e.block_s)} each.</p>
          ${controls(e, host, waiting)}`
      : e.phase === 'failed' && host.mayChange
        ? html`<div class="rt-row">
            <button class="btn btn-light" @click=${() => host.control('ack', e)}>Acknowledge …</button>
          </div>`
        : nothing}
    <rocksdb-tuner-arms class="rt-decision" .experiment=${e}></rocksdb-tuner-arms>
    <details class="rt-item">
      <summary>
        <span class="rt-main">All signals and option strings of the arms</span>
        <span class="rt-side">${plural(e.arms.length, 'arm')}</span>
      </summary>
      <div class="rt-body">
        ${e.arms.map(
          (arm) => html`<h4>${arm.name}</h4>
            ${arm.effect.length ? effects(arm.effect) : html`<p>Not measured.</p>`}
            ${commands([arm.options], `Option string of ${arm.name}`)}`,
        )}
        <h4>Before</h4>
        ${commands([e.options_from], 'Option string before')}
      </div>
    </details>
  `;
}

function controls(
  experiment: Experiment,
  host: ExperimentHost,
  waiting: boolean,
): TemplateResult | typeof nothing {
  if (!host.mayChange) return nothing;
  const button = (what: ExperimentControl, text: string): TemplateResult =>
    html`<button class="btn btn-light" @click=${() => host.control(what, experiment)}>${text}</button>`;
  return html`<div class="rt-row">
    ${waiting ? button('resume', 'Resume …') : button('pause', 'Pause …')}
    ${experiment.phase === 'restoring' ? nothing : button('abort', 'Abort …')}
  </div>`;
}

function verdict(e: Experiment, host: ExperimentHost): TemplateResult {
  const [title, kind] = CONCLUSION[e.conclusion ?? ''] ?? [e.conclusion, ''];
  const goal = e.arms.find((arm) => arm.name === e.winner)?.effect[0];
  const offer = host.recommendations.find((r) => adopts(r, e));
  const row = (name: string, change: Change): TemplateResult => html`<tr>
    <th scope="row">${name}</th>
    <td>${signedPercent(change.estimate_percent)}</td>
    <td>${range(change.low_percent, change.high_percent)}</td>
  </tr>`;
  return html`<div class=${`rt-headline${kind ? ` rt-${kind}` : ''}`} role="status">
      <strong>Result: ${title}${e.winner ? `: ${e.winner}` : ''}</strong>
    </div>
    <p>${e.summary}</p>
    ${goal
      ? html`<div class="rt-scroll"><table class=${TABLE}>
          <thead>
            <tr>
              <th scope="col">${e.winner} compared with</th>
              <th scope="col">Change in ${signalName(e.signal)}</th><th scope="col">Interval</th>
            </tr>
          </thead>
          <tbody>
            ${row('old options', goal)}
            ${e.lead ? row(`runner-up ${e.runner_up}`, e.lead) : nothing}
          </tbody>
        </table></div>`
      : nothing}
    ${offer && host.mayChange
      ? html`<div class="rt-row">
          <button class="btn btn-accent rt-act" ?disabled=${host.busy} @click=${() => host.apply(offer)}>
            Apply the winner …
          </button>
        </div>`
      : nothing}`;
}

/** The confirmation of a control. */
export function questionOf(what: ExperimentControl, experiment: Experiment, api: Api): Question {
  const changed = experiment.arms.flatMap((arm) => arm.osds);
  const off = changed.length ? `${ids(changed)} run options of arms` : 'No OSD runs options of an arm';
  const lines: Record<ExperimentControl, string[]> = {
    pause: [
      'Pauses once the OSD in flight is safe.',
      `${off}, and keep them until you resume or abort.`,
      'Paused time is not measured.',
    ],
    resume: ['Continues as planned, including restarts of OSDs.'],
    abort: [
      'Ends the experiment once the OSD in flight is safe.',
      `${off}. They get their previous options back, restarted one at a time.`,
      'There will be no result.',
    ],
    ack: ['Clears its health check. Changes nothing else.'],
  };
  const action = { pause: 'Pause', resume: 'Resume', abort: 'Abort', ack: 'Acknowledge' }[what];
  return {
    title: `${action} the experiment`,
    lines: lines[what],
    command: `ceph rocksdb-tuner operation ${what === 'ack' ? 'resume' : what}`,
    action,
    run: async () => void (await api.change('POST', `/operation/${what === 'ack' ? 'resume' : what}`)),
  };
}

/** Whether it recommends the winner. */
function adopts(r: Recommendation, e: Experiment): boolean {
  const winner = e.arms.find((arm) => arm.name === e.winner);
  return winner !== undefined && r.kind === 'set-profile' && r.who === e.who && r.options_to === winner.options;
}
