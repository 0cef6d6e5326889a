// Package conformance holds every built-in plugin against what every plugin must show, without a cluster. It has
// nothing but tests.
//
// The tests are named by folder and check: `go test ./plugins/conformance -run /replicaset` is all of one plugin, `-run
// //golden` one check of all. What a check needs is in the plugin's testdata: cases for golden and module, wakes*.yaml,
// world.yaml with simulation.yaml beside it where the simulation has options. What is said of one plugin alone (bursts,
// properties of a roll-out) is a test in its folder.
package conformance

//go:generate go run -C ../../devcluster ./roles ../plugins/conformance/testdata/roles.yaml
