package wire

import "math"

// Quantity is an amount such as 100m, 1.5Gi or 2e3, kept as it was written; empty is zero.
type Quantity struct{ Text string }

// ParseQuantity checks the text of a quantity.
func ParseQuantity(s string) (Quantity, bool) {
	_, ok := parseQuantity(s)
	return Quantity{s}, ok
}

// String returns the quantity as it was written.
func (q Quantity) String() string {
	if q.Text == "" {
		return "0"
	}
	return q.Text
}

// IsZero reports whether the amount is zero. What is no quantity at all counts as zero.
func (q Quantity) IsZero() bool {
	n, _ := parseQuantity(q.Text)
	return len(n.digits) == 0
}

// Sign is -1, 0 or 1.
func (q Quantity) Sign() int { return q.Cmp(Quantity{}) }

// Cmp is -1 where q is less than r, 1 where it is more, 0 where they are the same amount.
func (q Quantity) Cmp(r Quantity) int {
	if q.Text == r.Text {
		return 0
	}
	a, _ := parseQuantity(q.Text)
	b, _ := parseQuantity(r.Text)
	return a.compare(b)
}

// Value returns the amount in whole units, rounded up, at most what an int64 holds.
func (q Quantity) Value() int64 {
	n, _ := parseQuantity(q.Text)
	return n.scaledInteger(0)
}

// MilliValue returns the amount in thousandths, rounded up, at most what an int64 holds.
func (q Quantity) MilliValue() int64 {
	n, _ := parseQuantity(q.Text)
	return n.scaledInteger(3)
}

// AsApproximateFloat64 returns the amount as a float, to the last bit the one that apimachinery's method of this name
// returns, if the amount is written with at most eighteen digits, down to a billionth, and isn't a fraction of a binary
// unit. That isn't always the nearest one, and hangs on how the amount is written: 0.3 is a bit more than 300m.
func (q Quantity) AsApproximateFloat64() float64 {
	n, _ := parseQuantity(q.Text)
	v, exponent := n.leading(n.zeros)
	v *= math.Pow10(exponent)
	if n.negative {
		return -v
	}
	return v
}

// NearestFloat64 returns the float that is nearest to an amount of at most fifteen digits, as one that is parsed as a
// float.
func (q Quantity) NearestFloat64() float64 {
	n, _ := parseQuantity(q.Text)
	v, exponent := n.leading(0)
	if exponent < 0 {
		v /= math.Pow10(-exponent)
	} else {
		v *= math.Pow10(exponent)
	}
	if n.negative {
		return -v
	}
	return v
}

// number is 0.digits × 10^exponent; digits neither begin nor end with a zero, and are none for zero.
type number struct {
	digits   []byte // 0 to 9
	zeros    int    // were written behind the digits
	exponent int
	negative bool
}

// leading returns the digits as an integer, with so many zeros behind them, and the power of ten that it is to be
// multiplied by. Of more than eighteen digits it is the first ones.
func (n number) leading(zeros int) (v float64, exponent int) {
	const most = 18
	count := min(len(n.digits)+zeros, most)
	whole := uint64(0)
	for i := range count {
		whole *= 10
		if i < len(n.digits) {
			whole += uint64(n.digits[i])
		}
	}
	return float64(whole), n.exponent - count
}

func parseQuantity(s string) (n number, ok bool) {
	if s == "" {
		return n, true
	}
	i := 0
	if s[0] == '+' || s[0] == '-' {
		n.negative = s[0] == '-'
		i++
	}
	point, seen := -1, 0
	start := i

	for ; i < len(s); i++ {
		if c := s[i]; c == '.' && point < 0 {
			point = seen
		} else if c >= '0' && c <= '9' {
			seen++
		} else {
			break
		}
	}

	if seen == 0 {
		return n, false
	}
	if point < 0 {
		point = seen
	}
	n.exponent = point
	n.digits = make([]byte, 0, seen)

	for _, c := range []byte(s[start:i]) {
		if c != '.' {
			n.digits = append(n.digits, c-'0')
		}
	}

	binary, ok := 0, true
	switch suffix := s[i:]; suffix {
	case "":
	case "n":
		n.exponent -= 9
	case "u":
		n.exponent -= 6
	case "m":
		n.exponent -= 3
	case "k":
		n.exponent += 3
	case "M":
		n.exponent += 6
	case "G":
		n.exponent += 9
	case "T":
		n.exponent += 12
	case "P":
		n.exponent += 15
	case "E":
		n.exponent += 18
	case "Ki":
		binary = 10
	case "Mi":
		binary = 20
	case "Gi":
		binary = 30
	case "Ti":
		binary = 40
	case "Pi":
		binary = 50
	case "Ei":
		binary = 60
	default:
		e := 0
		if e, ok = exponent(suffix); ok {
			n.exponent += e
		}
	}

	for ; binary > 0; binary -= 10 {
		n.multiply(1024)
	}
	n.trim()
	return n, ok
}

// exponent reads e3, E-6 and their like.
func exponent(s string) (e int, ok bool) {
	if len(s) < 2 || (s[0] != 'e' && s[0] != 'E') {
		return 0, false
	}
	negative := s[1] == '-'
	i := 1
	if negative || s[1] == '+' {
		i++
	}
	if i == len(s) || len(s) > 9 {
		return 0, false
	}
	for ; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		e = e*10 + int(s[i]-'0')
	}
	if negative {
		e = -e
	}
	return e, true
}

// multiply multiplies by a small number, digit by digit: binary suffixes on decimal fractions stay exact.
func (n *number) multiply(by int) {
	carry := 0
	for i := len(n.digits) - 1; i >= 0; i-- {
		carry += int(n.digits[i]) * by
		n.digits[i] = byte(carry % 10)
		carry /= 10
	}
	if carry == 0 {
		return
	}
	var head []byte
	for ; carry > 0; carry /= 10 {
		head = append([]byte{byte(carry % 10)}, head...)
	}
	n.exponent += len(head)
	n.digits = append(head, n.digits...)
}

func (n *number) trim() {
	for len(n.digits) > 0 && n.digits[0] == 0 {
		n.digits = n.digits[1:]
		n.exponent--
	}
	for len(n.digits) > 0 && n.digits[len(n.digits)-1] == 0 {
		n.digits = n.digits[:len(n.digits)-1]
		n.zeros++
	}
	if len(n.digits) == 0 {
		n.exponent, n.negative = 0, false
	}
}

func (n number) compare(m number) int {
	if len(n.digits) == 0 || len(m.digits) == 0 || n.negative != m.negative {
		switch a, b := n.sign(), m.sign(); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}
	c := 0
	switch {
	case n.exponent != m.exponent:
		c = -1
		if n.exponent > m.exponent {
			c = 1
		}
	case string(n.digits) < string(m.digits):
		c = -1
	case string(n.digits) > string(m.digits):
		c = 1
	}
	if n.negative {
		return -c
	}
	return c
}

func (n number) sign() int {
	switch {
	case len(n.digits) == 0:
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// scaledInteger returns the number times 10^scale, away from zero to an integer.
func (n number) scaledInteger(scale int) int64 {
	const most = 1<<63 - 1
	end := n.exponent + scale
	var v int64
	for i := 0; i < end; i++ {
		d := int64(0)
		if i < len(n.digits) {
			d = int64(n.digits[i])
		} else if v == 0 {
			break
		}
		if v > (most-d)/10 {
			if n.negative {
				return -most - 1
			}
			return most
		}
		v = v*10 + d
	}
	if end < len(n.digits) && v < most {
		v++
	}
	if n.negative {
		return -v
	}
	return v
}
