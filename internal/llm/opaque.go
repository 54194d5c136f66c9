package llm

// memberID is what Message.From holds.
func memberID(p Provider) string { return p.Name() + "/" + p.Model() }

// ownOpaque takes away the opaque fields that another model wrote: they are
// bound to their endpoint, and refused or misread elsewhere. The input isn't
// changed, nor copied where there is nothing to take away.
func ownOpaque(messages []Message, id string) []Message {
	var out []Message
	for i, m := range messages {
		if m.From == id || !hasOpaque(m) {
			continue
		}
		if out == nil {
			out = append([]Message(nil), messages...)
		}
		out[i].Opaque = nil
		out[i].Calls = append([]Call(nil), m.Calls...)
		for n := range out[i].Calls {
			out[i].Calls[n].Opaque = nil
		}
	}
	if out == nil {
		return messages
	}
	return out
}

func hasOpaque(m Message) bool {
	if m.Opaque != nil {
		return true
	}
	for _, c := range m.Calls {
		if c.Opaque != nil {
			return true
		}
	}
	return false
}
