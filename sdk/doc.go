// Package sdk is what a controller is written with: views to read, effects to write, a call that holds all a sync
// knows. `windlass docs tutorial` writes one; `windlass docs manifest` has the syntax of paths and conditions.
//
// A controller is a function of its [Call]: it reads objects from views that it declared once, and answers with
// effects. It has no clock but [Call.Now], no network, no files; a package variable that it writes during a sync is
// gone in the next. The same code compiles natively, for tests, and with TinyGo or Go to a WebAssembly module.
package sdk
