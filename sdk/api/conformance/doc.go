// Package conformance tests the generated types against k8s.io/api's own, which the SDK itself doesn't depend on.
package conformance
