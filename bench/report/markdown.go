package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/figure"
)

// reasons is the file in the folder of the results in which people say why a figure is missed: a line "scenario: figure
// | reason" each.
const reasons = "missed.txt"

// Write makes RESULTS.md and its plots in a folder.
func (r *Report) Write(folder string) error {
	why, err := readReasons(filepath.Join(folder, reasons))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "plots"), 0o755); err != nil {
		return err
	}
	files := map[string][]byte{"RESULTS.md": r.markdown(why)}
	for name, plot := range r.drawPlots() {
		files[filepath.Join("plots", name)] = plot
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readReasons returns what is said of the missed figures, by their names; nothing where there is no such file.
func readReasons(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " | ")
		if !ok {
			return nil, fmt.Errorf("%s: line %d is not \"scenario: figure | reason\"", path, i+1)
		}
		why[name] = reason
	}
	return why, nil
}

// continued returns when a run that was interrupted went on.
func continued(times []time.Time) (text string) {
	for _, t := range times {
		text += "; continued " + formatDate(t)
	}
	return text
}

// pairsText returns how many pairs each scenario has.
func (r *Report) pairsText() string {
	least, most := r.Setting.Pairs, r.Setting.Pairs
	for _, s := range r.Scenarios {
		most = max(most, len(s.Windlass))
	}
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

func (r *Report) markdown(why map[string]string) []byte {
	var b bytes.Buffer
	s := r.Setting
	form, command := "short", "make bench"
	if s.Full {
		form, command = "full", "make bench FULL=1"
	}
	fmt.Fprintf(&b, "# Windlass beside the native kube-controller-manager\n\nWritten by `%s`; not to be edited. "+
		"bench/README.md says how it is measured.\n\n", command)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| date | %s%s |\n| machine | %d cores, %s, %.1f GiB of memory, %s; load %.1f "+
		"before |\n", formatDate(s.Time), continued(s.Continued), s.Cores, s.CPU, float64(s.Memory)/(1<<30), s.System, s.Load)
	fmt.Fprintf(&b, "| native | kube-controller-manager %s |\n| Windlass | %s, %s |\n", s.Native, s.Windlass, s.Go)
	fmt.Fprintf(&b, "| form | %s, %s pairs; medians, with the least and the most in parentheses |\n| API rate | %d a "+
		"second for each client, workers by default |\n", form, r.pairsText(), s.QPS)
	fmt.Fprintf(&b, "| controllers | %s |\n\n", strings.Join(s.Controllers, ", "))

	fmt.Fprint(&b, "## What must hold\n\nWindlass's median to the native manager's.\n\n| figure | ratio | at most | "+
		"|\n|---|---|---|---|\n")
	for _, t := range r.targets() {
		verdict := t.verdict()
		if verdict == "missed" {
			verdict = fmt.Sprintf("**missed** ([profile](../docs/performance.md#%s))", t.scenario)
			if reason := why[t.name()]; reason != "" {
				verdict += ": " + reason
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s |\n", t.name(), formatRatio(t.ratio), t.most, verdict)
	}
	fmt.Fprint(&b, "\n")
	for _, p := range ratioPlots {
		fmt.Fprintf(&b, "![%s, Windlass to native](plots/%s)\n\n", p.name, p.file)
	}
	if len(r.growthScenarios()) > 1 {
		fmt.Fprint(&b, "## How cost grows\n\n| pods | figure | native | Windlass | ratio |\n|---|---|---|---|---|\n")
		for _, p := range growthPlots {
			for _, at := range r.growthScenarios() {
				row := at.scenario.figureRow(p.name)
				fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n",
					at.pods, p.name, formatSpread(p.name, row.native), formatSpread(p.name, row.windlass),
					formatRatio(row.medianRatio()))
			}
		}
		fmt.Fprint(&b, "\n")
		for _, p := range growthPlots {
			fmt.Fprintf(&b, "![%s by pods](plots/%s)\n\n", p.name, p.file)
		}
	}
	fmt.Fprint(&b, "## Scenarios\n\n")
	for _, s := range r.Scenarios {
		fmt.Fprintf(&b, "### %s: %s\n\n| figure | native | Windlass | ratio |\n|---|---|---|---|\n", s.Name, s.Title)
		for _, row := range s.figureRows() {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n",
				row.name, formatSpread(row.name, row.native), formatSpread(row.name, row.windlass), formatRatio(row.medianRatio()))
		}
		fmt.Fprint(&b, "\n")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// plot is a picture of a figure.
type plot struct{ name, file string }

var (
	ratioPlots = []plot{{figure.CPU, "cpu.svg"}, {figure.Wall, "time.svg"}, {figure.Steady, "memory.svg"},
		{figure.Writes, "writes.svg"}}
	growthPlots = []plot{{figure.Steady, "growth-memory.svg"}, {figure.PerEvent, "growth-cpu.svg"},
		{figure.SyncTime, "growth-sync.svg"}}
)

// drawPlots draws all that there is to draw.
func (r *Report) drawPlots() map[string][]byte {
	files := map[string][]byte{}
	for _, p := range ratioPlots {
		var bars []bar
		for _, s := range r.Scenarios {
			if row := s.figureRow(p.name); Median(row.native) > 0 {
				bars = append(bars, bar{s.Name, row.medianRatio()})
			}
		}
		files[p.file] = drawRatios(p.name+": Windlass to native, less is better", bars)
	}
	if g := r.growthScenarios(); len(g) > 1 {
		for _, p := range growthPlots {
			native, windlass := line{name: "native"}, line{name: "windlass"}
			for _, at := range g {
				row := at.scenario.figureRow(p.name)
				native.points = append(native.points, point{float64(at.pods), Median(row.native)})
				windlass.points = append(windlass.points, point{float64(at.pods), Median(row.windlass)})
			}
			files[p.file] = drawCurves(p.name+", by pods in the cluster", p.name, []line{native, windlass})
		}
	}
	return files
}

// grown is a scenario of growth.
type grown struct {
	pods     int
	scenario *Scenario
}

func (r *Report) growthScenarios() (all []grown) {
	for i := range r.Scenarios {
		var n int
		if _, err := fmt.Sscanf(r.Scenarios[i].Name, "growth-%d", &n); err == nil {
			all = append(all, grown{n, &r.Scenarios[i]})
		}
	}
	return all
}
