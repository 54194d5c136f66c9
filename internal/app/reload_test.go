package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
)

// scripted makes a bot of one script, which may import lib.ts.
func scripted(t *testing.T, script, yaml string, opts ...option) *bed {
	t.Helper()
	prepare := func(b *bed) {
		b.file("tools.ts", script)
		b.file("lib.ts", "export const version = 'v0'\n")
	}
	return newBed(t, append(opts, prepare, withYAML("tools: {scripts: [tools.ts]}\n"+yaml))...)
}

// file writes a file beside the configuration.
func (b *bed) file(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// rewrite writes the configuration anew, with the script's section.
func (b *bed) rewrite(yaml string) {
	b.t.Helper()
	if err := b.configure("tools: {scripts: [tools.ts]}\n" + yaml); err != nil {
		b.t.Fatal(err)
	}
}

const versionTool = `import { defineTool } from 'parley'
import { version } from './lib'
export const tools = {
  version: defineTool({ description: 'The version.', effect: 'read', handler: () => version }),
}
`

// asksVersion is a model that calls the tool and says what it gave.
func asksVersion(_ context.Context, req llm.Request) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleUser {
		return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{ID: "a", Name: "version", Args: "{}"}}}, nil
	}
	return llm.Response{Text: "it is " + last.Results[0].Content, Stop: llm.StopEnd}, nil
}

