package endpoint

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// entry is the length of what is remembered of one pod: a hash of its name, and when it last became ready or ceased to
// be, eight hexadecimal digits each. The first entry is the service's: a hash of its version, and when it was created.
const entry = 16

// TriggerTime is the time of the change that a sync is about, for the annotation
// endpoints.kubernetes.io/last-change-trigger-time, unset where nothing has changed; by it the time is measured from a
// change to where proxies know of it (k8s.io/endpointslice/util, TriggerTimeTracker).
//
// It is the earliest of the pods' transitions that are later than those in the memory of the last sync; without a
// memory, when the service was created. The second result is what the next sync has to remember, the same slice where
// nothing changed. Pods must be in the order of their names, as views give them.
//
// A pod is remembered by a hash of 32 bits: of a thousand pods two share one once in ten thousand services, and then a
// change may go without a time.
func TriggerTime(memory []byte, s *corev1.Service, pods []*Pod) (metav1.Time, []byte) {
	known := len(memory) >= entry
	now := make([]byte, 0, entry*(1+len(pods)))
	now = appendEntry(now, Hash(s.ResourceVersion), s.CreationTimestamp)
	if !known {
		for _, p := range pods {
			if _, since := p.Ready(); !since.IsZero() {
				now = appendEntry(now, Hash(p.Name), since)
			}
		}
		return s.CreationTimestamp, now
	}

	var first metav1.Time
	changed := func(t metav1.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}

	if string(now[entry/2:]) > string(memory[entry/2:entry]) {
		changed(s.CreationTimestamp)
	}
	past := memory[entry:]
	for _, p := range pods {
		_, since := p.Ready()
		if since.IsZero() {
			continue
		}
		at := len(now)
		now = appendEntry(now, Hash(p.Name), since)
		e := now[at:]
		if len(past) >= entry && wire.Same(unsafeString(past[:entry]), unsafeString(e)) {
			past = past[entry:]
			continue
		}
		if was := findEntry(past, e); was == nil {
			changed(since)
		} else {
			if string(e) > string(was[:entry]) {
				changed(since)
			}
			past = was[entry:]
		}
	}

	if wire.Same(unsafeString(now), unsafeString(memory)) {
		return first, memory
	}
	return first, now
}

// findEntry finds the pod among those not passed yet. Both are in the order of the names.
func findEntry(past, e []byte) []byte {
	for ; len(past) >= entry; past = past[entry:] {
		if string(past[:entry/2]) == string(e[:entry/2]) {
			return past
		}
	}
	return nil
}

// unsafeString returns the bytes as they are, which don't change.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func appendEntry(b []byte, hash uint32, t metav1.Time) []byte {
	return appendWord(appendWord(b, hash), uint32(t.Unix()))
}

func appendWord(b []byte, n uint32) []byte {
	const d = "0123456789abcdef"
	return append(b, d[n>>28], d[n>>24&15], d[n>>20&15], d[n>>16&15], d[n>>12&15], d[n>>8&15], d[n>>4&15], d[n&15])
}

// Hash is FNV-1a.
func Hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
