// An answer is shown while the model writes it, in one bubble.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';
import { until } from '../harness/until.js';

const visit = useBrowser();

const story = 'Once upon a time there was a baker who baked **one** loaf more than was ordered each night. '
  + 'Nobody knew for whom it was. In the morning it was gone, and on the sill lay a walnut. '
  + 'When the winter had passed there were ninety walnuts, and the baker baked a cake of them.';

// writer is a bot without tools, whose model takes a while.
async function writer(t, answers, more = '') {
  const model = new LLMock({ port: 0, host: '127.0.0.1', strict: true });
  for (const [match, response, options] of answers) model.on(match, response, options);
  await model.start();
  t.after(() => model.stop());
  const bot = await serve(t, {
    files: {
      'parley.yaml': `
bot: {name: La Espiga, lang: en, persona: "You tell stories."${more}}
model: {provider: openai, name: gpt-5-mini, base_url: "http://127.0.0.1:${model.port}/v1", api_key: key, timeout: 30s}
channels: {web: {kind: webchat}}
`,
    },
  });
  return { bot, model };
}

const slow = { latency: 60, chunkSize: 6 };

test('A9 the bubble grows while the model writes, and ends as the whole text', async (t) => {
  const { bot } = await writer(t, [[{ userMessage: 'story' }, { content: story }, slow]]);
  const chat = await visit(t, bot);
  await chat.say('Tell me a story');
  await chat.hears(/ …$/);
  const bubble = chat.bubbles('bot').first();
  const lengths = new Set();
  let shot = false;
  await until('the whole story', async () => {
    const text = await bubble.innerText();
    lengths.add(text.length);
    if (!shot && text.length > story.length / 2 && text.endsWith('…')) {
      shot = true;
      await chat.shot('stream-half');
    }
    return text.endsWith('a cake of them.');
  });
  assert.ok(lengths.size > 5, `it grew in ${lengths.size} steps`);
  assert.equal(await chat.bubbles('bot').count(), 1);
  await chat.shot('stream-whole');
  const events = await chat.events();
  assert.deepEqual(events.map((e) => e.event), ['message', 'message', 'edit']);
  assert.equal(events[2].data.text, story.replaceAll('**', ''));
  assert.equal(await chat.log.locator('[aria-busy]').count(), 0);
  // Another tab that comes later sees the whole text alone.
  const tab = await chat.tab();
  await tab.hears(/a cake of them\.$/);
  assert.equal(await tab.bubbles('bot').count(), 1);
});

test('A9 G3 killed in the middle: the next process ends the same bubble', async (t) => {
  const { bot } = await writer(t, [[{ userMessage: 'story' }, { content: story }, slow]]);
  const chat = await visit(t, bot);
  await chat.say('Tell me a story');
  await chat.hears(/baker who .* …$/);
  await bot.kill();
  await bot.start();
  await chat.hears(/a cake of them\.$/);
  assert.equal(await chat.bubbles('bot').count(), 1);
});

test('A9 A13 a stream that is cut is asked for again; the new text takes the place of the old', async (t) => {
  const { bot, model } = await writer(t, [
    [{ userMessage: 'story', sequenceIndex: 0 }, { content: `Twice upon a time ${story}` }, { ...slow, truncateAfterChunks: 25 }],
    [{ userMessage: 'story', sequenceIndex: 1 }, { content: story }, slow],
  ]);
  const chat = await visit(t, bot);
  await chat.say('Tell me a story');
  await chat.hears(/^.*Twice upon a time .* …$/s);
  await chat.hears(/Once upon a time .*a cake of them\.$/s);
  assert.equal(await chat.bubbles('bot').count(), 1);
  assert.doesNotMatch(await chat.bubbles('bot').first().innerText(), /Twice/);
  assert.equal(model.journal.getAll().length, 2);
  assert.match(bot.log, /model call failed.*class=temporary/);
});

test('A9 /reset in the middle stops it', async (t) => {
  const { bot } = await writer(t, [[{ userMessage: 'story' }, { content: story }, slow], [{ userMessage: 'hello' }, { content: 'Good morning!' }]]);
  const chat = await visit(t, bot);
  await chat.say('Tell me a story');
  const bubble = await chat.hears(/baker who .* …$/);
  await chat.say('/reset');
  await chat.hears(/we can start over/);
  const left = await bubble.innerText();
  await chat.say('hello');
  await chat.hears(/Good morning!/);
  assert.equal(await bubble.innerText(), left);
  assert.ok(left.length < story.length);
  assert.equal(await chat.bubbles('bot').count(), 3);
});

test('A9 bot.stream: false shows the text when it is whole', async (t) => {
  const { bot } = await writer(t, [[{ userMessage: 'story' }, { content: story }, slow]], ', stream: false');
  const chat = await visit(t, bot);
  await chat.say('Tell me a story');
  await chat.hears(/a cake of them\.$/);
  assert.deepEqual((await chat.events()).map((e) => e.event), ['message', 'message']);
});
