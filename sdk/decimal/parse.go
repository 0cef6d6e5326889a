package decimal

// ParseAmount reads a quantity as the API server does, with its bounds: what is finer than a billionth is rounded away
// from 0, and what has a binary suffix is at most what an int64 holds. ok is false where the text is no quantity, or
// too large for an Amount.
func ParseAmount(text string) (a Amount, ok bool) {
	i := 0
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		i++
	}
	start := i
	fraction, seen := -1, false // fraction is how many digits are behind the point
	for ; i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.' && fraction < 0); i++ {
		if text[i] == '.' {
			fraction = 0
			continue
		}
		seen = true
		if fraction >= 0 {
			fraction++
		}
	}
	if !seen {
		return Amount{}, false
	}

	digits := text[start:i]
	for fraction > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		fraction--
	}
	if a, ok = readDigits(digits); !ok {
		return Amount{}, false
	}

	format, binary, exponent, ok := readSuffix(text[i:])
	if !ok {
		return Amount{}, false
	}
	a, ok = a.Times(1 << binary)
	if ok {
		a, ok = a.shifted(9 + exponent - max(fraction, 0))
	}
	if !ok && format != BinarySI {
		return Amount{}, false
	}

	if format == BinarySI {
		if most := Whole(1<<63 - 1); !ok || compareMagnitudes(a, most) > 0 {
			a = most
		}
		if !a.IsZero() && compareMagnitudes(a, Whole(1)) < 0 {
			format = DecimalSI
		}
	}
	a.negative = negative && !a.IsZero()
	a.Format = format
	return a, true
}

// stepDigits is how many digits are read, or zeros added, at once: what they stand for fits into 64 bits.
const stepDigits = 18

// readDigits reads digits, of which one may be a point, as a number of billionths.
func readDigits(digits string) (a Amount, ok bool) {
	step, scale := uint64(0), uint64(1)
	for i := range len(digits) {
		if digits[i] == '.' {
			continue
		}
		step, scale = step*10+uint64(digits[i]-'0'), scale*10
		if scale == powerOfTen(stepDigits) {
			if a, ok = a.timesPlus(scale, step); !ok {
				return a, false
			}
			step, scale = 0, 1
		}
	}
	return a.timesPlus(scale, step)
}

func powerOfTen(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// readSuffix returns what a suffix stands for: so many powers of two, or so many of ten.
func readSuffix(suffix string) (format Format, binary, exponent int, ok bool) {
	for i, s := range binarySuffixes {
		if suffix == s && i > 0 {
			return BinarySI, 10 * i, 0, true
		}
	}
	for i, s := range decimalSuffixes {
		if suffix == s {
			return DecimalSI, 0, 3*i - 9, true
		}
	}
	if len(suffix) < 2 || len(suffix) > 9 || suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, 0, 0, false
	}
	n, ok := Parse(suffix[1:])
	return DecimalExponent, 0, int(n), ok
}

// timesPlus returns n times the amount, and so many billionths more.
func (a Amount) timesPlus(n, billionths uint64) (Amount, bool) {
	a, ok := a.Times(n)
	if !ok {
		return a, false
	}
	return a.Plus(Amount{low: billionths})
}

// shifted returns the amount times 10^by, away from 0 to a billionth.
func (a Amount) shifted(by int) (Amount, bool) {
	ok := true
	for by > 0 && ok && !a.IsZero() {
		step := min(by, stepDigits)
		a, ok = a.Times(powerOfTen(step))
		by -= step
	}
	inexact := false
	for ; by < 0 && !a.IsZero(); by++ {
		var rest uint64
		a, rest = a.dividedBy(10)
		inexact = inexact || rest != 0
	}
	if inexact {
		return a.Plus(Amount{low: 1})
	}
	return a, ok
}
