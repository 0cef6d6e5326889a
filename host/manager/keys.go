package manager

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

// What is shown at most, where no other limit is asked for, and at all.
const (
	keysLimit = 100
	keysMost  = 1000
	didMost   = 20
)

// keyHandlers serve what is known of single keys, to who may see errors.
func (m *manager) keyHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /windlass/v1/keys":  http.HandlerFunc(m.serveKeys),
		"GET /windlass/v1/syncs": http.HandlerFunc(m.serveSyncs),
	}
}

// question is what is asked of keys: those of one controller, or of all; those with a text in them; how many; of syncs,
// those alone that wrote something.
type question struct {
	controller, match, key string
	limit                  int
	did                    bool
}

func parseQuestion(r *http.Request) (question, error) {
	v := r.URL.Query()
	q := question{controller: v.Get("controller"), match: v.Get("match"), key: v.Get("key"), limit: keysLimit}
	if d := v.Get("did"); d != "" {
		var err error
		if q.did, err = strconv.ParseBool(d); err != nil {
			return q, fmt.Errorf("did=%q: must be true or false", d)
		}
	}
	if l := v.Get("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 || n > keysMost {
			return q, fmt.Errorf("limit=%q: must be from 1 to %d", l, keysMost)
		}
		q.limit = n
	}
	return q, nil
}

func (q *question) asksController(name string) bool {
	return q.controller == "" || q.controller == name || q.controller == strings.TrimSuffix(name, "-controller")
}

func (q *question) asksKey(key string) bool {
	return strings.Contains(key, q.match) && (q.key == "" || q.key == key)
}

func (m *manager) serveKeys(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuestion(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	k, known := state.Keys{Keys: []controller.Stuck{}, Waiting: []controller.Stuck{}}, false
	for _, h := range m.allHosted() {
		for _, s := range h.allSlots() {
			if !q.asksController(s.Name()) {
				continue
			}
			known = true
			keys, all := s.Stuck(q.asksKey, q.limit)
			k.Keys, k.All = append(k.Keys, keys...), k.All+all
			keys, all = s.Waiting(q.asksKey, q.limit)
			k.Waiting, k.AllWaiting = append(k.Waiting, keys...), k.AllWaiting+all
		}
	}

	if !known && q.controller != "" {
		http.Error(w, fmt.Sprintf("no controller %q runs here: see windlass get controllers", q.controller),
			http.StatusNotFound)
		return
	}

	slices.SortStableFunc(k.Keys, func(a, b controller.Stuck) int { return a.Since.Compare(b.Since) })
	k.Keys = k.Keys[:min(len(k.Keys), q.limit)]
	slices.SortStableFunc(k.Waiting, func(a, b controller.Stuck) int { return a.Next.Compare(b.Next) })
	k.Waiting = k.Waiting[:min(len(k.Waiting), q.limit-len(k.Keys))]
	writeJSON(w, k)
}

func (m *manager) serveSyncs(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuestion(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	all, known := state.Recorded{Syncs: []state.Sync{}}, false
	for _, ring := range m.recordings.allRings() {
		if !q.asksController(ring.Controller()) {
			continue
		}
		known = true
		f := ring.File()
		f.Syncs = slices.DeleteFunc(f.Syncs, func(s record.Sync) bool {
			return !q.asksKey(s.Key.String()) || q.did && len(s.Wrote) == 0
		})
		all.All += len(f.Syncs)
		f.Syncs = f.Syncs[max(0, len(f.Syncs)-q.limit):]
		if len(f.Syncs) > 0 {
			all.Syncs = append(all.Syncs, syncsOf(record.Redact(f))...)
		}
	}

	if !known && q.controller != "" {
		http.Error(w, fmt.Sprintf("no controller %q runs here: see windlass get controllers", q.controller),
			http.StatusNotFound)
		return
	}

	slices.SortStableFunc(all.Syncs, func(a, b state.Sync) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Controller, b.Controller))
	})
	all.Syncs = all.Syncs[:min(len(all.Syncs), q.limit)]
	writeJSON(w, all)
}

func syncsOf(f *record.File) (out []state.Sync) {
	for i := range f.Syncs {
		x := &f.Syncs[i]
		source := &f.Sources[x.Source]
		s := state.Sync{Controller: f.Controller, Key: x.Key.String(), Time: x.Start, Seconds: x.Took.Seconds(),
			Result: x.Result, Error: x.Error,
			Plugin: source.Plugin, Version: source.Version, Digest: source.Digest}
		s.Did = slices.Clone(x.Wrote)
		if again := againOf(x); again > 0 {
			s.Again = again.String()
		}
		if more := len(s.Did) - didMost; more > 0 {
			s.Did = append(s.Did[:didMost], fmt.Sprintf("%d more", more))
		}
		out = append(out, s)
	}
	return out
}

// againOf returns after how long a sync wants to be synced again; 0: it doesn't.
func againOf(x *record.Sync) time.Duration {
	var a abi.SyncResponse
	if !x.Answered || abi.DecodeResponse(x.Answer, &a) != nil {
		return 0
	}
	return time.Duration(a.RequeueAfter)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}
