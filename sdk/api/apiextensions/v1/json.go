// Package v1 has the type of apiextensions.k8s.io/v1 that custom resources use.
package v1

import "github.com/windlass-dev/windlass/abi/wire"

// JSON is any JSON value, kept as bytes.
type JSON = wire.RawExtension
