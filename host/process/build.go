package process

import (
	"cmp"
	"runtime/debug"
	"strings"
	"sync"
)

// What make build has the linker set: what git describe says of the sources, and their commit.
var stampedVersion, stampedCommit string

// Build says what this program was built from, as far as it knows: what it doesn't know is empty.
type Build struct {
	Version string // Windlass's, never empty: "(devel)" where nothing else is known
	Commit  string
	State   string // of the working tree: "clean" or "dirty"
	Date    string // of the commit
}

// Built returns what this program was built from: as make build stamps it, or go build.
var Built = sync.OnceValue(func() Build {
	b := Build{Version: stampedVersion, Commit: stampedCommit}
	if b.Version != "" {
		b.State = "clean"
		if strings.HasSuffix(b.Version, "-dirty") {
			b.State = "dirty"
		}
	}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "(devel)")
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.State = cmp.Or(b.State, map[string]string{"true": "dirty", "false": "clean"}[s.Value])
		}
	}
	b.Version = cmp.Or(b.Version, info.Main.Version, "(devel)")
	return b
})

// Release is that of Kubernetes whose libraries are in this program, empty if it doesn't know.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == "k8s.io/client-go" { // v0.37.2 is of Kubernetes v1.37.2
			return strings.Replace(d.Version, "v0.", "v1.", 1)
		}
	}
	return ""
}
