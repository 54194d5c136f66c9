import { argLines, defineTool } from 'parley'
import { z } from 'zod'
import * as mini from 'zod/mini'

const product = z.enum(['rye_bread', 'chocolate_cake'])

export const tools = {
  place_order: defineTool({
    title: 'Place order',
    description: 'Places an order. Not for changing one.',
    schema: z.object({
      items: z.array(z.object({ product, quantity: z.number().int().min(1).max(50) })).min(1),
      note: z.string().trim().default('none'),
    }),
    confirm: (args, ctx) => args.items.length > 1 && ctx.user.id === 'u1',
    labels: { product: { rye_bread: 'Rye bread' } },
    confirmLines: (args, ctx) => argLines(args, ctx),
    confirmMessage: (args) => `Order ${args.items.length}?`,
    handler: (args) => args,
  }),
  strict: defineTool({
    schema: z.strictObject({ email: z.email(), when: z.coerce.date(), tags: z.array(z.string()).transform((t) => new Set(t)) }),
    handler: (args) => ({ isDate: args.when instanceof Date, tags: args.tags instanceof Set && args.tags.size }),
  }),
  later: defineTool({
    schema: z.object({ n: z.number().refine(async (n) => { await new Promise((r) => setTimeout(r, 1)); return n > 1 }, 'too small') }),
    handler: (args) => args.n,
  }),
  mini: defineTool({
    schema: mini.object({ n: mini.number().check(mini.minimum(1)) }),
    handler: (args) => args.n,
  }),
}
