// Package metrics checks that the sample of alerts asks for metrics that there are. What the managers serve is compared
// by test/parity.
package metrics
