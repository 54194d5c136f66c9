// The bakery on each API, and from one API to another in the middle of a turn.
// aimock translates what it is sent to OpenAI's form: what is seen here is what
// each API understood.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelled, names, result, sent, statuses, system } from '../harness/model.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

const order = (quantity, id) => ({ toolCalls: [{ id, name: 'place_order', arguments: { items: [{ product: 'croissant', quantity }] } }] });
const button = (question, value) => question.buttons.find((b) => b.value === value).id;
const reads = (ana, pattern) => until(`${pattern}`, async () => (await ana.answers()).find((m) => pattern.test(m.text)));
const paths = (model) => model.journal.getAll().map((e) => e.path);

const address = {
  openai: /^\/v1\/chat\/completions$/, anthropic: /^\/v1\/messages$/,
  gemini: /^\/v1beta\/models\/gemini-2\.5-flash:generateContent$/, ollama: /^\/api\/chat$/,
};

for (const [provider, path] of Object.entries(address)) {
  test(`B1 B4 ${provider}: an order, changed by text, then confirmed`, async (t) => {
    const { bot, model } = await modelled(t, [
      [{ userMessage: 'two croissants', hasToolResult: false }, order(2, 'call_a')],
      [{ toolResultContains: 'user_replied' }, order(5, 'call_b')],
      [{ toolResultContains: 'P-1001' }, { content: 'Your order P-1001 is placed ☕.' }],
      [{ userMessage: 'thanks' }, { content: 'You are welcome.' }],
    ], [provider]);
    const ana = await Visitor.join(bot);
    await ana.say('two croissants');
    const first = await ana.asked();
    assert.match(first.text, /2 × Croissant: \$5\.90/);
    await ana.say('yes but make it 5');
    const second = await until('the second question', async () => (await ana.answers()).find((m) => m.buttons.length && m.id !== first.id));
    assert.match(second.text, /5 × Croissant: \$14\.75/);
    assert.equal(await ana.press(button(second, 'yes')), 'accepted');
    await reads(ana, /^Your order P-1001 is placed ☕\.$/);

    const bodies = sent(model);
    assert.ok(paths(model).every((p) => path.test(p)), paths(model).join(' '));
    assert.deepEqual(statuses(model), [200, 200, 200]);
    assert.equal(bodies[0].model, names[provider]);
    assert.match(system(bodies[0]), /You are the assistant of La Espiga/);
    assert.equal(bodies[0].messages.at(-1).content, 'two croissants');
    assert.deepEqual(bodies[0].tools.map((c) => c.function.name).sort(), ['cancel_order', 'change_order', 'my_orders', 'place_order', 'quote_order', 'show_menu']);
    const replied = result(bodies[1]);
    assert.deepEqual([replied.executed, replied.reason, replied.userReply], [false, 'user_replied', 'yes but make it 5']);
    assert.equal(result(bodies[2]).total, '$14.75');
    const calls = bodies[2].messages.flatMap((m) => m.tool_calls ?? []);
    assert.deepEqual(calls.map((c) => JSON.parse(c.function.arguments).items[0].quantity), [2, 5]);

    await ana.say('thanks');
    await reads(ana, /^You are welcome\.$/);
    assert.match(system(sent(model)[3]), /Already done[^]*place_order/);
    const metrics = await (await fetch(`${bot.url}/metrics`)).text();
    assert.match(metrics, new RegExp(`parley_model_requests_total\\{model="${names[provider]}",outcome="ok",provider="${provider}"\\} 4`));
  });

  const second = { openai: 'anthropic', anthropic: 'gemini', gemini: 'ollama', ollama: 'openai' }[provider];
  test(`A13 from ${provider} to ${second} in the middle of a turn: the order is placed once, and known`, async (t) => {
    const { bot, model } = await modelled(t, [
      [{ model: names[provider], userMessage: 'two croissants', hasToolResult: false }, order(2, 'call_a')],
      [{ model: names[provider], hasToolResult: true }, { error: { message: 'out of order', type: 'invalid_request_error' }, status: 400 }],
      [{ model: names[second], toolResultContains: 'P-1001', sequenceIndex: 0 }, { toolCalls: [{ id: 'call_b', name: 'my_orders', arguments: {} }] }],
      [{ model: names[second], hasToolResult: true }, { content: 'Two croissants, order P-1001.' }],
    ], [provider, second]);
    const ana = await Visitor.join(bot);
    await ana.say('two croissants');
    assert.equal(await ana.press(button(await ana.asked(), 'yes')), 'accepted');
    await reads(ana, /^Two croissants, order P-1001\.$/);

    const bodies = sent(model);
    assert.deepEqual(bodies.slice(0, 3).map((b) => b.model), [names[provider], names[provider], names[second]]);
    assert.ok(statuses(model).slice(2).every((s) => s === 200 || s === 400));
    const taken = bodies.find((b) => b.model === names[second]);
    const [call] = taken.messages.flatMap((m) => m.tool_calls ?? []);
    assert.equal(call.function.name, 'place_order');
    assert.equal(result(taken).id, 'P-1001');
    const listed = result(bodies.at(-1));
    assert.deepEqual(listed.orders.map((o) => [o.id, o.status]), [['P-1001', 'confirmed']], 'one order');
  });
}

// OpenAI's is in order.test.js; for Ollama, aimock always ends with "stop".
for (const provider of ['anthropic', 'gemini']) {
  test(`A8 ${provider}: calls that were cut off are not run`, async (t) => {
    const { bot, model } = await modelled(t, [
      [{ userMessage: 'two croissants', hasToolResult: false }, { ...order(2, 'call_a'), finishReason: 'length' }],
      [{ toolResultContains: 'truncated' }, { content: 'That was too long for me.' }],
    ], [provider]);
    const ana = await Visitor.join(bot);
    await ana.say('two croissants');
    await reads(ana, /too long for me/);
    assert.equal((await ana.answers()).length, 1, 'no question');
    assert.equal(result(sent(model)[1]).reason, 'truncated');
  });
}
