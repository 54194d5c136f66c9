// What a client may send that it shouldn't. Whatever it is, the answer is
// exact and the process stays well.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

test('messages that are none', async (t) => {
  const bot = await serve(t);
  const ana = await Visitor.join(bot);
  const bytes = (...parts) => Buffer.concat(parts.map((p) => Buffer.from(p)));
  const cases = [
    ['empty', { text: '' }, 422, 'blank'],
    ['blank', { text: ' \n\t\u00a0\u2003' }, 422, 'blank'],
    ['nothing to see', { text: '\u200d\u200b\ufeff' }, 422, 'blank'],
    ['no text', {}, 422, 'blank'],
    ['1 MB', { text: 'a'.repeat(1 << 20) }, 413, 'too_large'],
    ['one byte too many', { text: 'a'.repeat((16 << 10) + 1) }, 413, 'too_large'],
    ['invalid UTF-8', bytes('{"text":"caf', [0xe9, 0xff], '"}'), 400, 'invalid_json'],
    ['a lone surrogate half', bytes('{"text":"', [0xed, 0xa0, 0x80], '"}'), 400, 'invalid_json'],
    ['no JSON', '{"text": "hi"', 400, 'invalid_json'],
    ['two documents', '{"text": "hi"} {"text": "ho"}', 400, 'invalid_json'],
    ['a number', { text: 5 }, 422, 'invalid'],
    ['a list', '[]', 422, 'invalid'],
    ['deep nesting', `${'['.repeat(20_000)}`, 400, 'invalid_json'],
    ['a long client_id', { text: 'hi', client_id: 'x'.repeat(300) }, 422, 'invalid'],
  ];
  for (const [name, body, status, code] of cases) {
    const res = await ana.post('messages', body);
    assert.equal(res.status, status, `${name}: ${JSON.stringify(res.body)}`);
    assert.equal(res.body.error.code, code, name);
  }
  for (const [button, status] of [['', 422], ['x'.repeat(1000), 422], ['\u0000', 422], ['no-such-button', 200]]) {
    const res = await ana.post('press', { button });
    assert.equal(res.status, status, JSON.stringify(button));
    if (status === 200) assert.equal(res.body.outcome, 'stale');
  }
  assert.deepEqual(await ana.messages(), [], 'none of it was taken');
  const stranger = await new Visitor(bot.url, 'A'.repeat(43)).post('messages', { text: 'hi' });
  assert.equal(stranger.status, 401);
  await ana.say('hello');
  assert.match((await ana.hears(1)).text, /Welcome/);
});

test('texts that are odd but fine come back as they were', async (t) => {
  const ana = await Visitor.join(await serve(t));
  const odd = ['a'.repeat(16 << 10), '🥐'.repeat(500), '\u202Eevil\u202C', 'x\u0000y\u0007z', "'); DROP TABLE chat; --", '{result.id} {{ }} ${HOME}'];
  for (const [i, text] of odd.entries()) {
    await ana.say(text);
    await ana.hears(i + 1);
  }
  const said = (await ana.messages()).filter((m) => m.from === 'user').map((m) => m.text);
  assert.equal(said.length, odd.length);
  assert.equal(said[0], odd[0]);
  assert.equal(said[1], odd[1]);
  assert.equal(said[4], odd[4]);
});

test('G1 one client_id is one message, however often it is sent', async (t) => {
  const ana = await Visitor.join(await serve(t));
  const ids = await Promise.all(Array.from({ length: 20 }, () => ana.say('2 croissants', 'same')));
  assert.equal(new Set(ids).size, 1);
  await ana.asked();
  assert.equal((await ana.messages()).length, 2, 'one message, one question');
});

test('G6 the demo limits what one visitor can say in a minute', async (t) => {
  const bot = await serve(t);
  const ana = await Visitor.join(bot);
  const statuses = [];
  for (let i = 0; i < 25; i += 1) statuses.push(await ana.post('messages', { text: `hello ${i}` }));
  const refused = statuses.filter((r) => r.status === 429);
  assert.equal(statuses.length - refused.length, 20);
  assert.equal(refused[0].body.error.code, 'rate');
  assert.ok(Number(refused[0].retryAfter) > 0);
  const ben = await Visitor.join(bot);
  await ben.say('hello');
  assert.match((await ben.hears(1)).text, /Welcome/, 'others are not held');
});

test('G6 10,000 messages to one chat: 429 past the queue, the rest is answered in order, others are not held', async (t) => {
  const bot = await serve(t, {
    files: {
      'parley.yaml': 'model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\nlimits: {per_user: off, queue_per_chat: 50}\n',
      'model.yaml': '- when: {text: "^m"}\n  delay: 40ms\n- when: {text: "^m([0-9]+)$"}\n  say: "got {1}"\n- say: Hello\n',
    },
  });
  const ana = await Visitor.join(bot);
  const ben = await Visitor.join(bot);
  const statuses = new Map();
  const taken = [];
  let next = 0;
  const sender = async () => {
    while (next < 10_000) {
      const n = next;
      next += 1;
      const res = await ana.post('messages', { text: `m${n}` });
      statuses.set(res.status, (statuses.get(res.status) ?? 0) + 1);
      if (res.status === 202) taken.push(n);
      if (res.status === 429) assert.equal(res.body.error.code, 'queue_full');
    }
  };
  const flood = Promise.all(Array.from({ length: 16 }, sender));
  await until('a full queue', () => statuses.get(429) > 0);
  await ben.say('hello');
  assert.equal((await ben.hears(1, { timeout: 5000 })).text, 'Hello');
  await flood;
  assert.deepEqual([...statuses.keys()].sort(), [202, 429]);
  assert.ok(statuses.get(429) > 5000, JSON.stringify([...statuses]));
  assert.ok(taken.length >= 50, `${taken.length} taken`);
  const answers = (await until('all answers', async () => {
    const all = await ana.answers();
    return all.length >= taken.length && all;
  }, { timeout: 60_000, every: 100 })).map((m) => m.text);
  const said = (await ana.messages()).filter((m) => m.from === 'user').map((m) => m.text.replace('m', 'got '));
  assert.deepEqual(answers, said, 'each is answered once, in the order they were taken');
  assert.equal(answers.length, taken.length);
  assert.equal((await fetch(`${bot.url}/readyz`)).status, 200);
  assert.equal(await bot.stop(), 0);
});
