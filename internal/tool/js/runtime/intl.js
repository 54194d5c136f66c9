// Intl.NumberFormat, Intl.DateTimeFormat and Intl.PluralRules for English and
// Spanish, after CLDR. Other languages are formatted as English. Numbers are
// rounded in decimal, half away from zero, so that 1.005 is 1.01.
import { host } from './globals.js'

const decimalPoint = /^(es-(MX|US|419|PR|GT|HN|NI|PA|PE|SV|DO|CU))\b/i

function localeOf(wanted) {
  const list = wanted === undefined || wanted === null ? [] : Array.isArray(wanted) ? wanted : [wanted]
  for (const one of [...list, state.lang]) {
    const tag = String(one).replace('_', '-')
    if (!/^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i.test(tag)) throw new RangeError(`Incorrect locale information provided: ${tag}`)
    if (/^(en|es)(-|$)/i.test(tag)) return { tag, es: /^es/i.test(tag) }
  }
  return { tag: 'en', es: false }
}

// state.lang is the language of the call that runs now.
export const state = { lang: 'en', zone: '' }

// ---- decimal arithmetic on text ----

// digitsOf takes a finite number apart: sign, digits, and how many of them are
// before the point.
function digitsOf(n) {
  const m = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(String(n).trim())
  if (!m) return null
  let digits = m[2] + (m[3] ?? '')
  let point = m[2].length + Number(m[4] ?? 0)
  if (Math.abs(point) > 400) return null
  const lead = /^0*/.exec(digits)[0].length
  digits = digits.slice(lead)
  point -= lead
  return { negative: m[1] === '-', digits, point: digits === '' ? 0 : point }
}

// round keeps at digits before and after the point: max of them after it.
function round(d, places) {
  const keep = d.point + places
  if (keep >= d.digits.length) return d
  if (keep < 0) return { negative: d.negative, digits: '', point: 0 }
  let kept = d.digits.slice(0, keep)
  let point = d.point
  if (d.digits[keep] >= '5') {
    let i = keep - 1
    const list = [...kept]
    while (i >= 0 && list[i] === '9') list[i--] = '0'
    if (i >= 0) list[i] = String(Number(list[i]) + 1)
    else { list.unshift('1'); point++ }
    kept = list.join('')
  }
  return kept === '' || /^0+$/.test(kept) ? { negative: d.negative, digits: '', point: 0 } : { negative: d.negative, digits: kept, point }
}

function spell(d, min, max) {
  const r = round(d, max)
  const padded = r.point <= 0 ? '0'.repeat(-r.point) + r.digits : r.digits
  const whole = r.point <= 0 ? '0' : r.digits.slice(0, r.point).padEnd(r.point, '0')
  let frac = (r.point <= 0 ? padded : r.digits.slice(r.point)).replace(/0+$/, '')
  return { whole, frac: frac.padEnd(min, '0'), zero: r.digits === '' }
}

// ---- numbers ----

