package effects

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/difference"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// objectKey names an object in a session; a scale is another object than its parent, and so is its metadata alone,
// which is no base for an update of the whole.
type objectKey struct {
	resource        abi.Resource
	scale           bool
	metadata        bool
	namespace, name string
}

func objectKeyOf(e *abi.Effect, res *schema.Resource) objectKey {
	// Cloned: a guest's strings may point into a buffer that is used again.
	scale := e.Subresource == "scale"
	return objectKey{res.Resource, scale, res.Partial && !scale, strings.Clone(e.Namespace), strings.Clone(e.Name)}
}

// base is an object as the guest's next effect on it finds it.
type base struct {
	raw  []byte // whole, or what the cache has
	seen []byte // what the guest has seen or sent last; nil: the projection of raw
	// views is what the guest saw or sent by the version that its copy of the object has: an effect is a difference to
	// that copy.
	views   map[string][]byte
	sent    []string // the versions in views under which it sent since the last perform
	version string
	uid     string
	whole   bool
	gone    bool
}

// bases are the objects that a sync has seen and written, as its next effects find them. Members of a group use them at
// the same time.
type bases struct {
	controller *abi.Controller
	seen       seen

	mu       sync.Mutex // held whenever the snapshot is used, which isn't made for several users at once
	snapshot Snapshot   // nil: the sync saw nothing, or has ended
	of       map[objectKey]*base
}

// ask delivers a lazy view of the snapshot: one ask at a time.
func (s *bases) ask(a *abi.Ask) (abi.ViewData, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot.Ask(a)
}

// keyObject returns the UID of the key's object, and whether the sync saw it.
func (s *bases) keyObject() (uid string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil {
		return "", false
	}
	return s.snapshot.KeyObject()
}

// keyVersion returns the resource version of the key's object as the sync saw it, "" where it saw none.
func (s *bases) keyVersion(key abi.KeyRef) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil {
		return ""
	}
	if _, exists := s.snapshot.KeyObject(); !exists {
		return ""
	}
	o := s.snapshot.Find(s.controller.Views[s.controller.Key.View].Resource, key.Namespace, key.Name)
	if o == nil {
		return ""
	}
	return o.ResourceVersion
}

// cached returns an object as the cache has it, nil where the cache hasn't all of it. Nothing that a guest has sent is
// in it.
func (s *bases) cached(k objectKey) *cache.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil || !s.controller.CachesWhole(k.resource) {
		return nil
	}
	return s.snapshot.Find(k.resource, k.namespace, k.name)
}

// find returns an object as the guest saw it.
func (s *bases) find(k objectKey) *base {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.of[k]; b != nil {
		return b
	}
	if k.scale || s.snapshot == nil {
		return nil
	}
	o := s.snapshot.Find(k.resource, k.namespace, k.name)
	if o == nil {
		return nil
	}
	b := &base{raw: o.Raw, version: o.ResourceVersion, uid: string(o.UID), whole: !k.metadata &&
		s.controller.CachesWhole(k.resource)}
	s.of[k] = b
	return b
}

// seenCopy returns what the guest saw of a base, by the version of the guest's copy.
func (s *bases) seenCopy(k objectKey, b *base, version string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen, ok := b.views[version]; ok && version != b.version {
		return seen, nil
	}
	return s.lastSeen(k, b)
}

// lastSeen returns what the guest saw or sent last. The caller holds the lock.
func (s *bases) lastSeen(k objectKey, b *base) ([]byte, error) {
	if b.seen == nil {
		if k.scale {
			return b.raw, nil
		}
		seen, err := s.seen.projectAnswer(k.resource, k.metadata, b.raw)
		if err != nil {
			return nil, fmt.Errorf("projecting the base: %w", err)
		}
		b.seen = seen
	}
	return b.seen, nil
}

// move makes an answer the base of the next effect on the object. sent is what the guest sent, nil when it sent no
// object.
func (s *bases) move(k objectKey, res *schema.Resource, m envelope.Meta, raw, sent []byte, e *abi.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &base{raw: raw, version: m.ResourceVersion, uid: m.UID, whole: true, views: map[string][]byte{}}
	old := s.of[k]
	if old != nil {
		maps.Copy(b.views, old.views)
		b.sent = old.sent
	}
	switch {
	case sent != nil:
		b.seen = sent
		if !k.scale && !k.metadata {
			b.seen = s.accepted(k.resource, res, raw, sent, e.Subresource)
		}
		if e.Version != "" {
			version := strings.Clone(e.Version)
			b.views[version], b.sent = b.seen, append(b.sent, version)
		}
	case old != nil && !old.gone:
		// A patch or a live get: the guest's object may still be the one from before.
		if seen, err := s.lastSeen(k, old); err == nil {
			b.seen, b.views[old.version] = seen, seen
		}
	}
	s.of[k] = b
}

// accepted returns the part of what the guest sent that this subresource stores, and the rest as the server has it:
// what the guest changed there is still to be written by the effect on the other subresource.
func (s *bases) accepted(r abi.Resource, res *schema.Resource, raw, sent []byte, subresource string) []byte {
	answer, err := s.seen.project(r, raw)
	if err != nil {
		return nil
	}
	out, err := difference.Accepted(res, answer, sent, subresource)
	if err != nil {
		return answer
	}
	return out
}

// lose forgets an object that was deleted.
func (s *bases) lose(k objectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.of[k]; b != nil {
		b.gone = true
	}
}

// settle has the guest see the answers to what it sent: its next objects are compared with those.
func (s *bases) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.of {
		b.seen = nil
		for _, version := range b.sent {
			delete(b.views, version) // its copy has the answer's version now; an older one conflicts
		}
		b.sent = nil
	}
}

// forget ends what the sync saw.
func (s *bases) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot, s.of = nil, nil
}
