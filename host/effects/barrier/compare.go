package barrier

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// awaitedBy returns for how long a key has waited, and for what: not ok, if it doesn't wait any more.
func (b *Barriers) awaitedBy(key abi.KeyRef) (waited time.Duration, objects []Gone, versions map[abi.Resource]string,
	ok bool) {

	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.keys[key]
	if k == nil {
		return 0, nil, nil, false
	}
	b.pruneReached(k)
	return time.Since(k.since), slices.Clone(k.gone), maps.Clone(k.versions), true
}

// compare asks the server about what a key has waited long for. It logs the delay, and drops a wait that can't end: for
// the end of an object that still lives, or for a version that the server doesn't have (any more).
func (b *Barriers) compare(key abi.KeyRef) {
	waited, objects, versions, ok := b.awaitedBy(key)
	if !ok {
		return
	}
	log := b.sight.Load().Log.WithValues("key", key.String(), "waited", waited.Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(b.ctx, b.sight.Load().Timeout)
	defer cancel()
	var lives []Gone
	for _, g := range objects {
		raw, err := b.sight.Load().Object(ctx, g.Resource, g.Namespace, g.Name)
		if err != nil {
			log.Error(err, "Can't compare a slow cache with the server", "resource", g.Resource.String(), "object",
				g.Namespace+"/"+g.Name)
			continue
		}
		m, err := envelope.ReadMeta(raw)
		if err == nil && raw != nil && m.UID == g.UID && !(g.Deleted && m.Deleting) {
			log.Info("Stopped waiting for an object's deletion: it still exists", "resource", g.Resource.String(), "object",
				g.Namespace+"/"+g.Name)
			lives = append(lives, g)
			continue
		}
		log.Info("The cache doesn't show a removal yet", "resource", g.Resource.String(), "object", g.Namespace+"/"+g.Name)
	}

	var ahead []abi.Resource
	for r, v := range versions {
		now, err := b.sight.Load().Version(ctx, r)
		if err != nil {
			log.Error(err, "Can't compare a slow cache with the server", "resource", r.String())
			continue
		}
		if c, err := resourceversion.CompareResourceVersion(now, v); err == nil && c < 0 {
			log.Info("Stopped waiting for a version that the server doesn't have", "resource", r.String(), "version", v,
				"server", now)
			ahead = append(ahead, r)
			continue
		}
		log.Info("The cache doesn't show a write yet", "resource", r.String(), "version", v, "server", now)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.keys[key]
	if k == nil {
		return
	}

	for _, r := range ahead {
		if k.versions[r] == versions[r] {
			delete(k.versions, r)
		}
	}
	k.gone = slices.DeleteFunc(k.gone, func(g Gone) bool { return slices.Contains(lives, g) })
}
