package job

import (
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/sdk/decimal"
)

// intervals are completion indexes in ascending order, as stretches that neither overlap nor touch.
type intervals []interval

type interval struct{ first, last int }

// parseIntervals reads indexes below limit from a status or a success policy, such as "1,3-5,7". What can't be read is
// left out.
func parseIntervals(text string, limit int) intervals {
	var l intervals
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		from, to, stretch := strings.Cut(part, "-")
		i, ok := parseNumber(from)
		last := i
		if ok && i >= limit {
			break
		}
		if ok && stretch {
			last, ok = parseNumber(to)
		}
		if ok {
			l = l.extend(interval{i, min(last, limit-1)})
		}
	}
	return l
}

// parseNumber reads a whole number that fits into an int32 and isn't negative.
func parseNumber(s string) (int, bool) {
	n, ok := decimal.Parse(s)
	if !ok || n < 0 || n > 1<<31-1 {
		return 0, false
	}
	return int(n), true
}

// String writes the indexes as a status has them: two neighbours are two numbers, three are a stretch.
func (l intervals) String() string {
	var b []byte
	for i, x := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(x.first), 10)
		if x.last > x.first {
			between := byte('-')
			if x.last == x.first+1 {
				between = ','
			}
			b = strconv.AppendInt(append(b, between), int64(x.last), 10)
		}
	}
	return string(b)
}

// extend adds a stretch that begins no earlier than the last one.
//
//go:noinline
func (l intervals) extend(x interval) intervals {
	if n := len(l); n > 0 && x.first <= l[n-1].last+1 {
		l[n-1].last = max(l[n-1].last, x.last)
		return l
	}
	return append(l, x)
}

func (l intervals) union(m intervals) intervals {
	all := make(intervals, 0, len(l)+len(m))
	for len(l) > 0 && len(m) > 0 {
		if l[0].first < m[0].first {
			all, l = all.extend(l[0]), l[1:]
		} else {
			all, m = all.extend(m[0]), m[1:]
		}
	}
	for _, x := range l {
		all = all.extend(x)
	}
	for _, x := range m {
		all = all.extend(x)
	}
	return all
}

// countAll returns how many indexes there are.
func (l intervals) countAll() (n int) {
	for _, x := range l {
		n += x.last - x.first + 1
	}
	return n
}

//go:noinline
func (l intervals) has(index int) bool {
	low, high := 0, len(l)
	for low < high {
		if mid := (low + high) / 2; l[mid].last < index {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(l) && l[low].first <= index
}

// countCommon returns how many indexes are in both.
func (l intervals) countCommon(m intervals) (n int) {
	for len(l) > 0 && len(m) > 0 {
		n += max(0, min(l[0].last, m[0].last)-max(l[0].first, m[0].first)+1)
		if l[0].last < m[0].last {
			l = l[1:]
		} else {
			m = m[1:]
		}
	}
	return n
}
