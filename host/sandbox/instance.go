package sandbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

const (
	slice    = 1 << 20 // units that a guest may use before it must ask the host
	maxDepth = 1000    // calls that may nest: tens of kilobytes of native stack, and less than the interpreter's own limit
)

// instance is a module's memory and globals, used by one call at a time. Only who holds it may close it: its memory is
// unmapped at once.
//
// It is also the context that its guest's calls run under, by which host functions find it without allocating.
type instance struct {
	owner  *Module
	module api.Module
	memory *linearMemory

	fuel, depth, pages api.MutableGlobal
	globals            []api.MutableGlobal
	alloc, sync        api.Function
	stack              [1]uint64
	stacks             [2]reflect.Value // of alloc and sync
	idleSince          time.Time
	charged            int64 // bytes of memory that the plugin's budget has taken for it
	touched            int   // bytes of memory from the beginning that may hold something

	call invocation
	callState
}

// invocation is what a call into the guest is given.
type invocation struct {
	export  string
	budget  int64
	perform func(ctx context.Context, request []byte) (outcome []byte, err error) // nil outside syncs
	log     func(level int32, message string)
}

// callState is what a call has used up so far.
type callState struct {
	ctx        context.Context
	admitted   bool // holds a place of the gate
	granted    int64
	since      time.Time // when the guest last began to run
	waited     time.Duration
	ran        time.Duration
	performing time.Duration
	helped     time.Duration // for which helpers have worked since it was last looked at the time for them

	performs, performBytes int
	logs, logBytes         int
	logDropped             int64
	outcome                []byte
	hasOutcome             bool
	refused                error // why a memory.grow was refused
	naps                   int
	said                   []byte // to stderr
}

type instanceKey struct{}

// instance as a context.Context: nothing of the caller's context is the guest's business.

func (i *instance) Deadline() (time.Time, bool) { return time.Time{}, false }
func (i *instance) Done() <-chan struct{}       { return nil }
func (i *instance) Err() error                  { return nil }
func (i *instance) Value(key any) any {
	if _, ok := key.(instanceKey); ok {
		return i
	}
	return nil
}

// newModuleConfig is for a module that starts nothing by itself. No guest reaches wazero's random source, which takes
// 5 KiB each time: random_get is ours.
func newModuleConfig() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithStartFunctions().WithRandSource(noRandom{})
}

type noRandom struct{}

func (noRandom) Read([]byte) (int, error) {
	return 0, errors.New("sandbox: wazero's random source isn't used")
}

