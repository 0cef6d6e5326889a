package intstr

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Amounts are those of k8s.io/apimachinery.
func TestScaled(t *testing.T) {
	for _, s := range []string{"0%", "1%", "25%", "33%", "50%", "99%", "100%", "150%", "%", "5", "abc", "1.5%", "25 %"} {
		theirs, ours := intstr.FromString(s), wire.FromString(s)
		for _, total := range []int32{0, 1, 2, 3, 4, 7, 10, 99, 100, 1001, math.MaxInt32 / 150} {
			for _, up := range []bool{true, false} {
				want, wantErr := intstr.GetScaledValueFromIntOrPercent(&theirs, int(total), up)
				got, err := Scaled(&ours, total, up)
				if int(got) != want || (err != nil) != (wantErr != nil) {
					t.Errorf("%s of %d, up %v: %d, %v; want %d, %v", s, total, up, got, err, want, wantErr)
				}
			}
		}
	}
	five := wire.FromInt(5)
	if n, err := Scaled(&five, 3, true); n != 5 || err != nil {
		t.Errorf("5 of 3: %d, %v", n, err)
	}
	if n, err := Scaled(nil, 3, true); n != 0 || err != nil {
		t.Errorf("none: %d, %v", n, err)
	}
}
