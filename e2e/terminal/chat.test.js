// parley chat with input from a pipe: questions are typed, answers come in
// order, and it ends when the input does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folder, run } from '../harness/bot.js';

test('B24 an order by pipe', async (t) => {
  const dir = await folder(t);
  const got = await run(['chat'], { dir, input: 'two coffees please\nyes\nwhat did I order?\n' });
  assert.equal(got.code, 0, got.stderr);
  const order = [
    /About to: Place order/, /2 × Coffee: \$4\.50/, /Do you confirm\? \(yes\/no\)/, /Your order is P-1001: 2 × Coffee/, /Your orders:/, /P-1001: 2 × Coffee/,
  ];
  let at = 0;
  for (const pattern of order) {
    const found = got.stdout.slice(at).search(pattern);
    assert.ok(found >= 0, `${pattern} in its place in:\n${got.stdout}`);
    at += found + 1;
  }
  assert.equal(got.stderr, '');

  // The next conversation in the same folder knows of it.
  const later = await run(['chat'], { dir, input: 'what did I order?' });
  assert.equal(later.code, 0, later.stderr);
  assert.match(later.stdout, /P-1001: 2 × Coffee/);
});

test('B4 no by pipe, and the end of the input at an open question', async (t) => {
  const dir = await folder(t);
  const refused = await run(['chat'], { dir, input: '2 croissants\nno\nwhat did I order?\n' });
  assert.equal(refused.code, 0, refused.stderr);
  assert.match(refused.stdout, /You haven't ordered anything yet/);
  const open = await run(['chat'], { dir, input: '2 croissants\n' });
  assert.equal(open.code, 0, open.stderr);
  assert.match(open.stdout, /Do you confirm\? \(yes\/no\)/);
});

test('control characters and bad bytes reach no terminal', async (t) => {
  const input = Buffer.concat([Buffer.from('\x1b[31mred\x1b[0m '), Buffer.from([0xff, 0xfe]), Buffer.from('\n')]);
  const got = await run(['chat'], { dir: await folder(t), input });
  assert.equal(got.code, 0, got.stderr);
  assert.ok(!got.stdout.includes('\x1b'), JSON.stringify(got.stdout));
});
