package swap

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/windlass"
)

// chats counts a log's lines that the plugin chatty has written.
type chats struct{ lines atomic.Int64 }

func (c *chats) Write(b []byte) (int, error) {
	c.lines.Add(int64(bytes.Count(b, []byte(`] "chat.`))))
	return len(b), nil
}

// However often a plugin that logs all it may is replaced, it has one burst of logging and then its rate: what is over
// that is dropped and counted, on each of its versions.
func TestLogBudgetOutlivesVersions(t *testing.T) {
	const (
		sets, swaps = 40, 4
		message     = 8000 + 64 // with what a line counts besides
		rate        = 1 << 10
		burst       = 1 << 20
	)

	chatty, _ := buildVersion(t, "chatty")
	w := newWorld(t, "replicaset", "serviceaccount")
	w.configure = func(_ *config.Configuration, p *config.Plugin) {
		p.Budget.LogBytesPerSecond = *resource.NewQuantity(rate, resource.BinarySI)
	}
	log := &chats{}
	windlass.LogTo(t, log)
	w.placeModule("replicaset", moduleWithNote(chatty, 0))
	began := time.Now()
	w.startManager()
	dropped := func() float64 { return w.m.Count(t, "windlass_dropped_log_bytes_total", "plugin", "replicaset") }
	more := func(than float64, what string) {
		w.eventually(what, func() (bool, string) { n := dropped(); return n > than+sets*message, fmt.Sprint(n) })
	}

	for n := range sets {
		name := fmt.Sprint("one-", n)
		w.createSet(name, 0, map[string]string{"app": name})
	}
	more(0, "the burst is used up")
	first := log.lines.Load()
	if first*message < burst/2 {
		t.Errorf("%d lines of %d bytes were logged, a burst is %d bytes", first, message, burst)
	}

	for n := range swaps {
		before, digest := dropped(), w.pluginStatus("replicaset").Digest
		w.placeModule("replicaset", moduleWithNote(chatty, n+1))
		w.m.Reload()
		w.eventually("the next version runs", func() (bool, string) {
			p := w.pluginStatus("replicaset")
			return p.Digest != digest, fmt.Sprintf("%+v", p)
		})
		more(before, "the next version logs as much, and has it dropped") // all keys are synced again
	}

	logged, allowed := log.lines.Load()*message, burst+rate*int64(time.Since(began).Seconds()+1)
	if logged > allowed || allowed > 2*burst {
		t.Errorf("%d bytes were logged with %d swaps, the budget is %d", logged, swaps, allowed)
	}
}
