package outbox

import (
	"strconv"
	"strings"
)

// Key is the idempotency key of an entry (channels.Part.Key). It is the same
// for every attempt, and platforms that hand it back with their reports name
// the entry by it.
func Key(chatKey string, seq int64) string { return chatKey + "#" + strconv.FormatInt(seq, 10) }

// ParseKey is the reverse of Key. ok is false for keys not made by it.
func ParseKey(key string) (chatKey string, seq int64, ok bool) {
	i := strings.LastIndexByte(key, '#')
	if i <= 0 {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(key[i+1:], 10, 64)
	if err != nil || seq <= 0 || Key(key[:i], seq) != key {
		return "", 0, false
	}
	return key[:i], seq, true
}
