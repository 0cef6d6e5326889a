package horizontalpodautoscaler

import (
	"strconv"
	"strings"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// history is what an autoscaler has to know of the past: what it has recommended, and by how much it has scaled up and
// down. It is the key's state.
type history struct {
	recommended, up, down []mark
}

// mark is a number of replicas at a time, in milliseconds since 1970.
type mark struct {
	replicas int32
	at       int64
}

func unixMillis(t metav1.Time) int64 { return t.Unix()*1000 + int64(t.Nanosecond())/1e6 }

// remember puts a mark in the place of the last one from before the cutoff, which matters no more, or behind all that
// there are.
func remember(marks []mark, m mark, cutoff int64) []mark {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].at < cutoff {
			marks[i] = m
			return marks
		}
	}
	return append(marks, m)
}

// sumSince sums up the marks later than the cutoff.
func sumSince(marks []mark, cutoff int64) (sum int64) {
	for _, m := range marks {
		if m.at > cutoff {
			sum += int64(m.replicas)
		}
	}
	return sum
}

// encode writes the history as text: three lists between semicolons, of "5@1767225600000" between commas.
func (h *history) encode() []byte {
	var b []byte
	for i, list := range [][]mark{h.recommended, h.up, h.down} {
		if i > 0 {
			b = append(b, ';')
		}
		for j, m := range list {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(m.replicas), 10)
			b = append(b, '@')
			b = strconv.AppendInt(b, m.at, 10)
		}
	}
	return b
}

// decodeHistory reads a history; what is no history is an empty one, with which autoscalers begin.
func decodeHistory(b []byte) (h history) {
	text := string(b)
	for i, list := range []*[]mark{&h.recommended, &h.up, &h.down} {
		one, rest, more := strings.Cut(text, ";")
		if more != (i < 2) {
			return history{}
		}
		for text = rest; one != ""; {
			var m string
			m, one, _ = strings.Cut(one, ",")
			replicas, at, _ := strings.Cut(m, "@")
			n, ok := decimal.Parse(replicas)
			t, timed := decimal.Parse(at)
			if !ok || !timed || int64(int32(n)) != n {
				return history{}
			}
			*list = append(*list, mark{int32(n), t})
		}
	}
	return h
}
