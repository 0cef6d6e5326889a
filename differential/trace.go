package differential

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/plugin"
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
	delays := latencyOf(x, salt)
	us.cluster.ByAge, us.cluster.Latency = true, delays
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
		delays.begin(begun)
		n.Begin()
		if err = us.settle(); err != nil {
			break
		}
		time.Sleep(time.Until(us.over()))
		st.after = us.cluster.Clone()

		for i := range st.resynced {
			us.until = us.until.Add(resyncTime)
			if err = s.resync(us); err != nil {
				break
			}
			time.Sleep(time.Until(us.over()))
			st.resynced[i] = us.cluster.Clone()
		}
		if err != nil {
			break
		}

		st.finish(s, us.seen, names)
		st.errors = append(us.errors, strings.Fields(n.Note(slices.Sorted(maps.Keys(us.keys))))...)
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

// traceHosted takes the plugin through a world, in the present bubble.
func (s *Subject) traceHosted(server *api.Server, x *script) (*trace, error) {
	utilrand.Seed(int64(x.seed)) // of the names that the host makes up
	c := server.NewCluster()
	indexes, err := s.hostedIndexes()
	if err != nil {
		return nil, err
	}
	us := &side{subject: s, cluster: c}
	a := &apart{subject: s, script: x, sides: [2]*side{us}}
	defer a.happens.Wait() // when nobody works any more
	h, err := plugin.Host(guesttest.Native(s.Plugin), indexes, s.settings(), c, s.Signer)
	if err != nil {
		return nil, err
	}
	defer h.Close()

	us.show, us.reached = h.Show, h.Reached
	wrote := make(chan struct{}, 1)
	delays := latencyOf(x, 1)
	delays.wrote = wrote
	c.ByAge, c.Latency = true, delays
	if err := a.populate(us); err != nil {
		return nil, err
	}
	tr, names := &trace{}, map[string]string{}
	for ; a.step <= x.steps; a.step++ {
		begun := time.Now()
		if happened, err := a.happensAtOnce(); !happened || err != nil {
			return tr, err
		}
		st := traced{deed: a.deed, began: begun, before: c.Clone()}
		c.Requests = nil
		delays.begin(begun)
		if a.step == 0 {
			h.Begin()
		}

		if err := us.goOn(begun.Add(stepTime), wrote); err != nil {
			return nil, err
		}
		st.after = c.Clone()
		for i := range st.resynced {
			h.Resync()
			if err := us.goOn(begun.Add(stepTime+time.Duration(i+1)*resyncTime), wrote); err != nil {
				return nil, err
			}
			st.resynced[i] = c.Clone()
		}

		st.finish(s, c.Requests, names)
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

// goOn shows the controllers what they and others write, some of it late, until a step is over that lasts until a time.
func (s *side) goOn(until time.Time, wrote <-chan struct{}) error {
	take := func() error {
		synctest.Wait()
		return s.take()
	}
	s.until = until
	for !s.isOver() {
		if err := take(); err != nil {
			return err
		}
		if len(s.backlog) == 0 {
			select {
			case <-wrote:
				s.wrote = time.Now()
			case <-time.After(time.Until(s.over())):
			}
			continue
		}

		time.Sleep(time.Duration(s.r.IntN(30_000_000)))
		if err := take(); err != nil {
			return err
		}
		if err := s.deliver(1+s.r.IntN(len(s.backlog)), false); err != nil {
			return err
		}
	}
	return nil
}
