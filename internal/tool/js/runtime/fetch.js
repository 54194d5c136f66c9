// fetch, Headers and Response: the subset that clients of JSON APIs use. The
// host makes the request, guards where it goes and limits what comes back.
import { bytesOf, fromBase64, host, newId, pending, toBase64 } from './globals.js'

class Headers {
  #map = new Map()
  constructor(init) {
    if (init === undefined || init === null) return
    const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init)
    for (const [k, v] of pairs) this.append(k, v)
  }
  append(k, v) {
    k = check(k)
    this.#map.set(k, this.#map.has(k) ? `${this.#map.get(k)}, ${clean(v)}` : clean(v))
  }
  set(k, v) { this.#map.set(check(k), clean(v)) }
  get(k) { return this.#map.get(check(k)) ?? null }
  has(k) { return this.#map.has(check(k)) }
  delete(k) { this.#map.delete(check(k)) }
  forEach(fn, self) { for (const [k, v] of this) fn.call(self, v, k, this) }
  *entries() { for (const k of [...this.#map.keys()].sort()) yield [k, this.#map.get(k)] }
  *keys() { for (const [k] of this.entries()) yield k }
  *values() { for (const [, v] of this.entries()) yield v }
  [Symbol.iterator]() { return this.entries() }
}
const check = (name) => {
  name = String(name)
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) throw new TypeError(`invalid header name ${JSON.stringify(name)}`)
  return name.toLowerCase()
}
const clean = (value) => {
  value = String(value).trim()
  if (/[\0\r\n]/.test(value)) throw new TypeError('invalid header value')
  return value
}

// body gives the content as text where it is text: encoding that here would
// be slow.
function body(v, headers) {
  if (v === undefined || v === null) return { text: '' }
  if (v instanceof ArrayBuffer || ArrayBuffer.isView(v)) return { bytes: bytesOf(v) }
  const type = v instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : 'text/plain'
  if (!headers.has('content-type')) headers.set('content-type', `${type};charset=UTF-8`)
  return { text: String(v).toWellFormed() }
}

class Response {
  #body
  #used = false
  constructor(content = null, init = {}) {
    this.headers = new Headers(init.headers)
    this.#body = body(content, this.headers)
    this.status = init.status ?? 200
    this.statusText = init.statusText ?? ''
    this.ok = this.status >= 200 && this.status < 300
    this.url = init.url ?? ''
    this.redirected = false
    this.type = 'default'
  }
  get bodyUsed() { return this.#used }
  #take() {
    if (this.#used) throw new TypeError('the body was already read')
    this.#used = true
    return this.#body
  }
  async text() { const b = this.#take(); return b.text ?? new TextDecoder().decode(b.bytes) }
  async json() { return JSON.parse(await this.text()) }
  async bytes() { const b = this.#take(); return b.bytes ?? new TextEncoder().encode(b.text) }
  async arrayBuffer() { return (await this.bytes()).slice().buffer }
  clone() { return new Response(this.#body.bytes ?? this.#body.text, this) }
  static json(data, init = {}) {
    const headers = new Headers(init.headers)
    headers.set('content-type', 'application/json')
    return new Response(JSON.stringify(data), { ...init, headers })
  }
}

for (const [name, value] of Object.entries({ Headers, Response })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
}

// fetchFor makes the fetch of one call: it refuses once alive() throws.
export const fetchFor = (alive) => async (input, init = {}) => {
  alive()
  const headers = new Headers(init.headers)
  const method = String(init.method ?? 'GET').toUpperCase()
  const content = body(init.body, headers)
  const empty = content.text === ''
  if (!empty && (method === 'GET' || method === 'HEAD')) throw new TypeError(`a ${method} request can't have a body`)
  const url = typeof input === 'object' && input !== null && 'url' in input ? String(input.url) : String(input)
  init.signal?.throwIfAborted()
  const id = newId()
  return new Promise((resolve, reject) => {
    const stop = () => {
      if (!pending.delete(id)) return
      host('unfetch', String(id))
      reject(init.signal.reason)
    }
    init.signal?.addEventListener('abort', stop, { once: true })
    pending.set(id, (text) => {
      pending.delete(id)
      init.signal?.removeEventListener('abort', stop)
      const a = JSON.parse(text)
      if (a.error !== undefined) return reject(new TypeError(a.error))
      resolve(new Response(a.text ?? fromBase64(a.base64), { status: a.status, statusText: a.statusText, headers: a.headers ?? [], url: a.url }))
    })
    try {
      host('fetch', String(id), JSON.stringify({ method, url, headers: [...headers], text: content.text, base64: content.bytes && toBase64(content.bytes) }))
    } catch (e) {
      pending.delete(id)
      reject(new TypeError(e.message))
    }
  })
}
