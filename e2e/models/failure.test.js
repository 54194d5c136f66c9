// A model API in trouble: what passes is waited for, what doesn't is told to
// the visitor once, and nothing is done twice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelled, sent, statuses } from '../harness/model.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

const sorry = 'Sorry, something went wrong on my side. Please try again in a moment.';
const texts = async (ana) => (await ana.answers()).map((m) => m.text);
const idle = async (bot) => /^parley_turns_active 0$/m.test(await (await fetch(`${bot.url}/metrics`)).text());

test('A13 429, then well: one answer, after the Retry-After', async (t) => {
  const { bot, model } = await modelled(t, [[{ userMessage: 'hello' }, { content: 'Good morning!' }]]);
  model.nextRequestError(429, { message: 'slow down', type: 'rate_limit_error' });
  const ana = await Visitor.join(bot);
  await ana.say('hello');
  await ana.hears(1);
  assert.deepEqual(await texts(ana), ['Good morning!']);
  assert.deepEqual(statuses(model), [429, 200]);
  const [first, second] = model.journal.getAll();
  assert.ok(second.timestamp - first.timestamp >= 900, 'Retry-After: 1 is kept to');
});

for (const [name, chaos] of Object.entries({
  'status 500': { dropRate: 1 },
  'an answer that is no JSON': { malformedRate: 1 },
  'a connection cut in the middle': { disconnectRate: 1 },
})) {
  test(`A13 ${name}, again and again: the visitor is told once; the message stays in the history`, async (t) => {
    const { bot, model } = await modelled(t, [[{ userMessage: 'and now' }, { content: 'Here I am again.' }], [{ userMessage: 'hello' }, { content: 'Hi.' }]]);
    model.setChaos(chaos);
    const ana = await Visitor.join(bot);
    await ana.say('hello');
    await ana.hears(1);
    await until('the turn has ended', () => idle(bot));
    assert.deepEqual(await texts(ana), [sorry]);
    assert.ok(sent(model).length >= 1 && sent(model).length <= 5, `${sent(model).length} attempts`);
    assert.match(bot.log, /level=(WARN|ERROR)/, 'the cause is logged');
    assert.ok(!bot.log.includes('key-of-the-model'), 'no key in the log');

    model.clearChaos();
    await ana.say('and now?');
    await ana.hears(2);
    assert.deepEqual(await texts(ana), [sorry, 'Here I am again.']);
    const said = sent(model).at(-1).messages.filter((m) => m.role === 'user').map((m) => m.content).join('\n');
    assert.equal(said, 'hello\nand now?');
  });
}

test('A13 failing after an order was placed: what was done is said, and not done again', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'two croissants', hasToolResult: false }, { toolCalls: [{ id: 'call_a', name: 'place_order', arguments: { items: [{ product: 'croissant', quantity: 2 }] } }] }],
    [{ userMessage: 'list', hasToolResult: false }, { toolCalls: [{ id: 'call_b', name: 'my_orders', arguments: {} }] }],
    [{ userMessage: 'list', hasToolResult: true }, { content: 'One order.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('two croissants');
  const { buttons } = await ana.asked();
  model.setChaos({ dropRate: 1 });
  assert.equal(await ana.press(buttons.find((b) => b.value === 'yes').id), 'accepted');
  await ana.hears(2);
  assert.equal((await texts(ana))[1], "Done: Place order. I couldn't write the rest.");
  model.clearChaos();
  await ana.say('list');
  await ana.hears(3);
  const listed = JSON.parse(sent(model).at(-1).messages.at(-1).content);
  assert.deepEqual(listed.orders.map((o) => [o.id, o.status]), [['P-1001', 'confirmed']]);
});

test('A13 a wrong key is not tried again and again; the visitor gets no details', async (t) => {
  const { bot, model } = await modelled(t, []);
  model.on({ userMessage: 'hello' }, { error: { message: 'Incorrect API key provided: key-of-…', type: 'invalid_request_error' }, status: 401 });
  const ana = await Visitor.join(bot);
  await ana.say('hello');
  await ana.hears(1);
  assert.deepEqual(await texts(ana), [sorry]);
  assert.deepEqual(statuses(model), [401]);
});