// instantiate makes an instance as the module declares it, before _initialize.
func (m *Module) instantiate(ctx context.Context) (*instance, error) {
	memory, err := mapMemory(int(m.limit) * pageSize)
	if err != nil {
		return nil, err
	}
	ctx = experimental.WithMemoryAllocator(context.WithoutCancel(ctx), memory.allocator())
	module, err := m.runtime.InstantiateModule(ctx, m.compiled, newModuleConfig().WithName(""))
	if err != nil {
		memory.Free()
		return nil, fmt.Errorf("instantiating: %w: its tables or data do not fit", err)
	}
	i := &instance{owner: m, module: module, memory: memory, alloc: module.ExportedFunction(exportAlloc),
		sync: module.ExportedFunction(exportSync)}
	i.stacks = [2]reflect.Value{stackOf(i.alloc), stackOf(i.sync)}
	global := func(name string) api.MutableGlobal { return module.ExportedGlobal(name).(api.MutableGlobal) }
	i.fuel, i.depth, i.pages = global(rewrite.FuelGlobal), global(rewrite.DepthGlobal), global(rewrite.PagesGlobal)
	for _, name := range m.globals {
		i.globals = append(i.globals, global(name))
	}
	if err := i.chargeMemory(i.memorySize()); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (i *instance) close() {
	_ = i.module.Close(context.Background())
	i.giveBack()
}

// beginCall waits for a place among the running guests and sets the meters.
func (i *instance) beginCall(ctx context.Context) error {
	i.callState = callState{ctx: ctx}
	i.granted = min(slice, i.call.budget)
	i.fuel.Set(uint64(i.granted))
	i.depth.Set(maxDepth)
	return i.resume()
}

// endCall frees the place and makes an error of the call readable.
func (i *instance) endCall(err error) error {
	i.pause()
	if err == nil && i.usedFuel() > i.call.budget { // the last function to pay need not have looked
		err = &abort{kind: ErrBudget, detail: i.budgetText()}
	}
	if err != nil {
		err = i.failure(err)
	}
	i.dropOutcome()
	i.ctx, i.said, i.call.perform, i.call.log = nil, nil, nil, nil
	return err
}

func (i *instance) resume() error {
	from := time.Now()
	if err := i.acquirePlaces(); err != nil {
		return &abort{kind: ErrCancelled, detail: "while waiting to run", cause: context.Cause(i.ctx)}
	}
	i.admitted = true
	i.since = time.Now()
	i.waited += i.since.Sub(from)
	return nil
}

// acquirePlaces waits among the module's own guests first, so that a module with many of them gets no more turns than
// another.
func (i *instance) acquirePlaces() error {
	if err := i.owner.turns.acquire(i.ctx); err != nil {
		return err
	}
	err := i.owner.options.Gate.acquire(i.ctx)
	if err != nil {
		i.owner.turns.release()
	}
	return err
}

func (i *instance) pause() {
	if i.admitted {
		i.admitted = false
		i.ran += time.Since(i.since)
		i.owner.options.Gate.release()
		i.owner.turns.release()
	}
}

func (i *instance) usedFuel() int64 { return i.granted - int64(i.fuel.Get()) }

// refill is called by the guest when a meter is below zero.
func (i *instance) refill() {
	if int64(i.depth.Get()) < 0 {
		panic(&abort{kind: ErrTrap, detail: fmt.Sprintf("calls nested deeper than %d: endless recursion?", maxDepth)})
	}
	i.grantSlices()
}

// charge takes units for what the host does for the guest.
func (i *instance) charge(units int) {
	left := int64(i.fuel.Get()) - int64(units)
	i.fuel.Set(uint64(left))
	if left < 0 {
		i.grantSlices()
	}
}

// grantSlices gives the guest slices until it has paid its debts, or ends the call.
func (i *instance) grantSlices() {
	left := int64(i.fuel.Get())
	for left < 0 {
		more := min(slice, i.call.budget-i.granted)
		if more <= 0 {
			panic(&abort{kind: ErrBudget, detail: i.budgetText()})
		}
		i.granted += more
		left += more
	}
	i.fuel.Set(uint64(left))
	i.mayGoOn()
}

// mayGoOn ends the call where its time is over, and lets others have a turn that wait for one.
func (i *instance) mayGoOn() {
	if i.ctx.Err() != nil {
		panic(&abort{kind: ErrCancelled, cause: context.Cause(i.ctx)})
	}
	if i.ran+time.Since(i.since) > i.owner.options.Deadline {
		panic(&abort{kind: ErrDeadline,
			detail: fmt.Sprintf("ran longer than %v: look for an endless loop, or raise limits.deadline",
				i.owner.options.Deadline)})
	}
	// else an endless loop would hold up all other plugins until its deadline
	if i.owner.options.Gate.hasWaiting() || i.owner.turns.hasWaiting() {
		i.checkPresent()
		i.pause()
		if err := i.resume(); err != nil {
			panic(err)
		}
	}
}

func (i *instance) budgetText() string {
	return fmt.Sprintf("all %d units used up: look for an endless loop, or raise limits.fuel", i.call.budget)
}

// message has the guest make room for a message, and writes it there.
func (i *instance) message(size int, write func([]byte)) error {
	i.stack[0] = uint64(size)
	if err := i.alloc.CallWithStack(i, i.stack[:]); err != nil {
		return err
	}
	buffer, ok := i.memoryView(uint32(i.stack[0]), size)
	if !ok {
		return &abort{kind: ErrMalformed,
			detail: fmt.Sprintf("%s(%d) returned %d, which is not inside its memory of %d bytes",
				exportAlloc, size, uint32(i.stack[0]), i.memorySize())}
	}
	if size > 0 {
		write(buffer)
	}
	return nil
}

// readAnswer returns what the call that just ended has answered: a view on the guest's memory.
func (i *instance) readAnswer() ([]byte, error) {
	at, length := uint32(i.stack[0]>>32), int(uint32(i.stack[0]))
	b, ok := i.memoryView(at, length)
	if length > i.owner.options.MaxMessage {
		what := ""
		if explain := i.owner.options.TooLarge; ok && explain != nil && i.call.export == exportSync {
			what = explain(b)
		}
		return nil, &abort{kind: ErrMalformed, detail: fmt.Sprintf("answer of %d bytes, the limit is %d%s: answer with "+
			"fewer or smaller effects, or perform some in the middle of the sync", length, i.owner.options.MaxMessage, what)}
	}
	if !ok {
		return nil, &abort{kind: ErrMalformed,
			detail: fmt.Sprintf("answer of %d bytes at %d is not inside its memory of %d bytes", length, at, i.memorySize())}
	}
	return b, nil
}

// memorySize returns how much memory the guest has asked for, in bytes.
func (i *instance) memorySize() int { return int(uint32(i.pages.Get())) * pageSize }

// memoryView returns a part of the guest's memory, false where the guest has not asked for that much.
func (i *instance) memoryView(at uint32, length int) ([]byte, bool) {
	end := uint64(at) + uint64(length)
	if end > uint64(i.memorySize()) {
		return nil, false
	}
	return i.memory.bytes[at:end:end], true
}
