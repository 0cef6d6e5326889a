package differential

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/differential/world"
)

// traceNative takes upstream's controller through a world, in the present bubble.
func (s *Subject) traceNative(server *api.Server, x *script, salt uint64) (*trace, error) {
	a := &apart{subject: s, script: x, salt: salt}
	defer a.happens.Wait()
	n, err := a.native(server)
	if err != nil {
		return nil, err
	}
	defer n.Close()

	us := a.sides[0]
	us.cluster.ByAge = true
	var calm time.Time
	us.cluster.Latency = func(h *http.Request) time.Duration { return latency(h, salt, calm) }
	tr, names := &trace{}, map[string]string{}
	err = a.populate(us)
	for ; err == nil && a.step <= x.steps; a.step++ {
		begun, happened := time.Now(), false
		if happened, err = a.happensAtOnce(); !happened || err != nil {
			break
		}

		st := traced{deed: a.deed, began: begun, before: us.cluster.Clone()}
		us.cluster.Requests = nil
		us.seen, us.errors, us.until = nil, nil, begun.Add(stepTime)
		calm = calmFrom(begun)
		n.Begin()
		if err = us.settle(); err != nil {
			break
		}
		time.Sleep(time.Until(us.until))
		st.after = us.cluster.Clone()

		for i := range st.resynced {
			us.until = us.until.Add(resyncTime)
			if err = s.resync(us); err != nil {
				break
			}
			time.Sleep(time.Until(us.until))
			st.resynced[i] = us.cluster.Clone()
		}
		if err != nil {
			break
		}

		st.finish(s, us.seen, names)
		st.errors = append(us.errors, strings.Split(n.Note(slices.Sorted(maps.Keys(us.keys))), "\n")...)
		tr.steps = append(tr.steps, st)
	}
	tr.syncs = us.syncs
	if errors.Is(err, errPanic) || errors.Is(err, errRestless) {
		tr.early, err = err, nil // there is nothing to compare with what the plugin does from here on
	}
	return tr, err
}

// happensAtOnce has what a step is about happen. It reports whether that has happened by now: where it is that time
// passes, the world ends, for the controllers would work meanwhile.
func (a *apart) happensAtOnce() (bool, error) {
	done := make(chan error, 1)
	a.happens.Go(func() { done <- a.happen(a.sides[:1]) })
	synctest.Wait()
	select {
	case err := <-done:
		return true, err
	default:
		return false, nil
	}
}

// latency is up to a fiftieth of a second, so that which of several requests side by side comes first is chance, but
// the same each time. But for the first play a write hangs now and then, as the plugin's do.
func latency(h *http.Request, salt uint64, calm time.Time) time.Duration {
	x := fnv.New64a()
	fmt.Fprint(x, salt, time.Now().UnixNano(), h.Method, h.URL.Path)
	r := world.NewRand(x.Sum64())
	if salt > 0 && h.Method != http.MethodGet && r.One(60) && time.Now().Before(calm) {
		return time.Duration(r.IntN(40)) * time.Second
	}
	return time.Duration(r.IntN(20_000_000))
}

// resync has upstream's controller sync all keys that the plugin has.
func (s *Subject) resync(us *side) error {
	if us.wake == nil || s.Key != nil {
		return us.settle()
	}
	p, err := s.beside(us.cluster)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Load(us.cluster); err != nil {
		return err
	}
	for _, key := range p.Keys() {
		us.wake(key)
	}
	return us.settle()
}

// finish takes down what a step has come to.
func (st *traced) finish(s *Subject, requests []*api.Request, names map[string]string) {
	s.rename(requests, names)
	st.names = maps.Clone(names)
	st.sent, st.changes = sentBy(requests), changesOf(requests)
	for _, q := range requests {
		if !q.Writes() || q.Err != nil || !q.Changed {
			continue
		}
		if q.Subresource != "status" {
			st.writes = append(st.writes, s.line(q))
		}
	}
}

// hosted is a plugin under the host on its way through a world.
type hosted struct {
	*plugin.Hosted

	cluster *api.Cluster
	r       *world.Rand
	backlog []api.Change
	version uint64
	wrote   chan struct{} // that something may have been
	// calm is from when on no write hangs in the present step.
	calm time.Time
}

