// Package discordtest is a strict Discord in memory, for tests of
// channels/discord and of what stands behind it.
//
// It owns what such tests need of https://docs.discord.com/developers: the
// gateway in versions 9 and 10 with its hello, heartbeats, identify, resume,
// close codes and replay; the REST calls that a bot makes, with their limits
// and the wording of their errors; nonces; interactions, by gateway or signed
// by HTTP, which are answered once and within three seconds; what is hidden
// from a bot without the message content intent. It records every call, and
// reports what a correct client never does (see Server.Violations).
//
// It doesn't own voice, sharding, permissions in detail or compression, and
// sends everything uncompressed.
package discordtest
