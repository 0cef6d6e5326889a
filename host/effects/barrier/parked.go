package barrier

import (
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// Parked is a key that waits for the cache to show what the key's syncs have written.
type Parked struct {
	Key   abi.KeyRef
	Since time.Time
	// For says what the cache doesn't show yet, a few things at most.
	For []string
}

// parkedFor is how many things are told that a key waits for.
const parkedFor = 5

// Parked reports which keys wait, the longest first: at most so many, and how many there are.
func (b *Barriers) Parked(most int) (keys []Parked, all int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, k := range b.keys {
		if k.since.IsZero() {
			continue // it hasn't come up again yet
		}
		if all++; most > 0 {
			keys = append(keys, Parked{Key: key, Since: k.since})
		}
	}
	slices.SortFunc(keys, func(a, b Parked) int { return a.Since.Compare(b.Since) })
	keys = keys[:min(len(keys), most)]
	for i := range keys {
		keys[i].For = b.missing(b.keys[keys[i].Key])
	}
	return keys, all
}

// missing says what a key waits for. The caller holds the lock.
func (b *Barriers) missing(k *barrier) (all []string) {
	// a key may wait for thousands of objects, and nobody else gets on meanwhile
	full := func() bool { return len(all) == parkedFor }
	for r, version := range k.versions {
		if !full() && !b.reached(r, version) {
			all = append(all, fmt.Sprintf("%s at resourceVersion %s: the cache is at %s", r, version,
				b.sight.Load().Store(r).Version()))
		}
	}
	for i := 0; i < len(k.gone) && !full(); i++ {
		if g := &k.gone[i]; !b.isDeleted(*g) {
			all = append(all, fmt.Sprintf("%s %s to be deleted from the cache", g.Resource, objectName(g.Namespace, g.Name)))
		}
	}
	for i := 0; i < len(k.stale) && !full(); i++ {
		if o := &k.stale[i]; b.isStillStale(*o) {
			all = append(all, fmt.Sprintf("%s %s to be updated in the cache: the API server has a newer version", o.Resource,
				objectName(o.Namespace, o.Name)))
		}
	}
	slices.Sort(all)
	if full() {
		all = append(all, "perhaps more")
	}
	return all
}

func objectName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
