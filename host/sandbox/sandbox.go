// Package sandbox runs plugins' WebAssembly modules.
//
// A Module is one plugin's compiled module with its settings; a Sync is one call into it. Every sync starts from the
// same baseline of memory and globals, so that it is a function of its message and of what its performs gave, and of
// nothing else:
//
//	module, err := sandbox.Load(ctx, wasm, sandbox.Options{Name: "replicaset"})
//	manifest, err := module.Manifest(ctx)
//	err = module.Configure(ctx, settings)
//	stats, err := module.Sync(ctx, &sandbox.Call{Size: n, Write: write, Perform: perform}, read)
//
// What a guest can do is bounded: its memory, its running in units that the rewritten code counts (package rewrite),
// its time, the nesting of its calls, and the number and bytes of its calls to the host. What goes beyond is an error
// of that call, and its instance is thrown away.
//
// # How long a guest may hold up the process
//
// Go cannot preempt compiled WebAssembly: while a guest runs, the garbage collector waits for it, and everyone for the
// collector. So the module calls the host at least once per slice of 2^20 units, well under a millisecond, and a Gate
// leaves one processor free of guests.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// Defaults of Options.
const (
	// putting the baseline back costs more the larger it is: 0.8 µs at 16 MiB, 1.2 at 64, 2.3 at 256
	DefaultMemoryLimit = 64 << 20
	// a backstop: of TinyGo guests a minute or two, of Go guests, which pay 10 times as much, seconds
	DefaultBudget     = 100_000_000_000
	DefaultDeadline   = 10 * time.Second
	DefaultMaxMessage = 64 << 20
	DefaultIdle       = 30 * time.Second

	// DefaultPerformDeadline is long because requests wait for their turn: the deletes of a large namespace's objects take
	// many minutes.
	DefaultPerformDeadline = 30 * time.Minute

	// MaxMemoryLimit bounds the longest thing that a guest can do in one piece: filling all its memory.
	MaxMemoryLimit = 1 << 30

	pageSize = 64 << 10
)

// Options say how a module runs. The zero value of each but Name has a default.
type Options struct {
	// Name is the plugin's name, for errors.
	Name string
	// MemoryLimit is the most linear memory of an instance, in bytes, rounded down to pages of 64 KiB.
	MemoryLimit int64
	// Budget is how many units a sync may use. A unit is about an instruction, but loops and functions pay for all that is
	// in them: expect 5 to 20 times the executed instructions.
	Budget int64
	// StartupBudget is the same for _initialize, the manifest and configuring.
	StartupBudget int64
	// Deadline is how long a sync may run, the time inside Perform aside.
	Deadline time.Duration
	// MaxMessage is the most bytes of a message, either way.
	MaxMessage int
	// Gate bounds how many guests run at once; all plugins share one.
	Gate *Gate
	// PerformDeadline is how long all performs of a sync may take together.
	PerformDeadline time.Duration
	// Logs bounds what the plugin may log over time; by default the module has a bound of its own.
	Logs *Logs
	// Memory bounds what all of the plugin's instances and their outcomes take together; nil: no bound.
	Memory *budget.Memory
	// Untrusted has a child process with limits compile the module first: for modules that aren't built in.
	Untrusted bool
	// Code is what Compile left of the module. What doesn't fit it, the limit or this processor is compiled anew.
	Code fs.FS
	// Late has a module with Code compiled and run when it is first needed: Load reads what it declares, and trusts that
	// the build has tried the rest. Settings are what it is configured with then.
	Late     bool
	Settings []byte
	// Rest is after how long without a call a module with Code, or one that is Untrusted, lets go of all that it holds:
	// the next call loads it again. 0: never.
	Rest time.Duration
	// Moved, where set, is called when a module has been loaded for a call, with how long that took, and when it has let
	// go of what it holds.
	Moved func(loaded bool, took time.Duration)
	// Interpreter runs the module without compiling it: slower, the same answers.
	Interpreter bool
	// Idle is how long an unused instance is kept.
	Idle time.Duration
	// Helpers are pure functions that the plugin may import from module "windlass" beside the ABI's own.
	Helpers map[string]Helper
	// TooLarge says more of a sync's answer that has more than MaxMessage bytes, for the error; it is a view on guest
	// memory.
	TooLarge func(answer []byte) string
	// Log gets what the guest logs outside syncs, and in syncs without a Log of their own.
	Log func(level int32, message string)
}

