// Package telegramtest is a strict Bot API server in memory, for tests of
// channels/telegram and of what stands behind it.
//
// It owns what such tests need of https://core.telegram.org/bots/api: long
// polls that confirm by offset and exclude each other, webhooks that are
// delivered again until they are answered 2xx, chats that must have been
// opened by a person, the limits of texts, buttons and notices, HTML that has
// to be well-formed, presses that can be answered once, groups that move, and
// the wording of the errors. It records every call, and reports a parameter
// that the API doesn't have (see Server.Violations).
//
// It doesn't own the clock: nothing expires by itself, and deliveries are
// repeated after milliseconds where Telegram takes seconds.
package telegramtest
