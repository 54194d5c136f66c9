// The one tool of this example that moves money. What the model decides is which
// order, how much and why. Everything that has to be right is decided elsewhere:
// how much is possible at all by the schema, whose order it is by the channel,
// whether a person is asked by `confirm`, and what is left by the database.
import { defineTool, type Context } from 'parley'

const CURRENCY = 'EUR'
const ASK_ABOVE = 50

const REASONS = {
  en: { order: 'Order', refund: 'Refund', of: 'of', reason: 'Reason', defective: 'defective', not_received: 'not received', duplicate: 'ordered twice' },
  es: { order: 'Pedido', refund: 'Reembolso', of: 'de', reason: 'Motivo', defective: 'defectuoso', not_received: 'no recibido', duplicate: 'pedido dos veces' },
} as const

type Reason = 'defective' | 'not_received' | 'duplicate'
type Refund = { order: string; amount: number; reason: Reason }
type Order = { item: string; cents: number }

const textsOf = (ctx: Context) => REASONS[ctx.lang.toLowerCase().startsWith('es') ? 'es' : 'en']
const cents = (amount: number): number => Math.round(amount * 100)

// An order is looked up together with its customer, never by its id alone.
const orderOf = async (id: string, ctx: Context): Promise<Order | undefined> =>
  (await ctx.db.shop.query<Order>('select item, cents from orders where id = :id and customer = :customer', { id, customer: ctx.user.id }))[0]

export const tools = {
  refund_order: defineTool({
    title: { en: 'Refund', es: 'Reembolso' },
    description:
      'Pays back an order of the person in this chat, the whole of it or a part, and returns the number of the refund. ' +
      'Call it as soon as order, amount and reason are known. Not for finding an order: that is my_orders. Not for seeing what was paid back: that is my_refunds.',
    schema: {
      type: 'object',
      properties: {
        order: { type: 'string', pattern: '^[A-Z]-[0-9]{4}$', description: 'The id of an order, from my_orders.' },
        amount: { type: 'number', minimum: 0.01, maximum: 200, multipleOf: 0.01, description: 'In euros.' },
        reason: { type: 'string', enum: ['defective', 'not_received', 'duplicate'] },
      },
      required: ['order', 'amount', 'reason'],
      additionalProperties: false, // there is no customer among the arguments, and none can be added
    },
    // A small amount is paid at once; people who are asked about everything stop reading.
    confirm: ({ amount }: Refund) => amount > ASK_ABOVE,
    // What the person approves is read from the database, not from what the model wrote.
    confirmLines: async ({ order, amount, reason }: Refund, ctx: Context) => {
      const t = textsOf(ctx)
      const found = await orderOf(order, ctx)
      return [
        `• ${t.order}: ${order}${found ? ` (${found.item})` : ''}`,
        `• ${t.refund}: ${ctx.money(amount, CURRENCY)}${found ? ` ${t.of} ${ctx.money(found.cents / 100, CURRENCY)}` : ''}`,
        `• ${t.reason}: ${t[reason]}`,
      ]
    },
    dedupe: 'args', // the same refund again within ten minutes is the same wish said twice
    effect: 'unsafe', // money: a run whose end nobody knows is never repeated
    handler: async ({ order, amount, reason }: Refund, ctx: Context) => {
      try {
        const { rows } = await ctx.db.shop.exec<{ id: number }>(
          `insert into refunds (call, order_id, customer, cents, reason)
           values (:call, :order, :customer, :cents, :reason) returning id`,
          { call: ctx.callId, order, customer: ctx.user.id, cents: cents(amount), reason },
        )
        return { refund: `R-${rows[0].id}`, order, amount: ctx.money(amount, CURRENCY) }
      } catch (e: any) {
        // A rule of the database said no, in words. Anything else isn't ours to explain.
        if (e.code === 'raised') return { error: e.message }
        throw e
      }
    },
  }),
}
