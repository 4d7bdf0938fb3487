/** The current or last operation: a rollout, a compaction campaign or an experiment. */

import { html, nothing, TemplateResult } from 'lit';

import type { Campaign, Experiment, Judgement, Recommendation, Rollout } from './answers';
import type { Api } from './api';
import type { Question } from './dialog';
import { bytes, duration, effect, ids, milliseconds, moment, plural, signalName, signedPercent, who } from './format';
import {
  ACT, button, commands, CONCLUSION, effects, facts, flushes, item, judgedAs, label, OUTCOME, PURPOSE, STOP, STYLE, table,
} from './parts';

export type Operation = Rollout | Campaign | Experiment;
export type Control = 'pause' | 'resume' | 'abort' | 'rollback' | 'acknowledge';

export interface OperationHost {
  mayChange: boolean;
  /** Whether an operation is in progress. */
  busy: boolean;
  recommendations: readonly Recommendation[];
  control(what: Control): void;
  apply(recommendation: Recommendation): void;
  /** The canary over time. */
  chart: TemplateResult | typeof nothing;
}

const NAMES = { rollout: 'rollout', compaction: 'compaction campaign', experiment: 'experiment' };
const STAGES = ['preflight', 'canary', 'soaking', 'judging', 'promoting', 'collapsing', 'done'];
export function underWay(operation: { outcome: string | null }): boolean {
  return operation.outcome === null;
}

export function nameOf({ kind }: Operation): string {
  return NAMES[kind];
}

export function operationSection(of: Operation, host: OperationHost): TemplateResult {
  const going = underWay(of);
  const name = nameOf(of);
  const by = 'paused_by' in of && of.paused_by ? ` (${of.paused_by})` : '';
  const last = of.outcome ?? of.phase;
  return html`<h3>
      ${going ? `${name.charAt(0).toUpperCase()}${name.slice(1)} in progress` : `Last ${name}`}
    </h3>
    ${of.phase === 'waiting'
      ? html`<div class="alert alert-warning" role="status">Waiting: ${of.paused_reason}${by}</div>`
      : nothing}
    ${of.failure ? html`<div class="alert alert-warning">${of.failure}</div>` : nothing}
    ${of.kind === 'rollout' && of.direction === 'forward' && of.phase !== 'waiting' ? stages(of.phase) : nothing}
    ${of.kind === 'experiment' ? conclusion(of, host) : nothing}
    ${facts([
      ['Phase', label(going ? of.phase : last, going ? 'busy' : (OUTCOME[last] ?? ''))],
      ['Target', who(of.who)],
      ...FACTS[of.kind](of as never),
      ['Started by', of.actor],
      ['Started', moment(of.started)],
      ['Updated', moment(of.updated)],
    ])}
    ${going ? progress(of) : nothing}
    ${host.mayChange
      ? html`<div class="rt-row">
          ${controls(of).map((what) =>
            button(TEXTS[what], () => host.control(what), isFinal(what) ? STOP : undefined),
          )}
        </div>`
      : nothing}
    ${of.kind === 'rollout' ? rollout(of, host) : of.kind === 'compaction' ? campaign(of) : arms(of)}`;
}

const TEXTS: Record<Control, string> = {
  pause: 'Pause …',
  resume: 'Resume …',
  abort: 'Abort …',
  rollback: 'Roll back …',
  acknowledge: 'Acknowledge …',
};

/** What ends an operation or undoes it. */
function isFinal(what: Control): boolean {
  return what === 'abort' || what === 'rollback';
}

function controls(of: Operation): Control[] {
  const found: Control[] = [];
  const forward = of.kind === 'rollout' ? of.direction === 'forward' : of.phase !== 'restoring';
  if (underWay(of)) found.push(of.phase === 'waiting' ? 'resume' : 'pause');
  if (underWay(of) && forward) found.push('abort');
  if (of.kind === 'rollout' && of.phase !== 'rolled-back' && of.direction !== 'back') found.push('rollback');
  const ended = of.phase === 'failed' || of.phase === 'rolled-back';
  if (of.kind !== 'compaction' && ended) found.push('acknowledge');
  return found;
}

const FACTS: { [K in Operation['kind']]: (of: Extract<Operation, { kind: K }>) => [string, unknown][] } = {
  rollout: (of) => [
    ['Option', html`<code>${of.option}</code>`],
    ['OSDs', `${of.osds_finished} of ${of.osds_total}`],
    ['Purpose', PURPOSE[of.purpose] ?? of.purpose],
    ['Verdict', of.judged ? label(judgedAs(of) ?? '', STYLE[of.judged]) : 'none yet'],
  ],
  compaction: (of) => {
    const skipped = of.osds.filter((o) => o.phase === 'skipped').length;
    return [
      ['OSDs', `${finished(of)} of ${of.osds.length}${skipped ? `, ${skipped} skipped` : ''}`],
      ['Reclaimed', reclaimed(of.used_before_bytes, of.used_after_bytes)],
      ['Client write latency before', milliseconds(of.baseline_ms)],
    ];
  },
  experiment: (of) => [
    ['Signal', signalName(of.signal)],
    ['Smallest effect', `${of.min_effect_percent}%`],
    ['Unchanged OSDs', ids(of.controls)],
    ['Planned duration', duration(of.duration_s)],
    ['At the end', of.adopt ? 'apply the winner to the group' : 'restore all OSDs'],
  ],
};

