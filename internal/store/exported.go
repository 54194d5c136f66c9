package store

// form is how a column is written as JSON.
type form int

const (
	asText form = iota
	asNumber
	asFlag
	asTime    // RFC 3339 in UTC; left out where there is none
	asJSON    // as it is stored; left out where it was removed
	asHistory // [{"role", "text"}]
)

// column is one key of an exported line. Empty texts are left out.
type column struct {
	name string
	form form
}

// exported is one kind of line: a query for rows that belong to ?1.
type exported struct {
	kind    string
	query   string
	columns []column
}

// exportLane is what belongs to a lane.
func exportLane() []exported {
	return []exported{
		{"lane", `SELECT key, lang, in_seq, done_seq, turns, turn, parked, coalesce(ready_at,0), error FROM lane WHERE key=?1`, []column{
			{"lane", asText}, {"lang", asText}, {"received", asNumber}, {"done", asNumber}, {"turns", asNumber}, {"turn", asText},
			{"parked", asFlag}, {"ready_at", asTime}, {"error", asText},
		}},
		{"message", `SELECT lane, seq, received_at, taken_by, payload FROM inbox WHERE lane=?1 ORDER BY seq`, []column{
			{"lane", asText}, {"seq", asNumber}, {"received_at", asTime}, {"taken_by", asText}, {"message", asJSON},
		}},
		{"history", `SELECT lane, n, at, lines FROM history WHERE lane=?1 ORDER BY n`, []column{
			{"lane", asText}, {"n", asNumber}, {"at", asTime}, {"lines", asHistory},
		}},
		{"turn", `SELECT id, lane, seq_from, seq_to, state, created_at, updated_at, error, user_lines, journal FROM turn WHERE lane=?1 ORDER BY created_at, id`, []column{
			{"turn", asText}, {"lane", asText}, {"seq_from", asNumber}, {"seq_to", asNumber}, {"state", asText}, {"created_at", asTime},
			{"updated_at", asTime}, {"error", asText}, {"user_lines", asJSON}, {"journal", asJSON},
		}},
		{"call", `SELECT c.id, c.turn, c.tool, c.effect, c.state, c.started_at, c.ended_at, c.args, c.result FROM call c JOIN turn t ON t.id=c.turn
 WHERE t.lane=?1 ORDER BY t.created_at, t.id, c.id`, []column{
			{"call", asText}, {"turn", asText}, {"tool", asText}, {"effect", asText}, {"state", asText}, {"started_at", asTime},
			{"ended_at", asTime}, {"args", asJSON}, {"result", asJSON},
		}},
		{"question", `SELECT token, lane, turn, state, created_at, delivered_at, expires_at, ended_at, message_id, spec, answer FROM wait
 WHERE lane=?1 ORDER BY created_at, token`, []column{
			{"token", asText}, {"lane", asText}, {"turn", asText}, {"state", asText}, {"created_at", asTime}, {"delivered_at", asTime},
			{"expires_at", asTime}, {"ended_at", asTime}, {"message_id", asText}, {"question", asJSON}, {"answer", asJSON},
		}},
		{"run", `SELECT lane, call, ended_at, keep_until, spec FROM run WHERE lane=?1 ORDER BY ended_at, call`, []column{
			{"lane", asText}, {"call", asText}, {"ended_at", asTime}, {"keep_until", asTime}, {"run", asJSON},
		}},
	}
}

// exportChat is what belongs to a chat.
func exportChat() []exported {
	return []exported{
		{"log", `SELECT n, id, author, at, edit_of, text, buttons FROM log WHERE chat=?1 ORDER BY n`, []column{
			{"n", asNumber}, {"id", asText}, {"author", asText}, {"at", asTime}, {"edit_of", asText}, {"text", asText}, {"buttons", asJSON},
		}},
		{"outbox", `SELECT seq, kind, state, attempts, created_at, updated_at, next_at, platform_id, error, payload FROM outbox WHERE chat=?1 ORDER BY seq`, []column{
			{"seq", asNumber}, {"does", asText}, {"state", asText}, {"attempts", asNumber}, {"created_at", asTime}, {"updated_at", asTime},
			{"due", asTime}, {"message_id", asText}, {"error", asText}, {"part", asJSON},
		}},
		{"event", `SELECT id, event FROM audit WHERE chat_key=?1 ORDER BY id`, []column{{"id", asNumber}, {"event", asJSON}}},
	}
}

// exportSaved is what tools saved in a scope.
func exportSaved() []exported {
	return []exported{
		{"saved", `SELECT scope, key, version, value FROM kv WHERE scope=?1 AND value IS NOT NULL ORDER BY key`, []column{
			{"scope", asText}, {"key", asText}, {"version", asNumber}, {"value", asJSON},
		}},
	}
}
