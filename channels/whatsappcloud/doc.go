// Package whatsappcloud is WhatsApp through Meta's Cloud API: one business
// number, its webhook, and the Graph API that it writes with.
//
// It owns the check of Meta's signature over the raw body, the translation of
// webhook events into channels.Inbound and of parts into messages, the table of
// Meta's error codes, and who is who: a person may write with a phone number,
// with a business-scoped user id, or with both, and stays in one chat
// throughout (people.go).
//
// It doesn't own what happens to a message: a batch is answered with 200 once
// the sink has all of it, and any delivery may come again. It keeps in memory
// the newest message of each chat, since reading, typing and the 24-hour window
// go by it; after a restart the window is learnt anew from Meta's answers.
//
// WhatsApp can't edit: buttons stay under old messages for ever, and the core
// says so where one is pressed (Capabilities.Edit is empty).
//
// Sources: developers.facebook.com/docs/whatsapp/cloud-api, and Meta's OpenAPI
// document of the business messaging API v23.0.
package whatsappcloud
