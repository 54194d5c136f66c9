// Live events: a stream that comes back by itself and misses nothing.

const silence = 45_000; // three heartbeats
const longest = 30_000;

// pause ends early when wake is called.
export class Pause {
  #end = null;
  wait(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => { clearTimeout(timer); resolve(); };
    });
  }
  wake() { this.#end?.(); }
}

// backoff doubles from one second, with jitter so that visitors don't all
// come back at once.
export function backoff(attempt) {
  return Math.min(longest, 1000 * 2 ** attempt) * (0.6 + 0.4 * Math.random());
}

export class Stream {
  #api; #on; #after = 0; #running = false; #cut = null; #pause = new Pause();

  // on: event(name, id, data), state('online' | 'reconnecting'), gone().
  constructor(api, on) {
    this.#api = api;
    this.#on = on;
    addEventListener('online', () => this.#pause.wake());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.#pause.wake(); });
  }

  // start reads the events after the given one. Where it runs already it begins
  // anew from there, for the session may be another one.
  async start(after) {
    this.#after = after;
    if (this.#running) {
      this.#cut?.abort();
      this.#pause.wake();
      return;
    }
    this.#running = true;
    for (let attempt = 0; ; attempt++) {
      const cut = this.#cut = new AbortController();
      let watchdog;
      const alive = () => { clearTimeout(watchdog); watchdog = setTimeout(() => cut.abort(), silence); };
      try {
        alive();
        const res = await this.#api.stream(this.#after, cut.signal);
        if (res.status === 401) {
          this.#running = false;
          this.#on.gone();
          return;
        }
        if (res.ok) {
          attempt = 0;
          this.#on.state('online');
          await this.#read(res.body, alive);
        }
      } catch { /* cut off: come back below */ } finally { clearTimeout(watchdog); }
      this.#on.state('reconnecting');
      await this.#pause.wait(backoff(attempt));
    }
  }

  async #read(body, alive) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) this.#event(block);
    }
  }

  #event(block) {
    const fields = {};
    for (const line of block.split('\n')) {
      const colon = line.indexOf(': ');
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (!fields.data) return;
    const id = Number(fields.id) || 0;
    if (id && id <= this.#after) return;
    this.#on.event(fields.event, id, JSON.parse(fields.data));
    if (id) this.#after = id;
  }
}