// Helper is a function of bytes without effect, deterministic, that a guest can't carry itself. Its result must not
// alias its argument.
type Helper func([]byte) []byte

func (o *Options) setDefaults() {
	if o.MemoryLimit == 0 {
		o.MemoryLimit = DefaultMemoryLimit
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.StartupBudget == 0 {
		o.StartupBudget = DefaultBudget
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}

	if o.Gate == nil {
		o.Gate = processGate
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.PerformDeadline == 0 {
		o.PerformDeadline = DefaultPerformDeadline
	}
	if o.Logs == nil {
		o.Logs = NewLogs(DefaultLogPerSec)
	}
}

// ErrClosed is the error of every call to a module after Close.
var ErrClosed = errors.New("module is closed")

// Module is a loaded plugin. Its methods may be called concurrently.
type Module struct {
	options  Options
	limit    uint32 // pages of every instance's memory
	minimum  uint32 // pages that the module declares
	globals  []string
	manifest []byte // the section, as delivered
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	code     *code // nil where this process compiles the module

	precompiled bool
	kept        *keptCode // of the child's, for when the module is loaded again; nil: none is kept
	presence    presence

	base      *baseline                // after _initialize
	baseline  atomic.Pointer[baseline] // what syncs start from
	configure sync.Mutex

	pool  pool
	turns *Gate // which of the module's own guests may wait for a place of Options.Gate
}

// MemoryLimit is the most memory of an instance, in bytes.
func (m *Module) MemoryLimit() int64 { return int64(m.limit) * pageSize }

// Check returns what is wrong with a module, as far as that can be told without compiling it.
func Check(wasm []byte, options Options) error {
	options.setDefaults()
	parsed, err := rewrite.Parse(wasm)
	if err == nil {
		err = checkABI(parsed, &options)
	}
	if err != nil {
		return fmt.Errorf("plugin %q: %w", options.Name, err)
	}
	return nil
}

// Load checks, rewrites and compiles a module, and starts its first instance. Its errors say what is wrong with the
// module and what to do.
func Load(ctx context.Context, wasm []byte, options Options) (*Module, error) {
	options.setDefaults()
	m, err := checkAndLoad(ctx, wasm, options)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", options.Name, err)
	}
	return m, nil
}

func checkAndLoad(ctx context.Context, wasm []byte, options Options) (_ *Module, err error) {
	if options.MemoryLimit < pageSize || options.MemoryLimit > MaxMemoryLimit {
		return nil, fmt.Errorf("memory limit of %d bytes: must be between %s and %s",
			options.MemoryLimit, sizeText(pageSize), sizeText(MaxMemoryLimit))
	}

	parse := rewrite.Parse
	if options.Untrusted {
		options.Code = nil
	}
	if options.Code != nil { // the build has checked the module's code
		parse = rewrite.Declared
	}
	parsed, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	if err := checkABI(parsed, &options); err != nil {
		return nil, err
	}

	m := &Module{
		options: options,
		limit:   pagesOf(options.MemoryLimit, parsed),
		minimum: parsed.MemoryMin,
		globals: parsed.MutableGlobals, manifest: bytes.Clone(parsed.Manifest), // for the module's bytes aren't kept for it
		turns: NewGate(cap(options.Gate.places)),
	}

	m.pool.init(options.Idle)
	m.presence.load = m.loadFrom(newSource(wasm, parsed, m.limit))
	if options.Late && options.Code != nil {
		m.presence.settings, m.presence.configured = options.Settings, true
		m.presence.away.Store(true)
		return m, nil
	}
	if err := m.presence.load(ctx); err != nil {
		m.dropCode()
		return nil, err
	}
	m.restLater(options.Rest)
	return m, nil
}

// loadFrom returns what loads the module.
func (m *Module) loadFrom(from source) func(context.Context) error {
	return func(ctx context.Context) error { return m.compileAndStart(ctx, from) }
}

// compileAndStart compiles the module and starts its first instance, or leaves nothing of it.
func (m *Module) compileAndStart(ctx context.Context, from source) (err error) {
	options := &m.options
	m.precompiled = false
	started := false
	defer func() {
		if !started {
			_ = m.freeRuntime(context.WithoutCancel(ctx))
		}
	}()

	config := runtimeConfig(options.Interpreter, m.limit)
	if !options.Interpreter && (options.Untrusted || options.Code != nil) {
		m.code, err = newCode(m.givenCode())
		switch {
		case err == nil:
			defer m.code.removeFolder()
			config = config.WithCompilationCache(m.code.CompilationCache)
		case options.Untrusted:
			return err
		default: // what is built in is compiled here
			tellNoFolder(err)
			m.code, err = nil, nil
		}
	}

	switch {
	case options.Untrusted && m.kept == nil:
		err = m.compileInChild(ctx, from.wasm)
	case !options.Untrusted && options.Code == nil:
		err = validate(ctx, from.parsed.Delivered(), m.limit)
	}

	if err != nil {
		return err
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.defineImports(ctx, from.parsed); err != nil {
		return err
	}
	if err := m.takeNative(ctx, from); err != nil {
		return err
	}

	if !m.precompiled {
		made, err := rewritten(from, m.limit, m.givenCode())
		if err == nil {
			err = m.compile(ctx, made)
		}
		if err == nil {
			err = m.keepCode(from, made)
		}
		if err != nil {
			return err
		}
	}
	if err := m.startFirst(ctx); err != nil {
		return err
	}
	started = true
	return nil
}

// takeNative takes the native code that the build has left, if it is of this limit and fits this process: else the
// module isn't precompiled.
func (m *Module) takeNative(ctx context.Context, from source) error {
	if m.code == nil || m.options.Code == nil {
		return nil
	}
	hollow, err := fs.ReadFile(m.options.Code, hollowOf(from.file()))
	if err != nil {
		return nil // of another limit
	}
	if err := m.compile(ctx, hollow); err != nil || m.precompiled {
		return err
	}
	return m.compiled.Close(ctx) // its functions do nothing
}

// compile has wazero compile a rewritten module, unless its native code is there.
func (m *Module) compile(ctx context.Context, rewritten []byte) (err error) {
	given := 0
	if m.code != nil {
		given = m.code.entries()
	}
	m.compiled, err = compile(ctx, m.runtime, rewritten)
	m.precompiled = err == nil && given > 0 && m.code.entries() == given // wazero adds what it compiles itself
	return err
}

// startFirst runs _initialize in a first instance, and keeps its baseline.
func (m *Module) startFirst(ctx context.Context) error {
	i, err := m.instantiate(ctx)
	if err != nil {
		return err
	}
	if initialize := i.module.ExportedFunction(exportInitialize); initialize != nil {
		i.call = m.outsideSync(exportInitialize)
		err := i.beginCall(ctx)
		if err == nil {
			err = initialize.CallWithStack(i, i.stack[:])
		}
		if err = i.endCall(err); err != nil {
			i.close()
			return err
		}
	}
	m.base = i.takeBaseline()
	m.baseline.Store(m.base)
	i.close()
	return nil
}

// Precompiled reports whether this process took native code that was there, and didn't compile the module itself. A
// late module hasn't before its first call.
func (m *Module) Precompiled() bool { return m.precompiled }

// Close waits for the calls in flight and frees everything.
func (m *Module) Close(ctx context.Context) error {
	if !m.pool.close() {
		return nil
	}
	m.presence.mu.Lock()
	defer m.presence.mu.Unlock()
	m.presence.stopResting()
	defer m.dropCode()
	return m.freeRuntime(ctx)
}

func (m *Module) freeRuntime(ctx context.Context) (err error) {
	if m.runtime != nil {
		err = m.runtime.Close(ctx)
	}
	if m.code != nil {
		err = errors.Join(err, m.code.Close(ctx)) // it has the native code; the runtime only where it made it
	}
	m.runtime, m.code = nil, nil
	return err
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
