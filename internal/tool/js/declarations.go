package js

import _ "embed" // for the declaration file

// TypesFile declares the module 'parley' and ctx for editors; `parley init`
// writes it beside tools.ts as parley.d.ts.
//
//go:embed parley.d.ts
var TypesFile string
