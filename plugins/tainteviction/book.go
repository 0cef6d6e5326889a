package tainteviction

import (
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// book is what a node's key keeps: which taints its pods were judged by, and when each of these is to go.
type book struct {
	taints uint32 // a hash of them
	pods   []entry
}

// entry is what is known of a pod.
type entry struct {
	namespace, name string
	uid             metav1.UID
	tolerations     uint32 // a hash of those that it was judged by
	due             int64  // when it is to be deleted, in ns; 0: not at all, or it has been
	marked          bool   // it was told that it goes, and its deletion has failed
}

// pod names the pod.
func (e *entry) pod() *pod {
	p := &pod{}
	p.Namespace, p.Name, p.UID = e.namespace, e.name, e.uid
	return p
}

// rest has nothing happen to the pod.
func (e *entry) rest() { e.due, e.marked = 0, false }

// due are the pods whose time has come.
func (b *book) due(now int64) (all []*entry) {
	for i := range b.pods {
		if e := &b.pods[i]; e.due != 0 && e.due <= now {
			all = append(all, e)
		}
	}
	return all
}

// parse reads a key's state: a line with the hash of the taints, and one for each pod. There is nothing else in it than
// what keep has written.
func parse(state []byte) (b book) {
	lines := strings.Split(string(state), "\n")
	b.taints = parseHash(lines[0])
	for _, line := range lines[1:] {
		f := strings.Split(line, " ")
		if len(f) != 6 {
			continue
		}
		e := entry{namespace: f[0], name: f[1], uid: metav1.UID(f[2]), tolerations: parseHash(f[3]), marked: f[5] == "marked"}
		e.due, _ = strconv.ParseInt(f[4], 10, 64)
		b.pods = append(b.pods, e)
	}
	return b
}

func parseHash(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}

// keep has the key keep the book, and sync it again when the next pod is due.
func (b *book) keep(c *sdk.Call) {
	state := strconv.AppendUint(nil, uint64(b.taints), 10)
	next := int64(0)
	for i := range b.pods {
		e := &b.pods[i]
		state = append(state, "\n"+e.namespace+" "+e.name+" "+string(e.uid)+" "...)
		state = strconv.AppendUint(state, uint64(e.tolerations), 10)
		state = strconv.AppendInt(append(state, ' '), e.due, 10)
		if e.marked {
			state = append(state, " marked"...)
		} else {
			state = append(state, " -"...)
		}
		if e.due != 0 && !e.marked && (next == 0 || e.due < next) {
			next = e.due
		}
	}

	c.SetState(state)
	if next != 0 {
		_ = c.After(time.Duration(next - c.Now().UnixNano())) // nothing fails there
	}
}

// hash is an FNV-1a of texts.
type hash uint32

func (h hash) text(s string) hash {
	for i := range len(s) {
		h = (h ^ hash(s[i])) * 16777619
	}
	return (h ^ 0xff) * 16777619 // so that the end of one counts
}

const noText hash = 2166136261

func hashTaints(all []corev1.Taint) uint32 {
	h := noText
	for i := range all {
		t := &all[i]
		h = h.text(t.Key).text(t.Value)
		if t.TimeAdded != nil {
			h = h.text(strconv.FormatInt(t.TimeAdded.UnixNano(), 10))
		}
		h = h.text("")
	}
	return uint32(h)
}

func hashTolerations(all []corev1.Toleration) uint32 {
	h := noText
	for i := range all {
		t := &all[i]
		h = h.text(t.Key).text(string(t.Operator)).text(t.Value).text(string(t.Effect))
		if t.TolerationSeconds != nil {
			h = h.text(strconv.FormatInt(*t.TolerationSeconds, 10))
		}
		h = h.text("")
	}
	return uint32(h)
}
