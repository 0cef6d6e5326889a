package conformance

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Quantities compare and round as apimachinery's.
func TestQuantitiesAgree(t *testing.T) {
	texts := []string{"0", "1", "-1", "1k", "1000", "1Ki", "1024", "1024000m", "0.5", "500m", "1.5Gi", "1610612736", "1e3",
		"1E3", "2E", "1E", "1Ei", "-3Ki", "-3072",
		"123456789n", "999999u", "0.1", "100m", "1.0", "0001", "00.50", ".5", "5.", "+7", "12e-3", "1e-9",
		"9223372036854775807", "1Mi", "1M", "1Ti", "1Pi", "1T", "1P", "1G", "1.0000000001", "-0.3", "-1500m"}

	for _, a := range texts {
		qa, err := resource.ParseQuantity(a)
		if err != nil {
			t.Fatalf("apimachinery refuses %q: %v", a, err)
		}
		if _, ok := wire.ParseQuantity(a); !ok {
			t.Errorf("%q is refused", a)
		}
		ours := wire.Quantity{Text: a}
		if ours.Value() != qa.Value() || ours.IsZero() != qa.IsZero() || ours.Sign() != qa.Sign() {
			t.Errorf("%q: value %d, zero %v, sign %d; want %d, %v, %d", a, ours.Value(), ours.IsZero(), ours.Sign(), qa.Value(),
				qa.IsZero(), qa.Sign())
		}
		if abs := qa.Value(); abs < 1<<50 && abs > -1<<50 && ours.MilliValue() != qa.MilliValue() {
			t.Errorf("%q: %d thousandths, want %d", a, ours.MilliValue(), qa.MilliValue())
		}
		if got, want := ours.AsApproximateFloat64(), qa.AsApproximateFloat64(); math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%q: about %v, want %v", a, got, want)
		}
		for _, b := range texts {
			qb := resource.MustParse(b)
			if got, want := ours.Cmp(wire.Quantity{Text: b}), qa.Cmp(qb); got != want {
				t.Errorf("%q compared with %q: %d, want %d", a, b, got, want)
			}
		}
	}

	for _, s := range []string{"x", "1x", "1 ", "1e", "1Kii", "1.2.3", "1e+"} {
		if _, ok := wire.ParseQuantity(s); ok {
			t.Errorf("%q is taken for a quantity", s)
		}
		if _, err := resource.ParseQuantity(s); err == nil {
			t.Errorf("apimachinery takes %q for a quantity", s)
		}
	}
}

// A bound that is a quantity, such as an autoscaler's tolerance, is upstream's to the last bit, in whatever way it is
// written; and one that is a flag there is the float that the flag is.
func TestFloatsAgree(t *testing.T) {
	for n := range int64(2000) {
		for _, text := range []string{
			fmt.Sprintf("%dm", n), fmt.Sprintf("%d.%03d", n/1000, n%1000), fmt.Sprintf("%d.%02d", n/100, n%100),
			fmt.Sprintf("%d.%d", n/10, n%10), fmt.Sprintf("%de-3", n), fmt.Sprintf("-%du", n), fmt.Sprintf("%d00k", n),
			fmt.Sprintf("%dGi", n), fmt.Sprintf("%d0", n),
		} {
			ours, theirs := wire.Quantity{Text: text}, resource.MustParse(text)
			if got, want := ours.AsApproximateFloat64(), theirs.AsApproximateFloat64(); got != want {
				t.Fatalf("%q is %v, want %v", text, got, want)
			}
			if want, err := strconv.ParseFloat(text, 64); err == nil && ours.NearestFloat64() != want {
				t.Fatalf("%q is %v as a float, want %v", text, ours.NearestFloat64(), want)
			}
		}
	}
}
