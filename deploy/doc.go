// Package deploy holds what is in this folder to its word: the chart renders, the API server takes what it renders, and
// windlass works with what that gives a pod.
//
// Files that are made from others are written anew by go test -update, which go generate runs: the plain manifests, the
// tables of the chart's README. The rights in the chart come from the table of plugins (hack/generate-controllers),
// before.
package deploy

//go:generate go test -vet=off -count=1 -run ^(TestManifestsAreCurrent|TestReadmeIsCurrent|TestSchemaIsCurrent)$ -update .
