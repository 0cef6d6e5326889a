package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Use is what a plugin's memory is used for.
type Use int

// The uses.
const (
	Instances  Use = iota // linear memory and native stacks of instances of its module
	Results               // objects that were read live for a sync and aren't handed over yet
	State                 // what keys keep for their next syncs
	Facts                 // what keys have published
	Keys                  // keys that its syncs have woken and that aren't done
	Series                // series of its metrics
	Recordings            // the last syncs of its controllers
	uses
)

var useNames = [uses]string{"instances", "results", "state", "facts", "keys", "series", "recordings"}

// String returns the use's name in metrics, errors and tables.
func (u Use) String() string { return useNames[u] }

// Uses returns all uses.
func Uses() []Use { return []Use{Instances, Results, State, Facts, Keys, Series, Recordings} }

// Total bounds the bytes that all plugins hold together. A plugin that holds no more than its part of them, were they
// shared out evenly among those that hold any, is never refused, so that no plugin can take away what others need: at
// worst twice as much is held.
type Total struct {
	limit, held, plugins atomic.Int64
}

// NewTotal makes a bound of so many bytes.
func NewTotal(limit int64) *Total {
	t := &Total{}
	t.limit.Store(limit)
	return t
}

// Set changes the bound; what is held stays.
func (t *Total) Set(limit int64) { t.limit.Store(limit) }

// Limit returns the bound.
func (t *Total) Limit() int64 { return t.limit.Load() }

// Held returns how many bytes all plugins hold.
func (t *Total) Held() int64 { return t.held.Load() }

// Memory bounds the bytes that are held at once on a plugin's behalf, of whatever use, and whichever of its versions
// runs. A nil Memory bounds nothing.
type Memory struct {
	plugin string
	total  *Total
	near   func(m *Memory)
	limit  atomic.Int64
	shares atomic.Bool // in the total: it has held something
	sum    atomic.Int64
	held   [uses]atomic.Int64
	closed atomic.Bool
}

// NewMemory makes a plugin's bound of so many bytes, within that of all. near, where set, is called when more than four
// fifths of it are taken.
func NewMemory(plugin string, limit int64, total *Total, near func(*Memory)) *Memory {
	m := &Memory{plugin: plugin, total: total, near: near}
	m.limit.Store(limit)
	return m
}

// Close ends the plugin's part in what all hold together, when nothing runs on its behalf any more.
func (m *Memory) Close() {
	if m == nil {
		return
	}
	if m.closed.CompareAndSwap(false, true) {
		m.total.held.Add(-m.sum.Load())
		if m.shares.Load() {
			m.total.plugins.Add(-1)
		}
	}
}

// Set changes the bound; what is held stays.
func (m *Memory) Set(limit int64) { m.limit.Store(limit) }

// Plugin returns the plugin's name.
func (m *Memory) Plugin() string { return m.plugin }

// Limit returns the bound.
func (m *Memory) Limit() int64 { return m.limit.Load() }

// Held returns how many bytes are held for a use.
func (m *Memory) Held(u Use) int64 { return m.held[u].Load() }

// Sum returns how many bytes are held for all uses.
func (m *Memory) Sum() int64 { return m.sum.Load() }

// Take holds so many bytes more for a use, until they are given back, or returns a MemoryError.
func (m *Memory) Take(u Use, bytes int64) error {
	if m == nil || bytes == 0 {
		return nil
	}
	if err := m.Room(bytes); err != nil {
		return err
	}
	m.Add(u, bytes)
	return nil
}

// Room returns a MemoryError where so many bytes more can't be held.
func (m *Memory) Room(bytes int64) error {
	if m == nil || bytes <= 0 {
		return nil
	}
	sum := m.sum.Load() + bytes
	if sum > m.limit.Load() {
		return m.refusal(bytes, fmt.Sprintf("plugins[%s].budget.memory", m.plugin), m.limit.Load())
	}
	all, sharers := m.total.limit.Load(), m.total.plugins.Load()
	if !m.shares.Load() {
		sharers++
	}
	if m.total.held.Load()+bytes > all && sum > all/sharers {
		return m.refusal(bytes, "sandbox.totalMemory, of which all plugins hold "+sizeText(m.total.held.Load()), all)
	}
	return nil
}

// Add holds so many bytes more, whatever the bounds are; a negative number gives them back.
func (m *Memory) Add(u Use, bytes int64) {
	if m == nil || bytes == 0 {
		return
	}
	m.held[u].Add(bytes)
	sum := m.sum.Add(bytes)
	if !m.closed.Load() {
		m.total.held.Add(bytes)
		if !m.shares.Load() && m.shares.CompareAndSwap(false, true) {
			m.total.plugins.Add(1)
		}
	}
	if limit := m.limit.Load(); bytes > 0 && m.near != nil && sum > limit-limit/5 {
		m.near(m)
	}
}

// MemoryError says that a plugin's memory is used up, and by what.
type MemoryError struct {
	Plugin string
	Need   int64  // bytes
	Bound  string // its key in the configuration
	Limit  int64  // bytes
	Uses   string // what the plugin holds
}

// Error names the bound and what has used it up.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("plugin %s can't take %s more: that exceeds %s (%s); it holds %s", e.Plugin, sizeText(e.Need),
		e.Bound, sizeText(e.Limit), e.Uses)
}

func (m *Memory) refusal(need int64, bound string, limit int64) error {
	return &MemoryError{m.plugin, need, bound, limit, m.Text()}
}

// Text says what the plugin holds, the most first.
func (m *Memory) Text() string {
	all := Uses()
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(m.Held(b), m.Held(a)) })
	var parts []string
	for _, u := range all {
		if n := m.Held(u); n > 0 {
			parts = append(parts, sizeText(n)+" of "+u.String())
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// sizeText writes bytes as the configuration does, rounded up to KiB.
func sizeText(n int64) string {
	return resource.NewQuantity((n+1023)>>10<<10, resource.BinarySI).String()
}
