// The chat page in a real browser: one Chromium a file, a context (cookies,
// storage) a visitor.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { until } from './until.js';

const shots = fileURLToPath(new URL('../shots', import.meta.url));
const paths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

// What keeps the browser itself quiet; the resolver rule makes any other host
// an error.
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

// useBrowser starts one for the tests of a file and returns visit.
export function useBrowser() {
  let browser;
  before(async () => {
    const executablePath = paths.find((p) => p && existsSync(p));
    assert.ok(executablePath, `no Chromium at ${paths.filter(Boolean).join(', ')}: set CHROMIUM`);
    browser = await chromium.launch({ executablePath, args: flags });
    await mkdir(shots, { recursive: true });
  });
  after(() => browser?.close());

  // visit opens the chat of a bot as a new visitor. The options are
  // Playwright's (locale, viewport, colorScheme, …). site is the origin of
  // another page to open instead, one that embeds the chat.
  return async function visit(t, bot, options = {}, site = '') {
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...options });
    const visitor = new Chat(context, bot, site);
    t.after(async () => {
      await context.close();
      visitor.assertClean();
    });
    if (!site) return visitor.open();
    visitor.page = await context.newPage();
    await visitor.page.goto(site);
    return visitor;
  };
}

// Chat is a visitor with the page open.
export class Chat {
  #bot; #context; #site; #requests = []; #complaints = []; #allowed = /^$/;

  constructor(context, bot, site = '') {
    this.#context = context;
    this.#bot = bot;
    this.#site = site;
    context.setDefaultTimeout(15_000);
    context.on('request', (r) => this.#requests.push(new URL(r.url())));
    context.on('weberror', (e) => this.#complaints.push(`error: ${e.error()}`));
    context.on('console', (m) => {
      // A server that is away isn't the page's fault.
      if (m.type() !== 'error' || m.text().startsWith('Failed to load resource')) return;
      this.#complaints.push(m.text());
    });
  }

  // allow names errors that a test is about.
  allow(pattern) { this.#allowed = pattern; }

  get context() { return this.#context; }
  get requests() { return this.#requests; }

  // open shows the page in a new tab.
  async open() {
    this.page = await this.#context.newPage();
    const response = await this.page.goto(`${this.#bot.url}/chat/`);
    assert.equal(response.status(), 200);
    this.headers = response.headers();
    await this.input.waitFor();
    return this;
  }

  // tab is the same visitor in another tab. Its requests count here too, for
  // they are the context's.
  async tab() { return new Chat(this.#context, this.#bot).open(); }

  get input() { return this.page.getByRole('textbox'); }
  get log() { return this.page.getByRole('log'); }
  get buttons() { return this.log.getByRole('button'); }
  button(name) { return this.log.getByRole('button', { name, exact: true }); }

  async say(text) {
    await this.input.fill(text);
    await this.input.press('Enter');
  }

  bubbles(who) { return this.log.locator(`.turn.${who} .bubble`); }

  // hears waits until the bot has said what pattern fits, and returns the
  // bubble.
  async hears(pattern) {
    const bubble = this.bubbles('bot').filter({ hasText: pattern }).first();
    await bubble.waitFor().catch(async (err) => {
      throw new Error(`the bot didn't say ${pattern}; it reads: ${JSON.stringify(await this.log.innerText())}`, { cause: err });
    });
    return bubble;
  }

  // asked waits for an open question whose text fits.
  async asked(pattern) {
    const question = await this.hears(pattern);
    await this.buttons.first().waitFor();
    return question;
  }

  async noButtons() {
    await until('no buttons', async () => await this.buttons.count() === 0);
  }

  // order asks for what was ordered and returns the answer's text.
  async list(pattern) {
    await this.say('what did I order?');
    return (await this.hears(pattern)).innerText();
  }

  // press sends a press past the page's own buttons.
  async press(id) {
    return this.page.evaluate(async (button) => {
      const res = await fetch('api/press', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ button }),
      });
      return (await res.json()).outcome;
    }, id);
  }

  // events are what the API has of this visitor's conversation.
  async events() {
    return this.page.evaluate(async () => (await (await fetch('api/messages')).json()).events);
  }

  shot(name) { return this.page.screenshot({ path: path.join(shots, `${name}.png`), animations: 'disabled' }); }

  // assertClean holds for every page: no other host was asked for anything,
  // and nothing went wrong in it, broken Content-Security-Policy included.
  assertClean() {
    const strangers = this.#requests.filter((u) => u.protocol !== 'data:' && u.origin !== this.#bot.url && u.origin !== this.#site);
    assert.deepEqual(strangers.map(String), [], 'requests to other hosts');
    assert.deepEqual(this.#complaints.filter((c) => !this.#allowed.test(c)), [], 'errors in the page');
  }
}
