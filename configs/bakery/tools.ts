// The tools of La Espiga, a small bakery: see the menu, ask for a price, place
// an order, look at it, change it, cancel it.
//
// What the bot's model may decide is which tool to call, with which products
// and quantities. Everything that has to be right is decided here: prices and
// totals, which orders there are, whose they are. Orders are kept in ctx.store,
// in the scope of the chat, and are saved together with the tool's result.
import { defineTool } from 'parley'

const CURRENCY = 'USD'

// Prices are whole cents: 0.1 + 0.2 is no price.
const MENU = {
  rye_bread: { en: 'Rye bread', es: 'Pan de centeno', cents: 450 },
  baguette: { en: 'Baguette', es: 'Baguette', cents: 275 },
  cheese_bread: { en: 'Cheese bread', es: 'Pan de queso', cents: 250 },
  croissant: { en: 'Croissant', es: 'Croissant', cents: 295 },
  cinnamon_roll: { en: 'Cinnamon roll', es: 'Rollo de canela', cents: 350 },
  chocolate_cake: { en: 'Chocolate cake', es: 'Torta de chocolate', cents: 2400 },
  coffee: { en: 'Coffee', es: 'Café', cents: 225 },
  tea: { en: 'Tea', es: 'Té', cents: 195 },
} as const

type Product = keyof typeof MENU
type Item = { product: Product; quantity: number }
type Order = { id: string; items: Item[]; cents: number; status: 'confirmed' | 'cancelled' }

// A product is one of these keys, so an invented one is refused before anybody
// is asked to confirm it.
const PRODUCTS = Object.keys(MENU) as Product[]

const ITEMS = {
  type: 'array',
  description: 'What to order: each product once, with how many of it.',
  minItems: 1,
  maxItems: 20,
  items: {
    type: 'object',
    properties: {
      product: { type: 'string', enum: PRODUCTS, description: 'A key of the menu.' },
      quantity: { type: 'integer', minimum: 1, maximum: 50 },
    },
    required: ['product', 'quantity'],
    additionalProperties: false,
  },
}

const ORDER_ID = {
  type: 'string',
  pattern: '^P-[0-9]{4,9}$',
  description: 'The id of an order, like P-1001, from my_orders or place_order.',
}

const TEXTS = {
  en: {
    total: 'Total',
    order: 'Order',
    noOrder: (id: string) => `There is no active order ${id}.`,
    same: (id: string) => `Order ${id} already has exactly these items: there is nothing to change.`,
  },
  es: {
    total: 'Total',
    order: 'Pedido',
    noOrder: (id: string) => `No hay ningún pedido activo ${id}.`,
    same: (id: string) => `El pedido ${id} ya tiene exactamente esos productos: no hay nada que cambiar.`,
  },
}

type Lang = keyof typeof TEXTS
const langOf = (ctx: any): Lang => (String(ctx.lang ?? '').toLowerCase().startsWith('es') ? 'es' : 'en')
const nameOf = (product: Product, ctx: any) => MENU[product][langOf(ctx)]
const money = (cents: number, ctx: any): string => ctx.money(cents / 100, CURRENCY)

// One entry a product, in the order they were named.
const merged = (items: Item[]): Item[] => {
  const all = new Map<Product, number>()
  for (const { product, quantity } of items) all.set(product, (all.get(product) ?? 0) + quantity)
  return [...all].map(([product, quantity]) => ({ product, quantity }))
}

const centsOf = (items: Item[]): number => items.reduce((sum, i) => sum + MENU[i.product].cents * i.quantity, 0)
const lines = (items: Item[], ctx: any): string[] => [
  ...merged(items).map((i) => `• ${i.quantity} × ${nameOf(i.product, ctx)}: ${money(MENU[i.product].cents * i.quantity, ctx)}`),
  `${TEXTS[langOf(ctx)].total}: ${money(centsOf(items), ctx)}`,
]
const sameItems = (a: Item[], b: Item[]): boolean => {
  const key = (items: Item[]) => JSON.stringify(merged(items).map((i) => [i.product, i.quantity]).sort())
  return key(a) === key(b)
}

// What models read: names beside keys, and amounts as texts to be repeated.
const listed = (items: Item[], ctx: any) =>
  merged(items).map((i) => ({ ...i, name: nameOf(i.product, ctx), subtotal: money(MENU[i.product].cents * i.quantity, ctx) }))
const shown = (order: Order, ctx: any) => ({
  id: order.id,
  status: order.status,
  items: listed(order.items, ctx),
  total: money(order.cents, ctx),
})

const ordersOf = async (ctx: any): Promise<Order[]> => (await ctx.store.get('orders')) ?? []

