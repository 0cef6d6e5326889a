package manager

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
)

// forbidServices has the manager's lists of Services fail while that is so, from now on or not yet.
func (w *world) forbidServices(now bool) (forbidden *atomic.Bool) {
	forbidden = &atomic.Bool{}
	forbidden.Store(now)
	next := w.config.Transport
	w.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if forbidden.Load() && r.URL.Path == "/api/v1/services" {
			r = r.Clone(r.Context())
			r.URL.Path = "/api/v1/nothing-of-that-name"
		}
		return next.RoundTrip(r)
	})
	return forbidden
}

// readingServices has a version read Services, too.
func readingServices(m *abi.Manifest) {
	c := &m.Controllers[0]
	c.Views = append(c.Views, abi.View{Name: "services", Resource: abi.Resource{Version: "v1", Name: "services"},
		Fields: []string{"metadata.name"}})
}

// waits waits until a plugin's version runs beside which another one waits for its caches.
func (w *world) waits(runs, waits *guest) {
	w.t.Helper()
	w.eventually(waits.says+" waits beside "+runs.says, func(s *state.Status) bool {
		p := pluginOf(s, runs.name)
		return p != nil && p.Digest == runs.digest() && p.Next != nil && p.Next.Digest == waits.digest() &&
			strings.Contains(p.Next.Why, "services") && !slices.ContainsFunc(s.Controllers,
			func(c state.ControllerStatus) bool { return c.State != "Running" })
	})
}

// A version that waits for its caches holds nothing: what runs runs on, the configuration changes, and it takes over
// when it has them.
func TestNextVersionWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	forbidden := w.forbidServices(true)
	first := greeter(t, "greeter", "first", "")
	w.place(first)
	w.begin()
	w.made("first")

	second := greeter(t, "greeter", "second", "", readingServices, func(m *abi.Manifest) {
		m.Controllers = append(m.Controllers, newGreeting("greeter-1"))
	})
	w.place(second)
	w.waits(first, second)
	w.running("greeter-0") // not the one that it has more

	w.unmake("first")
	w.makeNamespaces("more")
	w.made("first")
	other := greeter(t, "other", "other", "")
	w.place(other)
	w.made("other")
	w.waits(first, second)
	w.notMade("second")

	forbidden.Store(false)
	w.runs(second, state.SwapOnTrial)
	w.running("greeter-0", "greeter-1", "other-0")
	w.made("second")
	w.eventually("nothing waits any more", func(s *state.Status) bool { return pluginOf(s, "greeter").Next == nil })
	w.eventually("all keys were synced", func(s *state.Status) bool {
		return s.Controllers[0].Queue+s.Controllers[0].Syncing == 0
	})
	w.unmake("second")
	w.makeNamespaces("late") // it hears of events
	w.made("second")
}

// Of versions that wait the last one counts, and none does where what runs is asked for again.
func TestWaitingVersionIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.forbidServices(true)
	first := greeter(t, "greeter", "first", "")
	w.place(first)
	w.begin()
	w.made("first")

	second := greeter(t, "greeter", "second", "", readingServices)
	third := greeter(t, "greeter", "third", "", readingServices)
	w.place(second)
	w.waits(first, second)
	w.place(third)
	w.waits(first, third)
	w.place(first)
	w.eventually("nothing waits any more", func(s *state.Status) bool { return pluginOf(s, "greeter").Next == nil })
	w.runs(first)
	fourth := greeter(t, "greeter", "fourth", "")
	w.place(third)
	w.waits(first, third)
	w.place(fourth)
	w.runs(fourth, state.SwapOnTrial)
}

// A process that gets the Lease doesn't wait for a version that waits for its caches; that takes over in the term that
// it is ready in.
func TestWaitingVersionAndTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	forbidden := w.forbidServices(true)
	w.elect()
	first := greeter(t, "greeter", "first", "")
	w.place(first)
	w.begin()
	w.made("first")

	second := greeter(t, "greeter", "second", "", readingServices)
	w.place(second)
	w.waits(first, second)
	w.handLease("somebody else")
	w.eventually("it stands by", func(s *state.Status) bool { return s.Controllers[0].State == "Standby" })
	w.unmake("first")
	w.handLease("")
	w.made("first")
	w.waits(first, second)

	forbidden.Store(false)
	w.runs(second, state.SwapOnTrial)
	w.made("second")
}

