package config

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// readAtStart are the paths of the fields that are read at the start only; what they hold is, too. A running manager
// applies a change of any other field.
var readAtStart = []string{
	"clientConnection.kubeconfig",
	"clientConnection.server",
	"leaderElection",
	"logging.format",
	"logging.vmodule",
	"minResyncPeriod",
	"serving.authentication.tolerateLookupFailure",
	"serving.bindAddress",
	"serving.port",
	"shutdownTimeout",
}

// ReadAtStart returns the paths of the fields that are read at the start only, such as "serving.port".
func ReadAtStart() []string { return slices.Clone(readAtStart) }

// WaitForRestart returns the paths of the fields in which two configurations differ and that a manager which has
// started with the first one doesn't change to those of the second one until it is started again.
func WaitForRestart(started, now *Configuration) (paths []string) {
	var compare func(path string)
	compare = func(path string) {
		before, err := findField(started, path)
		if err != nil {
			panic(err) // the list is wrong: a test of every field finds it
		}
		after, _ := findField(now, path)
		if equality.Semantic.DeepEqual(before.Interface(), after.Interface()) {
			return
		}
		if before.Kind() == reflect.Struct && before.Type() != durationType {
			_, names := fieldsOf(before)
			for _, name := range names {
				compare(path + "." + name)
			}
			return
		}
		paths = append(paths, path)
	}

	for _, path := range readAtStart {
		compare(path)
	}
	return paths
}
