package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/windlass-dev/windlass/bench/figure"
)

// Report is all that was measured.
type Report struct {
	Setting   Setting
	Scenarios []Scenario
}

// Read reads what Save has written.
func Read(file string) (r Report, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Save writes all figures of all runs to a file, as JSON.
func (r *Report) Save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// Scenario are the figures of one scenario, run by run.
type Scenario struct {
	Name, Title      string
	Native, Windlass []figure.Set
}

// row is a figure of both managers.
type row struct {
	name             string
	native, windlass []float64
}

// medianRatio returns Windlass's median to the native one's; NaN where that says nothing, infinite where only the
// native one's is 0.
func (r row) medianRatio() float64 {
	n, w := Median(r.native), Median(r.windlass)
	if n == 0 {
		if w > 0 {
			return math.Inf(1)
		}
		return math.NaN()
	}
	return w / n
}

// figureRows returns the scenario's figures in order; those that are 0 in all runs are left out.
func (s Scenario) figureRows() (all []row) {
	names := slices.Clone(figure.Ordered)
	var calls []string
	for _, set := range slices.Concat(s.Native, s.Windlass) {
		for name := range set {
			if strings.HasPrefix(name, figure.Calls) && !slices.Contains(calls, name) {
				calls = append(calls, name)
			}
		}
	}
	slices.Sort(calls)
	for _, name := range append(names, calls...) {
		if r := s.figureRow(name); slices.ContainsFunc(append(r.native, r.windlass...),
			func(v float64) bool { return v != 0 }) {
			all = append(all, r)
		}
	}
	return all
}

func (s Scenario) figureRow(name string) row {
	r := row{name: name}
	for _, set := range s.Native {
		r.native = append(r.native, set[name])
	}
	for _, set := range s.Windlass {
		r.windlass = append(r.windlass, set[name])
	}
	return r
}

// Find returns a scenario by its name, or nil.
func (r *Report) Find(name string) *Scenario {
	for i := range r.Scenarios {
		if r.Scenarios[i].Name == name {
			return &r.Scenarios[i]
		}
	}
	return nil
}

// Print writes a table for a terminal.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range r.Scenarios {
		fmt.Fprintf(w, "\n%s: %s\n", s.Name, s.Title)
		fmt.Fprintf(w, "  figure\tnative\twindlass\tratio\n")
		for _, row := range s.figureRows() {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n",
				row.name, formatSpread(row.name, row.native), formatSpread(row.name, row.windlass), formatRatio(row.medianRatio()))
		}
	}
	fmt.Fprintf(w, "\n")
	for _, t := range r.targets() {
		fmt.Fprintf(w, "  %s\t%s\tat most %.2f\t%s\n", t.name(), formatRatio(t.ratio), t.most, t.verdict())
	}
	return w.Flush()
}

// formatSpread returns a median with the least and the most.
func formatSpread(name string, all []float64) string {
	if len(all) == 0 {
		return "–"
	}
	m := formatValue(name, Median(all))
	if least, most := formatValue(name, slices.Min(all)), formatValue(name, slices.Max(all)); least != most {
		return fmt.Sprintf("%s (%s to %s)", m, least, most)
	}
	return m
}

// formatValue returns a number with its unit.
func formatValue(name string, v float64) string {
	switch figure.Of(name) {
	case figure.Seconds:
		switch {
		case v == 0:
			return "0"
		case v < 0.001:
			return fmt.Sprintf("%.3g µs", v*1e6)
		case v < 1:
			return fmt.Sprintf("%.3g ms", v*1e3)
		}
		return fmt.Sprintf("%.2f s", v)
	case figure.Bytes:
		if v < 1<<20 {
			return fmt.Sprintf("%.0f KiB", v/(1<<10))
		}
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%.0f", v)
}

func formatRatio(r float64) string {
	switch {
	case math.IsNaN(r):
		return "–"
	case math.IsInf(r, 1):
		return "∞"
	}
	return fmt.Sprintf("%.2f", r)
}

// formatDate returns a time as a report has it.
func formatDate(t time.Time) string { return t.Format("2 January 2006, 15:04 UTC") }