function progress(of: Operation): TemplateResult {
  const [done, all] =
    of.kind === 'rollout'
      ? [of.osds_finished, of.osds_total]
      : of.kind === 'compaction'
        ? [finished(of), of.osds.length]
        : [Date.now() - Date.parse(of.started ?? ''), (of.duration_s ?? 0) * 1000];
  return html`<progress max=${all || 1} value=${done || 0} aria-label="Progress"></progress>`;
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

function rollout(of: Rollout, host: OperationHost): TemplateResult {
  return html`${of.last_error ? html`<p class="rt-note">Last error: ${of.last_error}</p>` : nothing}
    ${soak(of)} ${judgement('Evidence for the canary verdict', of.judgement)}
    ${judgement('Evidence for the verdict on the newest batch', of.batch_judgement)} ${host.chart}
    ${item(
      'OSDs in rollout order',
      plural(of.osds_total, 'OSD'),
      table(
        'OSDs in rollout order',
        ['Batch', 'OSDs', 'Failure domain', 'Phase', 'Compared with', 'Verdict'],
        of.batches.map((batch, i) => [
          i === 0 ? 'Canary' : i,
          ids(batch.osds),
          batch.failure_domain &&
            `${batch.failure_domain.type === 'osd' ? '' : `${batch.failure_domain.type} `}${batch.failure_domain.name}`,
          batch.phase,
          batch.controls.length ? ids(batch.controls) : 'none, watched for crashes only',
          judgedAs(batch),
        ]),
      ),
    )}`;
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
      ? html`, compared with ${ids(found.controls)}. If inconclusive: ${found.inconclusive}. If neither
          better nor worse: ${found.no_benefit}`
      : nothing}.
  </p>`;
}

function judgement(title: string, found: Judgement | null): TemplateResult | typeof nothing {
  if (!found) return nothing;
  return html`<h4>${title}</h4>
    ${effects(found.signals)} ${found.cause ? html`<p>${found.cause}</p>` : nothing}
    ${found.missing.length ? html`<p>Missing: ${found.missing.join('; ')}</p>` : nothing}`;
}

function finished({ osds }: Campaign): number {
  return osds.filter((o) => o.phase === 'done' || o.phase === 'skipped').length;
}

function campaign(of: Campaign): TemplateResult {
  return item(
      'OSDs in compaction order',
      plural(of.osds.length, 'OSD'),
      table(
        'OSDs in compaction order',
        ['OSD', 'Host', 'Phase', 'DB before', 'DB after', 'Reclaimed', 'Maximum client write latency'],
        of.osds.map((osd) => [
          `osd.${osd.osd}`,
          osd.host,
          {
            shown: html`${label(osd.phase, STYLE[osd.phase])}
              ${osd.reason ? html`<div class="rt-note">${osd.reason}</div>` : nothing}`,
            by: `${osd.phase} ${osd.reason ?? ''}`,
          },
          { shown: bytes(osd.before_bytes), by: osd.before_bytes },
          { shown: bytes(osd.after_bytes), by: osd.after_bytes },
          {
            shown: reclaimed(osd.before_bytes, osd.after_bytes),
            by: osd.after_bytes === null ? null : (osd.before_bytes ?? 0) - osd.after_bytes,
          },
          { shown: milliseconds(osd.latency_ms), by: osd.latency_ms },
        ]),
      ),
      { open: underWay(of) },
    );
}

/** Negative if the DB grew. */
function reclaimed(before: number | null, after: number | null): string {
  if (before === null || after === null) return '–';
  const share = before > 0 ? ` (DB ${signedPercent((after / before - 1) * 100)})` : '';
  return `${before < after ? '−' : ''}${bytes(Math.abs(before - after))}${share}`;
}

function conclusion(of: Experiment, host: OperationHost): TemplateResult {
  const winner = of.arms.find((arm) => arm.name === of.winner);
  const [title, kind] = CONCLUSION[of.conclusion ?? ''] ?? ['', ''];
  const offer = host.recommendations.find(
    (r) => r.kind === 'set-profile' && r.who === of.who && r.options_to === winner?.options,
  );
  return html`${title
      ? html`<div class=${`rt-headline${kind ? ` rt-${kind}` : ''}`} role="status">
          <strong>Result: ${title}${of.winner ? `: ${of.winner}` : ''}</strong>
        </div>`
      : nothing}
    <p>${of.summary}</p>
    ${offer && host.mayChange
      ? html`<div class="rt-row">
          ${button('Apply the winner …', () => host.apply(offer), ACT, host.busy)}
        </div>`
      : nothing}`;
}

function arms(of: Experiment): TemplateResult {
  return html`${table(
      'Arms',
      ['Arm', 'Verdict', `Change in ${signalName(of.signal)}`, 'Dropped', ...(underWay(of) ? ['OSDs'] : [])],
      of.arms.map(({ name, verdict, effect: [goal], osds, dropped }) => [
        name,
        { shown: verdict ? label(verdict, STYLE[verdict]) : '–', by: verdict },
        {
          shown: goal ? effect(goal.estimate_percent, goal.low_percent, goal.high_percent) : 'not measured yet',
          by: goal?.estimate_percent ?? null,
        },
        dropped,
        ...(underWay(of) ? [osds.length ? ids(osds) : null] : []),
      ]),
    )}
    ${item(
      'All signals and option strings of the arms',
      plural(of.arms.length, 'arm'),
      html`${of.arms.map(
          (arm) => html`<h4>${arm.name}</h4>
            ${arm.effect.length ? effects(arm.effect) : html`<p>Not measured.</p>`}
            ${commands([arm.options], `Option string of ${arm.name}`)}`,
        )}
        <h4>Before</h4>
        ${commands([of.options_from], 'Option string before')}`,
    )}`;
}

/** The confirmation of a control: what happens. */
export function questionOf(what: Control, of: Operation, api: Api): Question {
  const action = TEXTS[what].replace(' …', '');
  const path = what === 'rollback' ? '/rollback' : `/operation/${what === 'acknowledge' ? 'resume' : what}`;
  return {
    title: what === 'rollback' ? 'Roll back' : `${action} the ${nameOf(of)}`,
    lines: what === 'acknowledge' ? ['Clears its health check. Changes nothing else.'] : LINES[of.kind](of as never, what),
    command: `ceph rocksdb-tuner ${path.slice(1).replace('/', ' ')}${what === 'rollback' ? ` ${of.id}` : ''}`,
    action,
    final: isFinal(what),
    run: async () =>
      void (await api.change('POST', path, what === 'rollback' ? { rollout_id: of.id } : {})),
  };
}

const LINES: {
  [K in Operation['kind']]: (of: Extract<Operation, { kind: K }>, what: Control) => string[];
} = {
  rollout: (of, what) => {
    const done = of.batches.filter((b) => b.phase === 'done').flatMap((b) => b.osds);
    const changed = done.length ? ids(done) : 'no OSD';
    if (what === 'pause')
      return ['Pauses once the OSD in flight is safe.', `Changed so far: ${changed}. They keep the new options.`];
    if (what === 'abort')
      return [
        'Ends the rollout once the OSD in flight is safe.',
        `Changed so far: ${changed}. They keep the new options; roll back to restore them.`,
      ];
    if (what === 'rollback')
      return [
        `Restores exactly the configuration before rollout ${of.id} for ${who(of.who)}.`,
        `Restarts every OSD that runs the new options, one at a time: ${changed}.`,
      ];
    return [`Continues with ${plural(of.osds_total - of.osds_finished, 'OSD')}, each restarted as planned.`];
  },
  compaction: (of, what) => {
    const running = of.osds.filter((o) => o.phase === 'compacting' || o.phase === 'settling').map((o) => o.osd);
    const runs = running.length
      ? `The compaction of ${ids(running)} cannot be stopped and runs to its end.`
      : 'No OSD is compacting.';
    const left = plural(of.osds.length - finished(of) - running.length, 'OSD');
    if (what === 'pause') return [runs, `The remaining ${left} will not start until you resume.`];
    if (what === 'abort') return [runs, `${left} will not be compacted. Finished compactions are kept.`];
    return [
      `Continues with ${left}.`,
      'The client write latency is measured again and becomes the new baseline.',
    ];
  },
  experiment: (of, what) => {
    const before = of.phase === 'planned' || of.phase === 'baseline';
    const changed = of.arms.flatMap((arm) => (before || arm.dropped ? [] : arm.osds));
    const off = changed.length ? `${ids(changed)} run options of arms` : 'No OSD runs options of an arm';
    if (what === 'pause')
      return [
        'Pauses once the OSD in flight is safe.',
        `${off}, and keep them until you resume or abort.`,
        'Paused time is not measured.',
      ];
    if (what === 'abort')
      return [
        'Ends the experiment once the OSD in flight is safe.',
        `${off}. They get their previous options back, restarted one at a time.`,
        'There will be no result.',
      ];
    return ['Continues as planned, including restarts of OSDs.'];
  },
};
