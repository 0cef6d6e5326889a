package guardian

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"
)

// Which of its roles a process has is in one of these variables of its environment.
const (
	guardianVariable = "WINDLASS_GUARDIAN" // the descriptors of Files
	wardVariable     = "WINDLASS_WARD"     // the guardian's process
	heirVariable     = "WINDLASS_HEIR"     // how the manager has ended, and the descriptors of Files
)

// Files are open files that a manager shares with its guardian. The guardian reads four bytes at the start of the first
// one: while all are zero, the manager leaves nothing to be done.
type Files [3]int

// wardFiles are the descriptors of Files in a manager.
var wardFiles = Files{3, 4, 5}

// behind is the guardian of this process; 0: there is none.
var behind int

// Begin guards and ends the process where it is a guardian, and notes where it is a ward. It is called once, before all
// else: see package begin.
func Begin() {
	if text := os.Getenv(guardianVariable); text != "" {
		os.Exit(runGuardian(text))
	}
	if behind, _ = strconv.Atoi(os.Getenv(wardVariable)); behind != 0 {
		os.Unsetenv(wardVariable) // the children of this process are nobody's wards
		for _, fd := range wardFiles {
			syscall.CloseOnExec(fd)
		}
	}
}

// Enter has this process become the guardian of a manager with the same arguments. It returns only where that can't be.
func Enter(f Files) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return replaceProcess(program, f, guardianVariable, f.joinNumbers())
}

// Ward reports whether this process is a manager with a guardian, whose process it gives.
func Ward() (guardian int, f Files, ok bool) { return behind, wardFiles, behind != 0 }

// Heir reports whether this process is a guardian whose manager has ended, and how.
func Heir() (ended syscall.WaitStatus, f Files, ok bool) {
	all := numbers(os.Getenv(heirVariable))
	if len(all) != 1+len(f) {
		return 0, f, false
	}
	os.Unsetenv(heirVariable)
	copy(f[:], all[1:])
	for _, fd := range f {
		syscall.CloseOnExec(fd)
	}
	return syscall.WaitStatus(all[0]), f, true
}

// Code is the exit code that tells how a process has ended, as shells have it.
func Code(ended syscall.WaitStatus) int {
	if ended.Signaled() {
		return 128 + int(ended.Signal())
	}
	return ended.ExitStatus()
}

// runGuardian is a guardian's life; it returns its exit code.
//
// It runs on the process's main thread, which lives as long as the process: the kernel sends the ward its signal when
// the thread ends that has started it.
func runGuardian(text string) int {
	var f Files
	if copy(f[:], numbers(text)) < len(f) {
		return printError(errors.New(guardianVariable + " is set, but is reserved for windlass itself: unset it"))
	}

	name := [16]byte([]byte("windlass-guard\x00\x00"))
	// for people who look at a list of processes
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
		syscall.SIGUSR2)
	files := []uintptr{0, 1, 2}
	for _, fd := range f {
		syscall.CloseOnExec(fd)
		files = append(files, uintptr(fd))
	}

	program, err := os.Executable()
	if err != nil {
		return printError(err)
	}

	pid, _, err := syscall.StartProcess(program, os.Args, &syscall.ProcAttr{
		Files: files, Env: environment(wardVariable, strconv.Itoa(os.Getpid())),
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		return printError(err)
	}

	ward, err := os.FindProcess(pid)
	if err != nil {
		return printError(err)
	}

	go func() {
		for s := range signals {
			_ = ward.Signal(s) // one that has ended gets none
		}
	}()

	state, err := ward.Wait()
	if err != nil {
		return printError(err)
	}

	ended, _ := state.Sys().(syscall.WaitStatus)
	var left [4]byte
	if n, err := syscall.Pread(f[0], left[:], 0); err == nil && n == len(left) && left != [4]byte{} {
		if err := replaceProcess("/proc/self/exe", f, heirVariable, strconv.Itoa(int(ended))+" "+text); err != nil {
			_ = printError(err)
		}
	}
	return Code(ended)
}

func printError(err error) int {
	_, _ = os.Stderr.WriteString("windlass: the manager's guardian: " + err.Error() + "\n")
	return 1
}

// replaceProcess has this process run a program with its own arguments in another role. It returns only where that
// can't be.
func replaceProcess(program string, f Files, role, value string) error {
	for _, fd := range f {
		if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0); e != 0 {
			return os.NewSyscallError("fcntl", e)
		}
	}
	return &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, os.Args, environment(role, value))}
}

// environment is this process's with another role.
func environment(role, value string) []string {
	var all []string
next:
	for _, e := range os.Environ() {
		for _, name := range []string{guardianVariable, wardVariable, heirVariable} {
			if len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '=' {
				continue next
			}
		}
		all = append(all, e)
	}
	return append(all, role+"="+value)
}

func (f Files) joinNumbers() string {
	text := ""
	for i, fd := range f {
		if i > 0 {
			text += " "
		}
		text += strconv.Itoa(fd)
	}
	return text
}

// numbers reads what is separated by spaces; nil: something isn't a number.
func numbers(text string) (all []int) {
	for start, i := 0, 0; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' {
			continue
		}
		n, err := strconv.Atoi(text[start:i])
		if err != nil {
			return nil
		}
		all, start = append(all, n), i+1
	}
	return all
}
