package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/windlass-dev/windlass/config/kcm"
)

const featureGates = "feature-gates"

// gate is a feature gate that was set.
type gate struct {
	name string
	on   bool
}

// parseGates reads and checks --feature-gates as upstream does (k8s.io/component-base/featuregate): a gate has to be known, and one that is locked keeps its value.
func parseGates(v pflag.Value) (all []gate, _ error) {
	given, ok := v.(*cliflag.ColonSeparatedMultimapStringString)
	if !ok {
		return nil, fmt.Errorf("--%s is a %T", featureGates, v) // a mistake in the table
	}
	var errs []error
	for component, list := range *given.Multimap {
		if component != "" && component != "kube" {
			errs = append(errs, fmt.Errorf("%q is no component with feature gates: there is kube", component))
			continue
		}
		for _, entry := range list {
			name, text, _ := strings.Cut(entry, "=")
			name = strings.TrimSpace(name)
			on, err := strconv.ParseBool(strings.TrimSpace(text))
			known, ok := kcm.Gates()[name]
			switch {
			case !ok:
				errs = append(errs, fmt.Errorf("feature gate %q isn't one of kube-controller-manager's (Kubernetes v1.%d)%s", name, kcm.Minor, Nearest(name, kcm.GateNames())))
			case err != nil:
				errs = append(errs, fmt.Errorf("feature gate %s must be true or false, not %q", name, text))
			case known.Locked && on != known.Default:
				errs = append(errs, fmt.Errorf("feature gate %s is locked to %v", name, known.Default))
			default:
				all = append(all, gate{name, on})
			}
		}
	}
	slices.SortFunc(all, func(a, b gate) int { return strings.Compare(a.name, b.name) })
	return all, errors.Join(errs...)
}

// Nearest asks whether the nearest of some words were meant by one that isn't among them, as the end of an error's sentence; it is empty where none is near.
func Nearest(word string, from []string) string {
	if s := suggest(word, from); strings.HasPrefix(s, ": did you mean") {
		return s
	}
	return ""
}
