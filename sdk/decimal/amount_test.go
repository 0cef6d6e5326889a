package decimal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/sdk/decimal"
)

// randomQuantity writes quantities of all forms, most of them of ordinary sizes.
func randomQuantity(r *rand.Rand) string {
	suffixes := []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3",
		"E2", "e-2", "e+1", "e0", "e9"}
	whole := []string{"0", "1", "2", "007", "10", "100", "1000", "1023", "1024", "2048", "1500", "999999999",
		"9223372036854775807", fmt.Sprint(r.IntN(100_000))}
	text := whole[r.IntN(len(whole))]
	if r.IntN(4) == 0 {
		text += "." + []string{"", "5", "25", "125", "000", "000000001", "0000000001", "10"}[r.IntN(8)]
	}
	if r.IntN(8) == 0 {
		text = "-" + text
	}
	return text + suffixes[r.IntN(len(suffixes))]
}

// writtenByUs is the text of a quantity where the API server's loses its suffix: there is none for 1000E.
func writtenByUs(q resource.Quantity, ours decimal.Amount) string {
	q.Neg() // a quantity that has been read may keep its text
	q.Neg()
	text := q.String()
	again := resource.MustParse(text)
	if again.Cmp(q) == 0 {
		return text
	}
	return ours.Text()
}

// TestAmount compares amounts with the API server's own quantities.
func TestAmount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		first, second, times := randomQuantity(r), randomQuantity(r), r.Int64N(100)
		p, q := resource.MustParse(first), resource.MustParse(second)
		a, okA := decimal.ParseAmount(first)
		b, okB := decimal.ParseAmount(second)
		if math.Abs(p.AsApproximateFloat64()) > 1.7e29/100 || math.Abs(q.AsApproximateFloat64()) > 1.7e29/100 {
			continue // a product of theirs may be too large for us
		}
		if !okA || !okB {
			t.Fatalf("%s, %s: %v, %v", first, second, okA, okB)
		}
		if got, want := a.Text(), writtenByUs(p, a); got != want {
			t.Fatalf("%s: wrote %s, want %s", first, got, want)
		}
		if got, want := a.Compare(b), p.Cmp(q); got != want {
			t.Fatalf("%s and %s: compared as %d, want %d", first, second, got, want)
		}

		sum, difference, rounded, product := p.DeepCopy(), p.DeepCopy(), p.DeepCopy(), p.DeepCopy()
		sum.Add(q)
		difference.Sub(q)
		rounded.RoundUp(0)
		product.Mul(times)
		for what, x := range map[string]struct {
			got  func() (decimal.Amount, bool)
			want resource.Quantity
		}{
			"sum":        {func() (decimal.Amount, bool) { return a.Plus(b) }, sum},
			"difference": {func() (decimal.Amount, bool) { return a.Minus(b) }, difference},
			"product":    {func() (decimal.Amount, bool) { return a.Times(uint64(times)) }, product},
			"rounded":    {func() (decimal.Amount, bool) { return a.RoundUp(), true }, rounded},
		} {
			got, ok := x.got()
			if want := writtenByUs(x.want, got); !ok || got.Text() != want {
				t.Fatalf("%s of %s and %s (%d times): %s (%v), want %s", what, first, second, times, got.Text(), ok, want)
			}
		}
	}
}

// TestAmountBounds: what is no quantity isn't read, nor is what is too large.
func TestAmountBounds(t *testing.T) {
	for _, text := range []string{"", "-", ".", "x", "1x", "1.2.3", "1ki", "1e", "1e1000000000", "1 ", "1e30",
		"400000000000000000000000000000"} {
		if a, ok := decimal.ParseAmount(text); ok {
			t.Errorf("%q was read as %s", text, a.Text())
		}
	}

	most, _ := decimal.ParseAmount("170000000E")
	if sum, ok := most.Times(2000); ok {
		t.Errorf("a product that is too large: %s", sum.Text())
	}
	largest, _ := decimal.ParseAmount("170000000000E")
	if sum, ok := largest.Plus(largest); ok {
		t.Errorf("a sum that is too large: %s", sum.Text())
	}
}