// traceHosted takes the plugin through a world, in the present bubble.
func (s *Subject) traceHosted(server *api.Server, x *script) (*trace, error) {
	utilrand.Seed(int64(x.seed)) // of the names that the host makes up
	h := &hosted{cluster: server.NewCluster(), r: world.NewRand(x.seed + 11), wrote: make(chan struct{}, 1)}
	us := &side{subject: s, cluster: h.cluster}
	a := &apart{subject: s, script: x, sides: [2]*side{us}}
	defer a.happens.Wait()
	indexes, err := s.hostedIndexes()
	if err != nil {
		return nil, err
	}
	h.Hosted, err = plugin.Host(guesttest.Native(s.Plugin), indexes, s.settings(), h.cluster, h)
	if err != nil {
		return nil, err
	}
	defer h.Close()

	h.cluster.ByAge = true
	if err := a.populate(us); err != nil {
		return nil, err
	}
	tr, names := &trace{}, map[string]string{}
	for ; a.step <= x.steps; a.step++ {
		begun := time.Now()
		happened, err := a.happensAtOnce()
		if err != nil {
			return nil, err
		}
		if !happened {
			break
		}
		st := traced{deed: a.deed, began: begun, before: h.cluster.Clone()}
		h.cluster.Requests, h.calm = nil, calmFrom(begun)
		if a.step == 0 {
			if err := h.take(); err != nil {
				return nil, err
			}
			if err := h.deliver(len(h.backlog), true); err != nil {
				return nil, err
			}
			h.Begin()
		}
		if err := h.goOn(begun.Add(stepTime)); err != nil {
			return nil, err
		}
		st.after = h.cluster.Clone()
		for i := range st.resynced {
			h.Resync()
			if err := h.goOn(begun.Add(stepTime + time.Duration(i+1)*resyncTime)); err != nil {
				return nil, err
			}
			st.resynced[i] = h.cluster.Clone()
		}
		st.finish(s, h.cluster.Requests, names)
		st.trouble, st.errors = h.Trouble(), h.LastErrors(begun)
		tr.steps = append(tr.steps, st)
	}
	return tr, nil
}

// hostedIndexes are the controllers of a module that upstream's one is compared with.
func (s *Subject) hostedIndexes() ([]int32, error) {
	all, err := s.indexes()
	if err != nil || s.Apart {
		return all, err
	}
	return append(all[:1:1], s.wakers(all)...), nil
}

// goOn shows the controllers what they and others write, some of it late, until a time.
func (h *hosted) goOn(until time.Time) error {
	for time.Now().Before(until) {
		if err := h.take(); err != nil {
			return err
		}
		if len(h.backlog) == 0 {
			select {
			case <-h.wrote:
			case <-time.After(time.Until(until)):
			}
			continue
		}
		time.Sleep(time.Duration(h.r.IntN(30_000_000)))
		if err := h.take(); err != nil {
			return err
		}
		if err := h.deliver(1+h.r.IntN(len(h.backlog)), false); err != nil {
			return err
		}
	}
	return nil
}

func (h *hosted) take() error {
	synctest.Wait()
	more, err := h.cluster.Changes()
	h.backlog = append(h.backlog, more...)
	return err
}

// deliver shows the first changes of the backlog.
func (h *hosted) deliver(n int, initial bool) error {
	for i := range h.backlog[:n] {
		c := &h.backlog[i]
		if err := h.Show(c, initial); err != nil {
			return err
		}
		h.version = max(h.version, c.Version)
	}
	h.backlog = h.backlog[n:]
	h.Reached(h.version)
	return nil
}

// Before has a request take a while, a write perhaps so long that nothing comes of it.
func (h *hosted) Before(ctx context.Context, writes bool) error {
	d := time.Duration(1 + h.r.IntN(20_000_000))
	if writes && h.r.One(60) && time.Now().Before(h.calm) {
		d = time.Duration(h.r.IntN(40)) * time.Second
	}
	return sleep(ctx, d)
}

// After has the answer to a write come late, or never.
func (h *hosted) After(ctx context.Context, writes bool) error {
	select {
	case h.wrote <- struct{}{}:
	default:
	}
	if !writes || !h.r.One(60) || !time.Now().Before(h.calm) {
		return nil
	}
	return sleep(ctx, time.Duration(h.r.IntN(40))*time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