const symbols = {
  en: { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', MXN: 'MX$', CAD: 'CA$', AUD: 'A$', NZD: 'NZ$', HKD: 'HK$', ILS: '₪', TWD: 'NT$', VND: '₫', PHP: '₱' },
  es: { USD: 'US$', EUR: '€', VND: '₫' },
}
const home = { US: 'USD', PR: 'USD', EC: 'USD', SV: 'USD', PA: 'USD', MX: 'MXN', CO: 'COP', AR: 'ARS', CL: 'CLP', CA: 'CAD', AU: 'AUD', NZ: 'NZD' }
const places = {}
for (const c of 'AFN ALL BIF CLP COP DJF GNF HUF IDR IQD IRR ISK JPY KMF KPW KRW LAK LBP MGA MMK PKR PYG RWF SLL SOS SYP UGX VND VUV XAF XOF XPF YER'.split(' ')) places[c] = 0
for (const c of 'BHD JOD KWD LYD OMR TND'.split(' ')) places[c] = 3
const nbsp = '\u00a0'

function option(o, key, allowed, otherwise) {
  const v = o[key]
  if (v === undefined) return otherwise
  if (!allowed.includes(String(v))) throw new RangeError(`Value ${v} out of range for Intl options property ${key}`)
  return String(v)
}
function whole(o, key, low, high, otherwise) {
  const v = o[key]
  if (v === undefined) return otherwise
  const n = Number(v)
  if (!(n >= low && n <= high)) throw new RangeError(`${key} value is out of range.`)
  return Math.floor(n)
}

class NumberFormat {
  #l
  #o
  constructor(locales, options = {}) {
    this.#l = localeOf(locales)
    const style = option(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal')
    if (style === 'unit') throw new RangeError('Intl.NumberFormat: style "unit" is not supported')
    if (options.notation !== undefined && options.notation !== 'standard') throw new RangeError(`Intl.NumberFormat: notation "${options.notation}" is not supported`)
    let currency
    if (style === 'currency') {
      if (options.currency === undefined) throw new TypeError('Currency code is required with currency style.')
      currency = String(options.currency).toUpperCase()
      if (!/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${options.currency}`)
    }
    const digits = currency ? places[currency] ?? 2 : 0
    const minDefault = currency ? digits : 0
    const maxDefault = currency ? digits : style === 'percent' ? 0 : 3
    let min = whole(options, 'minimumFractionDigits', 0, 100)
    let max = whole(options, 'maximumFractionDigits', 0, 100)
    if (min === undefined) min = max === undefined ? minDefault : Math.min(minDefault, max)
    if (max === undefined) max = Math.max(maxDefault, min)
    if (min > max) throw new RangeError('maximumFractionDigits value is out of range.')
    const minS = whole(options, 'minimumSignificantDigits', 1, 21)
    const maxS = whole(options, 'maximumSignificantDigits', minS ?? 1, 21, minS === undefined ? undefined : 21)
    this.#o = {
      style, currency, min, max, minS: minS ?? 1, maxS,
      minInt: whole(options, 'minimumIntegerDigits', 1, 21, 1),
      grouping: options.useGrouping === undefined ? true : options.useGrouping !== false && options.useGrouping !== 'false',
      always: options.useGrouping === 'always',
      display: option(options, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol'),
      sign: option(options, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto'),
    }
    this.format = (n) => this.#format(n)
  }
  #format(n) {
    const o = this.#o
    if (typeof n !== 'bigint' && typeof n !== 'string') n = Number(n)
    if (typeof n === 'number' && Number.isNaN(n)) return this.#dress('NaN', false, false)
    if (n === Infinity || n === -Infinity) return this.#dress('∞', n < 0, false)
    const d = digitsOf(n) ?? digitsOf(Number(n))
    if (!d) return this.#dress('NaN', false, false)
    if (Object.is(n, -0)) d.negative = true
    if (o.style === 'percent' && d.digits) d.point += 2
    let { min, max } = o
    if (o.maxS !== undefined) {
      max = d.digits ? o.maxS - d.point : 0
      min = Math.max(0, (d.digits ? o.minS - d.point : o.minS - 1))
      if (max < min) max = min > 0 && o.maxS - d.point < min ? min : max
    }
    const s = spell(d, min, max)
    let text = s.whole.padStart(o.minInt, '0')
    const point = this.#l.es && !decimalPoint.test(this.#l.tag)
    const least = this.#l.es && !o.always && !/^es-(MX|US|419|[A-Z]{2})/i.test(this.#l.tag) ? 5 : 4
    if (o.grouping && text.length >= (/^es-ES/i.test(this.#l.tag) && !o.always ? 5 : least)) {
      text = text.replace(/\B(?=(\d{3})+$)/g, point ? '.' : ',')
    }
    if (s.frac) text += (point ? ',' : '.') + s.frac
    return this.#dress(text, d.negative, s.zero)
  }
  #dress(text, negative, zero) {
    const o = this.#o
    const minus = negative && o.sign !== 'never' && !(zero && (o.sign === 'exceptZero' || o.sign === 'negative'))
    const plus = !negative && (o.sign === 'always' || (o.sign === 'exceptZero' && !zero))
    const sign = minus ? '-' : plus ? '+' : ''
    const region = /-([a-z]{2}|419)\b/i.exec(this.#l.tag)?.[1].toUpperCase()
    // Spanish in America is not that of Spain.
    const america = this.#l.es && region !== undefined && region !== 'ES'
    if (o.style === 'percent') return sign + text + (this.#l.es && !america ? nbsp : '') + '%'
    if (o.style !== 'currency') return sign + text
    let mark = symbols[this.#l.es ? 'es' : 'en'][o.currency] ?? o.currency
    if (america && !(o.currency === 'USD' && /^(AR|CL|CO|DO)$/.test(region))) mark = o.currency
    if (region === 'PE' && o.currency === 'PEN') return `${sign}S/${nbsp}${text}`
    if (region && home[region] === o.currency) mark = '$'
    if (o.display === 'narrowSymbol') mark = /^(USD|COP|MXN|ARS|CLP|CAD|AUD|NZD|HKD|UYU)$/.test(o.currency) ? '$' : mark
    if (o.display === 'code') mark = o.currency
    if (o.display === 'name') return `${sign}${text} ${o.currency}`
    if (this.#l.es && !america) return sign + text + nbsp + mark
    return sign + mark + (/[A-Z]$/.test(mark) || (america && /^(CO|AR)$/.test(region)) ? nbsp : '') + text
  }
  formatToParts(n) { return [{ type: 'literal', value: this.format(n) }] }
  resolvedOptions() {
    const o = this.#o
    return {
      locale: this.#l.tag, numberingSystem: 'latn', style: o.style, ...(o.currency && { currency: o.currency, currencyDisplay: o.display }),
      minimumIntegerDigits: o.minInt, minimumFractionDigits: o.min, maximumFractionDigits: o.max, useGrouping: o.grouping ? 'auto' : false,
      notation: 'standard', signDisplay: o.sign,
    }
  }
  static supportedLocalesOf(l) { return supported(l) }
}

const supported = (l) => (Array.isArray(l) ? l : [l]).filter((x) => /^(en|es)(-|$)/i.test(String(x)))

// ---- dates ----

const names = {
  en: {
    months: 'January February March April May June July August September October November December'.split(' '),
    days: 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' '),
  },
  es: {
    months: 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' '),
    days: 'domingo lunes martes miércoles jueves viernes sábado'.split(' '),
  },
}
const shortName = (name, es) => (es && name === 'septiembre' ? 'sept' : name.slice(0, 3))
const styles = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
}
const dateKeys = ['weekday', 'year', 'month', 'day']
const timeKeys = ['hour', 'minute', 'second', 'fractionalSecondDigits']

class DateTimeFormat {
  #l
  #o
  #zone
  constructor(locales, options = {}, fallback = 'date') {
    this.#l = localeOf(locales)
    const o = { ...options }
    const dateStyle = option(o, 'dateStyle', Object.keys(styles))
    const timeStyle = option(o, 'timeStyle', Object.keys(styles))
    if ((dateStyle || timeStyle) && [...dateKeys, ...timeKeys].some((k) => o[k] !== undefined)) {
      throw new TypeError("Can't set option when dateStyle or timeStyle is used")
    }
    option(o, 'weekday', ['long', 'short', 'narrow'])
    option(o, 'month', ['numeric', '2-digit', 'long', 'short', 'narrow'])
    for (const k of ['year', 'day', 'hour', 'minute', 'second']) option(o, k, ['numeric', '2-digit'])
    if (dateStyle) Object.assign(o, styles[dateStyle])
    if (timeStyle) {
      Object.assign(o, { hour: 'numeric', minute: '2-digit' }, timeStyle !== 'short' && { second: '2-digit' })
      if (timeStyle === 'full' || timeStyle === 'long') o.timeZoneName ??= 'short'
    }
    if (![...dateKeys, ...timeKeys].some((k) => o[k] !== undefined)) {
      if (fallback !== 'time') Object.assign(o, { year: 'numeric', month: 'numeric', day: 'numeric' })
      if (fallback !== 'date') Object.assign(o, { hour: 'numeric', minute: '2-digit', second: '2-digit' })
    }
    o.between = ', '
    if (dateStyle === 'full' && !this.#l.es) o.between = ' at '
    if (dateStyle === 'long') o.between = this.#l.es ? ' a las ' : ' at '
    o.h12 = o.hour12 ?? (o.hourCycle ? /^h1[12]$/.test(o.hourCycle) : !this.#l.es)
    this.#o = o
    this.#zone = o.timeZone === undefined ? state.zone : String(o.timeZone)
    try {
      host('zone', this.#zone, '0')
    } catch {
      throw new RangeError(`Invalid time zone specified: ${o.timeZone}`)
    }
    this.format = (d) => this.#format(d)
  }
  #format(date) {
    const ms = date === undefined ? Date.now() : Number(date)
    if (!Number.isFinite(ms)) throw new RangeError('Invalid time value')
    const [offset, abbreviation] = host('zone', this.#zone, String(Math.floor(ms / 1000))).split(' ')
    const t = new Date(ms + Number(offset) * 1000)
    const d = this.#date(t)
    const c = this.#clock(t, Number(offset), abbreviation)
    if (!d || !c) return d || c
    return d + this.#o.between + c
  }
  #date(t) {
    const o = this.#o
    const es = this.#l.es
    const n = names[es ? 'es' : 'en']
    const two = (x) => String(x).padStart(2, '0')
    const year = o.year && (o.year === '2-digit' ? two(t.getUTCFullYear() % 100) : String(t.getUTCFullYear()))
    const day = o.day && (o.day === '2-digit' ? two(t.getUTCDate()) : String(t.getUTCDate()))
    const full = n.days[t.getUTCDay()]
    const weekday = o.weekday && (o.weekday === 'long' ? full : o.weekday === 'short' ? shortName(full, false) : full[0].toUpperCase())
    let text
    if (o.month === undefined || o.month === 'numeric' || o.month === '2-digit') {
      const month = o.month && (o.month === '2-digit' ? two(t.getUTCMonth() + 1) : String(t.getUTCMonth() + 1))
      text = (es ? [day, month, year] : [month, day, year]).filter(Boolean).join('/')
    } else {
      const name = n.months[t.getUTCMonth()]
      const month = o.month === 'long' ? name : o.month === 'short' ? shortName(name, es) : name[0].toUpperCase()
      if (es) text = [day, month, year].filter(Boolean).join(o.month === 'long' ? ' de ' : ' ')
      else text = [month + (day ? ` ${day}` : ''), year].filter(Boolean).join(day ? ', ' : ' ')
    }
    if (weekday && text) return es && o.month === undefined ? `${weekday}, ${text}` : `${weekday}, ${text}`
    return weekday || text
  }
  #clock(t, offset, abbreviation) {
    const o = this.#o
    const two = (x) => String(x).padStart(2, '0')
    const parts = []
    if (o.hour) {
      const h = o.h12 ? t.getUTCHours() % 12 || 12 : t.getUTCHours()
      const pad = o.hour === '2-digit' || (!o.h12 && !this.#l.es)
      parts.push(pad ? two(h) : String(h))
    }
    if (o.minute) parts.push(o.hour || o.minute === '2-digit' ? two(t.getUTCMinutes()) : String(t.getUTCMinutes()))
    if (o.second) parts.push(o.minute || o.second === '2-digit' ? two(t.getUTCSeconds()) : String(t.getUTCSeconds()))
    let text = parts.join(':')
    if (o.fractionalSecondDigits) {
      text += (this.#l.es ? ',' : '.') + String(t.getUTCMilliseconds()).padStart(3, '0').slice(0, o.fractionalSecondDigits)
    }
    if (o.hour && o.h12) text += ` ${this.#l.es ? (t.getUTCHours() < 12 ? 'a. m.' : 'p. m.') : t.getUTCHours() < 12 ? 'AM' : 'PM'}`
    if (text && o.timeZoneName) text += ` ${zoneName(offset, abbreviation)}`
    return text
  }
  formatToParts(d) { return [{ type: 'literal', value: this.format(d) }] }
  resolvedOptions() { return { locale: this.#l.tag, calendar: 'gregory', numberingSystem: 'latn', timeZone: this.#zone } }
  static supportedLocalesOf(l) { return supported(l) }
}

function zoneName(offset, abbreviation) {
  if (abbreviation === 'UTC') return 'UTC'
  const minutes = Math.abs(offset) / 60
  const m = Math.floor(minutes % 60)
  return `GMT${offset < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${m ? ':' + String(m).padStart(2, '0') : ''}`
}

class PluralRules {
  #ordinal
  #l
  constructor(locales, options = {}) {
    this.#l = localeOf(locales)
    this.#ordinal = options.type === 'ordinal'
  }
  select(n) {
    n = Number(n)
    if (!this.#ordinal) return n === 1 ? 'one' : 'other'
    if (this.#l.es) return 'other'
    const ten = n % 10, hundred = n % 100
    if (ten === 1 && hundred !== 11) return 'one'
    if (ten === 2 && hundred !== 12) return 'two'
    return ten === 3 && hundred !== 13 ? 'few' : 'other'
  }
}

// The three are callable without new, as scripts expect of them.
const callable = (C) => new Proxy(C, { apply: (_, __, args) => new C(...args) })
const hide = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false })
const Intl = {}
hide(Intl, 'NumberFormat', callable(NumberFormat))
hide(Intl, 'DateTimeFormat', callable(DateTimeFormat))
hide(Intl, 'PluralRules', PluralRules)
hide(Intl, 'getCanonicalLocales', (l) => (l === undefined ? [] : Array.isArray(l) ? l.map(String) : [String(l)]))
hide(globalThis, 'Intl', Intl)
hide(Number.prototype, 'toLocaleString', function (l, o) { return new NumberFormat(l, o).format(this.valueOf()) })
hide(BigInt.prototype, 'toLocaleString', function (l, o) { return new NumberFormat(l, o).format(this.valueOf()) })
const dates = { toLocaleString: 'both', toLocaleDateString: 'date', toLocaleTimeString: 'time' }
for (const [method, kind] of Object.entries(dates)) {
  hide(Date.prototype, method, function (l, o) {
    if (Number.isNaN(this.getTime())) return 'Invalid Date'
    return new DateTimeFormat(l, o, kind).format(this)
  })
}

// money never hides a part of an amount: cents are shown where there are any,
// also of currencies that are written without.
export function money(n, currency, lang) {
  if (typeof n !== 'number' && typeof n !== 'bigint' && typeof n !== 'string') throw new TypeError('money: the amount must be a number')
  const d = digitsOf(n)
  if (!d) throw new TypeError(`money: ${n} is not an amount`)
  const cents = spell(d, 0, 2).frac !== ''
  return new NumberFormat(lang, { style: 'currency', currency, ...(cents && { minimumFractionDigits: 2 }) }).format(n)
}
