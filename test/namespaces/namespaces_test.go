package namespaces

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// What a healthy namespace says while a widget's finalizer keeps it.
var kept = []string{
	"phase Terminating",
	"NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered",
	"NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed",
	"NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization",
	"NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: widgets.example.com has 1 resource instances",
	"NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances",
}

// A namespace full of all sorts of objects is emptied, pods first, waits for finalizers, saying so as the native manager says it, and goes.
func TestContent(t *testing.T) {
	w := newWorld(t)
	w.define()
	w.fill("native")
	w.fill("windlass")
	w.namespace("bystander")

	stop := w.c.Native(t, []string{controller})
	w.deleteNamespace("native")
	w.eventually("the native manager deletes pods", func() (bool, string) { return len(w.names(pods, "native")) == 1, "" })
	w.release(pods, "native", "web-0")
	theirs := w.says("native", kept[4])
	if left := w.names(widgets, "native"); len(left) != 1 {
		t.Errorf("the native manager has left the widgets %v", left)
	}
	stop()

	m := w.start()
	began := time.Now()
	w.deleteNamespace("windlass")
	w.says("windlass", "NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances")
	w.eventually("only the pod that a finalizer keeps is left", func() (bool, string) { l := w.names(pods, "windlass"); return len(l) == 1, strings.Join(l, " ") })
	for _, e := range w.deletions("windlass") {
		if e.Resource != "pods" {
			t.Errorf("deleted while there were pods: %v", e)
		}
		if age := e.Time.Sub(began); age < 4900*time.Millisecond {
			t.Errorf("%v, %v after the namespace was deleted; it is left alone for 5 s", e, age)
		}
	}
	if left := w.names(configMaps, "windlass"); len(left) == 0 {
		t.Error("the config maps went before the pods")
	}
	released := time.Now()
	w.release(pods, "windlass", "web-0")
	ours := w.says("windlass", kept[4])
	t.Logf("%v after the last pod", time.Since(released))
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("conditions (-native +windlass):\n%s", d)
	}
	if d := cmp.Diff(kept, ours); d != "" {
		t.Errorf("conditions (-want +got):\n%s", d)
	}
	if left := w.names(widgets, "windlass"); len(left) != 1 || left[0] != "kept" {
		t.Errorf("of the widgets %v are left", left)
	}
	for _, e := range w.deletions("windlass") {
		if e.Resource == "widgets" && !strings.Contains(e.URI, "/v1/") {
			t.Errorf("a version that isn't preferred: %s", e.URI)
		}
	}

	t.Log("what the native manager began is ended")
	w.release(widgets, "windlass", "kept")
	w.release(widgets, "native", "kept")
	w.ends("windlass")
	w.ends("native")
	if len(w.deletions("bystander")) > 0 || len(w.names(configMaps, "bystander")) == 0 {
		t.Error("a namespace that nobody deleted was touched")
	}
	last := w.c.Audit(t, cluster.Filter{Resources: []string{"namespaces/finalize"}, Users: []string{account}, Codes: []int{200}})
	if n := len(last); n != 2 || last[n-1].Verb != "update" {
		t.Errorf("finalized by %v, expected one update for each namespace", last)
	}
	windlass.ExpectRoles(t, w.c)
	m.Stop(t)
}

// An API that doesn't answer holds up a namespace, whose content may be there, and no content; a custom resource that goes midway holds up nothing.
func TestDiscovery(t *testing.T) {
	w := newWorld(t)
	w.define()
	w.namespace("midway")
	w.object(widgets, "Widget", "midway", "kept", nil, keep)
	w.namespace("native")
	w.namespace("windlass")
	m := w.start()

	t.Log("a custom resource goes midway, and its objects stay where nobody sees them")
	w.deleteNamespace("midway")
	w.says("midway", kept[4])
	w.delete(definitions, "widgets.example.com")
	w.release(definitions, "", "widgets.example.com")
	w.ends("midway")
	m.Stop(t)

	w.object(apis, "APIService", "", "v1.broken.example.com", map[string]any{
		"group": "broken.example.com", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": "default", "name": "nowhere"},
	})
	w.eventually("the API server knows of the broken API", func() (bool, string) {
		_, _, err := w.client.Discovery().ServerGroupsAndResources()
		return err != nil, ""
	})
	const failure = "NamespaceDeletionDiscoveryFailure=True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: " +
		"broken.example.com/v1: stale GroupVersion discovery: broken.example.com/v1"
	stop := w.c.Native(t, []string{controller})
	w.deleteNamespace("native")
	theirs := w.says("native", failure)
	stop()

	m = w.start()
	w.deleteNamespace("windlass")
	ours := w.says("windlass", failure)
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("conditions (-native +windlass):\n%s", d)
	}
	if left := w.names(configMaps, "windlass"); len(left) > 0 {
		t.Errorf("%v are left, for which the broken API is no reason", left)
	}
	w.delete(apis, "v1.broken.example.com")
	w.ends("windlass")
	w.ends("native")
	windlass.ExpectRoles(t, w.c)
	m.Stop(t)
}
