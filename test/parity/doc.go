// Package parity has the native kube-controller-manager and Windlass go through the same lives, and compares what
// they leave behind: objects, events, metrics and the requests that it took.
//
// There are two equal clusters, one for each manager, on which all controllers run. What a controller is put
// through is in its plugin's folder, as life.yaml (see test/life); what that can't say is a script in Go here. All
// scripts are played at a time, each in a namespace of its own. When nothing is written any more on either
// cluster, what is there is compared line by line. Then each manager takes over from the other one. The scripts in Go,
// and those of each further kind, are played by managers with few controllers, on two clusters of their own.
//
// Where something differed, its scripts are played once more on new clusters: what differs again fails the test.
//
// Where the assertions of older tests are is in MOVED.md.
package parity