// TestReload_UnderLoadLosesNoTurn changes the tools again and again, and breaks
// the configuration now and then, while people write.
func TestReload_UnderLoadLosesNoTurn(t *testing.T) {
	t.Parallel()
	const chats, each, reloads = 12, 6, 15
	b := scripted(t, versionTool, "limits: {per_user: off}")
	b.model.always = asksVersion
	var people, work sync.WaitGroup
	for i := range chats {
		people.Go(func() {
			chat, who := channeltest.Direct(fmt.Sprint("p", i))
			for n := range each {
				if _, err := b.fake.Say(b.ctx, chat, who, fmt.Sprint("which? ", n)); err != nil {
					t.Error(err)
					return
				}
				m, err := b.fake.NthMessage(b.ctx, chat.ID, n+1)
				if err != nil || !strings.HasPrefix(m.Text, "it is v") {
					t.Errorf("chat %d, message %d: %q %v\n%s", i, n, m.Text, err, b.logs)
					return
				}
			}
		})
	}
	work.Go(func() {
		for n := range reloads {
			if n%3 == 2 {
				b.rewrite("limits: {per_usr: off}")
				if _, err := b.app.Reload(b.ctx); err == nil {
					t.Error("an invalid configuration was taken")
				}
				b.rewrite("limits: {per_user: off, workers: " + fmt.Sprint(1+n) + "}")
				continue
			}
			b.file("lib.ts", fmt.Sprintf("export const version = 'v%d'\n", n))
			if _, err := b.app.Reload(b.ctx); err != nil {
				t.Errorf("reload %d: %v", n, err)
			}
		}
	})
	people.Wait()
	work.Wait()
	b.file("lib.ts", "export const version = 'v-last'\n")
	if _, err := b.app.Reload(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.say("which?")
	b.wants(1, "it is v-last")
	// Whoever ends work closes what nobody needs any more.
	for n := 2; b.app.shifts.replaced() > 0; n++ {
		b.say("which?")
		b.message(n)
	}
}

// A turn that began before a reload ends with the tools it began with, and
// those are closed no sooner.
func TestReload_ATurnUnderWayKeepsItsTools(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "")
	asked, goOn := make(chan struct{}), make(chan struct{})
	b.model.then(func(ctx context.Context, req llm.Request) (llm.Response, error) {
		close(asked)
		<-goOn
		return asksVersion(ctx, req)
	})
	b.model.always = asksVersion
	b.say("which?")
	<-asked
	for n := range 2 {
		b.file("lib.ts", fmt.Sprintf("export const version = 'v%d'\n", n+1))
		if _, err := b.app.Reload(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	b.wants(1, "it is v0")
	b.say("and now?")
	b.wants(2, "it is v2")
}

// TestReload_B28_AnOpenQuestionIsHeldToWhatWasAsked: the tool's title changes in
// its script while the question is open.
func TestReload_B28_AnOpenQuestionIsHeldToWhatWasAsked(t *testing.T) {
	t.Parallel()
	script := func(title string) string {
		return "import { defineTool } from 'parley'\nlet n = 0\nexport const tools = { send: defineTool({ title: '" + title +
			"', description: 'Sends.', confirm: true, handler: () => 'sent by " + title + "' }) }\n"
	}
	b := scripted(t, script("Send"), "")
	b.model.then(calls("send", "{}"), func(_ context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{Text: req.Messages[len(req.Messages)-1].Results[0].Content, Stop: llm.StopEnd}, nil
	})
	b.say("send it")
	b.wants(1, "About to: Send\nDo you confirm?")
	b.file("tools.ts", script("Post"))
	if _, err := b.app.Reload(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.press("yes")
	b.wants(2, "About to: Post\nDo you confirm?")
	b.press("yes")
	b.wants(3, "sent by Post")
}

// What the configuration says wrongly is told together with what its scripts do.
func TestReload_TellsAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "")
	b.rewrite("loop: {max_stesp: 3}")
	b.file("tools.ts", "export const tools = { version: { describe: 'x', handler: () => 1 } }\n")
	_, err := b.app.Reload(b.ctx)
	if err == nil || !strings.Contains(err.Error(), "max_stesp") || !strings.Contains(err.Error(), `unknown field "describe"`) {
		t.Errorf("told: %v", err)
	}
}

func TestReload_AnInvalidFileKeepsTheRunningOne(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "")
	b.model.always = asksVersion
	began := b.metric("parley_config_last_reload_success_timestamp_seconds")
	for name, spoil := range map[string]func(){
		"a key":         func() { b.rewrite("loop: {max_stesp: 3}") },
		"a text":        func() { b.rewrite("locale: {en: {ai.eror: x}}") },
		"a script":      func() { b.file("tools.ts", "export const tools = {\n") },
		"an import":     func() { b.file("lib.ts", "export const version = \n") },
		"a channel":     func() { b.rewrite("x-a: 1\nbot: {nme: x}") },
		"the rules":     func() { b.file("model.yaml", "rules: [{sya: hi}]\n") },
		"nothing there": func() { _ = os.Remove(filepath.Join(b.dir, "parley.yaml")) },
	} {
		spoil()
		code, body := b.call()
		if code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, code, body)
		}
		var answer struct {
			Error struct {
				Code     string
				Messages []string
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error.Code != "invalid_config" ||
			len(answer.Error.Messages) != 1 || !strings.HasSuffix(answer.Error.Messages[0], "]") {
			t.Errorf("%s: %s %v", name, body, err)
		}
		if got := b.metric("parley_config_last_reload_successful"); got != 0 {
			t.Errorf("%s: the metric says %v", name, got)
		}
		b.file("tools.ts", versionTool)
		b.file("lib.ts", "export const version = 'v0'\n")
		b.file("model.yaml", "rules: [{say: hi}]\n")
		b.rewrite("")
	}
	if !strings.Contains(b.logs.String(), "configuration not taken") {
		t.Error("nothing was logged")
	}
	b.say("which?")
	b.wants(1, "it is v0")
	if code, body := b.call(); code != http.StatusOK || !strings.Contains(body, `"needs_restart":[]`) {
		t.Errorf("%d %s", code, body)
	}
	if b.metric("parley_config_last_reload_successful") != 1 || b.metric("parley_config_last_reload_success_timestamp_seconds") < began {
		t.Error("the metrics don't tell of the success")
	}
}