export const tools = {
  show_menu: defineTool({
    title: { en: 'Menu', es: 'Carta' },
    description:
      'The menu of the bakery: every product with its key, its name and the price of one. ' +
      'Use it for questions about what there is and what one piece costs. Not for the price of several things: that is quote_order.',
    schema: { type: 'object', properties: {}, additionalProperties: false },
    effect: 'read',
    handler: (_args: unknown, ctx: any) => ({
      products: PRODUCTS.map((p) => ({ key: p, name: nameOf(p, ctx), price: money(MENU[p].cents, ctx) })),
    }),
  }),

  quote_order: defineTool({
    title: { en: 'Quote', es: 'Presupuesto' },
    description:
      'Computes what a list of products would cost, with the subtotal of each and the total. It orders nothing and needs no confirmation. ' +
      'Use it whenever an amount is asked for; never calculate one yourself. Not for ordering: that is place_order.',
    schema: { type: 'object', properties: { items: ITEMS }, required: ['items'], additionalProperties: false },
    effect: 'read',
    handler: ({ items }: { items: Item[] }, ctx: any) => ({
      items: listed(items, ctx),
      total: money(centsOf(items), ctx),
    }),
  }),

  my_orders: defineTool({
    title: { en: 'My orders', es: 'Mis pedidos' },
    description:
      'The orders of the person in this chat, oldest first: id, products, total, status (confirmed or cancelled), and the last one that is active. ' +
      'Use it to find an id before change_order or cancel_order. Not for orders of other people: it knows none.',
    schema: { type: 'object', properties: {}, additionalProperties: false },
    effect: 'read',
    handler: async (_args: unknown, ctx: any) => {
      const orders = await ordersOf(ctx)
      const active = orders.filter((o) => o.status === 'confirmed')
      const last = active.at(-1)
      return { orders: orders.map((o) => shown(o, ctx)), active: active.length, last: last ? { id: last.id, items: last.items, total: money(last.cents, ctx) } : null }
    },
  }),

  place_order: defineTool({
    title: { en: 'Place order', es: 'Hacer pedido' },
    description:
      'Places a new order and returns its id and its total. ' +
      'Not for correcting an order that was placed already: that is change_order. Not for telling a price: that is quote_order.',
    schema: { type: 'object', properties: { items: ITEMS }, required: ['items'], additionalProperties: false },
    confirm: true,
    dedupe: 'args',
    effect: 'idempotent', // it touches nothing but ctx.store
    labels: { product: Object.fromEntries(PRODUCTS.map((p) => [p, MENU[p].en])) },
    confirmLines: ({ items }: { items: Item[] }, ctx: any) => lines(items, ctx),
    handler: async ({ items }: { items: Item[] }, ctx: any) => {
      // Numbers are the bot's, so that no two chats have an order of one id.
      const number: number = await ctx.store.bot.update('last_order', (n: number | undefined) => (n ?? 1000) + 1)
      const order: Order = { id: `P-${number}`, items: merged(items), cents: centsOf(items), status: 'confirmed' }
      await ctx.store.update('orders', (orders: Order[] | undefined) => [...(orders ?? []), order])
      return shown(order, ctx)
    },
  }),

  change_order: defineTool({
    title: { en: 'Change order', es: 'Cambiar pedido' },
    description:
      'Replaces the products of an active order by the whole new list, and returns the new total. ' +
      'What isn\'t in the list is no longer ordered. Not for a new order: that is place_order. Not for giving one up: that is cancel_order.',
    schema: { type: 'object', properties: { id: ORDER_ID, items: ITEMS }, required: ['id', 'items'], additionalProperties: false },
    confirm: true,
    effect: 'idempotent',
    labels: { product: Object.fromEntries(PRODUCTS.map((p) => [p, MENU[p].en])) },
    confirmLines: ({ id, items }: { id: string; items: Item[] }, ctx: any) => [
      `• ${TEXTS[langOf(ctx)].order}: ${id}`,
      ...lines(items, ctx),
    ],
    handler: async ({ id, items }: { id: string; items: Item[] }, ctx: any) => {
      const t = TEXTS[langOf(ctx)]
      const old = (await ordersOf(ctx)).find((o) => o.id === id && o.status === 'confirmed')
      if (!old) return { error: t.noOrder(id) }
      if (sameItems(old.items, items)) return { error: t.same(id) }
      const changed: Order = { ...old, items: merged(items), cents: centsOf(items) }
      await ctx.store.update('orders', (orders: Order[] | undefined) => (orders ?? []).map((o) => (o.id === id ? changed : o)))
      return shown(changed, ctx)
    },
  }),

  cancel_order: defineTool({
    title: { en: 'Cancel order', es: 'Cancelar pedido' },
    description:
      'Cancels an active order as a whole. Not for taking one product out of it: that is change_order.',
    schema: { type: 'object', properties: { id: ORDER_ID }, required: ['id'], additionalProperties: false },
    confirm: true,
    effect: 'idempotent',
    confirmLines: async ({ id }: { id: string }, ctx: any) => {
      const order = (await ordersOf(ctx)).find((o) => o.id === id && o.status === 'confirmed')
      return [`• ${TEXTS[langOf(ctx)].order}: ${id}`, ...(order ? lines(order.items, ctx) : [])]
    },
    handler: async ({ id }: { id: string }, ctx: any) => {
      const old = (await ordersOf(ctx)).find((o) => o.id === id && o.status === 'confirmed')
      if (!old) return { error: TEXTS[langOf(ctx)].noOrder(id) }
      const cancelled: Order = { ...old, status: 'cancelled' }
      await ctx.store.update('orders', (orders: Order[] | undefined) => (orders ?? []).map((o) => (o.id === id ? cancelled : o)))
      return shown(cancelled, ctx)
    },
  }),
}
