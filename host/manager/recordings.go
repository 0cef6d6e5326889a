package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

// recordings are the last syncs of each controller that runs or has run here, and the last writes.
type recordings struct {
	mu     sync.Mutex
	config config.Recordings
	bytes  int
	saver  *record.Saver
	rings  map[string]*record.Ring // by controller
}

func newRecordings(c *config.Recordings) (*recordings, error) {
	r := &recordings{rings: map[string]*record.Ring{}}
	return r, r.configure(c)
}

// configure has the rings kept and saved as the configuration says. After an error all is as it was.
func (r *recordings) configure(c *config.Recordings) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if equality.Semantic.DeepEqual(*c, r.config) {
		return nil
	}

	saver := r.saver
	if was := r.config; c.Folder != was.Folder || c.FolderFiles != was.FolderFiles ||
		c.FolderBytes.Cmp(was.FolderBytes) != 0 {
		saver = nil
		if c.Folder != "" {
			var err error
			if saver, err = record.NewSaver(record.SaverOptions{Folder: c.Folder, Files: int(c.FolderFiles),
				Bytes: c.FolderBytes.Value()}); err != nil {
				return fmt.Errorf("recordings.folder: %w", err)
			}
		}
	}

	bytes := int(c.Bytes.Value())
	if bytes == 0 {
		bytes = -1
	}

	for _, x := range r.rings {
		x.Resize(bytes)
		if saver != r.saver {
			r.saver.Forget(x)
			saver.Watch(x)
		}
	}

	if saver != r.saver {
		r.saver.Wait()
	}
	r.config, r.bytes, r.saver = *c, bytes, saver
	return nil
}

// waitForSaves waits for what is being saved.
func (r *recordings) waitForSaves() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saver.Wait()
}

// ringFor returns a controller's ring, which outlives the versions of its plugin.
func (r *recordings) ringFor(controller string) *record.Ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.rings[controller]
	if x == nil {
		x = record.NewRing(controller, r.bytes)
		r.saver.Watch(x)
		r.rings[controller] = x
	}
	return x
}

func (r *recordings) allRings() []*record.Ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sortedValues(r.rings)
}

// recordingHandlers serve recordings and last writes.
func (m *manager) recordingHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /debug/recordings/{controller}": http.HandlerFunc(m.serveRecording),
		"GET /debug/explain":                 http.HandlerFunc(m.serveExplain),
	}
}

func (m *manager) serveRecording(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("controller")
	var names []string
	for _, ring := range m.recordings.allRings() {
		names = append(names, ring.Controller())
		if ring.Controller() != name && strings.TrimSuffix(ring.Controller(), "-controller") != name {
			continue
		}
		f := ring.File()
		f.Reason = "asked for"
		b, err := f.Append(nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(b)
		return
	}
	http.Error(w, fmt.Sprintf("no controller %q runs here: there are %s", name, strings.Join(names, ", ")),
		http.StatusNotFound)
}

func (m *manager) serveExplain(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	kind, namespace, name := q.Get("resource"), q.Get("namespace"), q.Get("name")
	if kind == "" || name == "" {
		http.Error(w, "resource and name are needed", http.StatusBadRequest)
		return
	}
	resources, err := m.resourcesOf(r.Context(), kind)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if len(resources) == 0 {
		http.Error(w, fmt.Sprintf("the API server serves no resource %q: name it as kubectl does, such as deployment, deployments.apps, ReplicaSet", kind), http.StatusNotFound)
		return
	}
	var best *state.Explanation
	for _, a := range resources {
		e := m.explain(a, namespace, name)
		if best == nil || len(best.Writes) == 0 && len(e.Writes) > 0 {
			best = e
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(best)
}

func (m *manager) explain(a abi.APIResource, namespace, name string) *state.Explanation {
	if !a.Namespaced {
		namespace = ""
	}
	e := &state.Explanation{Resource: a.Resource, Namespace: namespace, Name: name, Writes: []record.Write{}}
	want, _ := abi.ParseResource(a.Resource)
	for _, ring := range m.recordings.allRings() {
		for _, version := range ring.Versions(want.Group, want.Name) {
			if x, ok := ring.LastWrite(version, namespace, name); ok {
				e.Writes = append(e.Writes, x)
			}
		}
	}
	slices.SortFunc(e.Writes, func(a, b record.Write) int { return b.Time.Compare(a.Time) })
	return e
}

// resourcesOf returns the resources that a person means by a kind, a plural or a singular, with the group behind a dot
// or without it; those of the core first.
func (m *manager) resourcesOf(ctx context.Context, said string) ([]abi.APIResource, error) {
	d, err := m.stores.discovery.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its resources: %w", err)
	}
	word, group, qualified := strings.Cut(strings.ToLower(said), ".")
	var all []abi.APIResource
	for _, a := range d.Resources {
		r, ok := abi.ParseResource(a.Resource)
		if !ok || strings.Contains(r.Name, "/") || qualified && r.Group != group {
			continue
		}
		if word == r.Name || word == strings.ToLower(a.Kind) {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b abi.APIResource) int {
		return cmp.Compare(strings.Count(a.Resource, "/"), strings.Count(b.Resource, "/"))
	})
	return all, nil
}
