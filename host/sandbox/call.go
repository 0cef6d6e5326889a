package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/printable"
)

// Call is one sync. Write and Perform must not keep what they are given: it is guest memory.
type Call struct {
	// Size of the message in bytes.
	Size int
	// Write writes the message into guest memory; the buffer has Size bytes, of any content. It is not called for an empty
	// message.
	Write func(buffer []byte)
	// Perform answers the guest's performs; request is a view on guest memory, the outcome must stay unchanged until the
	// next perform or the call's end. Its error ends the sync.
	Perform func(ctx context.Context, request []byte) (outcome []byte, err error)
	// Log gets what the guest logs; by default Options.Log.
	Log func(level int32, message string)
}

// Stats are what a sync has used.
type Stats struct {
	Fuel     int64         // units
	Memory   int64         // bytes of linear memory that the guest had asked for at the end
	Duration time.Duration // of running in the guest, writing the message included
	Restore  time.Duration // of putting back the baseline, or of making an instance
	Wait     time.Duration // for a place among the running guests
	Perform  time.Duration // inside Perform
	Performs int
	// LogDropped is how many bytes the guest tried to log beyond its bounds.
	LogDropped int64
}

// Sync puts an instance back to the baseline, hands it a message and returns its answer to read, as a view on guest
// memory. Any error but that of read is a CallError, ErrClosed, or says that the message is too large. After an error
// the instance is thrown away; what was performed stands.
func (m *Module) Sync(ctx context.Context, call *Call, read func(answer []byte) error) (stats Stats, err error) {
	from := time.Now()
	err = m.use(ctx, func() error { return m.syncInstance(ctx, from, call, read, &stats) })
	return stats, err
}

// syncInstance does a sync that began at from. The caller uses the module.
func (m *Module) syncInstance(ctx context.Context, from time.Time, call *Call, read func(answer []byte) error,
	stats *Stats) error {
	i, err := m.takeInstance(ctx, m.baseline.Load(), exportSync)
	if err != nil {
		return err
	}
	good := false
	defer func() { m.putInstance(i, good) }()
	stats.Restore = time.Since(from)

	log := call.Log
	if log == nil {
		log = m.options.Log
	}
	i.call = invocation{export: exportSync, budget: m.options.Budget, perform: call.Perform, log: log}
	answer, err := i.exchange(ctx, i.sync, call.Size, call.Write)
	i.fillStats(stats)
	if err != nil {
		return err
	}
	if err := read(answer); err != nil {
		return err
	}
	good = true
	return nil
}

// ManifestSection is the manifest as the module has it in a section, nil: in none.
func (m *Module) ManifestSection() []byte { return m.manifest }

// Manifest asks the plugin for its manifest.
func (m *Module) Manifest(ctx context.Context) (manifest []byte, err error) {
	err = m.use(ctx, func() error {
		return m.startup(ctx, exportManifest, nil, func(_ *instance, answer []byte) error {
			manifest = bytes.Clone(answer)
			return nil
		})
	})
	return manifest, err
}

// SettingsError is what a plugin says about settings that it refuses.
type SettingsError struct{ Plugin, Message string }

func (e *SettingsError) Error() string {
	return fmt.Sprintf("plugin %q refuses its settings: %s", e.Plugin, e.Message)
}

// Configure passes the plugin its settings, in a freshly initialized instance. Syncs that begin from now on start from
// what it made of them. When the plugin refuses them the error is a SettingsError, and everything stays as it was.
func (m *Module) Configure(ctx context.Context, settings []byte) error {
	return m.use(ctx, func() error {
		if err := m.configureWith(ctx, settings); err != nil {
			return err
		}
		m.presence.keepSettings(settings)
		return nil
	})
}
func (m *Module) configureWith(ctx context.Context, settings []byte) error {
	m.configure.Lock()
	defer m.configure.Unlock()
	return m.startup(ctx, exportConfigure, settings, func(i *instance, answer []byte) error {
		if len(answer) > 0 {
			return &SettingsError{m.options.Name, printable.Line(string(answer), 1024)}
		}
		m.baseline.Store(i.takeBaseline())
		return nil
	})
}

// startup makes a call outside syncs.
func (m *Module) startup(ctx context.Context, export string, message []byte, read func(*instance, []byte) error) error {
	i, err := m.takeInstance(ctx, m.base, export)
	if err != nil {
		return err
	}
	good := false
	defer func() { m.putInstance(i, good) }()
	i.call = m.outsideSync(export)
	answer, err := i.exchange(ctx, i.module.ExportedFunction(export), len(message), func(b []byte) { copy(b, message) })
	if err != nil {
		return err
	}
	if err := read(i, answer); err != nil {
		return err
	}
	good = true
	return nil
}

func (m *Module) outsideSync(export string) invocation {
	return invocation{export: export, budget: m.options.StartupBudget, log: m.options.Log}
}

// takeInstance returns an instance in the state of a baseline, for a call of an export. The caller uses the module.
func (m *Module) takeInstance(ctx context.Context, base *baseline, export string) (*instance, error) {
	i, good := m.pool.take(), false
	defer func() {
		if !good {
			m.putInstance(i, false)
		}
	}()

	var err error
	if i == nil {
		i, err = m.instantiate(ctx)
	}
	if err == nil {
		err = i.restore(base)
	}
	if err != nil {
		if errors.As(err, new(*budget.MemoryError)) {
			return nil, &CallError{Plugin: m.options.Name, Export: export, Kind: ErrMemory, Cause: err}
		}
		return nil, fmt.Errorf("plugin %q: %w", m.options.Name, err)
	}
	good = true
	return i, nil
}

// putInstance gives an instance back, or closes it when it is not good any more.
func (m *Module) putInstance(i *instance, good bool) {
	switch {
	case good:
		m.pool.put(i, time.Now())
	case i != nil:
		i.pause() // when the caller's code panics its place is still held
		i.close()
	}
}

// exchange hands the guest a message, calls an export and returns its answer, a view on its memory.
func (i *instance) exchange(ctx context.Context, export api.Function, size int, write func([]byte)) ([]byte, error) {
	if size > i.owner.options.MaxMessage {
		return nil, fmt.Errorf("plugin %q: message of %d bytes, the limit is %d", i.owner.options.Name, size,
			i.owner.options.MaxMessage)
	}
	err := i.beginCall(ctx)
	if err == nil {
		err = i.message(size, write)
	}
	if err == nil {
		err = export.CallWithStack(i, i.stack[:])
	}
	var answer []byte
	if err == nil {
		answer, err = i.readAnswer()
	}
	return answer, i.endCall(err)
}

func (i *instance) fillStats(stats *Stats) {
	stats.Fuel, stats.Memory = i.usedFuel(), int64(i.memorySize())
	stats.Duration, stats.Wait, stats.Perform = i.ran, i.waited, i.performing
	stats.Performs, stats.LogDropped = i.performs, i.logDropped
}
