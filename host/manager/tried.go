package manager

import "slices"

// tried is what a plugin was tried with and what didn't do, with the reason: it isn't tried again. Only the last ones
// are remembered.
type tried struct {
	names []string // the oldest first
	errs  map[string]error
}

// triedMost is how many there are: of what failed before, no configuration or folder that is still there has anything.
const triedMost = 20

func (t *tried) add(name string, err error) {
	if t.errs == nil {
		t.errs = map[string]error{}
	}
	if _, ok := t.errs[name]; !ok {
		if len(t.names) == triedMost {
			delete(t.errs, t.names[0])
			t.names = append(t.names[:0], t.names[1:]...)
		}
		t.names = append(t.names, name)
	}
	t.errs[name] = err
}

// get is why it failed; nil if it didn't, or wasn't tried.
func (t *tried) get(name string) error { return t.errs[name] }

// reasons returns the reasons why these failed, of those that did.
func (t *tried) reasons(names []string) (all []string) {
	for _, name := range names {
		if err := t.errs[name]; err != nil && !slices.Contains(all, err.Error()) {
			all = append(all, err.Error())
		}
	}
	return all
}
