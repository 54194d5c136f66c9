// Package openai speaks OpenAI's chat completions API, and with it the many
// servers that copy it ([Preset]).
//
// It owns the translation of a request and of an answer, whole or streamed,
// and the classes of that API's errors. It doesn't own retries nor fallbacks
// (llm.Chain), and it keeps nothing between calls.
//
// The types of go-openai are used where they fit; its client is not. That one
// hides Retry-After, reads bodies without bound, fails on arguments that are
// an object, leaves out empty contents and arguments, refuses some model
// names by itself, and has no place for reasoning and signatures that some
// servers want back. What is left of it is one POST.
//
// Source: https://platform.openai.com/docs/api-reference/chat
package openai
