/** Where the arms of an experiment lie in their lanes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LANE_HEIGHT, layout } from '../node_modules/.test/lanes.mjs';

const START = Date.UTC(2026, 1, 2, 0, 0);
const BLOCK_S = 600;
const WIDTHS = [1200, 700, 300, 60];

const iso = (ms) => new Date(ms).toISOString();
const traced = (name, estimate_percent, low_percent = null, high_percent = null) => ({
  name,
  estimate_percent,
  low_percent,
  high_percent,
});
const arm = (name, dropped = null) => ({ name, dropped, verdict: null, effect: [], osds: [] });

/** Blocks of ten minutes; between the periods is an hour of restarts. */
const block = (period, number, ...arms) => ({
  period,
  block: number,
  time: iso(START + period * 7_200_000 + number * BLOCK_S * 1000),
  arms,
});

const experiment = (trace, more = {}) => ({
  arms: [arm('fast'), arm('slow')],
  trace,
  min_effect_percent: 10,
  started: iso(START),
  ended: null,
  duration_s: 6 * 3600,
  block_s: BLOCK_S,
  ...more,
});

const TWO = [
  block(1, 1, traced('fast', -5), traced('slow', 30, 10, 50)),
  block(1, 2, traced('fast', -12, -30, 6), traced('slow', 31, 18, 46)),
  block(2, 1, traced('fast', -12, -20, -4)),
];

test('nothing is drawn before the first block', () => {
  assert.equal(layout(experiment([]), 700), null);
});

test('up is better, and the old options are in the middle', () => {
  const { lanes, lines } = layout(experiment(TWO), 700);
  const zero = lines.find((line) => line.value === 0).at;
  assert.equal(zero, LANE_HEIGHT / 2);
  const [fast, slow] = lanes;
  assert.ok(fast.marks.every((mark) => mark.y < zero));
  assert.ok(slow.marks.every((mark) => mark.y > zero));
});

test('what counts as better is just what is drawn in the shaded part', () => {
  const values = [-40, -10.1, -10, -9.9, 0, 9, 40];
  const trace = values.map((value, i) => block(1, i + 1, traced('fast', value)));
  const { better, lanes } = layout(experiment(trace), 700);
  const inside = lanes[0].marks.filter((mark) => mark.y <= better);
  assert.deepEqual(inside.map((mark) => mark.estimate), [-40, -10.1, -10]);
});

test('an interval without a bound reaches the border, and a bounded one does not', () => {
  const trace = [block(1, 1, traced('fast', -5), traced('slow', 300, 200, 900))];
  const { lanes: [fast, slow] } = layout(experiment(trace), 700);
  assert.deepEqual([fast.marks[0].top, fast.marks[0].bottom], [0, LANE_HEIGHT]);
  assert.ok(slow.marks[0].top > 0 && slow.marks[0].bottom < LANE_HEIGHT);
});

test('what is not known is neither drawn nor joined', () => {
  const trace = [
    block(1, 1, traced('fast', -5)),
    block(1, 2, traced('fast', null)),
    block(1, 3, traced('fast', -6)),
    block(1, 4, traced('fast', -7)),
  ];
  const { lanes: [fast, slow] } = layout(experiment(trace), 700);
  assert.equal(fast.marks[1].y, null);
  assert.equal(fast.path.match(/M/g).length, 2);
  assert.equal(fast.path.match(/L/g).length, 1);
  assert.deepEqual([slow.marks, slow.path, slow.end], [[], '', null]);
});

test('a line ends with its period, as OSDs swap arms between two', () => {
  const { lanes: [fast], periods } = layout(experiment(TWO), 700);
  assert.equal(fast.path.match(/M/g).length, 2);
  assert.deepEqual(periods.map((one) => one.period), [1, 2]);
  assert.ok(periods[0].from < periods[0].to && periods[0].to < periods[1].from);
});

test('a dropped arm ends at its last block', () => {
  const arms = [arm('fast'), arm('slow', { reason: 'worse', signals: [], period: 1, block: 2 })];
  const { lanes: [fast, slow] } = layout(experiment(TWO, { arms }), 700);
  assert.equal(fast.end, null);
  assert.equal(slow.end, slow.marks[1].x);
});

test('while it goes on there is room for the rest, and at its end there is none', () => {
  const last = (made) => made.lanes[0].marks[2].x;
  const during = layout(experiment(TWO), 700);
  const after = layout(experiment(TWO, { ended: TWO[2].time }), 700);
  assert.ok(last(during) < during.right - 100);
  assert.equal(last(after), after.right);
  // It takes longer than planned.
  const late = layout(experiment(TWO, { duration_s: 60 }), 700);
  assert.equal(last(late), late.right);
});

test('blocks of which the time is unknown are left out', () => {
  const trace = [{ ...TWO[0], time: null }, TWO[1]];
  assert.equal(layout(experiment(trace), 700).lanes[0].marks.length, 1);
  assert.equal(layout(experiment([{ ...TWO[0], time: null }]), 700), null);
});

test('all of it is within the lane, whatever the numbers', () => {
  const odd = [0, 1e-9, 10, 1e3, 1e12].flatMap((size) => [size, -size]);
  const trace = odd.map((value, i) =>
    block(1, i + 1, traced('fast', value, value - 1e15, value + 1e15), traced('slow', value, value, value)),
  );
  for (const width of WIDTHS) {
    for (const more of [{}, { started: null, duration_s: null, block_s: null }]) {
      const made = layout(experiment(trace, more), width);
      for (const mark of made.lanes.flatMap((lane) => lane.marks)) {
        assert.ok(mark.x >= made.left && mark.x <= made.right, `${mark.x} of ${width}`);
        for (const at of [mark.y, mark.top, mark.bottom]) {
          assert.ok(at >= 0 && at <= LANE_HEIGHT, `${at}`);
        }
      }
      assert.ok(made.periods.every(({ from, to }) => from >= made.left && to <= made.right));
    }
  }
});

test('ticks are in order, apart, and at round times', () => {
  for (const width of WIDTHS) {
    for (const hours of [0.5, 6, 12, 100, 336]) {
      const { ticks, left, right } = layout(experiment(TWO, { duration_s: hours * 3600 }), width);
      assert.ok(ticks.every(({ at }, i) => at >= left && at <= right && (i === 0 || at - ticks[i - 1].at > 90)));
      assert.ok(ticks.every(({ time_ms }) => new Date(time_ms).getMinutes() % 5 === 0));
    }
  }
});

test('percentages are of what is shown, and no two are over each other', () => {
  for (const [most, effect] of [[50, 10], [99, 2], [1e9, 10], [0, 10], [3, 1], [0, 50]]) {
    const trace = [block(1, 1, traced('fast', -most / 2, -most, most))];
    const { lines } = layout(experiment(trace, { min_effect_percent: effect }), 700);
    assert.ok(lines.length >= 3 && lines.some((line) => line.value === 0), `${most} ${effect}`);
    assert.ok(lines.every(({ at }, i) => at >= 0 && at <= LANE_HEIGHT && (i === 0 || at - lines[i - 1].at >= 16)));
  }
});
