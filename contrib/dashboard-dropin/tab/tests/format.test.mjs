/** Numbers are shown as in the commands: qa/tests/test_dashboard_frontend.py checks units.py with the same cases. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { bytes, duration, effect, range, signedPercent } from '../node_modules/.test/format.mjs';

const CASES = JSON.parse(readFileSync(new URL('format.json', import.meta.url), 'utf8'));
const FORMATS = { bytes, change: signedPercent, duration, effect, range };

test('every format has cases', () => {
  assert.deepEqual(Object.keys(CASES).sort(), Object.keys(FORMATS).sort());
});

for (const [name, format] of Object.entries(FORMATS)) {
  test(`${name} as in the commands`, () => {
    const shown = CASES[name].map(([values]) => [values, format(...values)]);
    assert.deepEqual(shown, CASES[name]);
  });
}

test('what is unknown is a dash', () => {
  for (const format of [bytes, duration, effect, signedPercent]) assert.equal(format(null), '–');
});
