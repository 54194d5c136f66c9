// ctx.db: statements on the data sources that the configuration names. The
// host runs each in a transaction of its own.
import { host, newId, pending } from './globals.js'

// plain writes what JSON has no form for as text, and what wasn't given as null.
const plain = (_, v) => (typeof v === 'bigint' ? String(v) : v === undefined ? null : v)

export class DatabaseError extends Error {
  constructor(message, code) {
    super(message)
    this.name = 'DatabaseError'
    this.code = code
  }
}

function statement(alive, source, write, sql, params = {}) {
  alive()
  if (typeof sql !== 'string') throw new TypeError('a statement is a string, with :name for each parameter')
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new TypeError('the parameters are an object: { name: value }')
  }
  const id = newId()
  return new Promise((resolve, reject) => {
    pending.set(id, (text) => {
      pending.delete(id)
      const a = JSON.parse(text)
      if (a.error !== undefined) return reject(new DatabaseError(a.error, a.code))
      resolve(a)
    })
    try {
      host('statement', String(id), JSON.stringify({ source, sql, params, write }, plain))
    } catch (e) {
      pending.delete(id)
      reject(e)
    }
  })
}

// dbFor makes the ctx.db of one call: it refuses once alive() throws.
export const dbFor = (alive) => new Proxy({}, {
  get(_, name) {
    if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined
    alive()
    host('source', name)
    return {
      query: async (sql, params) => (await statement(alive, name, false, sql, params)).rows,
      exec: async (sql, params) => {
        const { affected, rows } = await statement(alive, name, true, sql, params)
        return { affected, rows }
      },
    }
  },
})
