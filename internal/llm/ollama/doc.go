// Package ollama speaks Ollama's own chat API.
//
// It owns the translation of a request and of an answer, whole or streamed, the
// classes of that API's errors, and the question whether a model takes tools:
// [Provider.Check] asks for the model's capabilities, and a model that takes
// none is refused by name, with class NoTools, when it is first used with some.
// It doesn't own retries nor fallbacks (llm.Chain), nor the HTTP call itself
// (llm.Caller), and it keeps nothing between calls.
//
// It doesn't use ollama/api: that adds 0.8 MB to the stripped binary (v0.17.4:
// 31.6 MB to 32.4 MB) and dozens of modules to go.mod, takes a stream whose
// connection was lost for a whole answer, and decodes a call's arguments before
// anybody can see whether they are JSON. What is needed of the API is two POSTs.
//
// How much of a conversation the model sees is set on the server
// (OLLAMA_CONTEXT_LENGTH, or num_ctx of the model), which leaves out the oldest
// messages without saying so.
//
// Source: https://docs.ollama.com/api/chat
package ollama
