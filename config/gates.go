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

const (
	featureGates    = "feature-gates"
	emulatedVersion = "emulated-version"
)

// gate is a feature gate that was set.
type gate struct {
	name string
	on   bool
	by   string // the gate of a whole stage that has set it; empty: it was set by its name
}

// emulated is the minor version of Kubernetes of --emulated-version.
func emulated(fs *pflag.FlagSet) (int, error) {
	versions, _ := fs.GetStringSlice(emulatedVersion)
	return kcm.Emulated(versions)
}

// parseGates reads and checks --feature-gates as upstream does (k8s.io/component-base/featuregate): a gate has to be
// known, and one that is locked keeps its value, both as of the version that is emulated. AllAlpha and AllBeta set the
// gates of their stage that aren't set by their names.
func parseGates(fs *pflag.FlagSet) (all []gate, _ error) {
	given, ok := fs.Lookup(featureGates).Value.(*cliflag.ColonSeparatedMultimapStringString)
	if !ok {
		return nil, fmt.Errorf("--%s is a %T", featureGates, fs.Lookup(featureGates).Value) // a mistake in the table
	}
	minor, err := emulated(fs)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", emulatedVersion, err)
	}

	var errs []error
	for component, list := range *given.Multimap {
		if component != "" && component != "kube" {
			errs = append(errs, fmt.Errorf("%q isn't a component with feature gates: the only one is kube", component))
			continue
		}
		for _, entry := range list {
			name, text, _ := strings.Cut(entry, "=")
			name = strings.TrimSpace(name)
			on, err := strconv.ParseBool(strings.TrimSpace(text))
			known, ok := kcm.Gates()[name]
			then, there := known.At(minor)
			switch {
			case !ok:
				errs = append(errs, fmt.Errorf("feature gate %q isn't one of kube-controller-manager's (Kubernetes v1.%d)%s",
					name, kcm.Minor, Nearest(name, kcm.GateNames())))
			case !there:
				errs = append(errs, fmt.Errorf("feature gate %s doesn't exist yet in Kubernetes v1.%d, the emulated version",
					name, minor))
			case err != nil:
				errs = append(errs, fmt.Errorf("feature gate %s must be true or false, not %q", name, text))
			case then.Locked && on != then.Default:
				errs = append(errs, fmt.Errorf("feature gate %s is locked to %v", name, then.Default))
			default:
				all = append(all, gate{name: name, on: on})
			}
		}
	}
	for _, g := range slices.Clone(all) {
		for _, name := range kcm.Implied(g.name, minor) {
			if !slices.ContainsFunc(all, func(set gate) bool { return set.name == name }) {
				all = append(all, gate{name: name, on: g.on, by: g.name})
			}
		}
	}
	slices.SortFunc(all, func(a, b gate) int { return strings.Compare(a.name, b.name) })
	if len(errs) == 0 && len(all) > 0 {
		errs = missingGates(all, minor)
	}
	return all, errors.Join(errs...)
}

// missingGates returns an error for each gate that is on without those that it needs, in version 1.minor.
func missingGates(all []gate, minor int) (errs []error) {
	on := func(name string) bool {
		if i := slices.IndexFunc(all, func(g gate) bool { return g.name == name }); i >= 0 {
			return all[i].on
		}
		g, there := kcm.Gates()[name].At(minor)
		return there && g.Default
	}
	for _, name := range kcm.GateNames() {
		off := slices.DeleteFunc(slices.Clone(kcm.Gates()[name].Needs), on)
		if len(off) > 0 && on(name) {
			errs = append(errs, fmt.Errorf("feature gate %s is enabled, but depends on features that are disabled: %v",
				name, off))
		}
	}
	return errs
}

// setGates has the settings of plugins say what the gates do.
func setGates(c *Configuration, fs *pflag.FlagSet) error {
	all, err := parseGates(fs)
	if err != nil {
		return err
	}

	for _, g := range all {
		for _, plugin := range kcm.Gates()[g.name].Settings(g.name) {
			p := c.configured(plugin)
			if _, set := p.Settings[g.name]; set && g.by != "" {
				continue // what a file says of this gate takes precedence over what is said of all
			}
			p.setSetting(g.name, strconv.FormatBool(g.on))
		}
	}
	return nil
}

// effective reports whether a gate that was set has an effect here, by itself or by those that it has set.
func (g gate) effective(all []gate) bool {
	return slices.ContainsFunc(all, func(x gate) bool {
		return (x.name == g.name || x.by == g.name) && len(kcm.Gates()[x.name].Settings(x.name)) > 0
	})
}

// Nearest asks whether the nearest of some words were meant by one that isn't among them, as the end of an error's
// sentence; it is empty where none is near.
func Nearest(word string, from []string) string {
	if s := suggest(word, from); strings.HasPrefix(s, ": did you mean") {
		return s
	}
	return ""
}
