package sandbox

import (
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/windlass-dev/windlass/host/budget"
)

// presentFrom is how finely it is told whether memory holds something: the system may give a whole large page for a
// single byte.
const presentFrom = 2 << 20

// chargeMemory has the plugin's budget take what an instance of so many bytes holds, of which some may be left from
// calls before. Of a module that isn't built in it takes all that checkPresent can't tell from use.
func (i *instance) chargeMemory(size int) error {
	i.touched = max(i.touched, size)
	held := i.nativeStack() + int64(i.touched)
	if i.owner.options.Untrusted {
		held = i.nativeStack() + int64(i.presentStart())
	}
	if err := i.owner.options.Memory.Take(budget.Instances, held-i.charged); err != nil {
		return err
	}
	i.charged = held
	return nil
}

// stackOf returns the native stack that wazero keeps for a function's calls, invalid where it has none. It grows with
// the deepest of them, up to 100 MB, and no method tells of it.
func stackOf(f api.Function) reflect.Value {
	engine := reflect.Indirect(reflect.ValueOf(f))
	if engine.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return engine.FieldByName("stack")
}

// nativeStack returns how many bytes of native stack there are for the instance's syncs.
func (i *instance) nativeStack() (bytes int64) {
	for _, s := range i.stacks {
		if s.IsValid() {
			bytes += int64(s.Len()) * int64(s.Type().Elem().Size())
		}
	}
	return bytes
}

// giveBack gives the budget all that the instance holds.
func (i *instance) giveBack() {
	i.owner.options.Memory.Add(budget.Instances, -i.charged)
	i.charged = 0
}

// presentStart is where nothing should be that the guest hasn't asked for.
func (i *instance) presentStart() int {
	return min(i.memory.alignUp(i.touched, presentFrom), len(i.memory.bytes))
}

// checkPresent charges what the guest's native stack has grown by, and ends the call of a guest that has used more than
// the memory that it has asked for, which would be held without being charged: all memory is mapped from the start. It
// is looked before a guest waits; while it runs, the gate bounds how many do.
func (i *instance) checkPresent() {
	if err := i.chargeMemory(i.memorySize()); err != nil {
		panic(&abort{kind: ErrMemory, cause: err})
	}
	if i.owner.options.Untrusted && i.owner.options.Memory != nil && present(i.memory.bytes[i.presentStart():]) {
		panic(&abort{kind: ErrTrap, detail: fmt.Sprintf("it used more memory than the %s that it has asked for",
			sizeText(int64(i.memorySize())))})
	}
}
