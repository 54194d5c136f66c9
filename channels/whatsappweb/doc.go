// Package whatsappweb is the channel for an ordinary WhatsApp account, as a
// linked device ("WhatsApp Web").
//
// It owns the translation between the SDK (go.mau.fi/whatsmeow) and package
// channels: the connection and when to make it anew, pairing, messages, edits,
// signs of writing, receipts, and who a person is, with a phone number and a
// hidden id (LID) for one chat. It doesn't own the SDK's tables (that is
// internal/store/whatsappdb), retries, the cutting of texts, duplicates or
// order: those are the core's.
//
// What decides how it is built:
//
//   - A message is acknowledged after the core has committed it. The SDK does
//     so when its acknowledgements are synchronous and the handler says that
//     it succeeded; what it decrypted before that lies in its own buffer, so
//     that the ciphertext can be delivered again.
//   - WhatsApp delivers again only on a new connection. So a message that the
//     core can't take ends the connection: nothing behind it is taken, and all
//     of it comes again in its order.
//   - Each connection is a client of its own. The SDK's client carries its
//     queue of unhandled nodes over a reconnect, where they would overtake
//     what is delivered again. Its own reconnecting is off for that reason.
//   - The SDK's store of sessions is wrapped, so that nobody's messages are
//     decrypted while one to them is encrypted, and nothing is sent that its
//     reader couldn't read.
//   - A person is written to at the hidden id, never at the number.
//   - Ids of messages are made from the outbox's keys: a message that is sent
//     again has the same id, and is shown once.
//   - Buttons from unofficial clients reach few phones: questions are typed.
//   - The states that only a person can end (no device linked, logged out,
//     replaced, outdated, banned) are no errors of Run: they are told as
//     channels.Link. While no device is linked the session file is left alone,
//     so that `parley pair` can link one.
//
// In channels.State it keeps which chat a person is (who:LID), the salt of the
// ids (salt) and the last messages sent (sent), for devices that ask for one
// again.
package whatsappweb
