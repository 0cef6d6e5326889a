package manager

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// limits bound what a plugin does in a time and holds, whichever of its versions runs: no swap gives it a fresh burst.
type limits struct {
	memory  *budget.Memory
	shadow  *budget.Memory // as much again for the plugin's shadow, which must not be able to harm what runs
	near    rate.Sometimes // says that the memory is nearly used up
	deletes *budget.Deletes
	logs    *sandbox.Logs
	waits   rate.Sometimes // says that the deletes were exhausted

	requests map[string]*requests // by controller; by who holds manager.changing
}

// requests bound what one controller sends. A flood of events holds up no write.
type requests struct{ effects, events *budget.Requests }

func newLimits(p config.Plugin, all *budget.Total) *limits {
	l := &limits{
		near:    rate.Sometimes{Interval: time.Minute},
		deletes: budget.NewDeletes(int(p.Budget.DeletesPerMinute)), logs: sandbox.NewLogs(p.Budget.LogBytesPerSecond.Value()),
		waits: rate.Sometimes{Interval: time.Minute}, requests: map[string]*requests{},
	}
	l.memory = budget.NewMemory(p.Name, p.Budget.Memory.Value(), all, l.nearBudget)
	l.shadow = budget.NewMemory(p.Name, p.Budget.Memory.Value(), all, l.nearBudget)
	return l
}

// ofShadow returns the bounds of what the plugin's shadow does, which writes nothing.
func (l *limits) ofShadow() *limits { return &limits{memory: l.shadow, logs: l.logs} }

// close ends the plugin's part in what all plugins hold.
func (l *limits) close() {
	l.memory.Close()
	l.shadow.Close()
}

// nearBudget says, once in a while, that a plugin may soon get no more memory.
func (l *limits) nearBudget(m *budget.Memory) {
	l.near.Do(func() {
		klog.InfoS("The plugin holds more than four fifths of what budget.memory allows: syncs that need more than the rest fail",
			"plugin", m.Plugin(), "holds", m.Text(), "budget", resource.NewQuantity(m.Limit(), resource.BinarySI).String())
	})
}

// requestsOf returns the bounds of a controller's requests. One that is new has those of its first version.
func (l *limits) requestsOf(p config.Plugin, f *plugins.Plugin, c *abi.Controller) *requests {
	r := l.requests[c.Name]
	if r == nil {
		qps, burst := requestRate(p, f, c)
		r = &requests{budget.NewRequests(qps, burst), budget.NewRequests(qps, burst)}
		l.requests[c.Name] = r
	}
	return r
}

// requestRate is what a controller may send. Only a built-in plugin's manifest may ask for a multiple of what is
// configured.
func requestRate(p config.Plugin, f *plugins.Plugin, c *abi.Controller) (qps float32, burst int) {
	qps, burst = p.API.QPS, int(p.API.Burst)
	if f.Origin == plugins.OriginBuiltin {
		qps *= float32(max(c.Rate.QPS, 1))
		burst *= int(max(c.Rate.Burst, 1))
	}
	return qps, burst
}

// setBounds changes the bounds to those that the configuration has for a generation. What was spent is spent. It
// reports whether keys that wait for deletes should ask again.
func (l *limits) setBounds(p config.Plugin, g *generation) (again bool) {
	l.memory.Set(p.Budget.Memory.Value())
	l.shadow.Set(p.Budget.Memory.Value())
	l.logs.Set(p.Budget.LogBytesPerSecond.Value())
	for _, v := range g.versions {
		r := l.requestsOf(p, g.loaded.Plugin, v.Manifest)
		qps, burst := requestRate(p, g.loaded.Plugin, v.Manifest)
		r.effects.Set(qps, burst)
		r.events.Set(qps, burst)
	}
	return l.deletes.Set(int(p.Budget.DeletesPerMinute))
}

// overBudget says, once in a while, that a controller waits.
func (l *limits) overBudget(plugin, controller string) {
	l.waits.Do(func() {
		klog.InfoS("Keys wait: the plugin has sent all deletes that budget.deletesPerMinute allows", "plugin", plugin,
			"controller", controller)
	})
}
