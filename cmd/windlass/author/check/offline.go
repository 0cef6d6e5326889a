package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/simulator"
)

// RunOptions say what a module is run on.
type RunOptions struct {
	// Files hold the objects, CustomResourceDefinitions among them.
	Files    []string
	Key      string
	Settle   bool
	With     []string
	Settings map[string]string
	// Now is the time of the syncs; by default that of the machine.
	Now time.Time
}

// Run runs a module's syncs on objects from files, in a cluster in memory.
func Run(ctx context.Context, path string, o RunOptions) ([]simulator.Done, error) {
	p, err := Find(path)
	if err != nil {
		return nil, err
	}
	m, err := guest.Load(ctx, p, sandbox.Options{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	objects, err := simulator.ReadManifests(o.Files...)
	if err != nil {
		return nil, err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	recorded := &simulator.Recorded{World: &simulator.World{Now: o.Now, Objects: objects}, With: o.With, Settings: o.Settings}
	options, done, err := options(ctx, m, recorded)
	defer done()
	if err != nil {
		return nil, err
	}
	return simulator.Offline(ctx, m, options, o.Key, o.Settle)
}

// Plan is what syncs have done, for people.
func Plan(all []simulator.Done) string {
	var s strings.Builder
	counts := map[string]int{}
	for _, d := range all {
		fmt.Fprintf(&s, "%s %s\n", d.Controller, d.Key)
		for _, w := range d.Writes {
			verb, _, _ := strings.Cut(w.Do, " ")
			counts[verb]++
			mark := map[string]string{"create": "+", "delete": "-"}[verb]
			if mark == "" {
				mark = "~"
			}
			fmt.Fprintf(&s, "  %s %s\n", mark, w.Do)
			if verb != "delete" {
				s.WriteString(indented(w.Diff, "      "))
			}
		}
		for _, e := range d.Events {
			fmt.Fprintf(&s, "  ! event: %s\n", e)
		}
		if d.RequeueAfter != "" {
			fmt.Fprintf(&s, "  again in %s\n", d.RequeueAfter)
		}
		if d.Error != "" {
			s.WriteString("  error: " + strings.TrimPrefix(indented(d.Error, "    "), "    "))
		}
		if len(d.Writes)+len(d.Events) == 0 && d.RequeueAfter == "" && d.Error == "" {
			s.WriteString("  nothing to do\n")
		}
	}
	fmt.Fprintf(&s, "%d created, %d changed, %d deleted\n", counts["create"], counts["update"]+counts["patch"], counts["delete"])
	return s.String()
}

func indented(s, by string) string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return ""
	}
	return by + strings.ReplaceAll(s, "\n", "\n"+by) + "\n"
}
