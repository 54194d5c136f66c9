// Types of the module 'parley' for script tools.
declare module 'parley' {
  /** Where a person's identity comes from: the channel, never the model. */
  export interface User {
    readonly id: string
    readonly name: string
    /** What the channel verified, such as a phone number. */
    readonly claims: Readonly<Record<string, string>>
  }

  /** A key space. Writes are saved with the call's result; a failed call leaves none. */
  export interface Scope {
    get<T = any>(key: string): Promise<T | undefined>
    set(key: string, value: unknown): Promise<void>
    delete(key: string): Promise<void>
    /** The keys with that prefix, sorted, 1,000 at the most. */
    list(prefix?: string): Promise<string[]>
    /** Changes a value; repeated if somebody else changed it meanwhile. undefined deletes. */
    update<T = any>(key: string, fn: (value: T | undefined) => T | undefined | Promise<T | undefined>): Promise<T | undefined>
  }

  /** A database. Each statement has `:name` parameters and a transaction of its own. */
  export interface Database {
    /** Reads rows, in a read-only transaction. */
    query<Row = Record<string, any>>(sql: string, params?: Record<string, unknown>): Promise<Row[]>
    /** Changes data; only in the handler of a tool whose effect isn't 'read'. */
    exec<Row = Record<string, any>>(sql: string, params?: Record<string, unknown>): Promise<{ affected: number; rows: Row[] }>
  }

  /** What a statement fails with. */
  export interface DatabaseError extends Error {
    readonly code: 'query_failed' | 'constraint_violation' | 'invalid_value' | 'read_only' | 'raised' | 'database_busy' | 'database_unavailable' | 'too_large' | 'stopped' | 'outcome_unknown'
  }

  export interface Log {
    (...values: unknown[]): void
    debug(...values: unknown[]): void
    info(...values: unknown[]): void
    warn(...values: unknown[]): void
    error(...values: unknown[]): void
  }

  export interface Context {
    readonly tool: string
    /** Unique to the call: use it as an idempotency key. */
    readonly callId: string
    readonly chatKey: string
    readonly channel: string
    /** Language of the chat, such as 'en'. */
    readonly lang: string
    readonly user: User
    readonly labels?: Labels
    /** Aborted when the call's time is over. */
    readonly signal: AbortSignal
    /** What is kept for this chat; `user` and `bot` for the others. */
    readonly store: Scope & { readonly user: Scope; readonly bot: Scope }
    /** The data sources under `data:` in the configuration, by name. */
    readonly db: Readonly<Record<string, Database>>
    /** Reaches the hosts of `fetch.allow`. A request other than GET and HEAD carries an Idempotency-Key. */
    fetch(url: string | URL, init?: RequestInit): Promise<Response>
    secret(name: string): string
    /** An amount in the chat's language: money(45000, 'COP'). */
    money(amount: number | bigint | string, currency: string): string
    readonly log: Log
  }

  export type Labels = Record<string, Record<string, string>>

  /** A validator such as a zod schema. */
  export interface Validator<Args> {
    safeParse(value: unknown): { success: true; data: Args } | { success: false; error: any }
  }

  export interface Definition<Args> {
    /** Shown to people, in one language or by language; from the tool's name if left out. */
    title?: string | Record<string, string>
    /** What the model reads: what it does, and when not to use it. */
    description?: string
    /** A validator, or a JSON Schema. Without one the tool takes no arguments. */
    schema?: Validator<Args> | object
    /** What the model sees, where the validator can't tell. */
    jsonSchema?: object
    /** Ask a person first. */
    confirm?: boolean | ((args: Args, ctx: Context) => boolean | Promise<boolean>)
    /** The lines of the question. */
    confirmLines?: (args: Args, ctx: Context) => string[] | string | Promise<string[] | string>
    /** The whole question. */
    confirmMessage?: string | ((args: Args, ctx: Context) => string | Promise<string>)
    /** Don't run the same arguments again within the window ('args': 10 minutes). */
    dedupe?: false | 'args' | { windowMs: number } | { window: string }
    timeoutMs?: number
    timeout?: string
    /** argument → value → what people read instead. */
    labels?: Labels
    /** What running it twice would do. Default: unsafe. */
    effect?: 'read' | 'idempotent' | 'unsafe'
    handler: (args: Args, ctx: Context) => unknown
  }

  export function defineTool<Args = any>(definition: Definition<Args>): Definition<Args>
  /** The lines of the default question. */
  export function argLines(args: object, ctx?: Context, labels?: Labels): string[]
  /** One value as the default question shows it. */
  export function summarize(value: unknown, ctx?: Context, labels?: Labels): string
  export function money(amount: number | bigint | string, currency: string, lang?: string): string
}
