// The bakery on a model behind OpenAI's API: what the model is sent, and what
// becomes of what it asks for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelled, result, sent, system } from '../harness/model.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

const order = (quantity, id) => ({ toolCalls: [{ id, name: 'place_order', arguments: { items: [{ product: 'croissant', quantity }] } }] });
const yes = (question) => question.buttons.find((b) => b.value === 'yes').id;
const no = (question) => question.buttons.find((b) => b.value === 'no').id;
const reads = (ana, pattern) => until(`${pattern}`, async () => (await ana.answers()).find((m) => pattern.test(m.text)));

test('B1 B7 C2 an order: cards, confirm note, result and done note as the model gets them', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'two croissants', hasToolResult: false }, order(2, 'call_a')],
    [{ toolResultContains: 'P-1001' }, { content: 'Your order P-1001 is placed, $5.90.' }],
    [{ userMessage: 'thanks' }, { content: 'You are welcome.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('two croissants');
  const question = await ana.asked();
  assert.equal(question.text, 'About to: Place order\n• 2 × Croissant: $5.90\nTotal: $5.90\nDo you confirm?');
  assert.equal(sent(model).length, 1, 'the model is not asked while a person is');

  const [first] = sent(model);
  assert.equal(first.model, 'gpt-5-mini');
  assert.equal(first.messages.at(-1).content, 'two croissants');
  assert.match(system(first), /You are the assistant of La Espiga/);
  assert.match(system(first), /place_order/, 'the confirm note names the tools');
  assert.doesNotMatch(system(first), /Already done/);
  const cards = Object.fromEntries(first.tools.map((c) => [c.function.name, c.function]));
  assert.deepEqual(Object.keys(cards).sort(), ['cancel_order', 'change_order', 'my_orders', 'place_order', 'quote_order', 'show_menu']);
  const { items } = cards.place_order.parameters.properties;
  assert.ok(items.items.properties.product.enum.includes('croissant'));
  assert.equal(items.items.properties.quantity.maximum, 50);
  assert.equal(cards.place_order.parameters.additionalProperties, false);
  assert.doesNotMatch(JSON.stringify(first.tools), /Place order|Rye bread|confirmLines|dedupe/, 'A12: no title, no labels, no code');

  assert.equal(await ana.press(yes(question)), 'accepted');
  await reads(ana, /^Your order P-1001 is placed, \$5\.90\.$/);
  const [, second] = sent(model);
  const call = second.messages.at(-2);
  assert.equal(call.role, 'assistant');
  assert.equal(call.tool_calls.length, 1);
  assert.equal(call.tool_calls[0].id, second.messages.at(-1).tool_call_id);
  assert.equal(call.tool_calls[0].function.name, 'place_order');
  assert.deepEqual(JSON.parse(call.tool_calls[0].function.arguments), { items: [{ product: 'croissant', quantity: 2 }] });
  const { id, status, total } = result(second);
  assert.deepEqual({ id, status, total }, { id: 'P-1001', status: 'confirmed', total: '$5.90' });

  await ana.say('thanks');
  await reads(ana, /^You are welcome\.$/);
  const third = sent(model)[2];
  assert.match(system(third), /Already done[^]*place_order[^]*2 × Croissant/);
  assert.deepEqual(third.messages.filter((m) => m.role !== 'system').map((m) => [m.role, m.content]), [
    ['user', 'two croissants'], ['assistant', 'Your order P-1001 is placed, $5.90.'], ['user', 'thanks'],
  ], 'A6: questions, answers and calls are no part of the history');
});

test('B4 a text instead of yes reaches the model, which asks again', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'two croissants', hasToolResult: false }, order(2, 'call_a')],
    [{ toolResultContains: 'user_replied' }, order(5, 'call_b')],
    [{ toolResultContains: 'P-1001' }, { content: 'Five croissants it is.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('two croissants');
  const first = await ana.asked();
  await ana.say('yes but make it 5');
  const second = await until('the second question', async () => (await ana.answers()).find((m) => m.buttons.length && m.id !== first.id));
  assert.match(second.text, /5 × Croissant: \$14\.75/);
  assert.equal(await ana.press(yes(first)), 'stale');
  assert.equal(await ana.press(yes(second)), 'accepted');
  await reads(ana, /Five croissants it is/);
  const replied = result(sent(model)[1]);
  assert.equal(replied.executed, false);
  assert.equal(replied.reason, 'user_replied');
  assert.equal(replied.userReply, 'yes but make it 5');
  assert.equal(result(sent(model)[2]).total, '$14.75');
});

test('B4 a no reaches the model as declined, and nothing is ordered', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'two croissants', hasToolResult: false }, order(2, 'call_a')],
    [{ toolResultContains: 'denied' }, { content: 'All right, no order.' }],
    [{ userMessage: 'what did I order', hasToolResult: false }, { toolCalls: [{ id: 'call_c', name: 'my_orders', arguments: {} }] }],
    [{ userMessage: 'what did I order', hasToolResult: true }, { content: 'Nothing yet.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('two croissants');
  assert.equal(await ana.press(no(await ana.asked())), 'accepted');
  await reads(ana, /All right, no order/);
  await ana.say('what did I order');
  await reads(ana, /Nothing yet/);
  const denied = result(sent(model)[1]);
  assert.equal(denied.executed, false);
  assert.equal(denied.reason, 'denied');
  assert.equal(result(sent(model)[3]).active, 0);
});

test('A10 what is not on the menu is refused before anybody is asked', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'pizza', hasToolResult: false }, { toolCalls: [{ id: 'call_p', name: 'place_order', arguments: { items: [{ product: 'pizza', quantity: 99 }] } }] }],
    [{ toolResultContains: 'invalid_arguments' }, { content: 'We have no pizza.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('a pizza');
  await reads(ana, /We have no pizza/);
  assert.equal((await ana.answers()).length, 1, 'no question');
  const refused = result(sent(model)[1]);
  assert.equal(refused.error, 'invalid_arguments');
  assert.deepEqual(refused.details.map((d) => d.path).sort().map((p) => p.replace(/^\W+/, '')), ['items/0/product', 'items/0/quantity']);
  assert.match(refused.note, /not asked/);
});

test('A8 calls that were cut off are not run; the log names max_tokens', async (t) => {
  const { bot, model } = await modelled(t, [
    [{ userMessage: 'two croissants', hasToolResult: false }, { ...order(2, 'call_a'), finishReason: 'length' }],
    [{ toolResultContains: 'truncated' }, { content: 'That was too long for me.' }],
  ]);
  const ana = await Visitor.join(bot);
  await ana.say('two croissants');
  await reads(ana, /too long for me/);
  assert.equal((await ana.answers()).length, 1, 'no question');
  assert.equal(result(sent(model)[1]).reason, 'truncated');
  assert.match(bot.log, /level=WARN.*max_tokens/);
});
