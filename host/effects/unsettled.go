package effects

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// unsettled are writes of which nobody knows whether they were done or may still be done, by the key whose sync has
// sent them. Not what was wanted is kept, but by what it can be recognised: a name, a version or a UID. A later sync
// sends what its own answer asks for.
//
// A write is settled by an answer that tells of the object, by the cache when it shows what the write would have made
// of it, or by a consistent read after its time is over. A refusal settles nothing but the request that was refused:
// admission comes before a name that exists is found.
type unsettled struct {
	count atomic.Int32

	mu   sync.Mutex
	keys map[abi.KeyRef][]*openWrite
}

// mark is by what a write can be recognised.
type mark struct {
	name, uid, version string
	once               bool   // it can't be done twice, however often it is sent
	owner, prefix      string // of a create whose name was made here: its controller's UID, and its generateName
	object             []byte // of such a create: what it is made of
}

// isOfOne reports whether the write is about one object, which is known: no later object of that name.
func (m *mark) isOfOne() bool { return m.name != "" }

// openWrite is an unsettled write.
type openWrite struct {
	mark
	verb      string
	resource  abi.Resource
	namespace string
	since     time.Time
	until     time.Time
	body      uint64 // the hash of the object that a create is made of
	// found tells that a read has found what it has done, or that it can't be done any more. It is kept until the key's
	// next sync: the present one may have seen what was before.
	found bool
	// by is the session that sends it again.
	by    *Session
	timer *time.Timer
}

func (o *openWrite) String() string {
	return fmt.Sprintf("%s %s %s", o.verb, o.resource, strings.TrimPrefix(o.namespace+"/"+o.name, "/"))
}

func (o *openWrite) isOf(r abi.Resource, namespace, name string) bool {
	return o.resource == r && o.namespace == namespace && o.name == name
}

// UnsettledError is why a write isn't sent.
type UnsettledError struct {
	Write string // that may still be done
	Until time.Time
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("not sent while it isn't known whether an earlier sync's %q was done, which is looked up %v from now",
		e.Write, max(time.Until(e.Until), 0).Round(time.Second))
}

// Reason is the outcome's.
func (e *UnsettledError) Reason() string { return "Unsettled" }

var bodySeed = maphash.MakeSeed()

// keptName returns the name under which an earlier sync's create may have been done that this one would do again, ""
// for none. It is the session's from then on. What was made of the same object comes first: a DaemonSet's pods differ
// by their node.
func (s *Session) keptName(r abi.Resource, namespace string, m *mark) (name string, same bool) {
	u := &s.w.unsettled
	if u.count.Load() == 0 {
		return "", false
	}
	body := maphash.Bytes(bodySeed, m.object)
	u.mu.Lock()
	defer u.mu.Unlock()

	var kept *openWrite
	for _, o := range u.keys[s.key] {
		if o.prefix == "" || o.by == s || o.resource != r || o.namespace != namespace || o.owner != m.owner ||
			o.prefix != m.prefix {
			continue
		}
		if o.body == body {
			kept = o
			break
		}
		if kept == nil {
			kept = o
		}
	}
	if kept == nil {
		return "", false
	}
	kept.by = s
	return kept.name, kept.body == body
}

// holdBack returns an error where the key mustn't choose this object: while it isn't known whether it has made or
// deleted another one of the resource, or changed it, it makes and deletes no further one, unless the same sync sends
// that write again. What may be done to the same object goes on.
func (s *Session) holdBack(verb string, r abi.Resource, namespace string, m *mark) error {
	u := &s.w.unsettled
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range u.keys[s.key] {
		if o.isOf(r, namespace, m.name) {
			o.by = s
		}
	}
	if verb != "create" && verb != "delete" {
		return nil
	}
	for _, o := range u.keys[s.key] {
		if o.resource == r && o.by != s {
			return &UnsettledError{Write: o.String(), Until: o.until}
		}
	}
	return nil
}

// isUnsettled reports whether it isn't known what became of a write of the key to an object.
func (s *Session) isUnsettled(r abi.Resource, namespace, name string) bool {
	u := &s.w.unsettled
	if u.count.Load() == 0 {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.keys[s.key], func(o *openWrite) bool { return o.isOf(r, namespace, name) })
}

