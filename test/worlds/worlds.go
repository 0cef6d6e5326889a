// Package worlds says on how many random worlds a test tries what it asserts.
package worlds

// Number returns n, and a tenth of it under the race detector, which makes a test several times as slow: it is to meet
// each way through the code at once with others, not each world. There is always at least one.
//
// A tenth of the seeds is the first of them, so what fails under the race detector for another reason fails without it,
// too.
func Number(n int) int {
	if Raced {
		return max(1, n/10)
	}
	return n
}
