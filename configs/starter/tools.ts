/// <reference path="./parley.d.ts" />
// What the bot can do. The model decides which of these tools to call, and with
// which arguments; everything that has to be right is decided here.
//
// Change this file as you like: `parley check` says what is wrong with it, and
// `parley tools` prints what the model is told of it.
import { defineTool, type Context } from 'parley'

const HOURS = {
  monday: { name: 'Monday', morning: '9:00 to 13:00', afternoon: '15:00 to 18:00' },
  tuesday: { name: 'Tuesday', morning: '9:00 to 13:00', afternoon: '15:00 to 18:00' },
  wednesday: { name: 'Wednesday', morning: '9:00 to 13:00', afternoon: '15:00 to 18:00' },
  thursday: { name: 'Thursday', morning: '9:00 to 13:00', afternoon: '15:00 to 18:00' },
  friday: { name: 'Friday', morning: '9:00 to 13:00' },
} as const

type Half = 'morning' | 'afternoon'
type Day = { name: string } & Partial<Record<Half, string>>

// The times at which somebody is there to call back: monday_morning and so on.
const SLOTS: Record<string, string> = {}
for (const [key, day] of Object.entries(HOURS) as [string, Day][]) {
  for (const half of ['morning', 'afternoon'] as const) {
    if (day[half]) SLOTS[`${key}_${half}`] = `${day.name} ${half}, ${day[half]}`
  }
}

export const tools = {
  shop_hours: defineTool({
    title: 'Opening hours',
    // The model chooses tools by this text: say what it is for, and what not.
    description: 'When the shop is open, day by day. Use it for every question about opening hours. Not for asking to be called: that is request_callback.',
    // Without a schema a tool takes no arguments.
    effect: 'read', // it changes nothing, so it may run again at any time
    handler: () => ({
      days: (Object.values(HOURS) as Day[]).map((d) => ({ day: d.name, hours: [d.morning, d.afternoon].filter(Boolean).join(' and ') })),
      closed: 'Saturday and Sunday',
    }),
  }),

  request_callback: defineTool({
    title: 'Ask for a call back',
    description: 'Leaves a request that somebody of the shop calls the person back. Not for questions about opening hours: that is shop_hours.',
    // Arguments that don't fit are refused before anybody is asked: what can't
    // be done is best not expressible. So a slot is one of a list.
    schema: {
      type: 'object',
      properties: {
        slot: { type: 'string', enum: Object.keys(SLOTS), description: 'When to call.' },
        topic: { type: 'string', minLength: 1, maxLength: 200, description: 'What it is about, in the words of the person.' },
      },
      required: ['slot', 'topic'],
      additionalProperties: false,
    },
    confirm: true, // ask the person first
    dedupe: 'args', // not twice with the same arguments within ten minutes
    // It touches nothing but ctx.store, which is saved together with the result
    // or not at all. A tool that calls another system is 'unsafe', the default.
    effect: 'idempotent',
    // What the person reads before saying yes. The default would be one line an
    // argument; code can say more, such as prices and totals.
    confirmLines: ({ slot, topic }: { slot: string; topic: string }) => [`• When: ${SLOTS[slot]}`, `• About: ${topic}`],
    handler: async ({ slot, topic }: { slot: string; topic: string }, ctx: Context) => {
      // ctx.store is this chat's, ctx.store.user the person's, ctx.store.bot
      // everybody's. Variables of this file are not saved.
      const number = await ctx.store.bot.update<number>('requests', (n) => (n ?? 0) + 1)
      const id = `C-${number}`
      // Who asks comes from the channel, never from the model.
      await ctx.store.bot.set(`request/${id}`, { slot, topic, chat: ctx.chatKey, user: ctx.user.id })
      // In a real shop: hand it on. The host has to be in fetch.allow.
      // const r = await ctx.fetch('https://shop.example.com/callbacks', {
      //   method: 'POST',
      //   headers: { authorization: `Bearer ${ctx.secret('shop_token')}` },
      //   body: JSON.stringify({ slot, topic, customer: ctx.user.id }),
      // })
      // if (!r.ok) return { error: 'The shop could not take the request.' } // an error means: nothing was done
      return { id, when: SLOTS[slot], topic }
    },
  }),
}
