//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// childCalls are the system calls that compiling a module takes: those of Go's runtime, and of reading the module and
// writing the code. None starts a program, opens a connection or changes another process.
var childCalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_CLOSE, unix.SYS_LSEEK,
	unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FCNTL, unix.SYS_FSYNC, unix.SYS_FTRUNCATE,
	unix.SYS_OPENAT, unix.SYS_GETDENTS64, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT, unix.SYS_UNLINKAT, unix.SYS_READLINKAT,
	unix.SYS_FACCESSAT, unix.SYS_FADVISE64, unix.SYS_PIPE2, unix.SYS_EVENTFD2,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_MEMBARRIER, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_UNAME,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Where the data of a system call has what the filter looks at (seccomp_data, linux/seccomp.h). Both processors have
// the lower half of a word first.
const (
	callNumber = 0
	callArch   = 4
	callFirst  = 16 // argument
)

var childArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// childFilter is the program that decides about each system call of the child: besides those above it may start
// threads, and signal its own. All others fail for want of permission.
func childFilter(pid int) []bpf.Instruction {
	const allow, deny = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: callArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: childArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: callNumber, Size: 4},
	}
	for _, call := range childCalls {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, bpf.RetConstant{Val: allow})
	}
	return append(program,
		// whose flags can't be seen: the C library starts threads with the older call where this one isn't there
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 3},
		bpf.LoadAbsolute{Off: callFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_THREAD, SkipTrue: 5},
		bpf.RetConstant{Val: allow},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_TGKILL, SkipTrue: 3},
		bpf.LoadAbsolute{Off: callFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(pid), SkipTrue: 1},
		bpf.RetConstant{Val: allow},
		bpf.RetConstant{Val: deny},
	)
}

// confineChild takes from this process, all its threads and for good, the system calls that it doesn't need. A kernel
// that is built without such filters leaves it what it has.
func confineChild() error {
	raw, err := bpf.Assemble(childFilter(os.Getpid()))
	if err != nil {
		return fmt.Errorf("the filter of system calls: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, x := range raw {
		filter[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}

	// Both are about one thread, from which the flag below carries them over to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	other, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errors.Is(failed, unix.ENOSYS), errors.Is(failed, unix.EINVAL):
		return nil
	case failed != 0:
		return fmt.Errorf("filtering system calls: %w", failed)
	case other != 0:
		return fmt.Errorf("filtering system calls: thread %d has a filter of its own", other)
	}
	return nil
}
