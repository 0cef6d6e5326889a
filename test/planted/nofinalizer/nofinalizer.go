// Package nofinalizer has a mistake: it doesn't hold its sets, so that nobody deletes the role of one that is gone.
package nofinalizer

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Hold = func(*sdk.Call, *correct.Set) {}
})
