// The chat on somebody else's site, whose own policy is strict.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';
import { until } from '../harness/until.js';

const visit = useBrowser();

// shop is a site that embeds the bot's chat. Under localhost it is another
// site than the bot's 127.0.0.1, so the frame is a third party: a private
// window, such as the tests', then gives it no storage at all.
async function shop(t, host = 'localhost') {
  const site = { bot: '' };
  const server = createServer((_, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.setHeader('Content-Security-Policy', `default-src 'none'; script-src ${site.bot}; frame-src ${site.bot}; img-src data:`);
    res.end(`<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1><p>Fresh bread.</p>
      <script src="${site.bot}/chat/widget.js" async data-title="La Espiga"></script></html>`);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => server.close());
  site.origin = `http://${host}:${server.address().port}`;
  return site;
}

const config = (origins) => ({
  'parley.yaml': `model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat, origins: [${origins}]}}\n`,
  'model.yaml': '- when: {text: hello}\n  say: Good morning!\n- say: Pardon?\n',
});

// open shows the site and opens the chat on it. The widget's own elements are
// closed to the page and to tests: the keyboard reaches them.
async function open({ page }, bot) {
  await page.waitForFunction(() => document.body.lastElementChild.tagName === 'DIV');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const chat = await until('the chat in its frame', () => page.frames().find((f) => f.url().startsWith(bot.url)));
  await chat.getByRole('heading', { name: 'La Espiga' }).waitFor();
  return chat;
}

async function talk(chat) {
  await chat.getByRole('textbox').fill('hello');
  await chat.getByRole('textbox').press('Enter');
  await chat.getByRole('log').getByText('Good morning!').waitFor();
}

test('the widget on a site under the same name keeps the conversation, and Escape closes it', async (t) => {
  const site = await shop(t, '127.0.0.1');
  const bot = await serve(t, { files: config(`"${site.origin}"`) });
  site.bot = bot.url;
  const visitor = await visit(t, bot, {}, site.origin);
  await talk(await open(visitor, bot));
  await visitor.shot('widget');

  await visitor.page.reload();
  const chat = await open(visitor, bot);
  await chat.getByRole('log').getByText('Good morning!').waitFor();
  await chat.getByRole('textbox').press('Escape');
  await until('the focus is back on the site', () => visitor.page.evaluate(() => document.activeElement.tagName === 'DIV'));
});

test('the widget works on another site, for a visitor whose browser gives it no storage', async (t) => {
  const site = await shop(t);
  const bot = await serve(t, { files: config(`"${site.origin}"`) });
  site.bot = bot.url;
  const visitor = await visit(t, bot, { viewport: { width: 390, height: 844 } }, site.origin);
  await talk(await open(visitor, bot));
  await visitor.shot('widget-phone');
});

test('a site that is not listed may show no frame of the chat', async (t) => {
  const site = await shop(t);
  const bot = await serve(t, { files: config('"https://shop.example"') });
  site.bot = bot.url;
  const visitor = await visit(t, bot, {}, site.origin);
  visitor.allow(/frame-ancestors/);
  const { page } = visitor;
  await page.waitForFunction(() => document.body.lastElementChild.tagName === 'DIV');
  const refused = page.waitForEvent('console', (m) => m.text().includes('frame-ancestors'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await refused;
});
