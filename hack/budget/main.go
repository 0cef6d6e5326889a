// Command budget writes into CONTRIBUTING.md what the rings of the tests take, and which packages and controllers take
// it, from what go test -json said of each:
//
//	budget [-note TEXT] [-into CONTRIBUTING.md] RING.json...
//
// A file is named after its ring. make budget runs all of it.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Between these lines of the page is what is written.
const (
	begin = "<!-- budget: written by make budget -->\n"
	end   = "<!-- end of the budget -->\n"
)

// root begins the names of packages.
const root = "github.com/windlass-dev/windlass/"

// rings are those of hack/rings.sh.
var rings = []string{"check", "race", "differential", "parity", "guarantees", "surface"}

// worth is the time from which on a package has a row.
const worth = 10.0

func main() {
	note := flag.String("note", "nothing else ran", "what is said of the machine")
	into := flag.String("into", "CONTRIBUTING.md", "the page")
	flag.Parse()

	if err := run(*note, *into, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(note, into string, files []string) error {
	folders, err := filepath.Glob("plugins/*/module")
	if err != nil {
		return err
	}
	var plugins []string
	for _, f := range folders {
		plugins = append(plugins, filepath.Base(filepath.Dir(f)))
	}

	m := &measured{controllers: map[string]float64{}}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := m.addOutput(strings.TrimSuffix(filepath.Base(file), ".json"), b, plugins); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}

	page, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("Measured on %s on %s: %s.\n", time.Now().Format(time.DateOnly), machine(), note)
	page, err = replace(page, head+m.String())
	if err != nil {
		return fmt.Errorf("%s: %w", into, err)
	}
	return os.WriteFile(into, page, 0o644)
}

// machine describes this one.
func machine() string {
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d cores of %s, Go %s", runtime.NumCPU(), model, strings.TrimPrefix(runtime.Version(), "go"))
}

// replace puts a text between the page's two lines.
func replace(page []byte, text string) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !found || !ends {
		return nil, fmt.Errorf("there are no lines %q and %q", begin, end)
	}
	return slices.Concat(before, []byte(begin+"\n"+text+"\n"+end), after), nil
}

// measured is what the rings took.
type measured struct {
	rings, packages []took
	controllers     map[string]float64
}

type took struct {
	ring, name string
	seconds    float64
}

// event is a line of go test -json.
type event struct {
	Time                  time.Time
	Action, Package, Test string
	Elapsed               float64
}

// addOutput adds what was said of a ring. That a test failed is an error: what it took says nothing.
func (m *measured) addOutput(ring string, said []byte, plugins []string) error {
	var first, last time.Time
	lines := bufio.NewScanner(bytes.NewReader(said))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Package == "" {
			continue // what the compiler says
		}
		if first.IsZero() {
			first = e.Time
		}
		last = e.Time

		switch {
		case e.Action == "fail":
			return fmt.Errorf("%s %s failed", e.Package, e.Test)
		case e.Action != "pass":
			continue
		case e.Test == "" && e.Elapsed >= worth:
			m.packages = append(m.packages, took{ring, strings.TrimPrefix(e.Package, root), e.Elapsed})
		}
		if p := pluginTested(e, plugins); p != "" {
			m.controllers[p] += e.Elapsed
		}
	}
	if first.IsZero() {
		return fmt.Errorf("nothing was tested")
	}
	m.rings = append(m.rings, took{ring: ring, seconds: last.Sub(first).Seconds()})
	return lines.Err()
}

// pluginTested returns the plugin whose package this is the end of, or, of a package that is about several, whose
// outermost test.
func pluginTested(e event, plugins []string) string {
	of := func(path string) int {
		return slices.IndexFunc(strings.Split(path, "/"), func(s string) bool {
			return slices.Contains(plugins, strings.TrimSuffix(s, "-controller"))
		})
	}
	names := strings.Split(e.Package, "/")
	if i := of(e.Package); i >= 0 {
		if e.Test != "" {
			return "" // its package is counted
		}
		return names[i]
	}
	names = strings.Split(e.Test, "/")
	if i := of(e.Test); i == len(names)-1 {
		return strings.TrimSuffix(names[i], "-controller")
	}
	return ""
}

// String is the tables.
func (m *measured) String() string {
	var b strings.Builder
	b.WriteString("\n| ring | takes |\n|---|---|\n")
	for _, ring := range rings {
		row := "to be measured"
		if i := slices.IndexFunc(m.rings, func(t took) bool { return t.ring == ring }); i >= 0 {
			row = formatSeconds(m.rings[i].seconds)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", ring, row)
	}

	fmt.Fprintf(&b, "\n| package of %.0f s and more | ring | takes |\n|---|---|---|\n", worth)
	slices.SortStableFunc(m.packages, func(x, y took) int { return cmp.Compare(y.seconds, x.seconds) })
	for _, p := range m.packages {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.ring, formatSeconds(p.seconds))
	}

	b.WriteString("\n| controller | its package, and tests with its name |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(m.controllers)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, formatSeconds(m.controllers[name]))
	}
	return b.String()
}

// formatSeconds returns a time as people read it.
func formatSeconds(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}
