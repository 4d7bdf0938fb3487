import { html, nothing, svg, SVGTemplateResult, TemplateResult } from 'lit';

import type { Experiment, ExperimentArm, ExperimentPeriod } from './answers';
import { effect, ids, signalName, signedPercent } from './format';
import { LANE_HEIGHT, layout, Lane, Lanes, Mark } from './lanes';
import { label } from './parts';
import { SizedElement } from './sized';

const TIME_HEIGHT = 20;

export const VERDICT: Record<string, 'good' | 'danger' | ''> = {
  better: 'good',
  worse: 'danger',
  failed: 'danger',
};

/** The arms of an experiment over time, each with the interval of its effect after every block. */
export class RocksDbTunerArms extends SizedElement {
  static override properties = { experiment: { attribute: false }, width: { state: true } };

  declare experiment: Experiment | null;
  private declare width: number;

  constructor() {
    super();
    this.experiment = null;
    this.width = 0;
  }

  protected override resized(entry: ResizeObserverEntry | undefined): void {
    this.width = Math.max(100, Math.floor(entry?.contentRect.width ?? 0));
  }

  protected override render(): TemplateResult | typeof nothing {
    const { experiment, width } = this;
    if (!experiment || !width) return nothing;
    const made = layout(experiment, width);
    const lanes = made?.lanes ?? experiment.arms.map((arm) => ({ arm, drawn: false }));
    return html`
      ${made
        ? html`<p class="rt-note">
              Change in ${signalName(experiment.signal)} compared with unchanged OSDs, after each
              block. Up is better. Bars are 95% intervals; a bar that reaches the border is not
              bounded. Shaded: better by at least ${experiment.min_effect_percent}%.
            </p>
            ${periods(made, width)}`
        : html`<p class="rt-note">No arm was measured yet.</p>`}
      ${lanes.map(
        (lane) => html`<div class="rt-lane" data-arm=${lane.arm.name}>
          ${heading(lane.arm, experiment)}
          ${made && 'marks' in lane ? picture(lane, made, width) : nothing}
        </div>`,
      )}
      ${made ? times(made, width) : nothing}
    `;
  }
}

function heading(arm: ExperimentArm, { periods: all, signal }: Experiment): TemplateResult {
  const [goal] = arm.effect;
  const measured = goal && effect(goal.estimate_percent, goal.low_percent, goal.high_percent);
  const { dropped } = arm;
  return html`<div class="rt-row">
      <strong>${arm.name}</strong>
      ${arm.verdict ? label(arm.verdict, VERDICT[arm.verdict] ?? '') : nothing}
      ${measured ? html`<span>${signalName(signal)} ${measured}</span>` : nothing}
      <span class="rt-note">${osdsOf(arm.name, all)}</span>
    </div>
    ${dropped
      ? html`<p>
          Dropped in period ${dropped.period} after ${dropped.block} blocks: ${dropped.reason}
        </p>`
      : nothing}`;
}

/** "osd 1, 4, then osd 2, 7" */
export function osdsOf(name: string, periods: readonly ExperimentPeriod[]): string {
  const found = periods.flatMap(({ arms }) =>
    arms.filter((arm) => arm.name === name).map(({ osds }) => ids(osds)),
  );
  return found.filter((text, i) => text !== found[i - 1]).join(', then ');
}

function picture(lane: Lane, made: Lanes, width: number): TemplateResult {
  const { arm, marks, end } = lane;
  const { left, right, lines, better, barWidth } = made;
  const newest = marks[marks.length - 1];
  return html`<svg
    class=${`rt-lane-${VERDICT[arm.verdict ?? ''] ?? ''}`}
    role="img"
    aria-label=${`${arm.name}: ${newest ? described(newest) : 'no blocks'}`}
    width=${width}
    height=${LANE_HEIGHT}
  >
    <rect class="rt-region" x=${left} y="0" width=${right - left} height=${better}></rect>
    ${lines.map(
      ({ at, value }) => svg`
        <line class=${value ? 'rt-grid' : 'rt-zero'} x1=${left} x2=${right} y1=${at} y2=${at}></line>
        <text x=${left - 6} y=${at + 4} text-anchor="end">${signedPercent(value)}</text>`,
    )}
    <line class="rt-bar" x1=${left} x2=${right} y1=${better} y2=${better}></line>
    ${marks.map(
      (mark) => svg`<g><title>${described(mark)}</title>
        <line class="rt-interval" x1=${mark.x} x2=${mark.x} y1=${mark.top} y2=${mark.bottom}
          stroke-width=${barWidth}></line></g>`,
    )}
    <path class="rt-estimate" d=${lane.path}></path>
    ${marks.map(dot)} ${end === null ? nothing : cross(end)}
  </svg>`;
}

function dot({ x, y }: Mark): SVGTemplateResult | typeof nothing {
  return y === null ? nothing : svg`<circle cx=${x} cy=${y} r="2.5"></circle>`;
}

function cross(x: number): SVGTemplateResult {
  const y = LANE_HEIGHT / 2;
  return svg`<path class="rt-drop" d="M${x + 5} ${y - 5}l10 10m0 -10l-10 10"></path>`;
}

function described(mark: Mark): string {
  const { period, block, time_ms } = mark;
  const measured = effect(mark.estimate, mark.low, mark.high);
  return `${measured} after block ${block} of period ${period}, ${new Date(time_ms).toLocaleString()}`;
}

function periods({ periods: found, left, right }: Lanes, width: number): TemplateResult {
  const first = found[0]?.from ?? right;
  const all = [
    ...(first - left > 60 ? [{ name: 'baseline', from: left, to: first }] : []),
    ...found.map(({ period, from, to }) => ({ name: `period ${period}`, from, to })),
  ];
  return html`<svg aria-hidden="true" width=${width} height=${TIME_HEIGHT}>
    ${all.map(
      ({ name, from, to }, i) => svg`
        ${i || name !== 'baseline' ? svg`<path class="rt-zero" d="M${from} 18H${to}"></path>` : nothing}
        <text x=${from} y="13">${to - from > 20 ? name : nothing}</text>`,
    )}
  </svg>`;
}

function times({ ticks, left, right }: Lanes, width: number): TemplateResult {
  let before = '';
  return html`<svg aria-hidden="true" width=${width} height=${TIME_HEIGHT}>
    ${ticks.map(({ time_ms, at }) => {
      const date = new Date(time_ms);
      const day = date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
      const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
      const shown = day === before ? time : `${day} ${time}`;
      before = day;
      const anchor = at - left < 45 ? 'start' : right - at < 45 ? 'end' : 'middle';
      return svg`<line class="rt-zero" x1=${at} x2=${at} y1="0" y2="4"></line>
        <text x=${at} y="16" text-anchor=${anchor}>${shown}</text>`;
    })}
  </svg>`;
}
