/** Layout of the scatter plot of candidates and its labels. Pure. */

import type { Candidate, Considered, ResourceEffect } from './answers';

/** An estimate in percent with its 80% interval. */
export interface Span {
  estimate: number;
  low: number;
  high: number;
}

export interface Weighed {
  candidate: Candidate;
  /** Relief of the limiting resource; null if unknown. */
  gain: Span | null;
  /** Additional use of the resource with the worst loss; null if unknown. */
  loss: Span | null;
  /** The resource with the worst loss. */
  losesOn: string | null;
}

export interface Size {
  width: number;
  height: number;
}

export interface Tick {
  at: number;
  value: number;
}

export interface Mark extends Weighed {
  gain: Span;
  loss: Span;
  x: number;
  y: number;
  /** Bounds of the intervals. */
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Label {
  mark: Mark;
  text: string;
  anchor: 'start' | 'middle' | 'end';
  x: number;
  /** The text baseline. */
  y: number;
  /** Far enough from its mark to need a leader line. */
  hasLeader: boolean;
}

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Layout {
  plot: Box;
  x: Tick[];
  y: Tick[];
  /** The region in which a candidate can be chosen. */
  region: Box;
  marks: Mark[];
  labels: Label[];
}

export const FONT_PX = 12;
const MARGIN = { left: 58, right: 12, top: 10, bottom: 26 };
const X_SPACE = 50;
const Y_SPACE = 22;
/** Distances between a mark and its label. */
const DISTANCES = [9, 15, 24, 36, 52, 72, 96, 124];
const DIRECTIONS: readonly [number, number][] = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [0.8, -0.7],
  [-0.8, -0.7],
  [0.8, 0.7],
  [-0.8, 0.7],
];
const LEADER_FROM = 15;
/** The cost of a label over a line, as additional distance. */
const OVER_LINE = 8;
const OVER_AXIS = 7;
const MARK_RADIUS = 7;
const LABEL_SHARE = 0.55;
const MAGNITUDES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/** The linear range without a threshold. */
const UNIT_PERCENT = 5;
const NOTHING: Span = { estimate: 0, low: 0, high: 0 };

/** `unconstrained`: resources whose additional use is not a loss. */
export function weighed(
  candidate: Candidate,
  resource: string,
  unconstrained: readonly string[],
): Weighed {
  if (candidate.origin === 'running') {
    return { candidate, gain: NOTHING, loss: NOTHING, losesOn: null };
  }
  const limiting = candidate.effects.find((e) => e.resource === resource);
  const [worst] = candidate.effects
    .filter((e) => e.resource !== resource && !unconstrained.includes(e.resource))
    .sort((a, b) => b.high_percent - a.high_percent);
  return {
    candidate,
    gain: limiting ? reversed(span(limiting)) : null,
    loss: worst ? span(worst) : null,
    losesOn: worst?.resource ?? null,
  };
}

function span(effect: ResourceEffect): Span {
  return {
    estimate: effect.estimate_percent,
    low: effect.low_percent,
    high: effect.high_percent,
  };
}

function reversed({ estimate, low, high }: Span): Span {
  return { estimate: 0 - estimate, low: 0 - high, high: 0 - low };
}

/** The chosen candidate first, then the running options, then others by gain. */
export function inOrder(
  { candidates, unconstrained }: Pick<Considered, 'candidates' | 'unconstrained'>,
  resource: string,
): Weighed[] {
  const rank = ({ candidate }: Weighed): number =>
    candidate.chosen ? 0 : candidate.origin === 'running' ? 1 : 2;
  return candidates
    .filter((c) => !c.infeasible.length)
    .map((c) => weighed(c, resource, unconstrained))
    .sort(
      (a, b) =>
        rank(a) - rank(b) ||
        (b.gain?.estimate ?? -Infinity) - (a.gain?.estimate ?? -Infinity) ||
        a.candidate.name.localeCompare(b.candidate.name),
    );
}

/** `measure`: the width of a text in pixels. */
export function layout(
  found: readonly Weighed[],
  bars: Pick<Considered, 'min_gain_percent' | 'max_loss_percent'>,
  size: Size,
  measure: (text: string) => number,
): Layout {
  const plot: Box = {
    left: MARGIN.left,
    right: Math.max(MARGIN.left + 1, size.width - MARGIN.right),
    top: MARGIN.top,
    bottom: Math.max(MARGIN.top + 1, size.height - MARGIN.bottom),
  };
  const known = found.filter(
    (w): w is Weighed & { gain: Span; loss: Span } => w.gain !== null && w.loss !== null,
  );
  const reach = (spans: (w: Weighed & { gain: Span; loss: Span }) => Span): number[] =>
    known.flatMap((w) => {
      const { estimate, low, high } = spans(w);
      return [low, estimate, high];
    });
  const x = scale(
    reach((w) => w.gain),
    bars.min_gain_percent,
    plot.left,
    plot.right,
  );
  const y = scale(
    reach((w) => w.loss),
    bars.max_loss_percent,
    plot.bottom,
    plot.top,
  );
  const marks = known.map((w) => ({
    ...w,
    x: x.place(w.gain.estimate),
    y: y.place(w.loss.estimate),
    left: x.place(w.gain.low),
    right: x.place(w.gain.high),
    top: y.place(w.loss.high),
    bottom: y.place(w.loss.low),
  }));
  const region: Box = {
    left: x.place(bars.min_gain_percent),
    right: plot.right,
    top: y.place(bars.max_loss_percent),
    bottom: plot.bottom,
  };
  const lines = [
    ...[x.place(0), region.left].map((at) => ({ ...plot, left: at - 1, right: at + 1 })),
    ...[y.place(0), region.top].map((at) => ({ ...plot, top: at - 1, bottom: at + 1 })),
  ];
  return {
    plot,
    x: x.ticks(X_SPACE),
    y: y.ticks(Y_SPACE),
    region,
    marks,
    labels: labeled(marks, plot, lines, measure),
  };
}

