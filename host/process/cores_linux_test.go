package process

import (
	"os"
	"strings"
	"testing"
)

func TestKeepOutOfCores(t *testing.T) {
	before, err := os.ReadFile(coreFilter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(coreFilter, append([]byte("0x"), before...), 0); err != nil {
			t.Error(err)
		}
	})
	if err := KeepOutOfCores(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(coreFilter)
	if err != nil || strings.Trim(string(after), "0\n") != "" {
		t.Errorf("the kernel has %q after %q: %v", after, before, err)
	}
}
