import { LitElement, html, nothing, TemplateResult } from 'lit';

import type { ExperimentPlan, Profile } from './answers';
import { Api, ApiError } from './api';
import type { Question } from './dialog';
import { duration, ids, plural, range, SIGNALS, who } from './format';
import { ACT, button, commands, facts, item, table } from './parts';

const HOUR_S = 3600;

/** A form that plans an experiment; the plan can be started. */
export class RocksDbTunerPlanner extends LitElement {
  static override properties = {
    groups: { attribute: false },
    mayChange: { attribute: false },
    busy: { attribute: false },
    profiles: { state: true },
    plan: { state: true },
    refusal: { state: true },
    planning: { state: true },
  };

  base = '';
  declare groups: readonly string[];
  declare mayChange: boolean;
  /** The operation in progress, which blocks a start. */
  declare busy: string | null;
  private declare profiles: Pick<Profile, 'name' | 'title'>[];
  private declare plan: ExperimentPlan | null;
  private declare refusal: string;
  private declare planning: boolean;

  constructor() {
    super();
    this.groups = [];
    this.mayChange = false;
    this.busy = null;
    this.profiles = [];
    this.plan = null;
    this.refusal = '';
    this.planning = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  private get api(): Api {
    return new Api(this.base);
  }

  protected override render(): TemplateResult {
    const select = 'form-control form-select custom-select';
    return item(
      'Plan an experiment',
      nothing,
      html`<p>
          An experiment compares option strings on a few OSDs of one group with unchanged OSDs of it.
          A preview changes nothing.
        </p>
        <form
          @submit=${(event: SubmitEvent) => {
            event.preventDefault();
            void this.preview(new FormData(event.currentTarget as HTMLFormElement));
          }}
          @change=${() => {
            this.plan = null;
            this.refusal = '';
          }}
        >
          <div class="rt-row">
            <label>
              Group
              <select class=${select} name="who">
                ${this.groups.map((g) => html`<option value=${g}>${who(g)}</option>`)}
              </select>
            </label>
            <label>
              Signal
              <select class=${select} name="signal">
                <option value="">of the limiting resource</option>
                ${Object.entries(SIGNALS).map(
                  ([name, text]) => html`<option value=${name}>${text}</option>`,
                )}
              </select>
            </label>
            <label>
              Smallest effect in %
              <input class="form-control" type="number" name="min_effect" min="1" max="50" step="any" value="10" required />
            </label>
            <label>
              Maximum duration in hours
              <input class="form-control" type="number" name="hours" min="1" max="336" step="any" value="12" required />
            </label>
          </div>
          <fieldset class="rt-arms">
            <legend>Arms: if none is selected, the best candidates</legend>
            ${this.profiles.map(
              ({ name, title }) => html`<label title=${title}>
                <input type="checkbox" name="arms" value=${name} /> ${name}
              </label>`,
            )}
          </fieldset>
          <div class="rt-row">
            <button class="btn btn-light" ?disabled=${this.planning}>Preview</button>
          </div>
        </form>
        <div role="status">
          ${this.planning ? html`<p>Planning …</p>` : nothing}
          ${this.refusal ? html`<div class="alert alert-warning">${this.refusal}</div>` : nothing}
          ${this.plan ? this.planned(this.plan) : nothing}
        </div>`,
      { opened: () => void this.readProfiles() },
    );
  }

  private planned(plan: ExperimentPlan): TemplateResult {
    const { refusal } = plan;
    return html`<h4>Preview: no changes were made</h4>
      ${refusal
        ? html`<div class="alert alert-warning">${plan.summary} ${takes(refusal)}</div>`
        : html`<p>${plan.summary}</p>
            ${arms(plan)}
            ${facts([
              ['Duration without waiting', duration(plan.duration_s)],
              ['Restarts', plan.restarts],
              ['Detectable effect', percent(plan.detectable_percent)],
              ['Dropped early if worse by', percent(plan.unsafe_percent)],
            ])}
            ${list('Risks', plan.risk)} ${list('Not measured', plan.unknown)}
            ${list('Before each restart', plan.gates)} ${commands([plan.command], 'Command')}
            ${this.mayChange
              ? html`<div class="rt-row">
                  ${button('Start …', () => this.askStart(plan), ACT, this.busy !== null)}
                  ${this.busy ? html`<span class="rt-note">Wait until the ${this.busy} in progress ends.</span>` : nothing}
                </div>`
              : nothing}`}`;
  }

  /** Once, when the form is opened. */
  private async readProfiles(): Promise<void> {
    if (this.profiles.length) return;
    await this.answered(async () => {
      this.profiles = await this.api.get<Pick<Profile, 'name' | 'title'>[]>('/profile');
    });
  }

  private async preview(form: FormData): Promise<void> {
    const query = new URLSearchParams();
    const given = {
      who: form.get('who'),
      arms: form.getAll('arms').join(','),
      signal: form.get('signal'),
      min_effect: form.get('min_effect'),
      max_duration: Math.round(Number(form.get('hours')) * HOUR_S),
    };
    for (const [name, value] of Object.entries(given)) if (value) query.set(name, `${value}`);
    this.planning = true;
    this.plan = null;
    await this.answered(async () => {
      this.plan = await this.api.get<ExperimentPlan>(`/experiment/plan?${query}`);
    });
    this.planning = false;
  }

  private async answered(ask: () => Promise<void>): Promise<void> {
    this.refusal = '';
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.refusal = error.message;
    }
  }

