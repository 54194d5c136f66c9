// A visitor of the web chat who uses its API, as an app without a browser
// would.

import assert from 'node:assert/strict';
import { until } from './until.js';

export class Visitor {
  #api; #token;

  constructor(url, token) {
    this.#api = `${url}/chat/api/`;
    this.#token = token;
  }

  static async join(bot, lang = 'en') {
    const res = await fetch(`${bot.url}/chat/api/sessions`, { method: 'POST', body: JSON.stringify({ lang }) });
    assert.equal(res.status, 201);
    return new Visitor(bot.url, (await res.json()).token);
  }

  // post returns {status, body, retryAfter}; body may be anything fetch takes.
  async post(path, body) {
    const res = await fetch(this.#api + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
      body: typeof body === 'string' || ArrayBuffer.isView(body) ? body : JSON.stringify(body),
    });
    return { status: res.status, body: await res.json(), retryAfter: res.headers.get('Retry-After') };
  }

  async say(text, clientID) {
    const res = await this.post('messages', { text, client_id: clientID });
    assert.equal(res.status, 202, `${text}: ${JSON.stringify(res.body)}`);
    return res.body.id;
  }

  async press(button) {
    const res = await this.post('press', { button });
    assert.equal(res.status, 200, JSON.stringify(res.body));
    return res.body.outcome;
  }

  // messages are the conversation as it reads now: edits are in their places.
  async messages() {
    const all = new Map();
    for (let after = 0, more = true; more;) {
      const res = await fetch(`${this.#api}messages?after=${after}`, { headers: { Authorization: `Bearer ${this.#token}` } });
      assert.equal(res.status, 200);
      const body = await res.json();
      for (const { event, id, data } of body.events) {
        after = id;
        if (event === 'message') all.set(data.id, { buttons: [], ...data });
        if (event === 'edit') Object.assign(all.get(data.id), { text: data.text, buttons: data.buttons });
      }
      more = body.more === true;
    }
    return [...all.values()];
  }

  // stream opens the live events; ended resolves once the server has closed it.
  async stream() {
    const res = await fetch(`${this.#api}events`, { headers: { Authorization: `Bearer ${this.#token}` } });
    assert.equal(res.status, 200);
    return { ended: res.text() };
  }

  // answers are the bot's texts.
  async answers() { return (await this.messages()).filter((m) => m.from === 'bot'); }

  // hears waits for the bot's n-th text (from 1) and returns it.
  async hears(n, options) {
    return until(`answer ${n}`, async () => (await this.answers())[n - 1], options);
  }

  // asked waits for a question whose buttons are there.
  async asked() {
    return until('a question', async () => (await this.answers()).find((m) => m.buttons.length > 0));
  }
}
