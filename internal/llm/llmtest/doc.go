// Package llmtest is the conformance suite of llm.Provider: every provider
// that speaks HTTP runs it against a fake server of its API's dialect.
//
// It owns what every provider must make of an answer, of a failure and of a
// transcript ([Run]); the golden files of what each of them sends (run the
// tests with -update to write them anew); and the scaffolding of what only one
// API has: literal answers ([RunRead], [RunRefused]), settings ([RunSettings])
// and fuzzing ([FuzzAnswers]). It doesn't own a dialect: the provider's tests
// bring a [Backend]. A change of the contract starts here.
//
// Troubles that users of comparable programs reported, and where they are
// tested:
//   - arguments come as an object, a string or not at all: "object args",
//     "empty args", and llm.ArgsText;
//   - arguments that don't parse become an empty object, and the tool runs:
//     "broken args" (they stay what they are), then TestLoop_A4 "not JSON";
//   - a call that was cut off, asked for again and again: "length in calls",
//     then TestLoop_A8 and TestLoop_A2_ThirdIdenticalFailureIsNotRun;
//   - an empty message goes out: "empty", then TestLoop_A13_EmptyTextIsRetriedOnce;
//   - a result without its call, a call without its result, an id missing or
//     there twice, also after trimming: "transcript", "missing ids", "repeated
//     ids", TestTrim_A14_WholeTurns;
//   - two turns race on one history: TestDurable_G1_AcceptedMeansCommitted and
//     the tests of internal/dispatch;
//   - the context is too long: "context too long", then
//     TestLoop_A14_ContextTooLongIsTrimmedAndRetriedOnce;
//   - keywords of a schema that Gemini refuses: TestSubset of its package;
//   - signatures and reasoning are lost, or sent to another endpoint after a
//     fallback: "opaque comes back", TestChain_OpaqueOnlyReachesItsMaker;
//   - a model without tools answers 400 for ever: "no tools", and
//     TestCheckModels_NamesAModelWithoutTools;
//   - all models fail and the person hears nothing: TestLoop_A13_FailureIsToldOnce;
//   - a stream that was cut is taken for an answer: "cuts".
package llmtest
