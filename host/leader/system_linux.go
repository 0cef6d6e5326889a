package leader

import (
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sinceBoot reads the clock that runs on while the machine is suspended.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// dropLate has the kernel give a connection up once what was written to it isn't acknowledged for so long, and what it
// holds of it.
func dropLate(c net.Conn, after time.Duration) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
}

// disconnect ends a connection and has the kernel drop what it holds of it, whoever has it open besides this process:
// see connect(2) of AF_UNSPEC.
func disconnect(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	nowhere := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_ = raw.Control(func(fd uintptr) {
		_, _, _ = unix.Syscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere))
	})
}