// keep notes a write whose end isn't known.
func (s *Session) keep(verb string, r abi.Resource, namespace string, m *mark, until time.Time) {
	if !m.isOfOne() {
		return
	}
	u := &s.w.unsettled
	u.mu.Lock()
	defer u.mu.Unlock()

	all := u.keys[s.key]
	i := slices.IndexFunc(all, func(o *openWrite) bool { return o.isOf(r, namespace, m.name) && o.verb == verb })
	if i >= 0 {
		o := all[i]
		o.version, o.until, o.found = strings.Clone(m.version), until, false
		o.timer.Reset(time.Until(until))
		return
	}

	// Cloned: a guest's strings may point into a buffer that is used again.
	o := &openWrite{verb: verb, resource: r, namespace: strings.Clone(namespace), since: time.Now(), until: until, by: s,
		mark: mark{name: strings.Clone(m.name), uid: strings.Clone(m.uid), version: strings.Clone(m.version),
			owner: strings.Clone(m.owner), prefix: strings.Clone(m.prefix)}}
	if m.prefix != "" {
		o.body = maphash.Bytes(bodySeed, m.object)
	}
	key, w := s.key.Clone(), s.w
	o.timer = time.AfterFunc(time.Until(until), func() { w.lookUp(key, o) })
	if u.keys == nil {
		u.keys = map[abi.KeyRef][]*openWrite{}
	}
	u.keys[key] = append(all, o)
	u.count.Add(1)
	w.log.V(2).Info("Whether a write was done isn't known, its key sends no other of the resource until it is", "write",
		o.String(), "key", key.String(), "until", until)
}

// settled ends what isn't known of an object, because the API server has told what became of the object.
func (s *Session) settled(r abi.Resource, namespace, name string) {
	s.w.unsettled.drop(s.key, func(o *openWrite) bool { return o.isOf(r, namespace, name) })
}

// drop forgets a key's writes.
func (u *unsettled) drop(key abi.KeyRef, which func(*openWrite) bool) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	left := slices.DeleteFunc(u.keys[key], func(o *openWrite) bool {
		if !which(o) {
			return false
		}
		o.timer.Stop()
		u.count.Add(-1)
		return true
	})
	if len(left) == 0 {
		delete(u.keys, key)
	} else {
		u.keys[key] = left
	}
}

// clear forgets all writes.
func (u *unsettled) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, all := range u.keys {
		for _, o := range all {
			o.timer.Stop()
		}
	}
	clear(u.keys)
	u.count.Store(0)
}

// Settle ends what the cache has made known of a key's writes. It is called before the key's snapshot is taken, never
// during its sync.
func (w *Writer) Settle(key abi.KeyRef) {
	w.unsettled.drop(key, func(o *openWrite) bool { return o.found || w.isShown(o) })
}

// isShown reports whether the cache tells that a write was done, or that it can't be done any more.
func (w *Writer) isShown(o *openWrite) bool {
	store := w.watchedStore(o.resource)
	if store == nil || store.Version() == "" {
		return false
	}
	x := store.Get(o.namespace, o.name)
	switch {
	case o.verb == "create":
		return x != nil
	case x == nil || o.uid != "" && string(x.UID) != o.uid:
		return true
	case o.verb == "delete":
		return envelope.IsDeleting(x.Raw)
	}
	return o.version != "" && x.ResourceVersion != o.version
}

// lookUp reads the object of a write whose time is over.
func (w *Writer) lookUp(key abi.KeyRef, o *openWrite) {
	u := &w.unsettled
	u.mu.Lock()
	version := o.version
	u.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), w.Timeout)
	defer cancel()
	raw, err := w.liveObject(ctx, o.resource, o.namespace, o.name)
	var m envelope.Meta
	if err == nil && raw != nil {
		m, err = envelope.ReadMeta(raw)
	}
	if err != nil {
		w.log.V(2).Info("Can't look up whether a write was done, will retry", "write", o.String(), "err", err)
		u.mu.Lock()
		defer u.mu.Unlock()
		if slices.Contains(u.keys[key], o) {
			o.timer.Reset(backoffMax)
		}
		return
	}

	done := raw != nil
	if o.verb != "create" {
		same := raw != nil && (o.uid == "" || m.UID == o.uid)
		done = !same || o.verb == "delete" && m.Deleting || version != "" && m.ResourceVersion != version
	}
	w.log.V(2).Info("It is known now whether a write was done", "write", o.String(), "key", key.String(), "done", done)
	if !done || w.watchedStore(o.resource) == nil {
		u.drop(key, func(x *openWrite) bool { return x == o })
		return
	}

	// A sync that runs may have begun before the write was done. The next one begins when the cache shows it.
	if raw != nil {
		w.wait.Written(key, o.resource, m.ResourceVersion)
	} else if o.uid != "" {
		w.wait.Removed(key, barrier.Gone{Resource: o.resource, Namespace: o.namespace, Name: o.name, UID: o.uid})
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	o.found = true
}

// Unsettled returns which of a key's writes may have been done or not.
func (w *Writer) Unsettled(key abi.KeyRef) (writes []string) {
	u := &w.unsettled
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range u.keys[key] {
		if !o.found {
			writes = append(writes, "whether it was done: "+o.String())
		}
	}
	return writes
}

// UnsettledKeys returns the keys with such writes, and since when they have them.
func (w *Writer) UnsettledKeys() map[abi.KeyRef]time.Time {
	u := &w.unsettled
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	keys := map[abi.KeyRef]time.Time{}
	for k, all := range u.keys {
		if i := slices.IndexFunc(all, func(o *openWrite) bool { return !o.found }); i >= 0 {
			keys[k] = all[i].since
		}
	}
	return keys
}
