package parity

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/hack/markdown"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const docs = "../../docs/metrics.md"

// meanings tell of the libraries' metrics, which have no manifest here: of those that begin with the name, the longest
// counts.
var meanings = map[string]string{
	"cardinality_enforcement_unexpected_categorizations_total": "Label values that a limit on a metric's series has changed.",
	"disabled_metrics_total":                                   "Metrics that are turned off.",
	"hidden_metrics_total":                                     "Metrics that are deprecated and hidden.",
	"registered_metrics_total":                                 "Metrics that the libraries have, by how stable they are said to be.",
	"version_info":                                             "1, by the release whose libraries this is built with, the one whose behaviour it has, and the oldest that it goes together with.",
	"kubernetes_feature_enabled":                               "Whether a gate of the client library is on.",
	"leader_election_master_status":                            "1 while this process holds the Lease of that name, 0 while another one does.",
	"leader_election_slowpath_total":                           "Renewals of a Lease that had to read it first.",
	"rest_client_dns_resolution_duration":                      "How long it took to look up the API server's address, in seconds.",
	"rest_client_exec_plugin_":                                 "Of credentials from a program that the kubeconfig names.",
	"rest_client_rate_limiter_duration_s":                      "How long requests waited for the client's own rate limit, in seconds, by verb and host.",
	"rest_client_request_duration_second":                      "How long requests to the API server took, in seconds, by verb and host.",
	"rest_client_request_retries_total":                        "Requests that were repeated.",
	"rest_client_request_size_bytes":                           "Bytes of requests, by verb and host.",
	"rest_client_requests_total":                               "Requests, by status code, method and host.",
	"rest_client_response_size_bytes":                          "Bytes of answers, by verb and host.",
	"rest_client_transport_":                                   "Of the connections to the API server that clients share.",
	"windlass_serving_reloads_total":                           "Times that certificates or CAs have changed, by result: ok, failed (the old ones were kept).",
	"workqueue_adds_total":                                     "Keys added to a controller's queue.",
	"workqueue_depth":                                          "Keys that wait in it.",
	"workqueue_longest_running_processor":                      "How long the sync that has run for longest has, in seconds.",
	"workqueue_queue_duration_seconds":                         "How long keys waited in it before a sync.",
	"workqueue_retries_total":                                  "Keys added after a pause: after a failure, for a timer, or while they rest.",
	"workqueue_unfinished_work_seconds":                        "How long the syncs under way have taken, together.",
	"workqueue_work_duration_seconds":                          "How long syncs took, with all that held them up.",
}

// rare are metrics of the libraries that take a failure, or a machine other than this one, to be seen, with their
// labels.
var rare = map[string][]string{
	"leader_election_slowpath_total":              {"name"},
	"rest_client_dns_resolution_duration_seconds": {"host"},
	"rest_client_exec_plugin_call_total":          {"call_status", "code"},
	"rest_client_request_retries_total":           {"code", "host", "verb"},
	"rest_client_transport_ca_reload_total":       {"reason", "result"},
	"rest_client_transport_cache_gc_calls_total":  {"result"},
	"windlass_serving_reloads_total":              {"result"},
}

// document checks docs/metrics.md: what was served and what is declared, as tables.
func document(t *testing.T, native, ours, declared map[string]*family, owner map[string]string) {
	have, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}

	controllers := ofControllers(t, string(have))
	var own, process []string
	all := mergeFamilies(ours, declared)
	for name, labels := range rare {
		kind := "counter"
		if strings.HasSuffix(name, "_seconds") {
			kind = "histogram"
		}
		f := newFamily(kind, "")
		for _, l := range labels {
			f.addValues(l)
		}
		if seen := all[name]; seen != nil && (seen.kind != kind || !slices.Equal(seen.labels, f.labels)) {
			t.Errorf("%s is a %s with labels %v, rare has it as a %s with %v", name, seen.kind, seen.labels, kind, f.labels)
		}
		all[name] = f
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case owner[name] != "":
			if !strings.Contains(controllers, "\n| `"+name+"` |") {
				t.Errorf("docs/metrics.md has no row for %s of plugin %s: run make generate", name, owner[name])
			}
		case strings.HasPrefix(name, "windlass_"):
			own = append(own, name)
		default:
			process = append(process, name)
		}
	}

	var b strings.Builder
	b.WriteString("# Metrics\n\nWhat `/metrics` has. Names, texts, types, labels, their values and buckets are upstream's where upstream has the metric, so dashboards and alerts made for the native\n" +
		"kube-controller-manager go on; `docs/differences.md` lists what differs. `go test ./test/parity` compares them with a scrape of the native manager after the same work, and writes this page\n" +
		"with `-update`, but for the controllers' part, which `make generate` writes.\n\nNo label value comes from a guest. A plugin's manifest lists the values that it can use, or says where the host takes them from: the key's namespace and name, or a path in an\n" +
		"object that the controller reads, such as `spec.managedBy` of a job (`docs/manifest.md`). Of such values a metric has at most 10,000 series, each value at most 253 bytes; what is\n" +
		"over counts under `unexpected`, and the log tells of it once. The series of a gauge end with their objects; those of counters and histograms go on, and make place when there is none.\n\n" +
		"## Of the controllers\n\n" + controllers)

	b.WriteString("\n## Of the process\n\nUpstream's as well. Of Go's runtime (`go_*`) and of the process (`process_*`) there is what Prometheus's client library has.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range process {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		f, help := all[name], meaning(name)
		if d := declared[name]; d != nil {
			f, help = d, d.help
		}
		if help == "" {
			t.Errorf("%s: nobody has said what it means: add it to meanings", name)
		}
		text := labelList(f)
		if declared[name] == nil {
			text = labelNames(f)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.kind, text, markdown.Cell(help))
	}

	b.WriteString("\n## Windlass's own\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range own {
		f := all[name]
		if d := declared[name]; d != nil {
			f = d
		}
		if f.help == "" {
			f.help = meaning(name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.kind, labelNames(f), markdown.Cell(f.help))
	}

	if *update {
		have = []byte(b.String())
		if err := os.WriteFile(docs, have, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if string(have) != b.String() {
		t.Errorf("docs/metrics.md isn't up to date: go test ./test/parity -update, then read it\n%s",
			firstDifference(string(have), b.String()))
	}
}

// ofControllers returns the page's part about the controllers' metrics, which hack/generate-controllers writes from the
// manifests.
func ofControllers(t *testing.T, page string) string {
	t.Helper()
	const end = "<!-- end -->\n"
	_, rest, ok := strings.Cut(page, "## Of the controllers\n\n")
	part, _, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("docs/metrics.md has no generated part about controllers")
	}
	return part + end
}

func meaning(name string) string {
	best := ""
	for prefix := range meanings {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return meanings[best]
}

// labelList writes a family's labels with the values that they can take.
func labelList(f *family) string {
	var all []string
	for _, l := range f.labels {
		text := "`" + l + "`"
		if v := slices.Sorted(maps.Keys(f.values[l])); len(v) > 0 {
			text += " (" + strings.Join(v, ", ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func labelNames(f *family) string {
	var all []string
	for _, l := range f.labels {
		all = append(all, "`"+l+"`")
	}
	return strings.Join(all, ", ")
}

func firstDifference(have, want string) string {
	h, w := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range w {
		if i >= len(h) || h[i] != w[i] {
			old := ""
			if i < len(h) {
				old = h[i]
			}
			return fmt.Sprintf("line %d: %s\nwants:  %s", i+1, old, w[i])
		}
	}
	return "there are more lines than there should be"
}
