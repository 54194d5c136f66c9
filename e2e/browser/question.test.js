// A question is answered once, whatever happens around it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';

const visit = useBrowser();

async function ask(chat) {
  await chat.say('2 croissants');
  await chat.asked(/About to: Place order\s+• 2 × Croissant: \$5\.90/);
  const { data } = (await chat.events()).find((e) => e.data.buttons?.length);
  return { yes: data.buttons.find((b) => b.value === 'yes').id, no: data.buttons.find((b) => b.value === 'no').id };
}

// orders counts the orders that the bot lists.
async function orders(chat) {
  return (await chat.list(/Your orders:/)).match(/P-\d+/g).length;
}

test('B22 a press after the answer is stale and changes nothing', async (t) => {
  const chat = await visit(t, await serve(t));
  const { yes, no } = await ask(chat);
  await chat.button('Yes').click();
  await chat.hears(/Your order is P-1001/);
  await chat.noButtons();
  assert.equal(await chat.press(yes), 'stale');
  assert.equal(await chat.press(no), 'stale');
  assert.equal(await orders(chat), 1);

  // Nor does it answer a newer question.
  await chat.say('3 teas');
  await chat.asked(/3 × Tea/);
  assert.equal(await chat.press(yes), 'stale');
  assert.equal(await chat.buttons.count(), 2);
  await chat.button('No').click();
  await chat.noButtons();
  assert.equal(await orders(chat), 1);
});

test('B26 a double click and presses of two tabs at once order once', async (t) => {
  const chat = await visit(t, await serve(t));
  const { yes } = await ask(chat);
  const other = await chat.tab();
  await other.asked(/2 × Croissant: \$5\.90/);
  // Taken hold of before: the first press takes the buttons away, and a mouse would wait for them.
  const held = await Promise.all([other, chat].map((c) => c.button('Yes').elementHandle()));
  const twice = (button) => { button.click(); button.click(); };
  const [mine] = await Promise.all([chat.press(yes), ...held.map((h) => h.evaluate(twice))]);
  assert.match(mine, /^(accepted|stale)$/);
  await Promise.all([chat, other].map(async (c) => {
    await c.hears(/Your order is P-1001/);
    await c.noButtons(); // B21, in both tabs
  }));
  assert.equal(await orders(chat), 1);
});

test('a reload in the middle of a question brings it back, with buttons that work', async (t) => {
  const chat = await visit(t, await serve(t));
  await ask(chat);
  await chat.page.reload();
  await chat.asked(/About to: Place order\s+• 2 × Croissant: \$5\.90/);
  assert.deepEqual(await chat.buttons.allInnerTexts(), ['Yes', 'No']);
  assert.equal(await chat.bubbles('user').count(), 1);
  await chat.button('Yes').click();
  await chat.hears(/Your order is P-1001/);
  await chat.page.reload();
  await chat.hears(/Your order is P-1001/);
  await chat.noButtons();
  assert.equal(await orders(chat), 1);
});

test('G3 kill -9 between question and Yes: the page comes back, Yes orders once', async (t) => {
  const bot = await serve(t);
  const chat = await visit(t, bot);
  await ask(chat);
  await bot.kill();
  await chat.page.getByText('Reconnecting…').waitFor();
  await chat.button('Yes').click(); // nobody is there
  await chat.log.getByText('Your answer could not be sent. Please try again.').waitFor();
  await chat.shot('press-failed');
  await bot.start();
  await chat.page.getByText('Online').waitFor();
  await chat.button('Yes').click();
  await chat.hears(/Your order is P-1001/);
  await chat.noButtons();
  assert.equal(await orders(chat), 1);
});

test('G3 kill -9 right after Yes: the order is there once after the restart', async (t) => {
  const bot = await serve(t);
  const chat = await visit(t, bot);
  const { yes } = await ask(chat);
  const outcome = chat.press(yes);
  assert.equal(await outcome, 'accepted');
  await bot.kill(); // the turn may be anywhere
  await bot.start();
  await chat.hears(/Your order is P-1001/);
  await chat.noButtons();
  assert.equal(await chat.press(yes), 'stale');
  assert.equal(await orders(chat), 1);
});
