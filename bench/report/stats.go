// Package report makes tables and plots of figures.
package report

import (
	"cmp"
	"math"
	"slices"
)

// Median is the middle one, or the mean of the middle two; NaN of none.
func Median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Percentile is the smallest that at least p of a hundred aren't above. There must be some.
func Percentile[T cmp.Ordered](all []T, p int) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
