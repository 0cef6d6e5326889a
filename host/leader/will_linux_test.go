package leader

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/host/process/guardian/will"
)

// What becomes of writes is in the will: nothing of those that were answered, the rest while it is under way and as
// long as it may take.
func TestWill(t *testing.T) {
	const lastsForever = "i/o timeout"
	for name, c := range map[string]struct {
		answered, unanswered, cut bool
		writes                    int64
		problem                   string
	}{
		"answered":                           {answered: true},
		"answered, its connection closed":    {answered: true, cut: true},
		"under way at a server that goes on": {unanswered: true, writes: 1, problem: lastsForever},
		"under way, its connection closed":   {unanswered: true, cut: true, problem: "responses to writes were lost"},
		"one answered, one under way and closed": {answered: true, unanswered: true, cut: true,
			problem: "responses to writes were lost"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := will.New()
			if err != nil {
				t.Fatal(err)
			}
			defer will.Close(f)
			w, err := will.Open(f)
			if err != nil {
				t.Fatal(err)
			}

			if err := w.Leave(will.Testament{}); err != nil {
				t.Fatal(err)
			}
			s := newServer(t)
			config := &rest.Config{Host: s.URL}
			l, err := New(Options{Config: config, Namespace: "kube-system", Name: "x", Identity: "me",
				Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, Will: w})
			if err != nil {
				t.Fatal(err)
			}

			l.fence.noteRenewal(l.fence.read())
			client, err := l.Client(config)
			if err != nil {
				t.Fatal(err)
			}
			if c.answered {
				if err := request(t, client, "POST", s.URL); err != nil {
					t.Fatal(err)
				}
				s.requests()
			}

			ended := make(chan error, 1)
			if c.unanswered {
				s.mu.Lock()
				s.hold = make(chan struct{})
				s.mu.Unlock()
				defer close(s.hold)
				go func() { ended <- request(t, client, "POST", s.URL) }()
				for len(s.requests()) == 0 {
					if t.Context().Err() != nil {
						t.Fatal("the server sees nothing")
					}
				}
			}

			if c.cut {
				l.conns.dropAll()
				if c.unanswered {
					if err := <-ended; err == nil {
						t.Error("it was answered")
					}
				}
			}

			e, err := will.Read(f)
			if err != nil {
				t.Fatal(err)
			}

			until := time.Now().Add(time.Minute)
			if c.problem == lastsForever {
				until = time.Now().Add(50 * time.Millisecond)
			}

			n, err := e.Over(until)
			if n != c.writes || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%d writes, %v; want %d, %s", n, err, c.writes, c.problem)
			}
		})
	}
}
