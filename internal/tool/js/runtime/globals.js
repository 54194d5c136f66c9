// The standard globals that scripts and npm packages expect and the engine
// lacks. Everything that needs the outside goes through host(op, …strings): it
// answers "=" and a value, or "!" and a message.
const raw = globalThis.__parleyHost
delete globalThis.__parleyHost

export function host(op, a = '', b = '', c = '') {
  const answer = raw(op, a, b, c)
  if (answer.charCodeAt(0) === 33) throw new Error(answer.slice(1))
  return answer.slice(1)
}

function define(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
}

// ---- console ----

export function format(args) {
  return args.map((v) => {
    if (typeof v === 'string') return v
    if (v instanceof Error) return v.stack ? `${v.name}: ${v.message}\n${v.stack}` : `${v.name}: ${v.message}`
    if (typeof v === 'function') return `[function ${v.name}]`
    try {
      const s = JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : x))
      return s === undefined ? String(v) : s
    } catch {
      return String(v)
    }
  }).join(' ')
}

const logAt = (level) => (...args) => { host('log', level, format(args)) }
define('console', {
  log: logAt('info'), info: logAt('info'), debug: logAt('debug'), trace: logAt('debug'),
  warn: logAt('warn'), error: logAt('error'),
  assert: (ok, ...args) => { if (!ok) host('log', 'error', format(['Assertion failed', ...args])) },
})

// ---- timers ----

let nextId = 1
export const pending = new Map() // id → what to do when the host delivers it

export function newId() { return nextId++ }

function timer(fn, ms, args, every) {
  if (typeof fn !== 'function') throw new TypeError('a timer needs a function')
  const id = newId()
  const wait = Math.max(0, Math.trunc(Number(ms)) || 0)
  const arm = () => {
    pending.set(id, () => {
      pending.delete(id)
      if (every) arm()
      fn(...args)
    })
    host('timer', String(id), String(every ? Math.max(1, wait) : wait))
  }
  arm()
  return id
}
function clear(id) {
  if (pending.delete(id)) host('untimer', String(id))
}
define('setTimeout', (fn, ms, ...args) => timer(fn, ms, args, false))
define('setInterval', (fn, ms, ...args) => timer(fn, ms, args, true))
define('clearTimeout', clear)
define('clearInterval', clear)
define('queueMicrotask', (fn) => { Promise.resolve().then(fn) })

// ---- events and aborting ----

class DOMException extends Error {
  constructor(message = '', name = 'Error') {
    super(message)
    Object.defineProperty(this, 'name', { value: name, configurable: true })
  }
}
define('DOMException', DOMException)

class Event {
  constructor(type) { this.type = type; this.target = null }
}
class EventTarget {
  #listeners = new Map()
  addEventListener(type, fn, options) {
    const list = this.#listeners.get(type) ?? []
    if (!list.some((l) => l.fn === fn)) list.push({ fn, once: typeof options === 'object' && !!options?.once })
    this.#listeners.set(type, list)
  }
  removeEventListener(type, fn) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.fn !== fn))
  }
  dispatchEvent(event) {
    event.target = this
    for (const l of [...(this.#listeners.get(event.type) ?? [])]) {
      if (l.once) this.removeEventListener(event.type, l.fn)
      try {
        typeof l.fn === 'function' ? l.fn.call(this, event) : l.fn.handleEvent(event)
      } catch (e) {
        host('log', 'error', format(['an event listener failed', e]))
      }
    }
    return true
  }
}
define('Event', Event)
define('EventTarget', EventTarget)

const abortNow = Symbol('abort')
class AbortSignal extends EventTarget {
  aborted = false
  reason = undefined
  onabort = null
  throwIfAborted() { if (this.aborted) throw this.reason }
  [abortNow](reason) {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason
    const event = new Event('abort')
    if (typeof this.onabort === 'function') this.onabort(event)
    this.dispatchEvent(event)
  }
  static abort(reason) { const s = new AbortSignal(); s[abortNow](reason); return s }
  static timeout(ms) {
    const s = new AbortSignal()
    setTimeout(() => s[abortNow](new DOMException('The operation timed out', 'TimeoutError')), ms)
    return s
  }
  static any(signals) {
    const s = new AbortSignal()
    for (const one of signals) {
      if (one.aborted) { s[abortNow](one.reason); break }
      one.addEventListener('abort', () => s[abortNow](one.reason), { once: true })
    }
    return s
  }
}
class AbortController {
  signal = new AbortSignal()
  abort(reason) { this.signal[abortNow](reason) }
}
define('AbortSignal', AbortSignal)
define('AbortController', AbortController)

// ---- text and bytes ----

class TextEncoder {
  get encoding() { return 'utf-8' }
  encode(text = '') {
    const out = []
    for (const ch of String(text)) {
      let c = ch.codePointAt(0)
      if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd
      if (c < 0x80) out.push(c)
      else if (c < 0x800) out.push(0xc0 | (c >> 6), 0x80 | (c & 63))
      else if (c < 0x10000) out.push(0xe0 | (c >> 12), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63))
      else out.push(0xf0 | (c >> 18), 0x80 | ((c >> 12) & 63), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63))
    }
    return new Uint8Array(out)
  }
}

export function bytesOf(data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  throw new TypeError('expected an ArrayBuffer or a view of one')
}

