/** Where the candidates of a decision lie in its picture, and that no label is over another. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inOrder, labelOf, layout, overlap, weighed } from '../node_modules/.test/decision.mjs';

const BARS = { min_gain_percent: 10, max_loss_percent: 5 };
const SIZES = [1200, 860, 376, 300].map((width) => ({ width, height: 340 }));
const measure = (text) => text.length * 7;

const effect = (resource, estimate_percent, low_percent, high_percent) => ({
  resource,
  estimate_percent,
  low_percent,
  high_percent,
});

const candidate = (name, origin, effects = [], more = {}) => ({
  name,
  origin,
  profile: null,
  options: '',
  chosen: false,
  infeasible: [],
  effects,
  short: null,
  ...more,
});

const RUNNING = candidate('old', 'running');
const CHOSEN = candidate(
  'best',
  'profile',
  [effect('kv-sync', -18, -24, -12), effect('memory', 1, 0, 2), effect('cores', 3, 1, 4)],
  { chosen: true },
);

const laidOut = (candidates, size = SIZES[0], bars = BARS) =>
  layout(inOrder({ candidates, unconstrained: [] }, 'kv-sync'), bars, size, measure);

/** Numbers that are the same at each run. */
function* numbers(seed) {
  let state = seed;
  for (;;) {
    state = (state * 1103515245 + 12345) % 2147483648;
    yield state / 2147483648;
  }
}

function crowd(count, origin, seed, spread) {
  const random = numbers(seed);
  const next = () => random.next().value;
  return Array.from({ length: count }, (_, i) => {
    const [gain, loss] = [-14 + spread * (next() - 0.5), 2 + spread * (next() - 0.5)];
    return candidate(`candidate-${i}-${'x'.repeat(i % 40)}`, origin, [
      effect('kv-sync', gain, gain - 6, gain + 6),
      effect('db-device', loss, loss - 4, loss + 4),
    ]);
  });
}

test('the gain is what is used less, and the worst loss has the highest upper end', () => {
  const found = weighed(CHOSEN, 'kv-sync', []);
  assert.deepEqual(found.gain, { estimate: 18, low: 12, high: 24 });
  assert.deepEqual(found.loss, { estimate: 3, low: 1, high: 4 });
  assert.equal(found.losesOn, 'cores');
});

test('a wide interval is a worse loss than a higher estimate', () => {
  const found = weighed(
    candidate('a', 'profile', [effect('memory', 1, -9, 30), effect('cores', 8, 7, 9)]),
    'kv-sync',
    [],
  );
  assert.equal(found.losesOn, 'memory');
});

test('more use of what there may be plenty of is no loss', () => {
  const found = weighed(CHOSEN, 'kv-sync', ['cores']);
  assert.deepEqual([found.losesOn, found.loss], ['memory', { estimate: 1, low: 0, high: 2 }]);
  const [row] = inOrder({ candidates: [CHOSEN], unconstrained: ['cores', 'memory'] }, 'kv-sync');
  assert.equal(row.loss, null);
});

test('what runs gains and loses nothing', () => {
  const { marks, x, y } = laidOut([RUNNING, CHOSEN]);
  const running = marks.find((mark) => mark.candidate === RUNNING);
  assert.equal(running.x, x.find((tick) => tick.value === 0).at);
  assert.equal(running.y, y.find((tick) => tick.value === 0).at);
});

test('no effect is no minus zero', () => {
  const found = weighed(candidate('a', 'profile', [effect('kv-sync', 0, 0, 0)]), 'kv-sync', []);
  assert.ok(Object.values(found.gain).every((value) => Object.is(value, 0)));
});

test('what is not known is not drawn as nothing', () => {
  const blind = [
    candidate('no gain', 'profile', [effect('memory', 1, 0, 2)]),
    candidate('no loss', 'profile', [effect('kv-sync', -5, -9, -1)]),
    candidate('neither', 'profile'),
  ];
  const rows = inOrder({ candidates: blind, unconstrained: [] }, 'kv-sync');
  assert.equal(rows.length, 3);
  assert.equal(rows.find((row) => row.candidate.name === 'no gain').gain, null);
  assert.equal(rows.find((row) => row.candidate.name === 'no loss').loss, null);
  assert.deepEqual(laidOut(blind).marks, []);
});

test('what is infeasible is in neither, and the chosen and the running come first', () => {
  const rows = inOrder(
    {
      candidates: [
        candidate('one off', 'derived', [effect('kv-sync', -1, -2, 0)]),
        candidate('impossible', 'profile', [], { infeasible: ['No room.'] }),
        candidate('weak', 'profile', [effect('kv-sync', -2, -3, -1)]),
        candidate('strong', 'derived', [effect('kv-sync', -9, -9, -9)]),
        RUNNING,
        CHOSEN,
      ],
      unconstrained: [],
    },
    'kv-sync',
  );
  assert.deepEqual(
    rows.map((row) => row.candidate.name),
    ['best', 'old', 'strong', 'weak', 'one off'],
  );
});

test('a mark is in the region just where its estimates keep to both bars', () => {
  const found = [...crowd(300, 'profile', 3, 60), ...crowd(300, 'derived', 4, 60)];
  for (const size of SIZES) {
    const { marks, region } = laidOut(found, size);
    assert.equal(marks.length, 600);
    for (const mark of marks) {
      const inside =
        mark.x >= region.left && mark.x <= region.right &&
        mark.y >= region.top && mark.y <= region.bottom;
      const keeps =
        mark.gain.estimate >= BARS.min_gain_percent && mark.loss.estimate <= BARS.max_loss_percent;
      assert.equal(inside, keeps, JSON.stringify(mark));
    }
  }
});

