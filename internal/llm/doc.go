// Package llm is the contract between the tool loop and a language model's API.
//
// It owns the types of a request and an answer, the classes of failure, and
// [Chain]: retries with back-off and the fallback models, in one place for all
// providers. It doesn't own any API (one package each below), nor what is said
// to a model (internal/turn), nor what a tool does (internal/tool).
package llm