class TextDecoder {
  #fatal
  #keepBom
  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    if (!/^(utf-?8|unicode-1-1-utf-8)$/i.test(label)) throw new RangeError(`TextDecoder: only utf-8, not ${label}`)
    this.#fatal = fatal
    this.#keepBom = ignoreBOM
  }
  get encoding() { return 'utf-8' }
  get fatal() { return this.#fatal }
  decode(data = new Uint8Array()) {
    const b = bytesOf(data)
    const out = []
    for (let i = 0; i < b.length;) {
      const first = b[i++]
      let need = 0, c = first, low = 0x80, high = 0xbf
      if (first >= 0x80) {
        if (first >= 0xc2 && first <= 0xdf) { need = 1; c = first & 31 }
        else if (first >= 0xe0 && first <= 0xef) {
          need = 2; c = first & 15
          if (first === 0xe0) low = 0xa0
          if (first === 0xed) high = 0x9f
        } else if (first >= 0xf0 && first <= 0xf4) {
          need = 3; c = first & 7
          if (first === 0xf0) low = 0x90
          if (first === 0xf4) high = 0x8f
        } else need = -1
      }
      while (need > 0 && i < b.length && b[i] >= low && b[i] <= high) {
        c = (c << 6) | (b[i++] & 63)
        need--
        low = 0x80; high = 0xbf
      }
      if (need !== 0) {
        if (this.#fatal) throw new TypeError('The encoded data was not valid utf-8')
        c = 0xfffd
      }
      out.push(c)
    }
    if (!this.#keepBom && out[0] === 0xfeff) out.shift()
    let text = ''
    for (let i = 0; i < out.length; i += 4096) text += String.fromCodePoint(...out.slice(i, i + 4096))
    return text
  }
}
define('TextEncoder', TextEncoder)
define('TextDecoder', TextDecoder)

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
export function toBase64(bytes) {
  let out = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const n = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    out += alphabet[n >> 18] + alphabet[(n >> 12) & 63] +
      (i + 1 < bytes.length ? alphabet[(n >> 6) & 63] : '=') + (i + 2 < bytes.length ? alphabet[n & 63] : '=')
  }
  return out
}
export function fromBase64(text) {
  const s = String(text).replace(/[\t\n\f\r ]/g, '').replace(/={1,2}$/, '')
  if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) {
    throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError')
  }
  const out = []
  let n = 0, bits = 0
  for (const ch of s) {
    n = ((n << 6) | alphabet.indexOf(ch)) & 0xffffff
    bits += 6
    if (bits >= 8) { bits -= 8; out.push((n >> bits) & 255) }
  }
  return new Uint8Array(out)
}
define('btoa', (text) => {
  const codes = Array.from(String(text), (c) => c.codePointAt(0))
  if (codes.some((c) => c > 255)) {
    throw new DOMException('The string to be encoded contains characters outside of the Latin1 range.', 'InvalidCharacterError')
  }
  return toBase64(codes)
})
define('atob', (text) => Array.from(fromBase64(text), (c) => String.fromCharCode(c)).join(''))

// ---- crypto ----

define('crypto', {
  randomUUID: () => host('uuid'),
  getRandomValues(view) {
    const b = bytesOf(view)
    if (b.length > 65536) throw new DOMException('more than 65536 bytes asked for', 'QuotaExceededError')
    b.set(fromBase64(host('random', String(b.length))))
    return view
  },
})

// ---- structuredClone ----

function clone(v, seen) {
  if (typeof v === 'function' || typeof v === 'symbol') throw new DOMException(`${String(v)} could not be cloned.`, 'DataCloneError')
  if (v === null || typeof v !== 'object') return v
  if (seen.has(v)) return seen.get(v)
  const keep = (copy) => { seen.set(v, copy); return copy }
  if (v instanceof Date) return keep(new Date(v.getTime()))
  if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags))
  if (v instanceof ArrayBuffer) return keep(v.slice(0))
  if (ArrayBuffer.isView(v)) {
    const buffer = clone(v.buffer, seen)
    return keep(v instanceof DataView ? new DataView(buffer, v.byteOffset, v.byteLength) : new v.constructor(buffer, v.byteOffset, v.length))
  }
  if (v instanceof Map) {
    const copy = keep(new Map())
    for (const [k, x] of v) copy.set(clone(k, seen), clone(x, seen))
    return copy
  }
  if (v instanceof Set) {
    const copy = keep(new Set())
    for (const x of v) copy.add(clone(x, seen))
    return copy
  }
  if (v instanceof Error) {
    const copy = keep(Object.create(Object.getPrototypeOf(v)))
    for (const k of ['name', 'message', 'stack', 'cause']) {
      if (Object.hasOwn(v, k)) Object.defineProperty(copy, k, { value: clone(v[k], seen), writable: true, configurable: true })
    }
    return copy
  }
  if (v instanceof Boolean || v instanceof Number || v instanceof String) return keep(Object(v.valueOf()))
  if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet) {
    throw new DOMException(`${Object.prototype.toString.call(v)} could not be cloned.`, 'DataCloneError')
  }
  const copy = keep(Array.isArray(v) ? new Array(v.length) : {})
  for (const k of Object.keys(v)) copy[k] = clone(v[k], seen)
  return copy
}
define('structuredClone', (v) => clone(v, new Map()))
define('performance', { now: () => Number(host('clock')) })
