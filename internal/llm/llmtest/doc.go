// Package llmtest is the conformance suite of llm.Provider: every provider
// that speaks HTTP runs it against a fake server of its API's dialect.
//
// It owns what every provider must make of an answer, of a failure and of a
// transcript ([Run]); the golden files of what each of them sends (run the
// tests with -update to write them anew); and the scaffolding of what only one
// API has: literal answers ([RunRead], [RunRefused]), settings ([RunSettings])
// and fuzzing ([FuzzAnswers]). It doesn't own a dialect: the provider's tests
// bring a [Backend]. A change of the contract starts here.
package llmtest
