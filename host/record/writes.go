package record

import (
	"container/list"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
)

// writesMost is of how many objects a controller's last writes are remembered: some 600 bytes for each.
const writesMost = 2048

// Write is what is remembered of the last write to an object.
type Write struct {
	Time        time.Time `json:"time"`
	Controller  string    `json:"controller"`
	Plugin      string    `json:"plugin"`
	Version     string    `json:"version"`
	Digest      string    `json:"digest"`
	Verb        string    `json:"verb"` // as RBAC has it, or effects.EventVerb
	Resource    string    `json:"resource"`
	Subresource string    `json:"subresource,omitempty"`
	Namespace   string    `json:"namespace,omitempty"`
	Name        string    `json:"name,omitempty"` // empty: a collection was deleted
	UID         string    `json:"uid,omitempty"`
	// ResourceVersion is the object's after the write; empty where the answer had none.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Key is whose sync wrote. Writes are all that the sync has written up to this one, as "create apps/v1/replicasets".
	Key    string   `json:"key"`
	Writes []string `json:"writes"`
	// Result is how the sync ended, empty while it hasn't; SyncError says why.
	Result    string `json:"result,omitempty"`
	SyncError string `json:"syncError,omitempty"`
}

// String is the write as "create v1/pods shop/web-1".
func (w *Write) String() string {
	name := w.Name
	if w.Namespace != "" {
		name = w.Namespace + "/" + w.Name
	}
	return strings.TrimSpace(w.Verb + " " + w.Resource + withSlash(w.Subresource) + " " + name)
}

// object names an object among those that were written.
type object struct{ resource, namespace, name string }

// writes are the last writes of a controller, each object's last one; the one that was longest ago makes room for a new
// one.
type writes struct {
	byObject map[object]*list.Element
	order    list.List // of *Write, the newest in front
}

func (w *writes) add(x *Write) {
	if w.byObject == nil {
		w.byObject = map[object]*list.Element{}
	}
	o := object{x.Resource, x.Namespace, x.Name}
	if e := w.byObject[o]; e != nil {
		e.Value = x
		w.order.MoveToFront(e)
		return
	}
	if len(w.byObject) == writesMost {
		e := w.order.Back()
		old := w.order.Remove(e).(*Write)
		delete(w.byObject, object{old.Resource, old.Namespace, old.Name})
	}
	w.byObject[o] = w.order.PushFront(x)
}

func (w *writes) noteEnded(l []*Write, result, err string) {
	for _, x := range l {
		x.Result, x.SyncError = result, err
		x.Writes = slices.Clip(x.Writes)
	}
}

func (w *writes) find(o object) *Write {
	if e := w.byObject[o]; e != nil {
		return e.Value.(*Write)
	}
	return nil
}

// Wrote takes a write that a sync of the key has done, or an event that it had recorded: it is what
// effects.Options.Wrote calls. An event is no write to the object that it is about.
func (r *Ring) Wrote(key abi.KeyRef, e effects.Write) {
	if r == nil {
		return
	}
	x := Write{
		Time: time.Now(), Controller: r.controller, Verb: e.Verb, Resource: e.Resource, Subresource: e.Subresource,
		Namespace: e.Namespace, Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion,
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.running[key]
	if rec != nil {
		s := rec.recorder.source
		x.Plugin, x.Version, x.Digest = s.Plugin, s.Version, s.Digest
		if n := len(rec.wrote); n > 0 {
			x.Key, x.Writes = rec.wrote[n-1].Key, rec.wrote[n-1].Writes // shared: a sync may write thousands of times
		}
		rec.wrote = append(rec.wrote, &x)
	}

	if x.Verb == effects.EventVerb {
		return
	}
	if x.Key == "" {
		x.Key = key.String()
	}

	if what := x.Verb + " " + x.Resource + withSlash(x.Subresource); !slices.Contains(x.Writes, what) {
		x.Writes = append(slices.Clip(x.Writes), what)
	}
	r.writes.add(&x)
}

func withSlash(resource string) string {
	if resource == "" {
		return ""
	}
	return "/" + resource
}

// Versions returns, of a group's resource, each version in which the controller has written it, as abi.Resource.String
// does.
func (r *Ring) Versions(group, name string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for o := range r.writes.byObject {
		x, ok := abi.ParseResource(o.resource)
		if ok && x.Group == group && x.Name == name && !slices.Contains(all, o.resource) {
			all = append(all, o.resource)
		}
	}
	return all
}

// LastWrite returns the controller's last write to an object, or of its collection when that came later; false when
// there is none that is remembered.
func (r *Ring) LastWrite(resource, namespace, name string) (Write, bool) {
	if r == nil {
		return Write{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.writes.find(object{resource, namespace, name})
	for _, within := range []string{namespace, ""} {
		if all := r.writes.find(object{resource, within, ""}); all != nil && (x == nil || all.Time.After(x.Time)) {
			x = all
		}
	}
	if x == nil {
		return Write{}, false
	}
	return *x, true
}
