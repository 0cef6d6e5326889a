package decimal

import (
	"strconv"
	"testing"
)

// Parse takes what strconv takes, for the same.
func FuzzParse_as_strconv(f *testing.F) {
	for _, s := range []string{"", "0", "-0", "+0", "+", "-", "--1", "007", "12", "-12", "+12", "1_000", "0x10", "1.5",
		" 1", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "9223372036854775799", "92233720368547758070", "18446744073709551616",
		"٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := strconv.ParseInt(s, 10, 64)
		got, ok := Parse(s)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d, %v", s, got, ok, want, err)
		}
	})
}
