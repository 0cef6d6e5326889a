package decimal

import "math/bits"

// Amount is what a Kubernetes quantity says, as an exact number of billionths, up to about 1.7e29 units. Its zero value
// is 0.
type Amount struct {
	high, low uint64 // how many billionths
	negative  bool
	// Format is how it is written.
	Format Format
}

// Format is in which of three ways a quantity is written (apimachinery/pkg/api/resource).
type Format int8

const (
	// DecimalSI is with powers of a thousand: 100m, 5k.
	DecimalSI Format = iota
	// BinarySI is with powers of 1024: 5Ki.
	BinarySI
	// DecimalExponent is with an exponent: 5e3.
	DecimalExponent
)

const billion = 1_000_000_000

// Whole returns an amount of whole units.
func Whole(n int64) Amount {
	a := Amount{negative: n < 0}
	magnitude := uint64(n)
	if a.negative {
		magnitude = -magnitude
	}
	a.high, a.low = bits.Mul64(magnitude, billion)
	return a
}

// IsZero reports whether the amount is 0.
func (a Amount) IsZero() bool { return a.high|a.low == 0 }

// Sign is -1, 0 or 1.
func (a Amount) Sign() int {
	switch {
	case a.negative:
		return -1
	case a.IsZero():
		return 0
	}
	return 1
}

// Compare is -1 where a is less than b, 1 where it is more, 0 where they are the same amount.
func (a Amount) Compare(b Amount) int {
	if a.negative != b.negative {
		if a.negative {
			return -1
		}
		return 1
	}
	c := compareMagnitudes(a, b)
	if a.negative {
		return -c
	}
	return c
}

func compareMagnitudes(a, b Amount) int {
	switch {
	case a.high < b.high || a.high == b.high && a.low < b.low:
		return -1
	case a.high == b.high && a.low == b.low:
		return 0
	}
	return 1
}

// Plus returns the sum; ok is false where it is too large. It is written as a is, or where a is 0, as b is.
func (a Amount) Plus(b Amount) (sum Amount, ok bool) {
	sum = a
	if a.IsZero() {
		sum.Format = b.Format
	}
	if a.negative == b.negative {
		var carry uint64
		sum.low, carry = bits.Add64(a.low, b.low, 0)
		sum.high, carry = bits.Add64(a.high, b.high, carry)
		return sum, carry == 0 && sum.fits()
	}

	more, less := a, b
	if compareMagnitudes(a, b) < 0 {
		more, less = b, a
	}
	var borrow uint64
	sum.low, borrow = bits.Sub64(more.low, less.low, 0)
	sum.high, _ = bits.Sub64(more.high, less.high, borrow)
	sum.negative = more.negative && !sum.IsZero()
	return sum, true
}

// Minus returns the difference; ok is false where it is too large.
func (a Amount) Minus(b Amount) (difference Amount, ok bool) {
	b.negative = !b.negative && !b.IsZero()
	return a.Plus(b)
}

// Times returns n times the amount; ok is false where it is too large.
func (a Amount) Times(n uint64) (product Amount, ok bool) {
	product = a
	carry, low := bits.Mul64(a.low, n)
	over, high := bits.Mul64(a.high, n)
	high, carry = bits.Add64(high, carry, 0)
	product.high, product.low = high, low
	if product.IsZero() {
		product.negative = false
	}
	return product, over == 0 && carry == 0 && product.fits()
}

// RoundUp returns the amount in whole units, away from 0.
func (a Amount) RoundUp() Amount {
	whole, rest := a.dividedBy(billion)
	if rest != 0 {
		whole, _ = whole.Plus(Amount{low: 1, negative: a.negative})
	}
	whole, _ = whole.Times(billion)
	return whole
}

func (a Amount) fits() bool { return a.high>>63 == 0 }

func (a Amount) dividedBy(n uint64) (quotient Amount, rest uint64) {
	quotient = a
	quotient.high, rest = a.high/n, a.high%n
	quotient.low, rest = bits.Div64(rest, a.low, n)
	return quotient, rest
}

// Text writes the amount as the API server does: as an integer with the greatest suffix that leaves it one. In BinarySI
// that is only where it is whole, and at least 1024.
func (a Amount) Text() string {
	if a.IsZero() {
		return "0"
	}
	if whole, rest := a.dividedBy(billion); a.Format == BinarySI && rest == 0 && (whole.high > 0 || whole.low >= 1024) {
		n, steps := whole.without(1024, len(binarySuffixes)-1)
		return n.digits() + binarySuffixes[steps]
	}
	if a.Format == DecimalExponent {
		n, steps := a.without(1000, 3+anyExponent)
		if steps == 3 {
			return n.digits()
		}
		return n.digits() + "e" + integer(3*steps-9)
	}
	n, steps := a.without(1000, len(decimalSuffixes)-1)
	return n.digits() + decimalSuffixes[steps]
}

// anyExponent is more than the largest amount has.
const anyExponent = 20

var (
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	decimalSuffixes = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
)

// without returns the amount without the factors of n that it has, up to most, and how many these are.
func (a Amount) without(n uint64, most int) (rest Amount, factors int) {
	for factors < most {
		quotient, remainder := a.dividedBy(n)
		if remainder != 0 {
			break
		}
		a = quotient
		factors++
	}
	return a, factors
}

// digits writes the billionths.
func (a Amount) digits() string {
	var text [40]byte
	i := len(text)
	for negative := a.negative; ; {
		var digit uint64
		a, digit = a.dividedBy(10)
		i--
		text[i] = '0' + byte(digit)
		if a.IsZero() {
			if negative {
				i--
				text[i] = '-'
			}
			return string(text[i:])
		}
	}
}

func integer(n int) string {
	if n < 0 {
		return "-" + integer(-n)
	}
	return Amount{low: uint64(n)}.digits()
}