test('more gain is further right, and more loss is higher', () => {
  const { marks } = laidOut(crowd(50, 'profile', 9, 200));
  const [byGain, byLoss] = [[...marks], [...marks]];
  byGain.sort((a, b) => a.gain.estimate - b.gain.estimate);
  byLoss.sort((a, b) => a.loss.estimate - b.loss.estimate);
  assert.ok(byGain.every((mark, i) => i === 0 || mark.x > byGain[i - 1].x));
  assert.ok(byLoss.every((mark, i) => i === 0 || mark.y < byLoss[i - 1].y));
});

test('whatever the numbers, all of it is within the plot', () => {
  const odd = [0, 1e-9, 5, 100, 1e6, 1e12].flatMap((size) =>
    [1, -1].map((sign) => {
      const wide = size > 50 ? 1e15 : 1;
      return candidate(`${sign * size}`, 'profile', [
        effect('kv-sync', -sign * size, -sign * size - wide, -sign * size + wide),
        effect('memory', sign * size, sign * size - wide, sign * size + wide),
      ]);
    }),
  );
  for (const bars of [BARS, { min_gain_percent: 0, max_loss_percent: 0 }]) {
    for (const size of [...SIZES, { width: 1, height: 1 }]) {
      const { marks, plot, region, x, y } = laidOut(odd, size, bars);
      for (const mark of marks) {
        for (const at of [mark.x, mark.left, mark.right]) {
          assert.ok(at >= plot.left && at <= plot.right, `${at}`);
        }
        for (const at of [mark.y, mark.top, mark.bottom]) {
          assert.ok(at >= plot.top && at <= plot.bottom, `${at}`);
        }
      }
      assert.ok(region.left <= region.right && region.top <= region.bottom);
      assert.ok(x.length && y.length);
    }
  }
});

test('the bars and the zeros are on the axes, and no two ticks are in each other', () => {
  const { x, y } = laidOut([RUNNING, CHOSEN]);
  for (const [ticks, bar] of [[x, 10], [y, 5]]) {
    const values = ticks.map((tick) => tick.value);
    assert.ok(values.includes(bar) && values.includes(0), values.join());
    assert.ok(ticks.every((t, i) => i === 0 || Math.abs(t.at - ticks[i - 1].at) >= 22));
  }
});

const boxOf = ({ text, anchor, x, y }) => {
  const width = measure(text);
  const left = anchor === 'start' ? x : anchor === 'end' ? x - width : x - width / 2;
  return { left, right: left + width, top: y - 9, bottom: y + 3 };
};

test('no label is over another one, over a named mark, or beyond the plot', () => {
  for (const spread of [0, 1, 10, 80]) {
    const found = [
      RUNNING,
      CHOSEN,
      ...crowd(30, 'profile', 7, spread),
    ];
    for (const size of SIZES) {
      const { labels, marks, plot } = laidOut(found, size);
      const boxes = labels.map(boxOf);
      boxes.forEach((box, i) => {
        assert.ok(boxes.every((other, j) => i === j || !overlap(box, other)), labels[i].text);
        assert.ok(marks.every(({ x, y }) => !overlap(box, { left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 })));
        assert.ok(box.left >= plot.left && box.right <= plot.right, labels[i].text);
      });
    }
  }
});

test('a label is beside its mark where there is room', () => {
  const lone = candidate('lone', 'profile', [
    effect('kv-sync', 30, 25, 35),
    effect('memory', 40, 30, 50),
  ]);
  for (const { mark, x, y, hasLeader } of laidOut([RUNNING, CHOSEN, lone]).labels) {
    assert.equal(hasLeader, false);
    assert.ok(Math.hypot(mark.x - x, mark.y - y) < 25);
  }
});

test('a label keeps off the lines of zero and of the bars where there is room', () => {
  const { labels, plot, region, x, y } = laidOut([RUNNING, CHOSEN]);
  const zero = (ticks) => ticks.find((tick) => tick.value === 0).at;
  for (const box of labels.map(boxOf)) {
    for (const at of [zero(x), region.left]) {
      assert.ok(!overlap(box, { ...plot, left: at - 1, right: at + 1 }));
    }
    for (const at of [zero(y), region.top]) {
      assert.ok(!overlap(box, { ...plot, top: at - 1, bottom: at + 1 }));
    }
  }
});

test('the chosen and the running are labeled however crowded it is', () => {
  for (const size of SIZES) {
    const { labels } = laidOut([...crowd(40, 'profile', 2, 30), RUNNING, CHOSEN], size);
    const names = labels.map((label) => label.mark.candidate.name);
    assert.deepEqual(names.slice(0, 2), ['best', 'old']);
  }
});

test('a label says what is chosen and what runs, and gives that up before the name', () => {
  assert.equal(labelOf({ ...RUNNING, chosen: true }), 'old (running, chosen)');
  assert.equal(labelOf({ ...RUNNING, name: 'yours' }), 'yours (running)');
  const long = { ...CHOSEN, name: 'a-name-of-some-length' };
  assert.equal(laidOut([long], SIZES[0]).labels[0].text, 'a-name-of-some-length (chosen)');
  assert.equal(laidOut([long], { width: 376, height: 340 }).labels[0].text, long.name);
  const [label] = laidOut([{ ...CHOSEN, name: 'x'.repeat(63) }], SIZES[2]).labels;
  assert.match(label.text, /^x+…$/);
});
