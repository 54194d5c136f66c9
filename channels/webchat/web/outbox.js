// Messages on their way out: kept until the server has taken them, sent one
// after the other, and always under the same client id, so that one sent again
// is still one message.

import { storage } from './api.js';
import { Pause, backoff } from './stream.js';

const prefix = `parley${new URL('.', document.baseURI).pathname}unsent/`;

export class Outbox {
  #api; #on; #queue = []; #busy = false; #pause = new Pause();

  // on: waiting(item, seconds), taken(item, id), rejected(item, code), begun(), gone().
  // waiting's seconds is 0 unless the server said when to come again.
  constructor(api, on) {
    this.#api = api;
    this.#on = on;
    addEventListener('online', () => this.#pause.wake());
  }

  // restore returns what an earlier page left unsent, oldest first.
  restore() {
    for (const key of storage.keys().filter((k) => k.startsWith(prefix))) {
      try {
        const item = JSON.parse(storage.get(key));
        if (typeof item.text === 'string' && item.id) this.#queue.push(item);
      } catch { storage.remove(key); }
    }
    this.#queue.sort((a, b) => a.at - b.at);
    return [...this.#queue];
  }

  add(text) {
    const item = { id: newID(), text, at: Date.now() };
    storage.set(prefix + item.id, JSON.stringify(item));
    this.#queue.push(item);
    return item;
  }

  // inFlight finds a message that the server may have taken already.
  inFlight(text) { return this.#queue.find((i) => i.text === text); }

  async run() {
    if (this.#busy) return;
    this.#busy = true;
    for (let attempt = 0; this.#queue.length > 0;) {
      const item = this.#queue[0];
      const had = this.#api.session;
      let res = await this.#api.begin();
      if (res.status === 200 || res.status === 201) {
        if (!had) this.#on.begun();
        res = await this.#api.call('POST', 'messages', { text: item.text, client_id: item.id });
      }
      if (res.status === 202) {
        this.#done(item);
        attempt = 0;
        this.#on.taken(item, res.body.id);
      } else if (res.status === 401) {
        this.#on.gone();
        await this.#pause.wait(backoff(attempt++));
      } else if (res.status === 0 || res.status === 408 || res.status === 429 || res.status >= 500) {
        const wait = Math.max(res.retryAfter * 1000, backoff(attempt++));
        this.#on.waiting(item, res.status === 429 ? Math.ceil(wait / 1000) : 0);
        await this.#pause.wait(wait);
      } else {
        this.#done(item);
        this.#on.rejected(item, res.body.error?.code ?? '');
      }
    }
    this.#busy = false;
  }

  #done(item) {
    this.#queue = this.#queue.filter((i) => i !== item);
    storage.remove(prefix + item.id);
  }
}

// newID needs no secure context, as crypto.randomUUID does.
function newID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
