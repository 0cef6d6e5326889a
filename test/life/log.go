package life

import (
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Log is a cluster's audit log, of which each line is read once.
type Log struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	read    int64
	events  []cluster.Event
}

// Events are all that the API server has answered so far, oldest first.
func (l *Log) Events(t testing.TB) []cluster.Event {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	more, read := l.cluster.AuditFrom(t, l.read)
	l.events, l.read = append(l.events, more...), read
	return l.events[:len(l.events):len(l.events)]
}
