// Package anthropic speaks Anthropic's Messages API.
//
// It owns the translation of a request and of an answer, whole or streamed,
// and the classes of that API's errors. It doesn't own retries nor fallbacks
// (llm.Chain), nor the HTTP call itself (llm.Caller), and it keeps nothing
// between calls.
//
// It doesn't use anthropic-sdk-go: calling that SDK's Messages.New and
// NewStreaming makes the stripped binary 8.3 MB larger (v1.84.0: 31.6 MB to
// 39.8 MB), a quarter of the whole. It also reads keys and addresses from the
// environment behind the configuration's back, retries by itself, and takes a
// stream that was cut cleanly for an answer. What is needed of the API is one
// POST.
//
// Thinking blocks, with their signatures, are kept and sent back before what
// the model said and asked for, as the API demands within a turn.
//
// Source: https://docs.anthropic.com/en/api/messages
package anthropic
