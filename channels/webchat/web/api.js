// The session, and calls to the API.
//
// The page itself is known by a cookie that scripts can't read. Within a frame
// of another site browsers hold cookies back, so there the token is kept in
// the frame's own storage and sent in a header.

const base = new URL('api/', document.baseURI);
const storeKey = `parley${base.pathname}session`;

// storage works where a browser allows none; then nothing outlives the page.
export const storage = (() => {
  const memory = new Map();
  const attempt = (real, spare) => { try { return real(); } catch { return spare(); } };
  return {
    get: (k) => attempt(() => localStorage.getItem(k), () => memory.get(k) ?? null),
    set: (k, v) => attempt(() => localStorage.setItem(k, v), () => memory.set(k, v)),
    remove: (k) => attempt(() => localStorage.removeItem(k), () => memory.delete(k)),
    keys: () => attempt(() => Object.keys(localStorage), () => [...memory.keys()]),
  };
})();

export class Api {
  #framed; #lang; #beginning = null;

  constructor({ framed, lang }) {
    this.#framed = framed;
    this.#lang = lang;
  }

  // session is what is known of the session, or null.
  get session() {
    try { return JSON.parse(storage.get(storeKey)); } catch { return null; }
  }

  // forget drops a session that the server doesn't know any more.
  forget() { storage.remove(storeKey); }

  // begin makes sure that there is a session. It answers as call does.
  async begin() {
    if (this.session) return { status: 200 };
    this.#beginning ??= this.#create().finally(() => { this.#beginning = null; });
    return this.#beginning;
  }

  async #create() {
    const res = await this.#fetch('POST', 'sessions', { lang: this.#lang, ...(this.#framed ? {} : { cookie: true }) });
    if (res.status === 201) {
      const { session, token } = res.body;
      storage.set(storeKey, JSON.stringify(this.#framed ? { session, token } : { session }));
    }
    return res;
  }

  // call returns {status, body, retryAfter}; status 0 is no connection.
  call(method, path, body) { return this.#fetch(method, path, body); }

  // stream opens the live events after the given one.
  stream(after, signal) {
    return fetch(new URL(`events?after=${after}`, base), { headers: this.#headers(), signal, cache: 'no-store' });
  }

  #headers() {
    const token = this.session?.token;
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  async #fetch(method, path, body) {
    const headers = this.#headers();
    if (body) headers['Content-Type'] = 'application/json';
    try {
      const res = await fetch(new URL(path, base), {
        method, headers, body: body && JSON.stringify(body), cache: 'no-store', signal: AbortSignal.timeout(30_000),
      });
      return {
        status: res.status,
        body: await res.json().catch(() => ({})),
        retryAfter: Number(res.headers.get('Retry-After')) || 0,
      };
    } catch {
      return { status: 0, body: {}, retryAfter: 0 };
    }
  }
}
