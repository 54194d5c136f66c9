// Package llm is the contract between the tool loop and a language model's API.
//
// It owns the types of a request and an answer, the classes of failure, and
// what is the same for all providers: [Chain], which is the one place for
// retries, back-off, fallback models and the stripping of opaque fields;
// [Trim] and [EstimateTokens] for the history; the model metrics; and what
// HTTP providers share. It doesn't own any API (one package each below), nor
// what is said to a model (internal/turn), nor what a tool does
// (internal/tool).
package llm
