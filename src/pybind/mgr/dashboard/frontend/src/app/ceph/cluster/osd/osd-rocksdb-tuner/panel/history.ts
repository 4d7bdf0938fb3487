/** Every change ever made, with the prediction and the outcome. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type { Change, ExperimentOutcome, Status } from './answers';
import { effect, moment, plural, signalName, who } from './format';
import { button, commands, CONCLUSION, effects, facts, item, judgedAs, label, OUTCOME, table } from './parts';

/** The ids of compaction campaigns start with it. */
const CAMPAIGN = 'c';

const RESULT: Record<string, string> = {
  right: 'as predicted',
  direction: 'in the predicted direction, different amount',
  wrong: 'not as predicted',
};

/** The newest first, `shown` of them. */
export function history(
  changes: readonly Change[],
  record: Status['track_record'],
  shown: number,
  more: () => void,
): TemplateResult {
  return html`<h3>History</h3>
    ${record.compared
      ? html`<p>
          ${plural(record.compared, 'change')} compared with the prediction: ${record.right} as
          predicted, ${record.direction} in the predicted direction only, ${record.wrong} wrong.
        </p>`
      : nothing}
    ${changes.length ? nothing : html`<p>No changes yet.</p>`}
    ${repeat(
      [...changes].reverse().slice(0, shown),
      (c) => c.id,
      (c) =>
        item(
          html`${label(c.outcome, OUTCOME[c.outcome] ?? '')}
          ${c.experiment ? 'Experiment on ' : c.id.startsWith(CAMPAIGN) ? 'Compaction of ' : nothing}${who(c.who)}, by ${c.actor}`,
          html`<time datetime=${c.time ?? ''}>${moment(c.time)}</time>`,
          html`${c.reason ? html`<p>${c.reason}</p>` : nothing}
          ${c.experiment ? experiment(c.experiment) : change(c, c.id.startsWith(CAMPAIGN))}`,
        ),
    )}
    ${changes.length > shown ? button('Show older changes', more) : nothing}`;
}

function change(c: Change, compacted: boolean): TemplateResult {
  return html`${facts([
      ...(compacted ? [] : [['Option', html`<code>${c.option}</code>`] as [string, unknown]]),
      ['Predicted', c.prediction ?? 'nothing'],
      ['Measured', c.measured ?? 'nothing'],
      ['Verdict', judgedAs(c) ?? 'none'],
      ...(c.comparison
        ? [['Outcome', RESULT[c.comparison.result] ?? c.comparison.result] as [string, string]]
        : []),
    ])}
    ${effects(c.measured_effects, compacted ? 'Change' : undefined)}
    ${compacted
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
    ${table(
      'Arms',
      ['Arm', `Change in ${signalName(signal)}`, 'Dropped'],
      arms.map(({ name, effect: [goal], dropped }) => [
        name,
        {
          shown: goal ? effect(goal.estimate_percent, goal.low_percent, goal.high_percent) : '–',
          by: goal?.estimate_percent ?? null,
        },
        dropped,
      ]),
    )}`;
}
