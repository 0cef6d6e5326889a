package budget

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestMemory(t *testing.T) {
	near := 0
	m := NewMemory("p", 1000<<10, NewTotal(1<<30), func(*Memory) { near++ })
	take := func(u Use, bytes int64, want string) {
		t.Helper()
		err := m.Take(u, bytes)
		if want == "" && err != nil {
			t.Errorf("%d bytes of %v: %v", bytes, u, err)
		}
		if want != "" && (err == nil || err.Error() != want || !errors.As(err, new(*MemoryError))) {
			t.Errorf("%d bytes of %v: %v, want %q", bytes, u, err, want)
		}
	}

	take(Instances, 1001<<10, "plugin p can't take 1001Ki more: that exceeds plugins[p].budget.memory (1000Ki); it holds nothing")
	take(State, 100<<10, "")
	take(Instances, 700<<10, "")
	if near != 0 {
		t.Error("told at four fifths, not beyond them")
	}
	take(Facts, 1, "")
	if near != 1 {
		t.Errorf("told %d times beyond four fifths", near)
	}
	take(Results, 200<<10, "plugin p can't take 200Ki more: that exceeds plugins[p].budget.memory (1000Ki); it holds 700Ki of instances, 100Ki of state, 1Ki of facts")
	m.Add(Instances, -700<<10)
	take(Results, 200<<10, "")
	if got, want := m.Text(), "200Ki of results, 100Ki of state, 1Ki of facts"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m.Set(1)
	take(State, 1, "plugin p can't take 1Ki more: that exceeds plugins[p].budget.memory (1Ki); it holds 200Ki of results, 100Ki of state, 1Ki of facts")
}

// What one plugin takes, or many together, leaves each other one its part.
func TestMemoryOfAll(t *testing.T) {
	total := NewTotal(100)
	greedy, modest := NewMemory("greedy", 1000, total, nil), NewMemory("modest", 1000, total, nil)
	if err := greedy.Take(State, 100); err != nil {
		t.Fatal(err)
	}
	if err := greedy.Take(State, 1); err == nil || !strings.Contains(err.Error(), "sandbox.totalMemory, of which all plugins hold 1Ki") {
		t.Errorf("%v", err)
	}
	if err := modest.Take(State, 50); err != nil {
		t.Errorf("its half: %v", err)
	}
	if err := modest.Take(State, 1); err == nil {
		t.Error("more than its half while all is taken")
	}

	greedy.Close()
	if err := modest.Take(State, 50); err != nil || total.Held() != 100 {
		t.Errorf("%v, %d bytes held: a plugin that is gone holds none", err, total.Held())
	}
}

func TestNoMemory(t *testing.T) {
	var m *Memory
	m.Add(State, 1)
	if err := m.Take(State, 1<<60); err != nil {
		t.Error(err)
	}
	m.Close()
}

func TestMemoryAtOnce(t *testing.T) {
	total := NewTotal(1 << 30)
	m := NewMemory("p", 1<<20, total, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if m.Take(Keys, 64<<10) == nil {
					m.Add(Keys, -64<<10)
				}
			}
		})
	}
	all.Wait()
	if m.Sum() != 0 || total.Held() != 0 || m.Held(Keys) != 0 {
		t.Errorf("%d of %d bytes are held at the end", m.Sum(), total.Held())
	}
}
