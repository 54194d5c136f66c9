package app

import (
	"strings"
	"testing"
)

const hungryTool = `export const tools = {
  hoard: { description: 'Takes memory.', effect: 'read', schema: { type: 'object' }, handler: (args: any) => {
    const all: string[] = []
    for (let i = 0; i < args.mib; i++) all.push(String(i % 10).repeat(1 << 20))
    return all.length
  } },
}
`

// limits.script_memory is the bound of one runtime, and a script that needs
// more only fails its own call.
func TestScripts_MemoryOfAModuleIsBounded(t *testing.T) {
	t.Parallel()
	b := scripted(t, hungryTool, "limits: {script_memory: 16MiB, script_calls: 1}\n")
	b.model.then(calls("hoard", `{"mib":4}`), says("a little"), calls("hoard", `{"mib":24}`), says("too much"), calls("hoard", `{"mib":4}`), says("a little again"))
	for i, want := range []struct{ answer, result string }{{"a little", "4"}, {"too much", "out of memory"}, {"a little again", "4"}} {
		b.say("go on")
		b.wants(i+1, want.answer)
		if got := one(t, b).Content; !strings.Contains(got, want.result) {
			t.Errorf("result %s, want %s", got, want.result)
		}
	}
}
