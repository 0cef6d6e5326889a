package kcm

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Gate is a feature gate of kube-controller-manager.
type Gate struct {
	Default bool
	Locked  bool   // it can't be set to anything else
	Stage   string // Alpha, Beta, or empty where it is neither
	// Needs are the gates that have to be on where this one is.
	Needs []string
	// Controllers are those whose code upstream asks for the gate, of the ones that are here.
	Controllers []string

	since []since
}

// The stages of gates that AllAlpha and AllBeta are about.
const (
	Alpha = "alpha"
	Beta  = "beta"
)

// since is what a gate is from a minor version of Kubernetes on.
type since struct {
	minor         int
	value, locked bool
	stage         string
}

// At returns the gate as it is where version 1.minor is emulated, and whether there is one then.
func (g Gate) At(minor int) (Gate, bool) {
	known := false
	for _, s := range g.since { // in order
		if s.minor <= minor {
			g.Default, g.Locked, g.Stage, known = s.value, s.locked, s.stage, true
		}
	}
	return g, known
}

// Settings are the settings by plugin that the gate decides: the one of its name in the plugins of the controllers that
// ask for it. Where there is none the gate has no effect here.
func (g Gate) Settings(name string) (plugins []string) {
	for _, controller := range g.Controllers {
		b, here := builtins[controller]
		if here && b.settings[name] != "" && !slices.Contains(plugins, b.plugin) {
			plugins = append(plugins, b.plugin)
		}
	}
	return plugins
}

// Why a gate that controllers here ask for upstream has no effect here.
const (
	whyConsistent = "the host always waits until its caches show what a key has written"
	whyInner      = "it changes how upstream's controller works, and not what it does"
	whyUnbuilt    = "what it turns on isn't built here yet"
	whyAlways     = "what it turns on is always on here"
)

// idle are such gates. Every other one that can be set is a setting of its controllers' plugins.
var idle = map[string]string{
	"HPAOptimizedSelectorStore":             whyInner,
	"StaleControllerConsistencyDaemonSet":   whyConsistent,
	"StaleControllerConsistencyHPA":         whyConsistent,
	"StaleControllerConsistencyJob":         whyConsistent,
	"StaleControllerConsistencyReplicaSet":  whyConsistent,
	"StaleControllerConsistencyStatefulSet": whyConsistent,
	"WorkloadWithJob":                       whyUnbuilt,
}

// Idle says why the gate of that name has no effect here, where it has none.
func (g Gate) Idle(name string) string {
	switch {
	case stages[name] != "":
		return "no gate of that stage has an effect here, apart from those set by name"
	case len(g.Controllers) == 0:
		return "upstream asks for it in code that has no counterpart here"
	}
	why := whyUnbuilt
	if g.Default {
		why = whyAlways
	}
	return cmp.Or(idle[name], why)
}

// stages are the gates that stand for all of a stage.
var stages = map[string]string{"AllAlpha": Alpha, "AllBeta": Beta}

// Implied returns the gates that AllAlpha or AllBeta is the default of where version 1.minor is emulated: all of its
// stage then that can be set (k8s.io/component-base/featuregate). Any other gate has none.
func Implied(name string, minor int) (names []string) {
	stage := stages[name]
	if stage == "" {
		return nil
	}
	for _, other := range GateNames() {
		g, there := Gates()[other].At(minor)
		if there && g.Stage == stage && !g.Locked && stages[other] == "" {
			names = append(names, other)
		}
	}
	return names
}

// gatesText has a gate a line: its name, what it is by default from which version on, whether it is locked, alpha or
// beta then, the gates that it needs, and the controllers that ask for it. `cd differential && go test ./gates -update`
// writes it of upstream's packages.
//
//go:embed gates.txt
var gatesText string

// Gates are the feature gates by name, as they are in v1.37.
var Gates = sync.OnceValue(func() map[string]Gate {
	all := map[string]Gate{}
	for line := range strings.Lines(gatesText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var g Gate
		for _, word := range strings.Fields(rest) {
			version, is, ok := strings.Cut(word, "=")
			if needed, needs := strings.CutPrefix(word, "+"); needs {
				g.Needs = append(g.Needs, needed)
				continue
			}
			if !ok {
				g.Controllers = append(g.Controllers, word)
				continue
			}
			minor, _ := strconv.Atoi(version[strings.Index(version, ".")+1:]) // as it was generated
			s := since{minor: minor}
			for i, said := range strings.Split(is, ",") {
				switch {
				case i == 0:
					s.value = said == "true"
				case said == "locked":
					s.locked = true
				default:
					s.stage = said
				}
			}
			g.since = append(g.since, s)
		}
		all[name], _ = g.At(Minor)
	}
	return all
})

// GateNames are the names of all feature gates, sorted.
func GateNames() []string { return slices.Sorted(maps.Keys(Gates())) }

// EmulatedLeast is the oldest minor version that can be emulated, as of v1.37.
const EmulatedLeast = Minor - 3

// Emulated returns the minor version of Kubernetes that --emulated-version names, Minor where it names none.
func Emulated(versions []string) (int, error) {
	emulated := 0
	for _, text := range versions {
		version := strings.TrimPrefix(strings.TrimSpace(text), "kube=")
		if version == "" {
			continue
		}
		digits, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), "1.")
		minor, err := strconv.Atoi(digits)
		switch {
		case !ok || err != nil:
			return 0, fmt.Errorf("%q isn't a version such as 1.%d", text, Minor)
		case emulated != 0:
			return 0, errors.New("more than one version is given: only one can be emulated")
		case minor < EmulatedLeast || minor > Minor:
			return 0, fmt.Errorf("version 1.%d is not between 1.%d and 1.%d", minor, EmulatedLeast, Minor)
		}
		emulated = minor
	}
	if emulated == 0 {
		return Minor, nil
	}
	return emulated, nil
}
