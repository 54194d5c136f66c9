// The page itself: keyboard, screen readers, headers, hostile text, and how it
// looks (screenshots go to shots/).

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { useBrowser } from '../harness/browser.js';
import { until } from '../harness/until.js';

const visit = useBrowser();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// accessible fails with each rule of WCAG 2.2 AA that axe finds broken.
async function accessible(chat, what) {
  await chat.page.evaluate(axe);
  const violations = await chat.page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const result = await globalThis.axe.run({ runOnly: tags });
    return result.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(' ')}`);
  });
  assert.deepEqual(violations, [], what);
}

// hold keeps what goes to a path of the API on its way until it is released.
async function hold(page, path) {
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  await page.route(`**/chat/api/${path}`, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

// moving names what the page animates at this moment, or is about to.
function moving(page) {
  return page.evaluate(() => document.getAnimations().map((a) => a.animationName ?? a.transitionProperty));
}

test('the keyboard is enough', async (t) => {
  const chat = await visit(t, await serve(t));
  const { keyboard } = chat.page;
  const focused = () => chat.page.evaluate(() => document.activeElement.textContent || document.activeElement.tagName);
  assert.equal(await focused(), 'TEXTAREA', 'one can type at once');
  await keyboard.type('2 croissants');
  await keyboard.press('Shift+Enter');
  await keyboard.type('please');
  await keyboard.press('Enter');
  await chat.asked(/2 × Croissant/);
  assert.equal(await focused(), 'TEXTAREA', 'a question takes no focus away');
  await keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'No');
  await keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'Yes');
  await chat.shot('focus');
  await keyboard.press('Enter');
  await chat.hears(/Your order is P-1001/);
  await chat.noButtons();
  assert.equal(await focused(), 'TEXTAREA', 'the focus has a place when the buttons go');
  await keyboard.type('thanks');
  await keyboard.press('Enter');
  await chat.hears(/You're welcome/);
});

for (const [size, viewport] of Object.entries({ phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } })) {
  for (const colorScheme of ['light', 'dark']) {
    test(`accessible and in shape: ${size}, ${colorScheme}`, async (t) => {
      const chat = await visit(t, await serve(t), { viewport, colorScheme, reducedMotion: 'reduce' });
      const { page } = chat;
      await accessible(chat, 'empty');
      await chat.shot(`${size}-${colorScheme}-empty`);
      await chat.say('what do you have?');
      await chat.hears(/Here is our menu/);
      await chat.say('two coffees and a croissant please');
      await chat.asked(/Do you confirm/);
      await accessible(chat, 'with a question');
      await chat.shot(`${size}-${colorScheme}-question`);
      const press = await hold(page, 'press');
      await chat.button('Yes').click();
      await accessible(chat, 'with a press under way');
      press();
      await chat.hears(/Your order is P-1001/);
      await chat.noButtons();
      const answers = await chat.bubbles('bot').count();
      const message = await hold(page, 'messages');
      await chat.say(`Lots of ${'very '.repeat(30)}long words: https://example.com/${'a'.repeat(200)}?q=1`);
      await chat.log.getByText('Sending').waitFor();
      assert.deepEqual(await moving(page), [], 'nothing moves, not even for an instant');
      await accessible(chat, 'with a message under way');
      message();
      await chat.log.getByText('Sending').waitFor({ state: 'detached' });
      await until('an answer', async () => await chat.bubbles('bot').count() > answers);
      await accessible(chat, 'answered');
      await chat.shot(`${size}-${colorScheme}-answered`);
      const overflow = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        const { bottom } = document.body.getBoundingClientRect();
        return { sideways: scrollWidth - clientWidth, below: bottom - innerHeight };
      });
      assert.deepEqual(overflow, { sideways: 0, below: 0 }, 'the page itself has nothing to scroll');
      const box = await chat.input.boundingBox();
      assert.ok(box.y + box.height <= viewport.height, 'the input is on the screen');
    });
  }
}

test('a screen reader hears the conversation', async (t) => {
  const chat = await visit(t, await serve(t));
  assert.equal(await chat.log.getAttribute('aria-live'), 'polite');
  await chat.page.getByRole('heading', { level: 1 }).waitFor();
  await chat.page.getByRole('status').waitFor();
  await chat.page.getByRole('button', { name: 'Send' }).waitFor();
  await chat.page.getByRole('textbox', { name: 'Your message' }).waitFor();
  await chat.say('2 croissants');
  await chat.asked(/2 × Croissant/);
  await chat.page.getByRole('group', { name: 'Your answer' }).waitFor();
  const tree = await chat.log.ariaSnapshot();
  assert.match(tree, /You: 2 croissants/);
  assert.match(tree, /button "Yes"/);
  assert.match(tree, /button "No"/);
});

test('strict headers, and everything from one host', async (t) => {
  const chat = await visit(t, await serve(t));
  const csp = Object.fromEntries(chat.headers['content-security-policy'].split(';').map((d) => {
    const [name, ...values] = d.trim().split(/\s+/);
    return [name, values.join(' ')];
  }));
  assert.equal(csp['default-src'], "'none'");
  assert.equal(csp['script-src'], "'self'");
  assert.equal(csp['style-src'], "'self'");
  assert.equal(csp['connect-src'], "'self'");
  assert.equal(csp['base-uri'], "'none'");
  assert.equal(csp['form-action'], "'none'");
  assert.equal(csp['frame-ancestors'], "'self'");
  assert.equal(chat.headers['x-content-type-options'], 'nosniff');
  assert.equal(chat.headers['referrer-policy'], 'no-referrer');
  await chat.say('hello');
  await chat.hears(/Welcome/);
  assert.ok(chat.requests.length >= 5, 'requests are recorded; each is checked when the test ends');
  const cookie = (await chat.context.cookies()).find((c) => c.name === 'parley_chat');
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, 'Lax');
  assert.equal(await chat.page.evaluate(() => document.cookie), '', 'no script can read the session');
});

test('what others write is text', async (t) => {
  const chat = await visit(t, await serve(t));
  const evil = '<img src=x onerror="document.title=\'hacked\'"><script>document.title="hacked"</script> javascript:alert(1) \u202Egnp.exe';
  await chat.say(evil);
  await chat.hears(/./);
  await chat.page.reload();
  await chat.bubbles('user').first().waitFor();
  assert.equal(await chat.log.locator('img, script, a').count(), 0);
  assert.notEqual(await chat.page.title(), 'hacked');
  assert.match(await chat.bubbles('user').first().innerText(), /<img src=x onerror=/);
});
