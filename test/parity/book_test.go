package parity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// book takes down what the two managers do otherwise when they play. The native manager has races of its own, so what
// is in a book counts only when it is found again on other clusters, where nothing is played but what that takes.
type book struct {
	only map[string]bool // the names of the scripts that are played; nil is all of them

	mu    sync.Mutex
	texts map[string]string // by what differs
	again map[string]bool   // the names of the scripts that it takes to find that again
}

// addDifference takes a difference down: the scripts that it takes to find it again, what differs, which is the same
// then, and the text that says it.
func (b *book) addDifference(scripts []*part, what, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.texts == nil {
		b.texts, b.again = map[string]string{}, map[string]bool{}
	}
	b.texts[what] = fmt.Sprintf(format, args...)
	for _, p := range scripts {
		b.again[p.name()] = true
	}
}

// selected are those of the scripts that are played.
func (b *book) selected(all []*part) []*part {
	return slices.DeleteFunc(slices.Clone(all), func(p *part) bool {
		return !strings.Contains(p.name(), *only) || b.only != nil && !b.only[p.name()]
	})
}

// coversAll reports whether all of the scripts are played, so that sums over them can be compared.
func (b *book) coversAll(all []*part) bool { return len(b.selected(all)) == len(all) }

// failRepeated fails what is in both books, and logs what luck has brought into one.
func failRepeated(t *testing.T, first, again *book) {
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

// The second time what differed in one script takes that script, and what differed over several takes all of these.
func TestAgain(t *testing.T) {
	var a, b, c = scripted("x", "a", "", nil), scripted("x", "b", "", nil), scripted("y", "c", "", nil)
	first := &book{}
	if all := []*part{a, b, c}; !first.coversAll(all) || len(first.selected(all)) != 3 {
		t.Errorf("at first %d of 3 scripts are played", len(first.selected(all)))
	}
	for _, x := range []struct {
		of   []*part // what differs is in these
		want []*part // and so are these played, of all
	}{
		{[]*part{b}, []*part{b}},
		{[]*part{c}, []*part{b, c}},
		{[]*part{a, b}, []*part{a, b, c}},
	} {
		first.addDifference(x.of, fmt.Sprint(x.of), "")
		again := &book{only: first.again}
		if got := again.selected([]*part{a, b, c}); !slices.Equal(got, x.want) {
			t.Errorf("%d scripts are played the second time, want %d", len(got), len(x.want))
		}
	}
	if again := (&book{only: map[string]bool{"x/b": true}}); again.coversAll([]*part{a, b}) ||
		!again.coversAll([]*part{b}) {
		t.Error("of the scripts a and b, b is not the whole, and of b alone it is")
	}
}
