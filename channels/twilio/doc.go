// Package twilio is SMS and WhatsApp through Twilio's Programmable Messaging:
// one sender (a number, or a messaging service), its webhook, and the Messages
// resource that it writes with.
//
// It owns the check of Twilio's signature over the configured public address,
// the translation of forms into channels.Inbound and of parts into messages,
// and the table of Twilio's error codes. Addresses are kept as Twilio writes
// them, "whatsapp:" included: they name chats and people.
//
// It doesn't own delivery: Twilio takes a message at once and says later, to
// the same webhook, whether it arrived (channels.StatusSink).
//
// Of the SDK only client and rest/api/v2010 are used: the root package links
// every product. The SDK knows no context, so that each call has a transport
// that carries it; and its validator of signatures looks at the first value of a
// repeated field only, so that the check here is our own.
//
// Sources: twilio.com/docs/messaging, twilio.com/docs/usage/security, and
// Twilio's OpenAPI document of the API 2010-04-01.
package twilio
