package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// figures are what Windlass counts of each controller.
type figures map[string]*figure

type figure struct{ syncs, mutations, guestSeconds, snapshotBytes, memory float64 }

func (p *platform) isReady() bool {
	r, err := p.http.Get("https://" + p.metrics + "/readyz")
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

func (p *platform) figures(ctx context.Context) figures {
	out := figures{}
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.metrics+"/metrics", nil)
	r, err := p.http.Do(request)
	if err != nil {
		return out
	}

	defer r.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r.Body)
	if err != nil {
		return out
	}

	each := func(name string, f func(f *figure, m *dto.Metric)) {
		if families[name] == nil {
			return
		}
		for _, m := range families[name].Metric {
			for _, l := range m.Label {
				if l.GetName() == "controller" {
					if out[l.GetValue()] == nil {
						out[l.GetValue()] = &figure{}
					}
					f(out[l.GetValue()], m)
				}
			}
		}
	}

	each("windlass_syncs_total", func(f *figure, m *dto.Metric) { f.syncs += m.GetCounter().GetValue() })
	each("windlass_writes_total", func(f *figure, m *dto.Metric) { f.mutations += m.GetCounter().GetValue() })
	each("windlass_guest_seconds_total", func(f *figure, m *dto.Metric) { f.guestSeconds += m.GetCounter().GetValue() })
	each("windlass_snapshot_bytes_total", func(f *figure, m *dto.Metric) { f.snapshotBytes += m.GetCounter().GetValue() })
	each("windlass_guest_memory_bytes", func(f *figure, m *dto.Metric) { f.memory = m.GetGauge().GetValue() })
	return out
}

// printReport shows what each controller did since the chapter began.
func (p *platform) printReport(ctx context.Context) {
	now := p.figures(ctx)
	var names []string
	for n := range now {
		names = append(names, n)
	}
	slices.Sort(names)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join([]string{"  controller", "syncs", "mutations", "µs/sync", "snapshot B/sync",
		"sandbox KiB", ""}, "\t"))
	for _, n := range names {
		f, b := *now[n], figure{}
		if p.before[n] != nil {
			b = *p.before[n]
		}
		syncs := f.syncs - b.syncs
		if syncs == 0 {
			continue
		}
		fmt.Fprintf(w, "  %s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n",
			n, syncs, f.mutations-b.mutations, (f.guestSeconds-b.guestSeconds)/syncs*1e6,
			(f.snapshotBytes-b.snapshotBytes)/syncs, f.memory/1024)
	}
	w.Flush()
}
