// Package discord is the channel for bots on Discord.
//
// It owns the translation between Discord's API
// (https://docs.discord.com/developers) and package channels: the gateway with
// its sessions, what was missed while no session could be resumed, the signed
// interactions endpoint, messages, presses, slash commands, buttons, edits and
// the classes of its errors. It doesn't own retries, the cutting of texts,
// duplicates or order: those are the core's.
//
// REST calls and their types are github.com/bwmarrin/discordgo's, with its own
// repeats, waits and rate limits out of the way (see transport). Its gateway
// isn't used: it keeps session and sequence to itself, so that nothing can be
// resumed by another process, notes an event as received before anybody has
// it, and ends the session with every stop. Here an event counts as received
// after the core has committed it, and only the fields that are used are read,
// so that no part of a new kind stands in the way of a message.
//
// What must outlive a restart is kept in channels.State: the gateway's session
// and how far it was worked on (key session), the bot's ids (me), and what
// commands were registered (commands).
package discord
