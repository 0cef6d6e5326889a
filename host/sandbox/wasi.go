package sandbox

import (
	"encoding/binary"
	"fmt"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// wasiModule is what std Go guests import. There is nothing behind it: the clock stands still, random numbers are
// constant, there are no files, arguments or variables; what is written to stdout and stderr is logged.
const wasiModule = "wasi_snapshot_preview1"

// Errors of WASI.
const (
	wasiOK           = 0
	wasiBadFile      = 8
	wasiInvalid      = 28
	wasiNotSupported = 58
)

// The frozen clocks, in nanoseconds. Not zero, which Go's runtime refuses.
const (
	wasiRealtime  = 946_684_800_000_000_000 // 2000-01-01
	wasiMonotonic = 1
)

// Levels that stdout and stderr are logged at.
const (
	levelInfo  = 0
	levelError = 2
)

var wasiFunctions = map[string]hostFunction{
	"args_get":          wasiFunction(i32+i32, wasiNothing),
	"args_sizes_get":    wasiFunction(i32+i32, wasiNone),
	"environ_get":       wasiFunction(i32+i32, wasiNothing),
	"environ_sizes_get": wasiFunction(i32+i32, wasiNone),
	"clock_time_get":    wasiFunction(i32+i64+i32, wasiClock),
	"random_get":        wasiFunction(i32+i32, wasiRandom),
	"sched_yield":       wasiFunction("", wasiNothing),
	"poll_oneoff":       wasiFunction(i32+i32+i32+i32, wasiPoll),
	"fd_write":          wasiFunction(i32+i32+i32+i32, wasiWrite),
	"fd_fdstat_get":     wasiFunction(i32+i32, wasiFileStatus),
	"proc_exit": {rewrite.Signature{Params: i32}, func(_ *instance, stack []uint64) {
		panic(&abort{kind: ErrTrap, detail: fmt.Sprintf("exited with code %d", uint32(stack[0]))})
	}},

	"fd_close":                wasiFunction(i32, alwaysFails(wasiBadFile)),
	"fd_fdstat_set_flags":     wasiFunction(i32+i32, alwaysFails(wasiBadFile)),
	"fd_fdstat_set_rights":    wasiFunction(i32+i64+i64, alwaysFails(wasiBadFile)),
	"fd_filestat_get":         wasiFunction(i32+i32, alwaysFails(wasiBadFile)),
	"fd_filestat_set_size":    wasiFunction(i32+i64, alwaysFails(wasiBadFile)),
	"fd_pread":                wasiFunction(i32+i32+i32+i64+i32, alwaysFails(wasiBadFile)),
	"fd_prestat_dir_name":     wasiFunction(i32+i32+i32, alwaysFails(wasiBadFile)),
	"fd_prestat_get":          wasiFunction(i32+i32, alwaysFails(wasiBadFile)),
	"fd_pwrite":               wasiFunction(i32+i32+i32+i64+i32, alwaysFails(wasiBadFile)),
	"fd_read":                 wasiFunction(i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"fd_readdir":              wasiFunction(i32+i32+i32+i64+i32, alwaysFails(wasiBadFile)),
	"fd_seek":                 wasiFunction(i32+i64+i32+i32, alwaysFails(wasiBadFile)),
	"fd_sync":                 wasiFunction(i32, alwaysFails(wasiBadFile)),
	"path_create_directory":   wasiFunction(i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_filestat_get":       wasiFunction(i32+i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_filestat_set_times": wasiFunction(i32+i32+i32+i32+i64+i64+i32, alwaysFails(wasiBadFile)),
	"path_link":               wasiFunction(i32+i32+i32+i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_open":               wasiFunction(i32+i32+i32+i32+i32+i64+i64+i32+i32, alwaysFails(wasiBadFile)),
	"path_readlink":           wasiFunction(i32+i32+i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_remove_directory":   wasiFunction(i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_rename":             wasiFunction(i32+i32+i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_symlink":            wasiFunction(i32+i32+i32+i32+i32, alwaysFails(wasiBadFile)),
	"path_unlink_file":        wasiFunction(i32+i32+i32, alwaysFails(wasiBadFile)),
}

func wasiFunction(params string, f func(i *instance, stack []uint64) uint64) hostFunction {
	return hostFunction{rewrite.Signature{Params: params, Results: i32}, func(i *instance, stack []uint64) {
		i.charge(fee)
		result := f(i, stack)
		stack[0] = result
	}}
}

func alwaysFails(code uint64) func(*instance, []uint64) uint64 {
	return func(*instance, []uint64) uint64 { return code }
}

func wasiNothing(*instance, []uint64) uint64 { return wasiOK }

// wasiNone says that there are no arguments or variables.
func wasiNone(i *instance, stack []uint64) uint64 {
	binary.LittleEndian.PutUint32(i.argument("wasi sizes", stack[0], 4), 0)
	binary.LittleEndian.PutUint32(i.argument("wasi sizes", stack[1], 4), 0)
	return wasiOK
}

func wasiClock(i *instance, stack []uint64) uint64 {
	now := uint64(wasiMonotonic)
	if uint32(stack[0]) == 0 {
		now = wasiRealtime
	}
	binary.LittleEndian.PutUint64(i.argument("wasi clock", stack[2], 8), now)
	return wasiOK
}

// wasiRandom returns the same bytes each time.
func wasiRandom(i *instance, stack []uint64) uint64 {
	b := i.argument("wasi random", stack[0], stack[1])
	i.charge(len(b))
	state := uint32(2463534242) // xorshift
	for n := range b {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b[n] = byte(state)
	}
	return wasiOK
}

// napsMost is how often a call may wait for a moment, which ends at once. Go's runtime does, a few dozen times, before
// it prints what a panic says.
const (
	napsMost = 100
	napMost  = 1_000_000 // nanoseconds
)

// wasiPoll ends short waits for a time at once. It refuses all others: nothing ever happens and no time passes, so who
// waits would wait for ever.
func wasiPoll(i *instance, stack []uint64) uint64 {
	if uint32(stack[2]) != 1 {
		return wasiNotSupported
	}
	s := i.argument("wasi poll", stack[0], 48)
	kind, timeout, flags := s[8], binary.LittleEndian.Uint64(s[24:]), binary.LittleEndian.Uint16(s[40:])
	if i.naps++; kind != 0 || flags != 0 || timeout > napMost || i.naps > napsMost {
		return wasiNotSupported
	}
	event := i.argument("wasi poll", stack[1], 32)
	clear(event)
	copy(event[:8], s[:8])
	binary.LittleEndian.PutUint32(i.argument("wasi poll", stack[3], 4), 1)
	return wasiOK
}

func wasiWrite(i *instance, stack []uint64) uint64 {
	level, ok := map[uint32]int32{1: levelInfo, 2: levelError}[uint32(stack[0])]
	if !ok {
		return wasiBadFile
	}

	count := stack[2] & (1<<32 - 1)
	if count > 1024 {
		return wasiInvalid
	}

	vectors := i.argument("wasi write", stack[1], 8*count)
	var text []byte
	var written uint32
	for ; len(vectors) > 0; vectors = vectors[8:] {
		part := i.argument("wasi write", uint64(binary.LittleEndian.Uint32(vectors)),
			uint64(binary.LittleEndian.Uint32(vectors[4:])))
		written += uint32(len(part))
		text = append(text, part[:min(len(part), maxLogMessage-len(text))]...)
	}

	dropped := int(written) - len(text)
	if level == levelError && i.noteStderr(text) {
		i.charge(len(text)) // the error will tell it; Go writes it in many small pieces
	} else {
		i.logMessage(level, text)
	}

	i.dropLog(dropped)
	binary.LittleEndian.PutUint32(i.argument("wasi write", stack[3], 4), written)
	return wasiOK
}

// wasiFileStatus describes stdin, stdout and stderr as terminals, and nothing else.
func wasiFileStatus(i *instance, stack []uint64) uint64 {
	if uint32(stack[0]) > 2 {
		return wasiBadFile
	}
	b := i.argument("wasi status", stack[1], 24)
	clear(b)
	b[0] = 2 // a character device
	return wasiOK
}
