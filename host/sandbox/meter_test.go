package sandbox

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func asError[E error](err error, target *E) bool { return errors.As(err, target) }

// TestFuelIsDeterministic: compiled and interpreted, a sync uses the same units and the same memory and answers the
// same.
func TestFuelIsDeterministic(t *testing.T) {
	for _, name := range guests {
		t.Run(name, func(t *testing.T) {
			compiled := loadGuest(t, name, Options{MemoryLimit: 8 << 20})
			interpreted := loadGuest(t, name, Options{MemoryLimit: 8 << 20, Interpreter: true})
			r := rand.New(rand.NewPCG(3, 4))
			for n := range 25 {
				message := randomMessage(r)
				a, as, err := syncOnce(compiled, message)
				if err != nil {
					t.Fatal(err)
				}
				b, bs, err := syncOnce(interpreted, message)
				if err != nil {
					t.Fatal(err)
				}
				if as.Fuel != bs.Fuel || as.Memory != bs.Memory || !bytes.Equal(a, b) {
					t.Fatalf("sync %d (%c, %d bytes): compiled %d units, %d bytes of memory, %q; interpreted %d, %d, %q",
						n, message[0], len(message), as.Fuel, as.Memory, a, bs.Fuel, bs.Memory, b)
				}
				if as.Fuel <= 0 {
					t.Fatalf("sync %d used %d units", n, as.Fuel)
				}
			}
		})
	}
}
