// The bridge between the host and the tools of one module. It exists once per
// runtime; the host calls describe, start, deliver and abort.
import { format, host, newId, pending } from './globals.js'
import './url.js'
import { fetchFor } from './fetch.js'
import { dbFor } from './db.js'
import { money, state } from './intl.js'
import { madeAt } from './parley.js'
import * as user from 'parley:user'
import { toJSONSchema } from 'parley:zod'

const tools = user.tools

// ---- what the module defines ----

function field(v) {
  const type = v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v
  if (type === 'function' || type === 'undefined' || type === 'symbol' || type === 'bigint') return { type }
  return { type, value: v }
}

function schemaOf(t) {
  if (t.jsonSchema !== undefined) return t.jsonSchema
  const s = t.schema
  if (s === undefined || s === null) return undefined
  const opts = { io: 'input', unrepresentable: 'any' }
  if (typeof s.toJSONSchema === 'function') return s.toJSONSchema(opts)
  if (s._zod && typeof toJSONSchema === 'function') return toJSONSchema(s, opts)
  if (typeof s.safeParse === 'function') {
    throw new Error('the validator has no toJSONSchema: give the schema for the model as jsonSchema')
  }
  return s
}

function describe() {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    return JSON.stringify({ exports: Object.keys(user), type: Array.isArray(tools) ? 'array' : typeof tools })
  }
  const out = []
  for (const [name, t] of Object.entries(tools)) {
    const d = { name, at: '', fields: {} }
    out.push(d)
    if (typeof t !== 'object' || t === null) { d.type = t === null ? 'null' : typeof t; continue }
    d.at = madeAt.get(t) ?? ''
    for (const [k, v] of Object.entries(t)) {
      d.fields[k] = k === 'schema' || k === 'jsonSchema' ? { type: field(v).type } : field(v)
    }
    d.validator = typeof t.schema?.safeParse === 'function'
    d.needsZod = !!t.schema?._zod && t.jsonSchema === undefined && typeof t.schema.toJSONSchema !== 'function' && !toJSONSchema
    try {
      const s = schemaOf(t)
      if (s !== undefined) d.schema = s
    } catch (e) {
      d.schemaError = e instanceof Error ? e.message : String(e)
    }
  }
  return JSON.stringify({ tools: out })
}

// ---- one call ----

let current = null

function contextOf(call, info) {
  const alive = () => { if (call.over) throw new Error('this call is over: its ctx can no longer be used') }
  const scope = (kind) => ({
    async get(key) { alive(); return read(host('get', kind, keyOf(key))).value },
    async set(key, value) { alive(); host('set', kind, keyOf(key), json(value)) },
    async delete(key) { alive(); host('delete', kind, keyOf(key)) },
    async list(prefix = '') { alive(); return JSON.parse(host('list', kind, String(prefix))) },
    async update(key, fn) {
      alive()
      const { value } = read(host('getForUpdate', kind, keyOf(key)))
      const next = await fn(value)
      alive()
      if (next === undefined) host('delete', kind, keyOf(key))
      else host('set', kind, keyOf(key), json(next))
      return next
    },
  })
  // The host waits for the end of a call only where somebody listens to it.
  const signal = call.controller.signal
  const listen = signal.addEventListener.bind(signal)
  signal.addEventListener = (...args) => { if (!call.over) host('listen'); listen(...args) }
  Object.defineProperty(signal, 'onabort', { set(fn) { if (typeof fn === 'function') signal.addEventListener('abort', fn) }, get: () => null })
  const log = (level) => (...args) => { host('log', level, format(args)) }
  return {
    tool: info.tool, callId: info.callId, chatKey: info.chatKey, channel: info.channel, lang: info.lang,
    user: info.user, labels: tools[info.tool]?.labels, signal,
    store: { ...scope('chat'), user: scope('user'), bot: scope('bot') },
    db: dbFor(alive),
    fetch: fetchFor(alive),
    secret(name) { alive(); return host('secret', String(name)) },
    money: (n, currency) => money(n, currency, info.lang),
    log: Object.assign(log('info'), { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }),
  }
}

