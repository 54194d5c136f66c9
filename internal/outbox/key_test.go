package outbox

import "testing"

func TestKey(t *testing.T) {
	t.Parallel()
	for _, chat := range []string{"wa:1555", "sms:whatsapp:+1555", "x:a#1", "x:#"} {
		for _, seq := range []int64{1, 42, 1 << 60} {
			got, n, ok := ParseKey(Key(chat, seq))
			if got != chat || n != seq || !ok {
				t.Errorf("ParseKey(Key(%q, %d)) = %q, %d, %v", chat, seq, got, n, ok)
			}
		}
	}
	for _, key := range []string{"", "#1", "wa:1", "wa:1#", "wa:1#x", "wa:1#0", "wa:1#-1", "wa:1#+1", "wa:1#01", "wa:1#99999999999999999999"} {
		if chat, n, ok := ParseKey(key); ok {
			t.Errorf("ParseKey(%q) = %q, %d, want none", key, chat, n)
		}
	}
}