// call is the API's reload.
func (b *bed) call() (int, string) {
	rec := httptest.NewRecorder()
	b.app.reloadCall(rec, httptest.NewRequestWithContext(b.ctx, http.MethodPost, "/api/v1/reload", nil))
	return rec.Code, strings.TrimSpace(rec.Body.String())
}

func TestReload_NamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "")
	b.rewrite("server: {listen: \"127.0.0.1:1\"}\noutbox: {max_age: 1h}\nlog: {level: debug}\nbot: {name: Ana, persona: x}\nconfirm: {timeout: 5m}\nloop: {max_steps: 7}\n" +
		"limits: {message_bytes: 1KiB, workers: 3}\naudit: {file: x.jsonl, redact: [args.a]}\nlocale: {en: {ai.error: Oops}}\n")
	path := filepath.Join(b.dir, "parley.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(text), "{web: {kind: webchat}}", "{web: {kind: webchat, title: New}, term: {kind: console}}", 1)
	if err := os.WriteFile(path, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := b.app.Reload(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	same(t, []string{"audit.file", "bot.name", "channels.term", "channels.web", "limits.message_bytes", "log.level", "outbox.max_age", "server.listen"}, got)
	if !strings.Contains(b.logs.String(), "need a restart") {
		t.Error("no warning")
	}
	// As it was: nothing to restart for.
	b.rewrite("")
	if got, err := b.app.Reload(b.ctx); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

// Telegram was told of the commands in the language that the bot began with.
func TestReload_LanguageOfTelegramsCommandsNeedsARestart(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{"telegram": {"bot.lang"}, "webchat": nil} {
		b := &Bot{adapters: []instance{{name: "a", kind: kind}}}
		same(t, want, b.needRestart([]string{"bot.lang", "bot.persona"}))
	}
}

// What the rest of the bot goes by is new at once: texts, limits, words.
func TestReload_ChangesWhatMessagesAreTakenBy(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "")
	b.model.always = says("fine")
	b.say("hello")
	b.wants(1, "fine")
	b.rewrite("limits: {per_user: 1/1h, message_bytes: 10}\nlocale: {en: {limits.rate: Slowly}}")
	if _, err := b.app.Reload(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.say("again")
	b.wants(2, "Slowly")
}

// TestReload_EverySectionIsKnown: a new section is either read again or named.
func TestReload_EverySectionIsKnown(t *testing.T) {
	t.Parallel()
	live := []string{"model", "tools", "data", "fetch", "secrets", "locale", "loop", "confirm", "bot", "limits", "audit"}
	named := []string{"mcp", "alerts", "server", "store", "outbox", "log", "channels"}
	for f := range reflect.TypeFor[config.Config]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.IsExported() && key != "-" && !slices.Contains(live, key) && !slices.Contains(named, key) {
			t.Errorf("%s: is it read again, or does it need a restart? See needRestart", key)
		}
	}
}

// TestReload_WatchesWhatScriptsImport: nothing but a file is touched.
func TestReload_WatchesWhatScriptsImport(t *testing.T) {
	t.Parallel()
	b := scripted(t, versionTool, "", func(b *bed) { b.watch = true })
	b.model.always = asksVersion
	b.file("lib.ts", "export const version = 'v1'\n")
	b.logsTimes("configuration read again", 1)
	b.say("which?")
	b.wants(1, "it is v1")
	b.file("lib.ts", "export const version =\n")
	b.logsTimes("configuration not taken", 1)
	b.file("lib.ts", "export const version = 'v2'\n")
	b.logsTimes("configuration read again", 2)
	b.say("which?")
	b.wants(2, "it is v2")
}

// logsTimes waits until the log has something n times.
func (b *bed) logsTimes(what string, n int) {
	b.t.Helper()
	for {
		more := b.logs.more()
		if strings.Count(b.logs.String(), what) >= n {
			return
		}
		b.soon(more, what)
	}
}
