package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/host/budget"
)

// What a plugin's instances and outcomes hold is charged while they hold it, and given back.
func TestMemoryIsCharged(t *testing.T) {
	memory := budget.NewMemory("guest", 24<<20, budget.NewTotal(1<<40), nil)
	m := loadGuest(t, "tinygo arena", Options{MemoryLimit: 256 << 20, Memory: memory})
	if n := memory.Sum(); n != 0 {
		t.Errorf("%d bytes are held before the first sync", n)
	}

	large := append([]byte("e"), make([]byte, 8<<20)...)
	if _, _, err := syncOnce(m, large); err != nil {
		t.Fatal(err)
	}
	if n := memory.Held(budget.Instances); n < 8<<20 || n > 24<<20 {
		t.Errorf("an instance that has taken a message of 8 MiB holds %d bytes", n)
	}
	if _, _, err := syncOnce(m, []byte("s")); err != nil {
		t.Fatal(err)
	}
	if n := memory.Held(budget.Instances); n > 8<<20 {
		t.Errorf("the instance holds %d bytes after a small sync", n)
	}

	used := func(message string, perform func(context.Context, []byte) ([]byte, error), needs string) {
		t.Helper()
		call := request([]byte(message))
		call.Perform = perform
		_, err := m.Sync(t.Context(), call, func([]byte) error { return nil })
		var refused *budget.MemoryError
		if !errors.Is(err, ErrMemory) || !errors.As(err, &refused) || !strings.Contains(err.Error(), "plugins[guest].budget.memory") {
			t.Errorf("%s: %v, want that budget.memory is used up", message, err)
		}
		if refused != nil && !strings.Contains(refused.Uses, needs) {
			t.Errorf("%s: %v doesn't tell of %s", message, err, needs)
		}
	}
	used("M", nil, "of instances")
	used("p.", func(context.Context, []byte) ([]byte, error) {
		used("M", nil, "of instances") // beside this one
		return make([]byte, 25<<20), nil
	}, "of instances")
	if n := memory.Held(budget.Results); n != 0 {
		t.Errorf("%d bytes of results are held after syncs", n)
	}

	m.FreeIdle()
	if n := memory.Sum(); n != 0 {
		t.Errorf("%d bytes are held when there is no instance: %s", n, memory.Text())
	}
}

// A guest that isn't built in can't hold memory that it hasn't asked for.
func TestMemoryThatWasNotAskedFor(t *testing.T) {
	for name, x := range map[string]struct {
		untrusted bool
		at        byte // MiB
		refused   bool
	}{
		"within what is charged": {true, 1, false},
		"far behind":             {true, 30, true},
		"trusted":                {false, 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			memory := budget.NewMemory("guest", 64<<20, budget.NewTotal(1<<40), nil)
			m := loadGuest(t, "tinygo arena", Options{MemoryLimit: 32 << 20, Memory: memory, Untrusted: x.untrusted})
			performed := false
			call := request([]byte{'W', x.at, 0, '.'})
			call.Perform = func(context.Context, []byte) ([]byte, error) {
				performed = true
				return nil, nil
			}

			_, err := m.Sync(t.Context(), call, func([]byte) error { return nil })
			if refused := errors.Is(err, ErrTrap) && strings.Contains(err.Error(), "more memory than"); refused != x.refused ||
				performed == x.refused || err != nil && !x.refused {
				t.Errorf("performed %v: %v", performed, err)
			}
			if _, _, err := syncOnce(m, []byte("s")); err != nil {
				t.Errorf("the next sync: %v", err)
			}
		})
	}
}

// The native stack of deep calls, which an instance keeps, is charged as well.
func TestNativeStacksAreCharged(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		memory := budget.NewMemory("guest", 64<<20, budget.NewTotal(1<<40), nil)
		m := loadGuest(t, "tinygo arena", Options{Memory: memory, Interpreter: interpreter})
		i, err := m.takeInstance(t.Context(), m.baseline.Load(), exportSync)
		if err != nil {
			t.Fatal(err)
		}
		before := i.nativeStack()
		if before == 0 && !interpreter {
			t.Error("no native stack is found: has wazero renamed it?")
		}
		i.call = invocation{export: exportSync, budget: DefaultBudget}
		if _, err := i.exchange(t.Context(), i.sync, 1, func(b []byte) { b[0] = 'R' }); !errors.Is(err, ErrTrap) {
			t.Errorf("endless recursion: %v", err)
		}
		grown := i.nativeStack() - before
		if grown < 10_000 && !interpreter {
			t.Errorf("the stack of a thousand calls has grown by %d bytes", grown)
		}

		held := memory.Held(budget.Instances)
		if err := i.chargeMemory(i.memorySize()); err != nil || memory.Held(budget.Instances)-held != grown {
			t.Errorf("%v, %d bytes more are held for %d bytes of stack", err, memory.Held(budget.Instances)-held, grown)
		}
		i.close()
		if n := memory.Sum(); n != 0 {
			t.Errorf("%d bytes are held for no instance", n)
		}
	}
}
