// Package decimal reads numbers, and adds up quantities, without what strconv's errors and big numbers bring into a
// module (tens of kilobytes).
package decimal

import "math"

// Parse reads a number as strconv.ParseInt does in base 10: with or without a sign, digits only, as far as an int64
// goes.
func Parse(s string) (n int64, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 {
			return 0, false
		}
		// Downwards, where there is one number more.
		if n < (math.MinInt64+d)/10 {
			return 0, false
		}
		n = n*10 - d
	}
	if negative {
		return n, true
	}
	return -n, n != math.MinInt64
}
