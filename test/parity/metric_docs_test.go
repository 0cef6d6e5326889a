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
	"cardinality_enforcement_unexpected_categorizations_total": "Label values that were replaced because of a limit on a metric's series.",
	"disabled_metrics_total":                                   "Metrics that are turned off.",
	"hidden_metrics_total":                                     "Metrics that are deprecated and hidden.",
	"kubernetes_feature_enabled":                               "1 if a feature gate of the client library is on, 0 if it is off.",
	"leader_election_master_status":                            "1 while this process holds the Lease of that name, 0 while another one does.",
	"leader_election_slowpath_total":                           "Renewals of a Lease for which the Lease had to be read first.",
	"registered_metrics_total":                                 "Metrics that the libraries have, by how stable they are said to be.",
	"rest_client_dns_resolution_duration":                      "How long it took to look up the API server's address, in seconds.",
	"rest_client_exec_plugin_call_total":                       "Calls of exec plugins, by what came of them and the exit code.",
	"rest_client_exec_plugin_certificate_rotation_age":         "How old the client certificates from an exec plugin were when they were replaced, in seconds.",
	"rest_client_exec_plugin_ttl_seconds":                      "How long the client certificates from a program that the kubeconfig names (an exec plugin) are valid still, in seconds; the shortest counts.",
	"rest_client_rate_limiter_duration_s":                      "How long requests waited for the client's own rate limit, in seconds, by verb and host.",
	"rest_client_request_duration_second":                      "How long requests to the API server took, in seconds, by verb and host.",
	"rest_client_request_retries_total":                        "Requests that were repeated, by status code, verb and host.",
	"rest_client_request_size_bytes":                           "Bytes of requests, by verb and host.",
	"rest_client_requests_total":                               "Requests, by status code, method and host.",
	"rest_client_response_size_bytes":                          "Bytes of answers, by verb and host.",
	"rest_client_transport_ca_reload_total":                    "Times that the client tried to reload its CA file, by result and reason.",
	"rest_client_transport_cache_entries":                      "Transports (shared connections to API servers) that the client keeps.",
	"rest_client_transport_cache_gc_calls_total":               "Times that the client tried to drop a transport which nobody uses any more, by result.",
	"rest_client_transport_cert_rotation_gc_calls_total":       "Times that the watch on a transport's certificate ended, because nobody used the transport any more.",
	"rest_client_transport_create_calls_total":                 "Times that a transport was asked for, by whether one was there or had to be made.",
	"version_info":                        "Always 1. The labels say which release's libraries this is built with, which release's behaviour it has, and which is the oldest that it works together with.",
	"windlass_serving_reloads_total":      "Times that certificates or CAs have changed, by result: ok, failed (the old ones were kept).",
	"workqueue_adds_total":                "Keys added to a controller's queue.",
	"workqueue_depth":                     "Keys that wait in a controller's queue.",
	"workqueue_longest_running_processor": "How long the longest of the syncs under way has run, in seconds.",
	"workqueue_queue_duration_seconds":    "How long keys waited in the queue before a sync, in seconds.",
	"workqueue_retries_total":             "Keys added after a delay: after a failure, for a timer, or after a rest (the controller's pace).",
	"workqueue_unfinished_work_seconds":   "How long all syncs under way have run, added up, in seconds.",
	"workqueue_work_duration_seconds":     "How long syncs took, with everything that they waited for, in seconds.",
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
	b.WriteString(intro + head + controllers)

	b.WriteString("\n## Of the process\n\nThese are upstream's as well. Besides, there are the metrics of Go's runtime (`go_*`) and of the process (`process_*`) that Prometheus's client library has.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
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

	b.WriteString("\n## Windlass's own\n\nWords such as *fuel*, *perform*, *shadow* and *trial* are in the [glossary](glossary.md).\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
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

// intro is what the page begins with.
const intro = "# Metrics\n\n" +
	"For those who scrape Windlass or write alerts for it: every metric that `/metrics` has, with its labels. Where\n" +
	"kube-controller-manager has a metric too, its name, text, type, labels and buckets are the same, so dashboards\n" +
	"and alerts made for kube-controller-manager keep working; `docs/differences.md` lists what differs.\n" +
	"`deploy/alerts.yaml` has Prometheus rules to begin with, and `docs/serving.md` says who may scrape.\n\n" +
	"No plugin can invent a label's value. Its manifest lists the values that the plugin can use, or says where the\n" +
	"host takes them from: the key's namespace and name, or a path in an object that the controller reads, such as\n" +
	"`spec.managedBy` of a job (`docs/manifest.md`). Such values have limits: 253 bytes each, and 10,000 series for\n" +
	"each metric. What is beyond the limits counts under the value `unexpected`, and is logged once. A series of a\n" +
	"gauge is removed with its object. Series of counters and histograms stay; when there is no room for a new one,\n" +
	"an old one is removed. A metric without labels is there from the start, with zeros.\n\n" +
	"`go test ./test/parity` compares these metrics with a scrape of the native manager after the same work. With\n" +
	"`-update` it writes this page; only the table of the controllers is written by `make generate`.\n\n"

// head stands above the controllers' part.
const head = "## Of the controllers\n\nThe column *plugin* names the plugin that has the metric.\n\n"

// ofControllers returns the page's part about the controllers' metrics, which hack/generate-controllers writes from the
// manifests.
func ofControllers(t *testing.T, page string) string {
	t.Helper()
	const end = "<!-- end -->\n"
	_, rest, ok := strings.Cut(page, head)
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
