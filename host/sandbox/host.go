package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/host/budget"
)

// What a call may ask of the host, at most.
const (
	maxPerforms     = 10_000
	maxPerformBytes = 1 << 30
)

// What the guest pays for a call of the host, beside its bytes.
const (
	fee        = 100
	performFee = 10_000
	perByte    = 8 // bytes for a unit
)

// argument is a part of guest memory that the guest names.
func (i *instance) argument(function string, at, length uint64) []byte {
	b, ok := i.memoryView(uint32(at), int(uint32(length)))
	if !ok {
		panic(&abort{kind: ErrTrap, detail: fmt.Sprintf("%s: %d bytes at %d are not inside the guest's memory of %d bytes",
			function, uint32(length), uint32(at), i.memorySize())})
	}
	return b
}

// hostLog hands a message to the log; what is over the limits is dropped.
func hostLog(i *instance, stack []uint64) {
	i.logMessage(int32(stack[0]), i.argument("windlass.log", stack[1], stack[2]))
}

// hostPerform has the caller of the sync perform what the guest asks, and keeps the outcome.
func hostPerform(i *instance, stack []uint64) {
	request := i.argument("windlass.perform", stack[0], stack[1])
	if i.call.perform == nil {
		panic(&abort{kind: ErrTrap, detail: "windlass.perform is allowed only inside " + exportSync})
	}
	i.performs++
	i.checkPerforms(len(request), "request")
	i.charge(performFee + len(request)/perByte)
	i.checkPresent()
	i.pause()
	from := time.Now()
	outcome, err := i.perform(request)
	i.performing += time.Since(from)
	if err != nil {
		kind := ErrPerform
		if i.ctx.Err() != nil {
			kind = ErrCancelled
		}
		panic(&abort{kind: kind, cause: err})
	}
	if err := i.resume(); err != nil {
		panic(err)
	}
	i.checkPerforms(len(outcome), "outcome")
	i.keepOutcome(outcome, stack)
}

// perform calls the caller's Perform, which must end when its context does.
func (i *instance) perform(request []byte) ([]byte, error) {
	most := i.owner.options.PerformDeadline
	late := fmt.Errorf("performs of one sync took longer than %v", most)
	ctx, cancel := context.WithTimeoutCause(i.ctx, most-i.performing, late)
	defer cancel()
	outcome, err := i.call.perform(ctx, request)
	if err != nil && i.ctx.Err() == nil && ctx.Err() != nil {
		err = late
	}
	return outcome, err
}

func (i *instance) checkPerforms(size int, what string) {
	i.performBytes += size
	switch {
	case size > i.owner.options.MaxMessage:
		panic(&abort{kind: ErrPerform,
			detail: fmt.Sprintf("%s of %d bytes, the limit is %d", what, size, i.owner.options.MaxMessage)})
	case i.performs > maxPerforms:
		panic(&abort{kind: ErrPerform, detail: fmt.Sprintf("more than %d performs in one sync", maxPerforms)})
	case i.performBytes > maxPerformBytes:
		panic(&abort{kind: ErrPerform, detail: fmt.Sprintf("requests and outcomes of more than %s in one sync",
			sizeText(maxPerformBytes))})
	}
}

// keepOutcome holds what outcome will fetch, and tells the guest how long it is.
func (i *instance) keepOutcome(outcome []byte, stack []uint64) {
	i.dropOutcome()
	if err := i.owner.options.Memory.Take(budget.Results, int64(len(outcome))); err != nil {
		panic(&abort{kind: ErrMemory, cause: err})
	}
	i.outcome, i.hasOutcome = outcome, true
	stack[0] = uint64(uint32(len(outcome)))
}

// dropOutcome lets go of what nobody has fetched.
func (i *instance) dropOutcome() {
	i.owner.options.Memory.Add(budget.Results, -int64(len(i.outcome)))
	i.outcome, i.hasOutcome = nil, false
}

// hostOutcome copies what the last perform or helper gave to where the guest made room for it.
func hostOutcome(i *instance, stack []uint64) {
	if !i.hasOutcome {
		panic(&abort{kind: ErrTrap, detail: "windlass.outcome without a perform or helper before it"})
	}
	room := i.argument("windlass.outcome", stack[0], uint64(len(i.outcome)))
	i.charge(fee + len(room)/perByte)
	copy(room, i.outcome)
	i.dropOutcome()
}

// helpedMost is how long helpers may work for a guest until it is looked at the time, and who else waits.
const helpedMost = 2 * time.Millisecond

// hostHelper runs a pure function of the host; its result is fetched as an outcome.
func hostHelper(i *instance, name string, helper Helper, stack []uint64) {
	argument := i.argument(hostModule+"."+name, stack[0], stack[1])
	i.charge(performFee + len(argument))
	begun := time.Now()
	result := helper(argument)
	i.helped += time.Since(begun)
	if len(result) > i.owner.options.MaxMessage {
		panic(&abort{kind: ErrTrap, detail: fmt.Sprintf("windlass.%s returned %d bytes, the limit is %d",
			name, len(result), i.owner.options.MaxMessage)})
	}
	i.charge(len(result))
	i.keepOutcome(result, stack)

	// What a helper takes isn't told by its fuel: some milliseconds are as much as a slice of the guest's own.
	if i.helped > helpedMost {
		i.helped = 0
		i.mayGoOn()
	}
}

// hostGrow is memory.grow: the memory is there already, what grows is what the guest may count on.
func hostGrow(i *instance, stack []uint64) {
	have, more := uint32(i.pages.Get()), uint32(stack[0])
	if err := i.growMemory(have, more); err != nil {
		i.refused = err
		stack[0] = 1<<32 - 1
		return
	}
	i.charge(fee + int(more)*(pageSize/perByte))
	i.pages.Set(uint64(have + more))
	stack[0] = uint64(have)
}

// growMemory reports whether there may be so many pages more.
func (i *instance) growMemory(have, more uint32) error {
	if limit := i.owner.limit; uint64(have)+uint64(more) > uint64(limit) {
		return errLimit
	}
	return i.chargeMemory(int(have+more) * pageSize)
}
