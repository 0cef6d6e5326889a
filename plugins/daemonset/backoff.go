package daemonset

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// How long a node's failed pod waits: flowcontrol.NewBackOff(1 s, 15 min).
const (
	backoffMin = time.Second
	backoffMax = 15 * time.Minute
)

// backoff is when the failed pods of nodes may be replaced again. Each generation of the DaemonSet begins anew; of
// others than the one that was observed last it is known where they still wait, should somebody set the status back. It
// is kept as text: a generation in a line, then in each a node, its delay and the time of its last replacement, both in
// nanoseconds; and in the last one, behind a >, the node that is the next to get a pod where one was refused.
type backoff struct {
	generation int64
	nodes      []delayed
	next       string
	changed    bool
}

type delayed struct {
	generation  int64
	node        string
	delay, last int64
}

// loadBackoff returns what the last sync kept, without the nodes where there has been no failure for twice the longest
// delay, or of another generation for the delay.
func loadBackoff(c *sdk.Call, generation int64) backoff {
	b := backoff{generation: generation}
	of := int64(0)
	for rest := string(c.State()); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if next, ok := strings.CutPrefix(line, ">"); ok {
			b.next = next
			continue
		}
		node, times, entry := strings.Cut(line, " ")
		if !entry {
			of, _ = decimal.Parse(line)
			continue
		}

		delay, last, _ := strings.Cut(times, " ")
		x := delayed{generation: of, node: node}
		var ok, also bool
		x.delay, ok = decimal.Parse(delay)
		x.last, also = decimal.Parse(last)
		age := c.Now().UnixNano() - x.last
		if !ok || !also || age > int64(2*backoffMax) || of != generation && age >= x.delay {
			b.changed = true
			continue
		}
		b.nodes = append(b.nodes, x)
	}
	return b
}

// nextDelay returns how long the node's failed pod has to wait. If it hasn't, the next one will: twice as long.
func (b *backoff) nextDelay(node string, now metav1.Time) time.Duration {
	var x *delayed
	for i := range b.nodes {
		if y := &b.nodes[i]; y.generation == b.generation && y.node == node {
			x = y
		}
	}
	if x == nil {
		b.nodes = append(b.nodes, delayed{generation: b.generation, node: node})
		x = &b.nodes[len(b.nodes)-1]
	}
	if wait := x.delay - (now.UnixNano() - x.last); x.delay > 0 && wait > 0 {
		return time.Duration(wait)
	}
	x.delay = min(max(2*x.delay, int64(backoffMin)), int64(backoffMax))
	x.last = now.UnixNano()
	b.changed = true
	return 0
}

// takeTurns has the places begin with the one that is next: those before it have been tried. So one where a pod is
// refused again and again, by a policy for its node, keeps no other from getting its own.
func (b *backoff) takeTurns(places []*place) []*place {
	for i, at := range places {
		if at.name >= b.next {
			return append(slices.Clip(places[i:]), places[:i]...)
		}
	}
	return places
}

// giveTurn notes which of the places is next when so many of them have been tried, the last of these in vain.
func (b *backoff) giveTurn(places []*place, tried int, failed bool) {
	next := ""
	if failed && tried < len(places) {
		next = places[tried].name
	}
	b.changed = b.changed || next != b.next
	b.next = next
}

// saveState keeps it for the next sync.
func (b *backoff) saveState(c *sdk.Call) {
	if !b.changed {
		return
	}

	var text []byte
	for i, x := range b.nodes {
		if i == 0 || x.generation != b.nodes[i-1].generation {
			text = append(strconv.AppendInt(text, x.generation, 10), '\n')
		}
		text = append(append(text, x.node...), ' ')
		text = append(strconv.AppendInt(text, x.delay, 10), ' ')
		text = append(strconv.AppendInt(text, x.last, 10), '\n')
	}
	if b.next != "" {
		text = append(append(append(text, '>'), b.next...), '\n')
	}
	c.SetState(text)
}
