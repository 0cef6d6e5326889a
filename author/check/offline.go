package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/simulator"
	"github.com/windlass-dev/windlass/host/sandbox"
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
	// Messages gets what is said of a module that is built anew; nil: nobody.
	Messages io.Writer
}

func (o *RunOptions) messages() io.Writer {
	if o.Messages == nil {
		return io.Discard
	}

	return o.Messages
}

// Run runs a module's syncs on objects from files, in a cluster in memory.
func Run(ctx context.Context, path string, o RunOptions) ([]simulator.Done, error) {
	p, err := Find(ctx, path, o.messages())
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
	recorded := &simulator.Recorded{World: &simulator.World{Now: o.Now, Objects: objects}, With: o.With,
		Settings: o.Settings}
	options, done, err := options(ctx, m, recorded)
	defer done()
	if err != nil {
		return nil, err
	}
	return simulator.Offline(ctx, m, options, o.Key, o.Settle)
}

// Did is what the sync of a golden case has done.
type Did struct {
	Case string `json:"case"`
	Key  string `json:"key"`
	*golden.Output
}

// Cases runs the golden cases that files hold, as they are, and returns what each does; ok is false where the files
// hold objects. Of options that have no meaning for cases it returns an error.
func Cases(ctx context.Context, path string, o RunOptions) (all []Did, ok bool, err error) {
	var cases []*golden.Case
	for _, file := range o.Files {
		text, err := os.ReadFile(file)
		if err != nil || !golden.Holds(text) {
			if len(cases) > 0 {
				return nil, false, fmt.Errorf("%s: has no golden cases, but %s has: give files of one sort only", file,
					cases[0].File)
			}

			continue // Run says what is wrong
		}
		more, err := golden.ReadFile(file)
		if err != nil {
			return nil, false, err
		}
		cases = append(cases, more...)
	}
	switch {
	case len(cases) == 0:
		return nil, false, nil
	case o.Settle || len(o.With) > 0 || len(o.Settings) > 0:
		return nil, false, fmt.Errorf("%s: a golden case is a single sync with objects and settings of its own: leave out "+
			"--settle, --with and --set", cases[0].File)
	}

	p, err := Find(ctx, path, o.messages())
	if err != nil {
		return nil, false, err
	}
	m, err := guest.Load(ctx, p, sandbox.Options{})
	if err != nil {
		return nil, false, err
	}
	defer m.Close()
	for _, c := range cases {
		if o.Key != "" && o.Key != c.Key {
			continue
		}
		out, err := c.Output(m)
		if err != nil {
			return nil, false, err
		}
		all = append(all, Did{c.ID(), c.Key, out})
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("--key %s: none of the %d cases has this key", o.Key, len(cases))
	}

	return all, true, nil
}

// CasesText is what cases have done, for people.
func CasesText(all []Did) (string, error) {
	var s strings.Builder
	for _, d := range all {
		text, err := yaml.Marshal(d.Output)
		if err != nil {
			return "", err
		}
		if string(text) == "{}\n" {
			text = []byte("nothing to do\n")
		}
		fmt.Fprintf(&s, "case %s, key %s\n%s", d.Case, d.Key, indented(string(text), "  "))
	}

	return s.String(), nil
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

	fmt.Fprintf(&s, "%d created, %d changed, %d deleted\n", counts["create"], counts["update"]+counts["patch"],
		counts["delete"])
	return s.String()
}

func indented(s, by string) string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return ""
	}
	return by + strings.ReplaceAll(s, "\n", "\n"+by) + "\n"
}
