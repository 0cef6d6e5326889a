package differential

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/differential/native"
)

// todo are the keys that a controller is to sync.
type todo struct {
	keys   []string
	due    map[string]time.Time
	failed map[string]int // in a row
	// shuffle, where it is set, is which comes first of keys that are due at the same time; else their names are.
	shuffle func(n int, swap func(i, j int))
}

func newTodo() *todo { return &todo{due: map[string]time.Time{}, failed: map[string]int{}} }

func (t *todo) now(key string) {
	if !slices.Contains(t.keys, key) {
		t.keys = append(t.keys, key)
	}
}

func (t *todo) at(key string, at time.Time) {
	if was, ok := t.due[key]; !ok || at.Before(was) {
		t.due[key] = at
	}
}

// first returns when the first of the keys is due that are to be synced at a time, with or without those that have
// failed.
func (t *todo) first(failed bool) (at time.Time, ok bool) {
	for key, due := range t.due {
		if (failed || t.failed[key] == 0) && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}

	return at, ok
}

func (t *todo) next() (string, bool) { return t.nextOf(func(string) bool { return true }) }

// ripen has the keys be synced whose time has come, in the order of their times.
func (t *todo) ripen() {
	var ripe []string
	for key, at := range t.due {
		if !at.After(time.Now()) {
			ripe = append(ripe, key)
		}
	}
	slices.Sort(ripe)
	if t.shuffle != nil {
		t.shuffle(len(ripe), func(i, j int) { ripe[i], ripe[j] = ripe[j], ripe[i] })
	}
	slices.SortStableFunc(ripe, func(a, b string) int { return t.due[a].Compare(t.due[b]) })
	for _, key := range ripe {
		delete(t.due, key)
		t.now(key)
	}
}

func (t *todo) nextOf(ready func(string) bool) (string, bool) {
	t.ripen()
	i := slices.IndexFunc(t.keys, ready)
	if i < 0 {
		return "", false
	}
	key := t.keys[i]
	t.keys = slices.Delete(t.keys, i, i+1)
	return key, true
}

// ended takes down what is to be done about a key that was synced.
func (t *todo) ended(key string, r native.Result) {
	if r.Failed {
		t.failed[key]++
		d := 5 * time.Millisecond << min(t.failed[key], 16)
		if r.Again > 0 { // a timer goes off though the key is held back
			d = min(d, r.Again)
		}
		t.at(key, time.Now().Add(d))
		return
	}
	delete(t.failed, key)
	if r.Again > 0 {
		t.at(key, time.Now().Add(r.Again))
	}
}
