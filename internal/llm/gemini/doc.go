// Package gemini speaks the Gemini API of Google AI Studio.
//
// It owns the translation of a request and of an answer, whole or streamed,
// the schemas that the API takes, thought signatures, and the classes of that
// API's errors. It doesn't own retries nor fallbacks (llm.Chain), nor the HTTP
// call itself (llm.Caller).
//
// It speaks REST by itself: google.golang.org/genai makes the linker keep every
// exported method of the program, which adds some 50 MB to the binary, and
// brings gRPC along for what is one POST.
//
// Cards go out as parametersJsonSchema, which takes a JSON Schema as it is. A
// server that doesn't know the field is asked again with parameters, a subset
// of OpenAPI's schema ([Provider.EncodeCards] shows which), and is remembered
// until the program ends. Whatever the subset can't say is checked by parley
// when the call comes back.
//
// Gemini 3 refuses a call of the present turn without the signature of the
// thought that led to it. Signatures are kept and sent back in the part they
// came with. A call that another model made before a fallback has none; it gets
// the value that the documentation names for this.
//
// Sources: https://ai.google.dev/api/generate-content,
// https://ai.google.dev/gemini-api/docs/thought-signatures
package gemini
