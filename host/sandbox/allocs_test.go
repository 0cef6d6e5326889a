package sandbox

import (
	"testing"
)

// A sync allocates nothing once an instance is there, whatever the size of the call and of the answer.
func TestSyncAllocations(t *testing.T) {
	m := loadGuest(t, guests[0], Options{})
	if err := m.Configure(t.Context(), []byte("settings")); err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string][]byte{"empty": nil, "1 MiB": append([]byte{'e'}, make([]byte, 1<<20)...)} {
		call, read := request(message), func([]byte) error { return nil }
		if n := testing.AllocsPerRun(50, func() {
			if _, err := m.Sync(t.Context(), call, read); err != nil {
				t.Fatal(err)
			}
		}); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
