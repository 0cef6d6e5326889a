// Package metrics compares what the native kube-controller-manager and Windlass serve at /metrics after the same work.
package metrics
