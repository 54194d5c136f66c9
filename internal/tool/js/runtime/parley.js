// What scripts import from 'parley'.
import { money, state } from './intl.js'

export { money }

// Where each definition was made, for messages about it.
export const madeAt = new WeakMap()

export function defineTool(definition) {
  if (typeof definition === 'object' && definition !== null) madeAt.set(definition, new Error().stack)
  return definition
}

const quantities = ['quantity', 'qty', 'units', 'cantidad', 'unidades']

// Control, line-breaking and text-direction characters are taken out: a value
// must not change what a question seems to say.
const clean = (s) => s.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' ')
  .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '').trim()

function humanize(key) {
  const words = clean(String(key)).replace(/[_\-\s]+/g, ' ').trim()
    .replace(/(\p{Ll})(\p{Lu})/gu, (_, a, b) => `${a} ${b.toLowerCase()}`)
  return words === '' ? String(key) : words[0].toUpperCase() + words.slice(1)
}

function yesNo(v) {
  if (/^es/i.test(state.lang)) return v ? 'sí' : 'no'
  return v ? 'yes' : 'no'
}

const absent = (v) => v === null || v === undefined

function scalar(v, key, labels) {
  const label = labels?.[key]?.[String(v)]
  if (label !== undefined) return clean(String(label))
  return typeof v === 'boolean' ? yesNo(v) : clean(String(v))
}

const pair = (k, v, labels) => `${humanize(k)}: ${text(v, k, labels)}`

function item(v, key, labels) {
  if (absent(v)) return ''
  if (typeof v !== 'object' || Array.isArray(v)) return text(v, key, labels)
  const fields = Object.entries(v).filter(([, x]) => !absent(x))
  const count = fields.find(([k, x]) => quantities.includes(k.toLowerCase()) && typeof x !== 'object')
  const name = fields.find(([k, x]) => typeof x === 'string' && k !== count?.[0])
  if (!name) return `(${fields.map(([k, x]) => pair(k, x, labels)).join(', ')})`
  const rest = fields.filter(([k]) => k !== name[0] && k !== count?.[0])
  return (count ? `${scalar(count[1], count[0], labels)} × ` : '') + scalar(name[1], name[0], labels) +
    (rest.length ? ` (${rest.map(([k, x]) => pair(k, x, labels)).join(', ')})` : '')
}

function text(v, key, labels) {
  if (absent(v)) return ''
  if (Array.isArray(v)) return v.map((x) => item(x, key, labels)).filter((s) => s !== '').join(', ')
  if (typeof v !== 'object') return scalar(v, key, labels)
  return `(${Object.entries(v).filter(([, x]) => !absent(x)).map(([k, x]) => pair(k, x, labels)).join(', ')})`
}

export function summarize(value, _ctx, labels) {
  return Array.isArray(value) ? text(value, '', labels) : item(value, '', labels)
}

export function argLines(args, ctx, labels = ctx?.labels) {
  const list = Object.entries(args ?? {}).filter(([, v]) => !absent(v))
  if (list.length === 1 && Array.isArray(list[0][1])) {
    return list[0][1].map((v) => item(v, list[0][0], labels)).filter((s) => s !== '').map((s) => `• ${s}`)
  }
  return list.map(([k, v]) => `• ${pair(k, v, labels)}`)
}