  private askStart(plan: ExperimentPlan): void {
    let adopt = false;
    const question: Question = {
      title: `Start an experiment on ${who(plan.who)}`,
      lines: [
        plan.summary,
        ...plan.risk,
        `Expected duration without waiting: ${duration(plan.duration_s)}.`,
        ...plan.unknown,
        'At the end, and if you abort it, all OSDs get exactly their current options back.',
      ],
      choice: html`<label>
        <input type="checkbox" @change=${(event: Event) => {
          adopt = (event.currentTarget as HTMLInputElement).checked;
        }} />
        Then apply the winner to the whole group, as a rollout (--adopt)
      </label>`,
      command: plan.command,
      action: 'Start',
      run: async () => {
        await this.api.change('POST', '/experiment', {
          who: plan.who,
          arms: plan.arms.map((arm) => arm.name).join(','),
          signal: plan.signal,
          min_effect: `${plan.min_effect_percent}`,
          max_duration: `${Math.round(plan.max_duration_s)}`,
          adopt,
        });
        this.plan = null;
      },
    };
    this.dispatchEvent(new CustomEvent<Question>('ask', { detail: question }));
  }
}

function percent(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(0)}%`;
}

function list(title: string, lines: readonly string[]): TemplateResult | typeof nothing {
  if (!lines.length) return nothing;
  return html`<h4>${title}</h4>
    <ul>
      ${lines.map((line) => html`<li>${line}</li>`)}
    </ul>`;
}

function takes({ osds, duration_s }: NonNullable<ExperimentPlan['refusal']>): string {
  const ways = [
    ...(osds === null ? [] : [`a group of ${plural(osds, 'OSD')}`]),
    ...(duration_s === null ? [] : [`${duration(duration_s)} with these OSDs`]),
  ];
  return ways.length ? `It would take ${ways.join(' or ')}.` : '';
}

function arms(plan: ExperimentPlan): TemplateResult {
  return table(
    'Arms',
    ['Arm', 'Predicted change', 'OSDs'],
    [
      ...plan.arms.map(({ name, predicted, osds }) => [
        name,
        predicted && `${predicted.metric} ${range(predicted.low_percent, predicted.high_percent)}`,
        ids(osds),
      ]),
      ['unchanged', null, ids(plan.controls)],
    ],
  );
}
