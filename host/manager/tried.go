package manager

import (
	"slices"
	"sync"
)

// tried is what a plugin was tried with and what didn't do, with the reason: it isn't tried again. Only the last ones
// are remembered.
//
// It knows what is asked for now, too, and why what the plugin's file holds can't be used at all, if it can't.
type tried struct {
	mu     sync.Mutex
	names  []string // cores, fingerprints and those of shadows: the oldest first
	errs   map[string]error
	asked  []string // of these, what the plugin's file and the configuration ask for
	shadow string   // the same of its shadow
	broken error
}

// triedMost is how many there are: of what failed before, no configuration or folder that is still there has anything.
const triedMost = 20

func (t *tried) add(name string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
func (t *tried) get(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errs[name]
}

// reasons returns the reasons why these failed, of those that did. The caller holds mu.
func (t *tried) reasons(names []string) (all []string) {
	for _, name := range names {
		if err := t.errs[name]; err != nil && !slices.Contains(all, err.Error()) {
			all = append(all, err.Error())
		}
	}
	return all
}

// noteAsked takes note of what the plugin's file and the configuration ask for: of what else failed before nothing is
// said any longer.
func (t *tried) noteAsked(c *choice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = nil
	if c.Broken == nil {
		t.asked = []string{c.core, c.fingerprint()}
	}
}

// noteShadow takes note of the shadow that the configuration asks for.
func (t *tried) noteShadow(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shadow = name
}

// noteBroken takes note of why the plugin's file can't be used, nil: it can. It returns what was noted before.
func (t *tried) noteBroken(why error) (was error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, t.broken = t.broken, why
	return was
}

// status returns why what is asked for isn't what runs.
func (t *tried) status() (failed []string, broken string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		broken = t.broken.Error()
	}
	return t.reasons(append(slices.Clip(t.asked), t.shadow)), broken
}
