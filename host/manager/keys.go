package manager

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
)

// What is shown at most, where no other limit is asked for, and at all.
const (
	keysLimit = 100
	keysMost  = 1000
	didMost   = 20
)

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

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *inspector) serveKeys(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuestion(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	k, known := state.Keys{Keys: []controller.Stuck{}, Waiting: []controller.Stuck{}}, false
	for _, s := range i.roster.slots() {
		if !q.asksController(s.Name()) {
			continue
		}
		known = true
		keys, all := s.Stuck(q.asksKey, q.limit)
		k.Keys, k.All = append(k.Keys, keys...), k.All+all
		keys, all = s.Waiting(q.asksKey, q.limit)
		k.Waiting, k.AllWaiting = append(k.Waiting, keys...), k.AllWaiting+all
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
