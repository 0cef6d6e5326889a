package parity

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
)

// book takes down what the two managers do otherwise. The native manager has races of its own, so what is in a book
// counts only when it is found again on other clusters.
type book struct {
	mu    sync.Mutex
	texts map[string]string // by what differs
}

// add takes a difference down: what differs, which is the same when it is found again, and the text that says it.
func (b *book) add(what, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.texts == nil {
		b.texts = map[string]string{}
	}
	b.texts[what] = fmt.Sprintf(format, args...)
}

// twice fails what is in both books, and logs what luck has brought into one.
func twice(t *testing.T, first, again *book) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(first.texts)) {
		if text, ok := again.texts[what]; ok {
			t.Errorf("%s", text)
		} else {
			t.Logf("once, and not again: %s", first.texts[what])
		}
	}
	for _, what := range slices.Sorted(maps.Keys(again.texts)) {
		if _, ok := first.texts[what]; !ok {
			t.Logf("the second time alone: %s", again.texts[what])
		}
	}
}
