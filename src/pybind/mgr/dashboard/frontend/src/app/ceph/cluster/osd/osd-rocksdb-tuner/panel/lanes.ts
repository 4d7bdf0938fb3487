/** Where the arms of an experiment are drawn: a lane each, over a common time. Pure. */

import type { Experiment, ExperimentArm } from './answers';

export const LANE_HEIGHT = 96;
/** Left of it are the percentages. */
const LEFT = 52;
const RIGHT = 8;
const PAD = 6;
const TICK_PX = 110;
/** The least distance of labels of a lane. */
const LABEL_PX = 16;
const SPREAD_MOST = 100;
const STEPS_PERCENT = [1, 2, 5, 10, 20, 50, 100];
const STEPS_S = [300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];
const WEEK_S = 604800;

/** One block of one arm. */
export interface Mark {
  period: number;
  block: number;
  time_ms: number;
  estimate: number | null;
  low: number | null;
  high: number | null;
  x: number;
  /** null: not known. */
  y: number | null;
  /** The interval; at the border of the lane where it has no bound within. */
  top: number;
  bottom: number;
}

export interface Lane {
  arm: ExperimentArm;
  marks: Mark[];
  /** Of the marks whose estimate is known, an SVG path that ends with each period. */
  path: string;
  /** Where the arm was dropped. */
  end: number | null;
}

export interface Lanes {
  left: number;
  right: number;
  /** Positions in each lane. */
  lines: { value: number; at: number }[];
  /** Above it is what counts as better. */
  better: number;
  ticks: { time_ms: number; at: number }[];
  periods: { period: number; from: number; to: number }[];
  barWidth: number;
  lanes: Lane[];
}

type Source = Pick<
  Experiment,
  'arms' | 'trace' | 'min_effect_percent' | 'started' | 'ended' | 'duration_s' | 'block_s'
>;

/** null before the first block. */
export function layout(of: Source, width: number): Lanes | null {
  const blocks = of.trace.flatMap((b) => (b.time === null ? [] : [{ ...b, ms: Date.parse(b.time) }]));
  const [first] = blocks;
  const newest = blocks[blocks.length - 1];
  if (!first || !newest) return null;
  const blockMs = (of.block_s ?? 0) * 1000;
  const from = of.started === null ? first.ms - blockMs : Date.parse(of.started);
  const planned = of.ended === null ? from + (of.duration_s ?? 0) * 1000 : Date.parse(of.ended);
  const to = Math.max(newest.ms, planned, from + 1);
  const right = Math.max(LEFT + 1, width - RIGHT);
  const x = (ms: number): number => LEFT + (clamp((ms - from) / (to - from), 0, 1)) * (right - LEFT);

  const spread = spreadOf(of);
  const middle = LANE_HEIGHT / 2;
  const y = (value: number): number =>
    middle + clamp(value / spread, -1, 1) * (middle - PAD);

  const lanes = of.arms.map((arm): Lane => {
    const marks = blocks.flatMap((b): Mark[] => {
      const found = b.arms.find((a) => a.name === arm.name);
      if (!found) return [];
      const [estimate, low, high] = [found.estimate_percent, found.low_percent, found.high_percent];
      return [
        {
          period: b.period, block: b.block, time_ms: b.ms, estimate, low, high,
          x: x(b.ms),
          y: estimate === null ? null : y(estimate),
          top: low === null ? 0 : y(low),
          bottom: high === null ? LANE_HEIGHT : y(high),
        },
      ];
    });
    const last = marks[marks.length - 1];
    return { arm, marks, path: pathOf(marks), end: arm.dropped && last ? last.x : null };
  });

  const periods = new Map<number, { from: number; to: number }>();
  for (const b of blocks) {
    const known = periods.get(b.period);
    periods.set(b.period, { from: known?.from ?? x(b.ms - blockMs), to: x(b.ms) });
  }
  const effect = of.min_effect_percent;
  const step = STEPS_PERCENT.find((one) => y(one) - middle >= LABEL_PX) ?? spread;
  const steps = Math.floor(spread / step);
  return {
    left: LEFT,
    right,
    lines: Array.from({ length: 2 * steps + 1 }, (_, i) => {
      const value = (i - steps) * step;
      return { value, at: y(value) };
    }),
    better: y(-effect),
    ticks: ticks(from, to, x, right - LEFT),
    periods: [...periods].map(([period, span]) => ({ period, ...span })),
    barWidth: clamp((x(newest.ms) - x(newest.ms - blockMs)) * 0.45, 1, 7),
    lanes,
  };
}

/** How much of better and worse a lane shows: what the newest intervals need. */
function spreadOf({ arms, trace, min_effect_percent }: Source): number {
  const newest = arms.flatMap(({ name }) => {
    const found = trace.flatMap((b) => b.arms.filter((a) => a.name === name));
    const last = found[found.length - 1];
    return [
      ...(last ? [last.low_percent, last.high_percent] : []),
      ...found.map((a) => a.estimate_percent),
    ];
  });
  const most = Math.max(0, ...newest.map((value) => Math.abs(value ?? 0)));
  return Math.max(2 * min_effect_percent, Math.min(most * 1.1, SPREAD_MOST));
}

function pathOf(marks: readonly Mark[]): string {
  let before: Mark | undefined;
  return marks
    .map((mark) => {
      const joined = before?.y != null && before.period === mark.period;
      before = mark;
      return mark.y === null ? '' : `${joined ? 'L' : 'M'}${mark.x} ${mark.y}`;
    })
    .join('');
}

/** At whole hours of the browser's time zone, or whatever is far enough apart. */
function ticks(
  from: number,
  to: number,
  x: (ms: number) => number,
  width: number,
): Lanes['ticks'] {
  const most = Math.max(1, Math.floor(width / TICK_PX));
  const needed = (to - from) / 1000 / most;
  const step = (STEPS_S.find((s) => s > needed) ?? Math.ceil(needed / WEEK_S + 1) * WEEK_S) * 1000;
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const found = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) {
    found.push({ time_ms: at, at: x(at) });
  }
  return found;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
