/** The candidates that were compared for each device class, and the choice. */

import { html, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import type { Assessment, Usage, Weighed } from './answers';
import { effect, percent, plural, resourceName, who } from './format';
import { item, label, table } from './parts';
import type { Cell } from './table';

const ORIGIN: Record<string, string> = {
  running: 'running',
  successor: 'default of later releases',
  default: 'default of the release',
  profile: 'profile',
  derived: 'derived for these OSDs',
};

export function candidates(all: readonly Assessment[], error: string): TemplateResult | typeof nothing {
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
      (d) => item(who(d.who), plural(d.candidates?.length ?? 0, 'candidate'), compared(d)),
    )}`;
}

function compared(of: Assessment): TemplateResult {
  const resource = of.resource ?? '';
  const plenty = of.unconstrained ?? [];
  return html`<p>
      A candidate can be chosen if it improves ${resourceName(resource)} by at least
      ${percent(of.min_gain)} and worsens nothing by more than ${percent(of.max_loss)}, each with 80%
      probability.
      ${plenty.length
        ? `Additional use of ${plenty.map(resourceName).join(', ')} is not counted as a
            loss: the capacity of the OSDs is unknown.`
        : nothing}
    </p>
    ${table(
      `Candidates for ${who(of.who)}`,
      ['Candidate', 'Origin', `Change in ${resourceName(resource)}`, 'Worst loss', 'Other changes', 'Result'],
      [...(of.candidates ?? [])].sort((a, b) => rank(a) - rank(b)).map((c) => cells(c, of)),
    )}`;
}

function rank({ chosen, origin, infeasible }: Weighed): number {
  return chosen ? 0 : origin === 'running' ? 1 : infeasible.length ? 3 : 2;
}

function cells(candidate: Weighed, { resource, unconstrained }: Assessment): Cell[] {
  const { name, origin, chosen, options, infeasible, short, measured_in } = candidate;
  const gain = candidate.effects.find((e) => e.resource === resource);
  const [worst] = candidate.effects
    .filter((e) => e !== gain && e.high_percent > 0 && !unconstrained?.some((r) => r === e.resource))
    .sort((a, b) => b.high_percent - a.high_percent);
  const others = candidate.effects.filter((e) => e !== gain && e !== worst).map(named);
  const result = [...infeasible, short, measured_in && `Measured in experiment ${measured_in}.`];
  const words = result.filter(Boolean).join(' ');
  return [
    { shown: html`<span title=${options}>${name}</span>`, by: name },
    ORIGIN[origin] ?? origin,
    { shown: gain ? spanned(gain) : '–', by: gain?.estimate_percent ?? null },
    { shown: worst ? named(worst) : '–', by: worst?.estimate_percent ?? null },
    others.join(', ') || null,
    { shown: html`${chosen ? label('chosen', 'good') : nothing} ${words}`, by: `${chosen ? 'chosen ' : ''}${words}` },
  ];
}

function spanned(e: Usage): string {
  return effect(e.estimate_percent, e.low_percent, e.high_percent);
}

function named(e: Usage): string {
  return `${resourceName(e.resource).replace(/^the /, '')} ${spanned(e)}`;
}
