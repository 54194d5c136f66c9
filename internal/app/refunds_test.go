package app

import (
	"context"
	dbsql "database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/script"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

const refundsDir = "../../configs/refunds"

func example(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(refundsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refunds is the example configs/refunds on the bed's channel, whose person
// takes the place of the one in the terminal.
func refunds(t *testing.T) (option, *sqltool.Source) {
	t.Helper()
	sql := strings.ReplaceAll(string(example(t, "shop.sql")), "'console'", "'user-ana'")
	url, s := database(t, sqltool.SQLite)
	db, err := dbsql.Open("sqlite", strings.TrimPrefix(url, "sqlite://")) // the driver of SQL tools
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(example(t, "parley.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"model", "channels"} { // the bed has its own
		delete(doc, key)
	}
	doc["data"] = map[string]any{"shop": map[string]any{"url": url}}
	text, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return func(b *bed) {
		b.yaml += "\n" + string(text)
		if err := os.WriteFile(filepath.Join(b.dir, "tools.ts"), example(t, "tools.ts"), 0o600); err != nil {
			t.Fatal(err)
		}
	}, s
}

func refundArgs(order string, amount string) string {
	return fmt.Sprintf(`{"order":%q,"amount":%s,"reason":"defective"}`, order, amount)
}

const paidSoFar = "select order_id, customer, cents from refunds order by id"

// refund lets the model ask for a refund that nobody is asked about, and gives
// what it was told.
func (b *bed) refund(n int, args string) string {
	b.t.Helper()
	done := fmt.Sprint("turn ", n)
	b.model.then(calls("refund_order", args), says(done))
	b.say("money, please")
	b.wants(n, done)
	return one(b.t, b).Content
}

func TestRefunds_B1_OnlyAboveTheThresholdSomebodyIsAsked(t *testing.T) {
	t.Parallel()
	o, s := refunds(t)
	b := newBed(t, o)
	if got := b.refund(1, refundArgs("A-1002", "50")); !strings.Contains(got, `"refund":"R-1"`) {
		t.Errorf("50: %s", got)
	}
	b.model.then(calls("refund_order", refundArgs("A-1002", "50.01")), says("paid"))
	b.say("more")
	m := b.asked(2)
	if got, want := m.Text, "About to: Refund\n• Order: A-1002 (Coffee machine)\n• Refund: €50.01 of €180.00\n• Reason: defective\nDo you confirm?"; got != want {
		t.Errorf("question %q, want %q", got, want)
	}
	if got := query(t, s, paidSoFar); strings.Contains(got, "5001") {
		t.Errorf("paid before the yes: %s", got)
	}
	b.press("yes")
	b.wants(3, "paid")
	if got, want := query(t, s, paidSoFar), `[{"order_id":"A-1002","customer":"user-ana","cents":5000},{"order_id":"A-1002","customer":"user-ana","cents":5001}]`; got != want {
		t.Errorf("paid %s", got)
	}
}

func TestRefunds_E1_OrdersOfOthersWhateverTheArgumentsSay(t *testing.T) {
	t.Parallel()
	o, s := refunds(t)
	b := newBed(t, o)
	const plain = `{"order":"A-2001","amount":20,"reason":"defective"`
	for i, c := range []struct{ args, want string }{
		{plain + `}`, `{"error":"The person has no such order."}`},
		{`{"order":"A-9999","amount":20,"reason":"defective"}`, `{"error":"The person has no such order."}`},
		{plain + `,"customer":"somebody-else"}`, "invalid_arguments"},
		{plain + `,"user":{"id":"somebody-else"}}`, "invalid_arguments"},
		{plain + `,"confirmed":true}`, "invalid_arguments"},
		{`{"order":"A-2001' or customer='somebody-else","amount":20,"reason":"defective"}`, "invalid_arguments"},
	} {
		if got := b.refund(i+1, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
	// Above the threshold it is asked, shows nothing of the order, and fails.
	b.model.then(calls("refund_order", refundArgs("A-2001", "90")), says("no"))
	b.say("more")
	if m := b.asked(7); strings.Contains(m.Text, "Blender") {
		t.Errorf("the question tells what somebody else ordered: %q", m.Text)
	}
	b.press("yes")
	b.wants(8, "no")
	if got := query(t, s, paidSoFar); got != "[]" {
		t.Errorf("paid %s", got)
	}
}

func TestRefunds_A10_AmountsAtTheBounds(t *testing.T) {
	t.Parallel()
	o, s := refunds(t)
	b := newBed(t, o)
	for i, amount := range []string{"0", "-1", "0.001", "0.009", "200.01", "201", "1e9", `"20"`, "null", "19.999"} {
		if got := b.refund(i+1, refundArgs("A-1002", amount)); !strings.Contains(got, "invalid_arguments") {
			t.Errorf("%s: %s", amount, got)
		}
	}
	for i, amount := range []string{"0.01", "19.99", "0.29"} {
		if got := b.refund(11+i, refundArgs("A-1002", amount)); !strings.Contains(got, `"refund":`) {
			t.Errorf("%s: %s", amount, got)
		}
	}
	if got := query(t, s, "select group_concat(cents) as c from refunds"); got != `[{"c":"1,1999,29"}]` {
		t.Errorf("paid %s", got)
	}
}

func TestRefunds_C3_TheSameTwiceAndNeverMoreThanTheOrder(t *testing.T) {
	t.Parallel()
	o, s := refunds(t)
	b := newBed(t, o)
	b.refund(1, refundArgs("A-1001", "30"))
	if got := b.refund(2, refundArgs("A-1001", "30.0")); !strings.Contains(got, `"reason":"duplicate"`) {
		t.Errorf("the same again: %s", got)
	}
	if got := b.refund(3, refundArgs("A-1001", "15.01")); got != `{"error":"That is more than is left to refund of this order."}` {
		t.Errorf("more than is left: %s", got)
	}
	if got := b.refund(4, refundArgs("A-1001", "15")); !strings.Contains(got, `"refund":"R-2"`) {
		t.Errorf("the rest: %s", got)
	}
	// Past the window it isn't the same wish any more, but there is nothing left.
	b.clock.advance(11 * 60e9)
	if got := b.refund(5, refundArgs("A-1001", "30")); !strings.Contains(got, "more than is left") {
		t.Errorf("later: %s", got)
	}
	if got := query(t, s, "select sum(cents) as c from refunds"); got != `[{"c":4500}]` {
		t.Errorf("paid %s", got)
	}
}

func TestRefunds_TheBudgetHoldsOverRefundsAndRestarts(t *testing.T) {
	t.Parallel()
	o, s := refunds(t)
	b := newBed(t, o)
	for i, amount := range []string{"50", "49", "48"} {
		b.refund(i+1, refundArgs("A-1002", amount))
	}
	b.restart()
	if got := b.refund(4, refundArgs("A-1003", "50")); !strings.Contains(got, `"refund":"R-4"`) {
		t.Errorf("up to 197: %s", got)
	}
	if got := b.refund(5, refundArgs("A-1001", "3.01")); !strings.Contains(got, "used up for these 30 days") {
		t.Errorf("past 200: %s", got)
	}
	if got := b.refund(6, refundArgs("A-1001", "3")); !strings.Contains(got, `"refund":"R-5"`) {
		t.Errorf("exactly 200: %s", got)
	}
	if got := query(t, s, "select sum(cents) as c from refunds"); got != `[{"c":20000}]` {
		t.Errorf("paid %s", got)
	}
}

// The scripted model knows how to use the tools, and their cards are clean.
func TestRefunds_E3_TheExampleRunsAndIsClean(t *testing.T) {
	t.Parallel()
	o, _ := refunds(t)
	b := newBed(t, o)
	if f := b.app.Findings(); len(f) > 0 {
		t.Errorf("findings %+v", f)
	}
	m, err := script.New(example(t, "model.yaml"), "model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.model.always = func(ctx context.Context, req llm.Request) (llm.Response, error) { return m.Generate(ctx, req, nil) }
	for i, c := range []struct{ say, want string }{
		{"my refunds", "Nothing was paid back yet."},
		{"refund 45.50 of a-1002, it is broken", "Paid: €45.50 of A-1002, as R-1."},
		{"refund 20 of A-2001, never arrived", "Nothing was paid. The person has no such order."},
		{"refund 201 of A-1002, broken", "I can refund from 0.01 to 200 euros of an order such as A-1001."},
		{"my refunds", "Paid back:\n• R-1: 4550 cents of A-1002, defective"},
		{"hello", `Which order, how much, and why? For example: "refund 45 of A-1001, it is defective". I can also list your orders and your refunds.`},
	} {
		b.say(c.say)
		b.wants(i+1, c.want)
	}
}

// The file itself, as people copy it.
func TestRefunds_TheFileIsAsItSays(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(filepath.Join(refundsDir, "parley.yaml"), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Model.Provider != "script" || len(cfg.Tools.Scripts) != 1 || len(cfg.Data) != 1 {
		t.Errorf("model %s, scripts %v, data %v", cfg.Model.Provider, cfg.Tools.Scripts, cfg.Data)
	}
}