interface Scale {
  /** The pixel position of a value, clamped to the edges. */
  place(value: number): number;
  ticks(space: number): Tick[];
}

/**
 * Linear up to the threshold and logarithmic beyond: 5% is decisive, and 300% still has to fit.
 */
function scale(values: readonly number[], bar: number, from: number, to: number): Scale {
  const unit = bar > 0 ? bar : UNIT_PERCENT;
  const stretched = (value: number): number =>
    Math.sign(value) * Math.log1p(Math.abs(value) / unit);
  const all = [...values, bar * 1.6, -unit / 2].map(stretched);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const pad = (most - least) * 0.05;
  const [first, last] = [least - pad, most + pad];
  const place = (value: number): number => {
    const share = (stretched(value) - first) / (last - first);
    return from + Math.min(1, Math.max(0, share)) * (to - from);
  };
  return {
    place,
    ticks: (space) => {
      const kept: Tick[] = [];
      for (const value of [bar, 0, ...MAGNITUDES.flatMap((m) => [m, -m])]) {
        const at = stretched(value);
        const inside = at >= first && at <= last;
        const pixels = place(value);
        if (inside && kept.every((tick) => Math.abs(tick.at - pixels) >= space)) {
          kept.push({ at: pixels, value });
        }
      }
      return kept.sort((a, b) => a.value - b.value);
    },
  };
}

/** Labels without overlaps; a label without room is omitted. */
function labeled(
  marks: readonly Mark[],
  plot: Box,
  axes: readonly Box[],
  measure: (text: string) => number,
): Label[] {
  const points = marks.map((mark) => around(mark, MARK_RADIUS));
  const whiskers = marks.flatMap((mark) => [
    { left: mark.left, right: mark.right, top: mark.y - 1, bottom: mark.y + 1 },
    { left: mark.x - 1, right: mark.x + 1, top: mark.top, bottom: mark.bottom },
  ]);
  const taken: Box[] = [];
  const labels: Label[] = [];
  for (const mark of marks) {
    const text = fitted(mark.candidate, measure, (plot.right - plot.left) * LABEL_SHARE);
    const width = measure(text);
    const blocked = [...taken, ...points];
    const [best] = places(mark, text, width)
      .filter(({ box }) => within(box, plot) && !blocked.some((other) => overlap(box, other)))
      .map(({ label, box, distance }) => ({
        label,
        box,
        cost:
          distance +
          OVER_LINE * count(whiskers, box) +
          OVER_AXIS * count(axes, box),
      }))
      .sort((a, b) => a.cost - b.cost);
    if (!best) continue;
    taken.push(best.box);
    labels.push(best.label);
  }
  return labels;
}

/** Positions around a mark, nearest first. */
function places(
  mark: Mark,
  text: string,
  width: number,
): { label: Label; box: Box; distance: number }[] {
  return DISTANCES.flatMap((distance) =>
    DIRECTIONS.map(([right, down]) => {
      const x = mark.x + right * distance;
      const middle = mark.y + down * (distance + (right === 0 ? FONT_PX / 2 : 0));
      const left = right > 0 ? x : right < 0 ? x - width : x - width / 2;
      const label: Label = {
        mark,
        text,
        anchor: right > 0 ? 'start' : right < 0 ? 'end' : 'middle',
        x,
        y: middle + FONT_PX * 0.35,
        hasLeader: distance > LEADER_FROM,
      };
      const box = {
        left: left - 2,
        right: left + width + 2,
        top: middle - FONT_PX * 0.65,
        bottom: middle + FONT_PX * 0.65,
      };
      return { label, box, distance };
    }),
  );
}

function count(boxes: readonly Box[], box: Box): number {
  return boxes.filter((other) => overlap(box, other)).length;
}

export function labelOf({ name, origin, chosen }: Candidate): string {
  const notes = [origin === 'running' ? 'running' : '', chosen ? 'chosen' : ''].filter(Boolean);
  return notes.length ? `${name} (${notes.join(', ')})` : name;
}

/** The full label, or the name, or as much of the name as fits. */
function fitted(
  candidate: Candidate,
  measure: (text: string) => number,
  most: number,
): string {
  const whole = labelOf(candidate);
  if (measure(whole) <= most) return whole;
  let kept = candidate.name;
  while (kept.length > 4 && measure(kept) > most) kept = `${kept.slice(0, -2)}…`;
  return kept;
}

function around({ x, y }: Mark, radius: number): Box {
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}

function within(box: Box, outer: Box): boolean {
  return (
    box.left >= outer.left &&
    box.right <= outer.right &&
    box.top >= outer.top &&
    box.bottom <= outer.bottom
  );
}

export function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
