// Package deploy holds what is in this folder to its word: the chart renders, the API server takes what it renders, and windlass works with what that gives a pod.
//
// Files that are made from others are written anew by go test -update: the rights in the chart, the plain manifests, the tables of the chart's README.
package deploy
