package manager

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/state"
)

// unlisted is a resource whose store isn't current for somebody, or with the name "*" all that a group version serves.
type unlisted struct {
	abi.Resource
	since time.Time
	why   string
}

// computed are groups of which discovery often fails, and whose resources are computed for each request: there is
// nothing in them to find, to own or to delete.
var computed = []string{"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"}

// noteUnknown notes of which group versions discovery has told nothing so far.
func (x *monitors) noteUnknown(failures []abi.DiscoveryFailure) {
	before, now := *x.unknown.Load(), []unlisted{}
	for _, f := range failures {
		group, version, ok := strings.Cut(f.GroupVersion, "/")
		if !ok || slices.Contains(computed, group) {
			continue
		}

		u := unlisted{abi.Resource{Group: group, Version: version, Name: schema.Any.Name}, time.Now(), f.Message}
		if i := slices.IndexFunc(before, func(b unlisted) bool { return b.Resource == u.Resource }); i >= 0 {
			u.since = before[i].since
		} else {
			klog.InfoS("Discovery of a group version failed, so it isn't known which objects it has: keys that depend on it wait",
				"groupVersion", f.GroupVersion, "err", f.Message)
		}
		now = append(now, u)
	}
	x.unknown.Store(&now)
}

// firstUnknown returns a group version of which nothing is known, for who looks into all resources or into that.
func (x *monitors) firstUnknown(of abi.Resource) (r abi.Resource, ok bool) {
	for _, u := range *x.unknown.Load() {
		if of == schema.Any || of == u.Resource {
			return u.Resource, true
		}
	}
	return r, false
}

// unlistedFor returns the resources whose stores aren't current for a reader, in the order of their names, and then the
// group versions of which nothing is known.
func (x *monitors) unlistedFor(r *reader) (all []unlisted) {
	parts := r.parts.Load()
	if parts == nil {
		return nil
	}
	for name, p := range *parts {
		if since := p.Lacking(); !since.IsZero() {
			all = append(all, unlisted{Resource: name, since: since})
		}
	}
	slices.SortFunc(all, func(a, b unlisted) int { return cmp.Compare(a.String(), b.String()) })
	return append(all, *x.unknown.Load()...)
}

// lacking returns the resources that the readers have waited for in vain.
func (x *monitors) lacking() map[abi.Resource]bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, now := map[abi.Resource]bool{}, time.Now()
	for r := range x.readers {
		for _, u := range x.unlistedFor(r) {
			if u.Name != schema.Any.Name && now.Sub(u.since) >= x.stores.patience {
				all[u.Resource] = true
			}
		}
	}
	return all
}

// probing bounds how long an answer is waited for.
const probing = 10 * time.Second

// explainUnlisted asks why resources can't be listed, until ctx ends: a watch that brings nothing doesn't tell.
func (x *monitors) explainUnlisted(ctx context.Context) {
	look := time.NewTicker(x.stores.patience)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}

		reasons := map[abi.Resource]string{}
		for r := range x.lacking() {
			asked, cancel := context.WithTimeout(ctx, probing)
			if err := x.stores.prober.Probe(asked, r); err != nil {
				reasons[r] = err.Error()
			}
			cancel()
		}
		x.reasons.Store(&reasons)
	}
}

// unlisted returns the resources that a version with views over all resources has gone on without, and why.
func (r *reading) unlisted(x *stores) (all []state.Unlisted) {
	now := time.Now()
	for _, to := range r.all {
		for _, u := range x.monitors.unlistedFor(to) {
			if now.Sub(u.since) >= x.patience {
				all = append(all, state.Unlisted{Resource: u.Resource.String(), Since: u.since, Why: u.why})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}

	reasons := map[string]string{}
	for r, why := range *x.monitors.reasons.Load() {
		reasons[r.String()] = why
	}
	for _, s := range x.cache.Status() {
		if s.Err != nil {
			reasons[s.Resource.String()] = s.Err.Error()
		}
	}
	for i := range all {
		u := &all[i]
		u.Why = cmp.Or(u.Why, reasons[u.Resource])
	}
	return all
}
