package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/discovery"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

// explainer serves what recordings tell: of syncs, and of who has written what.
type explainer struct {
	*recordings
	discovery *discovery.Client
}

func (e *explainer) handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /debug/recordings/{controller}":      http.HandlerFunc(e.serveRecording),
		"GET /debug/recordings/{controller}/sync": http.HandlerFunc(e.serveSync),
		"GET /debug/explain":                      http.HandlerFunc(e.serveExplain),
		"GET /windlass/v1/syncs":                  http.HandlerFunc(e.serveSyncs),
	}
}

func (e *explainer) serveRecording(w http.ResponseWriter, r *http.Request) {
	f := e.recordingFor(w, r)
	if f == nil {
		return
	}
	f.Reason = "asked for"
	f.NameKinds(e.recordings.kindOf)
	b, err := f.Append(nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(b)
}

// recordingFor returns the recording of the controller that a request names; nil: there is none, which was answered.
func (e *explainer) recordingFor(w http.ResponseWriter, r *http.Request) *record.File {
	name := r.PathValue("controller")
	var names []string
	for _, ring := range e.allRings() {
		names = append(names, ring.Controller())
		if ring.Controller() == name || strings.TrimSuffix(ring.Controller(), "-controller") == name {
			return ring.File()
		}
	}
	http.Error(w, fmt.Sprintf("no controller %q runs here: there are %s", name, strings.Join(names, ", ")),
		http.StatusNotFound)
	return nil
}

// serveSync answers with one sync whole, that of the key which began at the time that /windlass/v1/syncs gives. What is
// in objects is in it, so it takes the right to get recordings.
func (e *explainer) serveSync(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	began, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("time"))
	if err != nil {
		http.Error(w, fmt.Sprintf("time: %v: must be that of a sync, as /windlass/v1/syncs has it", err),
			http.StatusBadRequest)
		return
	}

	f := e.recordingFor(w, r)
	if f == nil {
		return
	}
	f = record.Redact(f) // all of it: what one sync has shown to be secret is looked for in the others
	for i := range f.Syncs {
		s := &f.Syncs[i]
		if s.Key.String() != key || !s.Start.Equal(began) {
			continue
		}
		x, err := record.Show(f, s)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, x)
		return
	}
	http.Error(w, "this sync isn't remembered any more: later ones have taken its place", http.StatusNotFound)
}

func (e *explainer) serveSyncs(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuestion(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	all, known := state.Recorded{Syncs: []state.Sync{}}, false
	for _, ring := range e.allRings() {
		if !q.asksController(ring.Controller()) {
			continue
		}
		known = true
		f := ring.File()
		f.Syncs = slices.DeleteFunc(f.Syncs, func(s record.Sync) bool {
			return !q.asksKey(s.Key.String()) || q.did && len(s.Wrote) == 0
		})
		all.All += len(f.Syncs)
		f.Syncs = f.Syncs[max(0, len(f.Syncs)-q.limit):]
		if len(f.Syncs) > 0 {
			all.Syncs = append(all.Syncs, syncsOf(record.Redact(f))...)
		}
	}

	if !known && q.controller != "" {
		http.Error(w, fmt.Sprintf("no controller %q runs here: see windlass get controllers", q.controller),
			http.StatusNotFound)
		return
	}

	slices.SortStableFunc(all.Syncs, func(a, b state.Sync) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Controller, b.Controller))
	})
	all.Syncs = all.Syncs[:min(len(all.Syncs), q.limit)]
	writeJSON(w, all)
}

func syncsOf(f *record.File) (out []state.Sync) {
	for i := range f.Syncs {
		x := &f.Syncs[i]
		source := &f.Sources[x.Source]
		s := state.Sync{Controller: f.Controller, Key: x.Key.String(), Time: x.Start, Seconds: x.Took.Seconds(),
			Result: x.Result, Error: x.Error,
			Plugin: source.Plugin, Version: source.Version, Digest: source.Digest}
		s.Did = slices.Clone(x.Wrote)
		if again := againOf(x); again > 0 {
			s.Again = again.String()
		}
		if more := len(s.Did) - didMost; more > 0 {
			s.Did = append(s.Did[:didMost], fmt.Sprintf("%d more", more))
		}
		out = append(out, s)
	}
	return out
}

// againOf returns after how long a sync wants to be synced again; 0: it doesn't.
func againOf(x *record.Sync) time.Duration {
	var a abi.SyncResponse
	if !x.Answered || abi.DecodeResponse(x.Answer, &a) != nil {
		return 0
	}
	return time.Duration(a.RequeueAfter)
}

func (e *explainer) serveExplain(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	kind, namespace, name := q.Get("resource"), q.Get("namespace"), q.Get("name")
	if kind == "" || name == "" {
		http.Error(w, "resource and name are needed", http.StatusBadRequest)
		return
	}
	resources, err := resourcesOf(r.Context(), e.discovery, kind)
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
		found := e.explain(a, namespace, name)
		if best == nil || len(best.Writes) == 0 && len(found.Writes) > 0 {
			best = found
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(best)
}

func (e *explainer) explain(a abi.APIResource, namespace, name string) *state.Explanation {
	if !a.Namespaced {
		namespace = ""
	}
	x := &state.Explanation{Resource: a.Resource, Namespace: namespace, Name: name, Writes: []record.Write{}}
	want, _ := abi.ParseResource(a.Resource)
	for _, ring := range e.allRings() {
		for _, version := range ring.Versions(want.Group, want.Name) {
			if last, ok := ring.LastWrite(version, namespace, name); ok {
				x.Writes = append(x.Writes, last)
			}
		}
	}
	slices.SortFunc(x.Writes, func(a, b record.Write) int { return b.Time.Compare(a.Time) })
	return x
}

// resourcesOf returns the resources that a person means by a kind, a plural or a singular, with the group behind a dot
// or without it; those of the core first.
func resourcesOf(ctx context.Context, d *discovery.Client, said string) ([]abi.APIResource, error) {
	served, err := d.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its resources: %w", err)
	}
	word, group, qualified := strings.Cut(strings.ToLower(said), ".")
	var all []abi.APIResource
	for _, a := range served.Resources {
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
