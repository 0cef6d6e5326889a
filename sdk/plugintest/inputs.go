package plugintest

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

// visitInputs looks at the files that windlass reads for a request: what another process reads, go test doesn't know
// of, and would give the result of a run before it was changed.
func visitInputs(q pipe.Request) {
	all := append([]string{q.File, q.World}, q.Definitions...)
	for _, with := range q.With {
		if !strings.Contains(with, ":") { // builtin:NAME is part of windlass
			all = append(all, with)
		}
	}

	for _, path := range all {
		if path == "" {
			continue
		}
		// That one can't be read is windlass's to say.
		_ = filepath.WalkDir(path, func(string, fs.DirEntry, error) error { return nil })
	}
}
