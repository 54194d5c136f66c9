// Package locale has every text that parley itself says, to people and in the
// system prompt, in English and Spanish, and the operator's changes to them.
//
// It owns the texts, their keys and placeholders, and which language a chat
// gets. It doesn't own where a chat's language comes from, nor how a text is
// cut or marked up: that is internal/render.
//
// A text is a template: {tool} stands for a value given to [Catalog.Text].
// Values are put in as they are; braces in them mean nothing.
package locale