function keyOf(key) {
  if (typeof key !== 'string' || key === '') throw new TypeError('a key of the store must be a string that is not empty')
  return key
}
const read = (text) => ({ value: text === '' ? undefined : JSON.parse(text) })
function json(value) {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError('only what JSON can hold can be stored')
  return text
}

// The fetch of packages that know no ctx is that of the call that runs now.
Object.defineProperty(globalThis, 'fetch', {
  value: (input, init) => {
    if (!current) return Promise.reject(new Error('fetch: only while a tool runs'))
    return current.ctx.fetch(input, init)
  },
  writable: true, configurable: true,
})

async function validate(t, args) {
  let r
  try {
    r = t.schema.safeParse(args)
  } catch (e) {
    // zod says so of asynchronous refinements.
    if (typeof t.schema.safeParseAsync !== 'function') throw e
    r = await t.schema.safeParseAsync(args)
  }
  if (typeof r?.then === 'function') r = await r
  return r
}

function issues(error) {
  const list = error?.issues ?? error?.errors
  if (!Array.isArray(list)) return [{ path: [], message: error?.message ?? String(error) }]
  return list.slice(0, 50).map((i) => ({
    path: (i.path ?? []).map((p) => String(typeof p === 'object' && p !== null ? p.key : p)),
    message: String(i.message),
    keys: i.code === 'unrecognized_keys' ? i.keys : undefined,
  }))
}

// argsOf gives the handler the validator's own data, with what JSON can't
// carry (dates, sets), where what the model wrote is at hand and still parses
// to what was approved.
async function argsOf(t, info) {
  const args = JSON.parse(info.args)
  if (info.raw === undefined || typeof t.schema?.safeParse !== 'function') return args
  const r = await validate(t, JSON.parse(info.raw))
  return r.success && JSON.stringify(r.data) === JSON.stringify(args) ? r.data : args
}

async function perform(kind, t, info, call) {
  if (kind === 'parse') {
    const r = await validate(t, JSON.parse(info.args))
    if (r.success) return { data: r.data }
    return { issues: issues(r.error) }
  }
  const args = await argsOf(t, info)
  switch (kind) {
    case 'confirm': return !!(await t.confirm(args, call.ctx))
    case 'lines': {
      const lines = await t.confirmLines(args, call.ctx)
      const list = typeof lines === 'string' ? lines.split('\n') : lines
      if (!Array.isArray(list) || list.some((l) => typeof l !== 'string')) throw new TypeError('confirmLines must give a list of strings')
      return list
    }
    case 'message': {
      const text = await t.confirmMessage(args, call.ctx)
      if (typeof text !== 'string' || text.trim() === '') throw new TypeError('confirmMessage must give a text')
      return text
    }
  }
  return t.handler(args, call.ctx)
}

function start(kind, infoText) {
  const info = JSON.parse(infoText)
  const call = { over: false, controller: new AbortController() }
  state.lang = info.lang || 'en'
  state.zone = info.zone
  call.ctx = contextOf(call, info)
  current = call
  const end = (op, a, b) => {
    if (call.over) return
    call.over = true
    if (current === call) current = null
    pending.clear()
    try {
      host(op, a, b)
    } catch (e) { // no memory is left for a copy of it
      host('lost', `the result can't be handed over: ${e.message}`, `${e.name}\n${e.stack ?? ''}`)
    }
  }
  perform(kind, tools[info.tool], info, call).then((value) => {
    if (call.over) return
    let text
    try {
      text = JSON.stringify(value)
      if (text === undefined && value !== undefined) throw new TypeError(`a ${typeof value} is not JSON`)
    } catch (e) {
      return end('lost', `the result can't be written as JSON: ${e.message}`, '')
    }
    end('done', text ?? '', text === undefined ? '' : 'value')
  }).catch((e) => {
    const isError = e instanceof Error
    end('fail', isError ? e.message || e.name : format([e]), isError ? `${e.name}\n${e.stack ?? ''}` : '')
  })
}

function deliver(id, text) {
  pending.get(Number(id))?.(text)
}

function abort(name, message) {
  const call = current
  if (!call || call.over) return
  call.controller.abort(new DOMException(message, name))
}

Object.defineProperty(globalThis, '__parley', { value: { describe, start, deliver, abort }, configurable: true })
