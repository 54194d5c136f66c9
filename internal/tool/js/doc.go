// Package js runs tools written in TypeScript or JavaScript.
//
// A script is bundled with its npm packages by esbuild, compiled to QuickJS
// bytecode, and asked once what it defines. All of that is kept in a cache
// folder, keyed by the hash of every file that went in, so that a later start
// needs neither esbuild nor a runtime. Runtimes (a VM each) are made as calls
// need them, used by one call at a time, and closed when idle.
//
// It owns the bundle, the runtimes with their limits on memory and time, what
// a handler sees (ctx, the globals in runtime/*.js), and the buffer of ctx.store.
// It doesn't own where requests may go (Options.Fetch), secrets (Options.Secret),
// the saved values (tool.Store) nor when a tool runs.
//
// A script is trusted as the configuration is: it is the owner's code. The
// limits guard against its mistakes and against arguments made to exploit them,
// a catastrophic regular expression for example. A native loop of the engine
// can't be interrupted: such a call is left to its goroutine, which closes the
// runtime when it comes back.
package js
