// Ordering in the demo bakery: what the question says is what happens, and
// only after Yes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';

const visit = useBrowser();

const question = /About to: Place order\s+• 2 × Coffee: \$4\.50\s+• 1 × Croissant: \$2\.95\s+Total: \$7\.45\s+Do you confirm\?/;

test('B20 Yes places the order of the question; it is listed, changed and cancelled', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.say('two coffees and a croissant please');
  const asked = await chat.asked(question);
  assert.deepEqual(await chat.buttons.allInnerTexts(), ['Yes', 'No']);
  assert.doesNotMatch(await asked.innerText(), /yes\/no/, 'with buttons the question has no hint to type');
  await chat.button('Yes').click();
  await chat.hears(/Your order is P-1001: 2 × Coffee, 1 × Croissant\. Total: \$7\.45/);
  await chat.noButtons();
  await chat.hears(/Do you confirm\?\s+→ Yes/); // B21

  await chat.list(/P-1001: 2 × Coffee, 1 × Croissant\. Total: \$7\.45/);
  await chat.say('change it to 3'); // of which?
  await chat.hears(/Tell me what should be in it/);
  await chat.say('change my order to 3 croissants');
  await chat.asked(/About to: Change order\s+• Order: P-1001\s+• 3 × Croissant: \$8\.85\s+Total: \$8\.85/);
  await chat.button('Yes').click();
  await chat.hears(/P-1001 is now: 3 × Croissant\. Total: \$8\.85/);
  await chat.say('cancel my order');
  await chat.asked(/About to: Cancel order\s+• Order: P-1001/);
  await chat.button('Yes').click();
  await chat.hears(/P-1001 .*is cancelled/);
  await chat.noButtons();
});

test('B4 No orders nothing', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.say('two coffees and a croissant please');
  await chat.asked(question);
  await chat.button('No').click();
  await chat.hears(/Do you confirm\?\s+→ No/);
  await chat.noButtons();
  await chat.list(/You haven't ordered anything yet/);
});

test('B4 another text instead of a press corrects the order', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.say('2 croissants');
  await chat.asked(/2 × Croissant: \$5\.90/);
  await chat.say('yes but make it 5');
  await chat.asked(/5 × Croissant: \$14\.75/);
  assert.equal(await chat.buttons.count(), 2, 'the first question is closed');
  await chat.button('Yes').click();
  await chat.hears(/P-1001: 5 × Croissant\. Total: \$14\.75/);
  const listed = await chat.list(/Your orders:/);
  assert.equal(listed.match(/P-\d+/g).length, 1, listed);
});

test('B20 a typed yes works beside the buttons', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.say('two coffees and a croissant please');
  await chat.asked(question);
  await chat.say('Yes, please!');
  await chat.hears(/Your order is P-1001/);
  await chat.hears(/Do you confirm\?\s+→ Yes/);
  await chat.noButtons();
});

test('a single product is changed by a number alone', async (t) => {
  const chat = await visit(t, await serve(t));
  await chat.say("I'd like to order 2 croissants, please");
  await chat.asked(/2 × Croissant/);
  await chat.button('Yes').click();
  await chat.hears(/Your order is P-1001/);
  await chat.say('change it to 3');
  await chat.asked(/Change order\s+• Order: P-1001\s+• 3 × Croissant: \$8\.85/);
  await chat.button('Yes').click();
  await chat.hears(/P-1001 is now: 3 × Croissant/);
});

test('F1 a Spanish browser gets Spanish', async (t) => {
  const chat = await visit(t, await serve(t), { locale: 'es-CO' });
  assert.equal(await chat.page.locator('html').getAttribute('lang'), 'es');
  await chat.say('quiero 2 cafés y un croissant');
  await chat.asked(/Voy a: Hacer pedido\s+• 2 × Café: 4,50\sUS\$\s+• 1 × Croissant: 2,95\sUS\$\s+Total: 7,45\sUS\$\s+¿Confirmas\?/);
  assert.deepEqual(await chat.buttons.allInnerTexts(), ['Sí', 'No']);
  await chat.shot('es-question');
  await chat.button('Sí').click();
  await chat.hears(/Tu pedido es el P-1001: 2 × Café, 1 × Croissant/);
  await chat.hears(/¿Confirmas\?\s+→ Sí/);
});

test('G2 two visitors at once know nothing of each other', async (t) => {
  const bot = await serve(t);
  const [ana, ben] = await Promise.all([visit(t, bot), visit(t, bot)]);
  await Promise.all([ana.say('two coffees and a croissant please'), ben.say('3 teas')]);
  await Promise.all([ana.asked(question), ben.asked(/3 × Tea: \$5\.85/)]);

  const { data } = (await ana.events()).find((e) => e.data.buttons?.length);
  assert.equal(await ben.press(data.buttons[0].id), 'not_yours');
  assert.equal(await ana.buttons.count(), 2, "another visitor's press changes nothing");

  await Promise.all([ana.button('Yes').click(), ben.button('No').click()]);
  await ana.hears(/Your order is P-1001: 2 × Coffee, 1 × Croissant/);
  await ben.list(/You haven't ordered anything yet/);
  assert.doesNotMatch(await ben.log.innerText(), /Coffee|P-1001/);
  assert.doesNotMatch(await ana.log.innerText(), /Tea/);
});
