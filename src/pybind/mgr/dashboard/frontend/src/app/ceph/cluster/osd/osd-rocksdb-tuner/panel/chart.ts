import { html, nothing, PropertyValues, TemplateResult } from 'lit';
import uPlot from 'uplot';

import { SizedElement } from './sized';

export interface Line {
  label: string;
  values: (number | null)[];
  color: string;
  /** Thin: one of many controls. */
  faint?: boolean;
  dashed?: boolean;
}

export interface Picture {
  title: string;
  /** Seconds since the epoch, oldest first. */
  time_s: number[];
  lines: Line[];
  format: (value: number | null) => string;
  /** The y axis extends at least this far. */
  least?: number;
  /** Bytes: axis ticks are powers of two. */
  binary?: boolean;
  /** Shown below the title. */
  note?: string;
}

const POWERS = Array.from({ length: 60 }, (_, i) => 2 ** i);
const DAY_S = 86_400;
const HEIGHT = 190;
/** The values of CSS variables that all three releases define. */
export const COLORS = {
  blue: '#0072b2',
  orange: '#d55e00',
  green: '#008a5e',
  gray: '#737373',
  red: '#c9190b',
} as const;

/** A time series chart by uPlot, with a text alternative for screen readers. */
export class RocksDbTunerChart extends SizedElement {
  static override properties = { picture: { attribute: false } };

  declare picture: Picture | null;
  private plot: uPlot | null = null;
  private shape = '';

  constructor() {
    super();
    this.picture = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.drop();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { picture } = this;
    if (!picture) return nothing;
    const known = picture.lines.some((line) => line.values.some((value) => value !== null));
    return html`
      <h4 class="rt-chart-title">${picture.title}</h4>
      ${picture.note ? html`<p class="rt-note">${picture.note}</p>` : nothing}
      <div class="rt-plot" role="img" aria-label=${describe(picture)} ?hidden=${!known}></div>
      ${known ? nothing : html`<p class="rt-empty">No measurements yet.</p>`}
    `;
  }

  protected override updated(_: PropertyValues): void {
    const { picture } = this;
    const place = this.querySelector<HTMLElement>('.rt-plot');
    if (!picture || !place || place.hidden) {
      this.drop();
      return;
    }
    const data = [picture.time_s, ...picture.lines.map((line) => line.values)] as uPlot.AlignedData;
    const shape = JSON.stringify(picture.lines.map((l) => [l.label, l.color, l.faint, l.dashed]));
    if (this.plot && shape === this.shape) {
      // Update in place to keep the cursor and the zoom.
      this.plot.setData(data, this.plot.select.width === 0);
      return;
    }
    this.drop();
    this.shape = shape;
    this.plot = new uPlot(options(picture, this.width()), data, place);
  }

  private width(): number {
    return Math.max(100, Math.floor(this.clientWidth));
  }

  protected override resized(): void {
    if (this.plot && this.plot.width !== this.width()) {
      this.plot.setSize({ width: this.width(), height: HEIGHT });
    }
  }

  private drop(): void {
    this.plot?.destroy();
    this.plot = null;
  }
}

function options(picture: Picture, width: number): uPlot.Options {
  const axis = { stroke: '#525252', grid: { stroke: '#e0e0e0', width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: picture.lines.length <= 6 },
    cursor: { y: false },
    scales: {
      x: { range: (plot, first, last) => (plot.data[0].length === 1 ? around(first) : [first, last]) },
      y: { range: (_, __, most) => [0, Math.max(most > 0 ? most * 1.1 : 1, picture.least ?? 0)] },
    },
    axes: [
      // Ticks are at least as far apart as the width of a time with seconds.
      { ...axis, size: 42, space: 84, values: (_, splits, __, ___, step) => clock(splits, step) },
      {
        ...axis,
        size: 68,
        ...(picture.binary && { incrs: POWERS }),
        values: (_, splits) => splits.map((value) => picture.format(value)),
      },
    ],
    series: [
      { label: 'Time' },
      ...picture.lines.map((line) => ({
        label: line.label,
        stroke: line.color,
        width: line.faint ? 0.7 : 1.8,
        ...(line.dashed && { dash: [6, 4] }),
        points: {
          show: false,
          filter: (plot: uPlot, series: number) => alone(plot.data[series] ?? []),
          fill: line.color,
        },
        // Without a cursor, the newest value.
        value: (plot: uPlot, value: number | null, series: number, at: number | null) =>
          picture.format(at === null ? newest(plot.data[series] ?? []) : value),
      })),
    ],
  };
}

/** Some time before and after: by default uPlot shows years around a single point. */
function around(time_s: number): [number, number] {
  return [time_s - 50, time_s + 50];
}

/** Ticks of the time axis: time of day, with the date where it changes. */
function clock(times_s: number[], step_s: number): string[] {
  let before = '';
  return times_s.map((time_s) => {
    const at = new Date(time_s * 1000);
    const day = at.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
    const time = at.toLocaleTimeString(undefined, {
      hour: '2-digit',
      minute: '2-digit',
      ...(step_s < 60 && { second: '2-digit' }),
    });
    const parts = step_s < DAY_S ? [time] : [];
    if (day !== before) parts.push(day);
    before = day;
    return parts.join('\n');
  });
}

function newest(values: ArrayLike<number | null | undefined>): number | null {
  return Array.from(values).reverse().find((value) => value != null) ?? null;
}

/** Positions of isolated values, which are drawn as points. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values, (_, at) => at).filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}

/** The text alternative: the newest value of every line. */
function describe({ title, lines, format }: Picture): string {
  const values = lines
    .filter((line) => !line.faint)
    .map((line) => {
      const value = newest(line.values);
      return `${line.label} ${value === null ? 'unknown' : format(value)}`;
    });
  return `${title}, newest values: ${values.join('; ')}`;
}
