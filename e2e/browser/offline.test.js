// Nothing that was typed is lost or said twice, whichever end is away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';

const visit = useBrowser();

const said = async (chat) => (await chat.events()).filter((e) => e.data.from === 'user').map((e) => e.data.text);

test('G1 a message typed while the server is down is kept and sent once', async (t) => {
  const bot = await serve(t);
  const chat = await visit(t, bot);
  await chat.say('hello');
  await chat.hears(/Welcome to La Espiga/);
  await bot.stop();
  await chat.say('2 croissants');
  await chat.log.getByText('Not sent yet. We keep trying.').waitFor();
  await chat.shot('offline');
  await bot.start();
  await chat.asked(/2 × Croissant: \$5\.90/);
  assert.deepEqual(await said(chat), ['hello', '2 croissants']);
  assert.equal(await chat.bubbles('user').count(), 2);
});

test('G1 a visitor without a network: messages wait in order, and survive the tab', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.context.setOffline(true);
  await chat.say('hello');
  await chat.say('2 croissants');
  await chat.log.getByText('Not sent yet. We keep trying.').waitFor();
  await chat.page.close();
  await chat.context.setOffline(false);
  await chat.open();
  await chat.hears(/Welcome to La Espiga/);
  await chat.asked(/2 × Croissant: \$5\.90/);
  assert.deepEqual(await said(chat), ['hello', '2 croissants']);
});

test('G1 an answer that gets lost on the way: the message is sent again, and is one', async (t) => {
  const chat = await visit(t, await serve(t));
  let lost = 0;
  await chat.page.route('**/chat/api/messages', async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue();
    lost += 1;
    await route.fetch(); // it arrives,
    return route.abort(); // its answer doesn't
  });
  await chat.say('2 croissants');
  await chat.asked(/2 × Croissant: \$5\.90/);
  await chat.log.getByText(/Sending…|Not sent yet/).waitFor({ state: 'detached' });
  assert.equal(lost, 1);
  assert.deepEqual(await said(chat), ['2 croissants']);
  assert.equal(await chat.bubbles('user').count(), 1);
});
