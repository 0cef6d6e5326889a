// Package windlass holds the source of the SDK, so that the binary can give it to those who write plugins.
package windlass

import "embed"

// SDK holds abi/ and sdk/ as they are in the repository, tests included, with the go.mod and LICENSE above them.
//
// It is here because a package can embed only what lies below it: no plugin imports this package, so none carries the
// text.
//
//go:embed abi sdk go.mod LICENSE
var SDK embed.FS
