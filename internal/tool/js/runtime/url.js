// URL and URLSearchParams. Addresses are taken apart by the host.
import { host } from './globals.js'

const changed = Symbol('changed')

// The form encoding of the URL standard: encodeURIComponent but for a blank
// and five characters.
const encode = (s) => encodeURIComponent(s.toWellFormed()).replace(/%20/g, '+').replace(/[!'()~]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase())
const decode = (s) => {
  const bytes = []
  const b = new TextEncoder().encode(s.replaceAll('+', ' '))
  for (let i = 0; i < b.length; i++) {
    const hex = b[i] === 37 ? String.fromCharCode(b[i + 1] ?? 0, b[i + 2] ?? 0) : ''
    if (/^[0-9a-f]{2}$/i.test(hex)) { bytes.push(parseInt(hex, 16)); i += 2 } else bytes.push(b[i])
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(bytes))
}

class URLSearchParams {
  #list = []
  #onChange = null
  constructor(init = '') {
    if (typeof init === 'object' && init !== null) {
      const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init)
      for (const p of pairs) {
        const [k, v, ...more] = p
        if (v === undefined || more.length) throw new TypeError('each pair must be a name and a value')
        this.#list.push([String(k), String(v)])
      }
    } else this.#parse(String(init))
  }
  #parse(text) {
    this.#list = text.replace(/^\?/, '').split('&').filter((p) => p !== '').map((p) => {
      const at = p.indexOf('=')
      return at < 0 ? [decode(p), ''] : [decode(p.slice(0, at)), decode(p.slice(at + 1))]
    })
  }
  #notify() { this.#onChange?.(this.toString()) }
  [changed](fn, text) { if (fn) this.#onChange = fn; else this.#parse(text) }
  get size() { return this.#list.length }
  append(k, v) { this.#list.push([String(k), String(v)]); this.#notify() }
  delete(k, v) { this.#list = this.#list.filter((p) => p[0] !== String(k) || (v !== undefined && p[1] !== String(v))); this.#notify() }
  get(k) { return this.#list.find((p) => p[0] === String(k))?.[1] ?? null }
  getAll(k) { return this.#list.filter((p) => p[0] === String(k)).map((p) => p[1]) }
  has(k, v) { return this.#list.some((p) => p[0] === String(k) && (v === undefined || p[1] === String(v))) }
  set(k, v) {
    const at = this.#list.findIndex((p) => p[0] === String(k))
    if (at < 0) this.#list.push([String(k), String(v)])
    else this.#list = this.#list.filter((p, i) => i <= at || p[0] !== String(k)).map((p, i) => (i === at ? [p[0], String(v)] : p))
    this.#notify()
  }
  sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#notify() }
  forEach(fn, self) { for (const [k, v] of this.#list) fn.call(self, v, k, this) }
  *entries() { for (const [k, v] of this.#list) yield [k, v] }
  *keys() { for (const p of this.#list) yield p[0] }
  *values() { for (const p of this.#list) yield p[1] }
  [Symbol.iterator]() { return this.entries() }
  toString() { return this.#list.map(([k, v]) => `${encode(k)}=${encode(v)}`).join('&') }
}

class URL {
  #p
  #params
  constructor(href, base) {
    this.#p = parse(String(href), base === undefined ? '' : String(base))
    this.#params = new URLSearchParams(this.#p.search)
    this.#params[changed]((text) => this.#set({ search: text === '' ? '' : '?' + text }, true))
  }
  // A setter writes the address anew and reads it back, so that every part
  // stays escaped and lower-cased as the parser does it.
  #set(part, quiet) {
    const p = { ...this.#p, ...part }
    const auth = p.username || p.password ? p.username + (p.password ? ':' + p.password : '') + '@' : ''
    const slashes = p.host || p.protocol === 'file:' ? '//' : ''
    try {
      this.#p = parse(`${p.protocol}${slashes}${auth}${p.hostname}${p.port ? ':' + p.port : ''}${p.pathname}${p.search}${p.hash}`, '')
    } catch {
      return
    }
    if (!quiet) this.#params[changed](null, this.#p.search)
  }
  get href() { return this.#p.href }
  set href(v) { this.#p = parse(String(v), ''); this.#params[changed](null, this.#p.search) }
  get origin() { return this.#p.origin }
  get protocol() { return this.#p.protocol }
  set protocol(v) { this.#set({ protocol: String(v).replace(/:?$/, ':') }) }
  get username() { return this.#p.username }
  set username(v) { this.#set({ username: encodeURIComponent(v) }) }
  get password() { return this.#p.password }
  set password(v) { this.#set({ password: encodeURIComponent(v) }) }
  get host() { return this.#p.host }
  set host(v) {
    const m = /^(.*?)(?::(\d*))?$/.exec(String(v))
    this.#set({ hostname: m[1], port: m[2] ?? this.#p.port })
  }
  get hostname() { return this.#p.hostname }
  set hostname(v) { this.#set({ hostname: String(v) }) }
  get port() { return this.#p.port }
  set port(v) { this.#set({ port: String(v) }) }
  get pathname() { return this.#p.pathname }
  set pathname(v) { this.#set({ pathname: (String(v).startsWith('/') ? '' : '/') + String(v).replaceAll('?', '%3F').replaceAll('#', '%23') }) }
  get search() { return this.#p.search }
  set search(v) { v = String(v).replace(/^\?/, '').replaceAll('#', '%23'); this.#set({ search: v && '?' + v }) }
  get hash() { return this.#p.hash }
  set hash(v) { v = String(v).replace(/^#/, ''); this.#set({ hash: v && '#' + v }) }
  get searchParams() { return this.#params }
  toString() { return this.href }
  toJSON() { return this.href }
  static canParse(href, base) { try { return !!new URL(href, base) } catch { return false } }
  static parse(href, base) { try { return new URL(href, base) } catch { return null } }
}

function parse(href, base) {
  try {
    return JSON.parse(host('url', href.toWellFormed(), base.toWellFormed()))
  } catch {
    const e = new TypeError(`Invalid URL: ${href}`)
    e.code = 'ERR_INVALID_URL'
    throw e
  }
}

for (const [name, value] of Object.entries({ URL, URLSearchParams })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
}