// Rights that are taken from a plugin are taken at once, from what runs, whatever else its next version waits for.
func TestRightsBesideAWaitingVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.forbidServices(true)
	first := greeter(t, "greeter", "first", "")
	w.place(first)
	w.begin()
	w.made("first")

	second := greeter(t, "greeter", "second", "", readingServices)
	w.place(second)
	w.waits(first, second)
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Grant: []config.Rule{
			{APIGroups: []string{""}, Resources: []string{"namespaces", "services"}, Verbs: []string{"list", "watch"}},
		}}}
	})
	w.runs(first, state.SwapReconfigured)
	w.waits(first, second)
	w.unmake("first")
	w.makeNamespaces("more")
	w.eventually("what it may not write is refused", func(s *state.Status) bool {
		return s.Controllers[0].Last != nil && strings.Contains(s.Controllers[0].Last.Error, "grant")
	})
	w.notMade("first")
}

// Writes that hang hold up no change of rights: it is done while they last, and nothing more is sent by the old ones.
func TestRightsWhileWritesHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, letGo := w.hold()
	defer letGo()
	first := greeter(t, "greeter", "first", "")
	w.place(first)
	w.begin()
	w.eventually("a write hangs", func(*state.Status) bool { return held.Load() > 0 })

	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Grant: []config.Rule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}},
		}}}
	})
	w.runs(first, state.SwapReconfigured)
	other := greeter(t, "other", "other", "")
	w.place(other)
	w.runs(other, state.SwapAdded)
	letGo()
	w.made("other")
}

// What runs writes nothing any more where it has lost a right and no version of it can run with those of now yet; with
// the rights that it had it goes on as before.
func TestRightsThatCannotBeHadYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	forbidden := w.forbidServices(false)
	grant := func(namespace string) {
		w.configure(nil, func(k *config.Configuration) {
			k.Plugins = []config.Plugin{{Name: "greeter", Grant: []config.Rule{
				{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
				{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"},
					Namespaces: []string{namespace}},
			}}}
		})
	}
	grant("default")
	g := greeter(t, "greeter", "hello", "", readingServices)
	w.place(g)
	w.begin()
	w.made("hello")

	forbidden.Store(true)
	grant("kube-system")
	w.waits(g, g)
	refused := func(after int) int {
		n := 0
		w.eventually("a key's write isn't sent", func(s *state.Status) bool {
			w.makeNamespaces(fmt.Sprint("more-", after+n)) // its rights go a moment after its next version waits
			n++
			last := s.Controllers[0].Last
			return last != nil && strings.Contains(last.Error, "its rights have changed") && s.Controllers[0].Failing > after
		})
		return after + n
	}
	n := refused(0)
	w.unmake("hello")
	refused(n)
	w.notMade("hello")

	grant("default")
	w.made("hello")
	grant("kube-system")
	w.waits(g, g)
	forbidden.Store(false)
	w.runs(g, state.SwapReconfigured, state.SwapReconfigured)
}

// What waits while another version is rolled back is made anew: it was to go on from that one, which ends then.
func TestWaitingVersionAndARollBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	forbidden := w.forbidServices(true)
	first, third := greeter(t, "greeter", "first", ""), greeter(t, "greeter", "third", "", readingServices)
	second := greeter(t, "greeter", "second", "")
	w.place(first)
	w.begin()
	w.made("first")
	w.place(second)
	w.made("second")
	w.place(third)
	w.waits(second, third)

	waiting := func() *generation {
		w.m.changing.Lock()
		defer w.m.changing.Unlock()
		if n := w.m.roster.named("greeter").next; n != nil {
			return n.generation
		}
		return nil
	}
	before := waiting()
	w.m.changing.Lock()
	h := w.m.roster.named("greeter")
	if h.trial == nil {
		t.Fatal("the second one isn't on trial any more")
	}
	h.rollBack(errors.New("the test says so"))
	w.m.changing.Unlock()
	w.look()
	w.waits(first, third)
	if now := waiting(); now == nil || now == before {
		t.Errorf("%p waits, as before the roll-back: %p", now, before)
	}
	forbidden.Store(false)
	w.runs(third, state.SwapRolledBack, state.SwapOnTrial)
	w.made("third")
}

// A controller whose caches the API server takes long to fill says which resource that is, from the beginning.
func TestStartingNamesWhatIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(letGo)
	next := w.config.Transport
	w.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/api/v1/services" {
			gotConnection(r)
			select {
			case <-answer:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
	w.place(greeter(t, "greeter", "first", "", readingServices))
	w.begin()
	w.eventually("it says what it waits for", func(s *state.Status) bool {
		return len(s.Controllers) == 1 && s.Controllers[0].State == "Starting" &&
			s.Controllers[0].Message == "waits for its caches: the API server hasn't listed v1/services yet"
	})
	letGo()
	w.running("greeter-0")
}
