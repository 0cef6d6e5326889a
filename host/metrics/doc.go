// Package metrics keeps what Prometheus scrapes of a manager: Windlass's own metrics, those that upstream has of one,
// and those that plugins declare.
package metrics
