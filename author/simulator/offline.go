package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/record"
)

// Done is what one sync has done.
type Done struct {
	Controller string  `json:"controller"`
	Key        string  `json:"key"`
	Writes     []Wrote `json:"writes,omitempty"`
	// Events are those that it sent, RequeueAfter when it wants to be called again whatever happens.
	Events       []string `json:"events,omitempty"`
	RequeueAfter string   `json:"requeueAfter,omitempty"`
	Error        string   `json:"error,omitempty"`
}

// Wrote is one write, with the object as it has become, nil if it is gone.
type Wrote struct {
	Do     string         `json:"do"` // such as create v1/pods default/web
	Object map[string]any `json:"object,omitempty"`
	// Diff shows what has changed, in YAML.
	Diff string `json:"-"`
}

// Offline syncs keys of a plugin once on the world's objects and reports what each does: the given key, or all where it
// is empty. With settle it goes on until nothing changes any more, with all that the cluster does by itself.
func Offline(ctx context.Context, g guest.Guest, o Options, key string, settle bool) ([]Done, error) {
	x, err := newExplorer(ctx, g, o)
	if err != nil {
		return nil, err
	}

	var findings []Finding
	r, err := newRun(ctx, x.setting, Scenario{Kind: offline}, func(f Finding) { findings = append(findings, f) })
	if err != nil {
		return nil, err
	}
	defer func() { r.process.stopProcess() }()
	var all []Done
	r.observe = func(w *write, old, o *Object) {
		if len(all) > 0 {
			d := &all[len(all)-1]
			wrote := Wrote{Do: w.String(), Diff: record.Diff(readable(old), readable(o))}
			if o != nil {
				wrote.Object = withoutServerFields(o)
			}
			d.Writes = append(d.Writes, wrote)
		}
	}

	sync := func(s *slot, k abi.KeyRef) error {
		all = append(all, Done{Controller: s.manifest().Name, Key: strings.TrimSpace(k.String())})
		events := len(r.cluster.events)
		err := r.process.syncKey(s, k)
		d := &all[len(all)-1]
		for _, e := range r.cluster.events[events:] {
			d.Events = append(d.Events, fmt.Sprintf("%s %s on %s: %s", e.Type, e.Reason, e.Object, e.Message))
		}
		if at, ok := s.due[k]; ok {
			d.RequeueAfter = at.Sub(r.cluster.now).Round(time.Millisecond).String()
		}
		if err != nil {
			d.Error = err.Error()
		}
		return nil
	}

	found := false
	var known []string
	for _, s := range r.process.slots {
		if !s.Tested {
			continue
		}
		for _, k := range slices.Clone(s.queue) {
			known = append(known, strings.TrimSpace(k.String()))
			if key != "" && strings.TrimSpace(k.String()) != key {
				continue
			}
			found = true
			if err := sync(s, k); err != nil {
				return nil, err
			}
			if err := r.process.deliverAll(); err != nil {
				return nil, err
			}
		}
	}

	if !found {
		if len(known) == 0 {
			return nil, errors.New("no key: none of the objects is one that the plugin's key view selects; see windlass plugin inspect")
		}
		return nil, fmt.Errorf("no key %q: there is %s", key, strings.Join(known, ", "))
	}

	if settle {
		r.calling = sync
		if err := r.runUntilIdle(); err != nil && !errors.Is(err, errStop) {
			return nil, err
		}
		for _, f := range findings {
			if f.Check == Settles {
				return all, errors.New(f.Message)
			}
		}
		all = slices.DeleteFunc(all, func(d Done) bool { return len(d.Writes)+len(d.Events) == 0 && d.Error == "" })
	}
	return all, nil
}

// offline is the kind of a run in which nothing is looked for.
const offline = "offline"

// withoutServerFields returns an object without what only the server cares about.
func withoutServerFields(o *Object) map[string]any {
	m := deepCopy(o.Object).(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(meta, f)
	}
	return m
}

func readable(o *Object) string {
	if o == nil {
		return ""
	}
	b, err := yaml.Marshal(withoutServerFields(o))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
