package js

import (
	"testing"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	m := script(t, `
export const tools = {
  echo: { schema: {}, handler: async (args) => args },
  text: { schema: {}, handler: () => 'hola' },
  nothing: { schema: {}, handler: async () => {} },
  fails: { schema: {}, handler: () => { throw new Error('no bread') } },
  hangs: { schema: {}, handler: (_, ctx) => new Promise((_, reject) => {
    setTimeout(() => {}, 3600_000)
    ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
  }) },
  large: { schema: {}, handler: () => ({ text: 'é'.repeat(100_000) }) },
  barred: { schema: {}, handler: async (args) => args },
  whoami: { schema: {}, handler: (_, ctx) => ({ user: ctx.user.id, chat: ctx.chatKey }) },
}`, Options{MaxVMs: 4})
	tooltest.Run(t, func(t *testing.T, b tooltest.Behaviour) (tool.Runner, bool) {
		return byName(t, m, string(b)).Runner, true
	})
}
