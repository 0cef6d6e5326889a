package will

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/windlass-dev/windlass/host/process/guardian"
)

// page is the shared memory.
type page struct {
	length atomic.Uint32 // of the text; 0: nothing is left to be done
	blind  atomic.Uint32 // not 0: the socket doesn't have all connections
	writes atomic.Int64  // that were begun and aren't answered
	doubt  atomic.Int64  // until then writes may be done that aren't counted any more: by the clock of now
	text   [64<<10 - 24]byte
}

const pageSize = int(unsafe.Sizeof(page{}))

// connectionsMax is how many descriptors the kernel takes in one message.
const connectionsMax = 253

// New makes the files that a manager and its guardian share.
func New() (f guardian.Files, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("what a manager shares with its guardian: %w", err)
		}
	}()
	if f[0], err = unix.MemfdCreate("windlass-will", unix.MFD_CLOEXEC); err != nil {
		return f, err
	}
	if err = unix.Ftruncate(f[0], int64(pageSize)); err == nil {
		var ends [2]int
		ends, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		f[1], f[2] = ends[0], ends[1]
	}
	if err != nil {
		unix.Close(f[0])
	}
	return f, err
}

// Close closes files that nobody needs.
func Close(f guardian.Files) {
	for _, fd := range f {
		unix.Close(fd)
	}
}

// Will is the manager's side. A nil one is that of a process without a guardian: its methods do nothing.
type Will struct {
	page    *page
	in, out int // the ends of the socket

	mu          sync.Mutex
	connections map[int]struct{} // descriptors of our own
	unseen      int              // connections that have none
	kept        bool             // the socket has a message
}

// Open begins a will.
func Open(f guardian.Files) (*Will, error) {
	p, err := mapPage(f[0], unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	return &Will{page: p, in: f[1], out: f[2], connections: map[int]struct{}{}}, nil
}

func mapPage(fd, access int) (*page, error) {
	memory, err := unix.Mmap(fd, 0, pageSize, access, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("memory shared with the guardian: %w", os.NewSyscallError("mmap", err))
	}
	return (*page)(unsafe.Pointer(unsafe.SliceData(memory))), nil
}

// monotonicNow reads a clock that is the same for all processes: the slowest one, by which time that is over is over by
// every other.
func monotonicNow() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Leave says what is to be done from now on.
func (w *Will) Leave(t Testament) error {
	if w == nil {
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if len(text) > len(w.page.text) {
		return fmt.Errorf("%d Leases are more than a guardian can keep track of", len(t.Leases))
	}
	copy(w.page.text[:], text)
	w.page.length.Store(uint32(len(text)))
	return nil
}

// Settled says that nothing is left to be done.
func (w *Will) Settled() {
	if w != nil {
		w.page.length.Store(0)
	}
}

// Begin counts a write that is about to be sent.
func (w *Will) Begin() {
	if w != nil {
		w.page.writes.Add(1)
	}
}

// End ends what Begin began: the write was answered, or, if lost isn't 0, it may be done for so long though there will
// be no answer.
func (w *Will) End(lost time.Duration) {
	if w == nil {
		return
	}
	if lost > 0 {
		w.extendDoubt(lost)
	}
	w.page.writes.Add(-1)
}

func (w *Will) extendDoubt(most time.Duration) {
	for until := int64(monotonicNow() + most); ; {
		before := w.page.doubt.Load()
		if before >= until || w.page.doubt.CompareAndSwap(before, until) {
			return
		}
	}
}

// Keep keeps a connection, before anything is sent on it, until gone is called. Closing it doesn't end it, for it is
// open here, too: it has to be shut down before. lost is 0, or how long writes that were under way on it may still
// take.
func (w *Will) Keep(c net.Conn) (gone func(lost time.Duration)) {
	if w == nil {
		return func(time.Duration) {}
	}
	fd := duplicate(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	if fd < 0 {
		w.unseen++
	} else {
		w.connections[fd] = struct{}{}
	}

	w.putConnections()
	once := false
	return func(lost time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if once {
			return
		}
		once = true
		if lost > 0 {
			w.extendDoubt(lost)
		}
		if fd < 0 {
			w.unseen--
		} else {
			delete(w.connections, fd)
		}
		w.putConnections()
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// duplicate returns another descriptor of a connection, negative if there is none.
func duplicate(c net.Conn) int {
	s, ok := c.(syscall.Conn)
	if !ok {
		return -1
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return -1
	}
	fd := -1
	if err := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1
	}
	return fd
}

// putConnections puts all connections into the socket and takes those out that it had: at each moment it has all. The
// caller holds the lock.
func (w *Will) putConnections() {
	all := slices.Collect(maps.Keys(w.connections))
	blind := w.unseen > 0 || len(all) > connectionsMax
	if !blind {
		var rights []byte
		if len(all) > 0 {
			rights = unix.UnixRights(all...)
		}
		blind = unix.Sendmsg(w.in, []byte{0}, rights, nil, unix.MSG_DONTWAIT) != nil
	}
	if blind {
		w.page.blind.Store(1)
		return
	}
	if w.kept {
		// What a message holds is closed when it is taken without.
		var b [1]byte
		_, _, _ = unix.Recvfrom(w.out, b[:], unix.MSG_DONTWAIT)
	}
	w.kept = true
	w.page.blind.Store(0)
}

// Estate is what the heir finds.
type Estate struct {
	Testament
	page        *page
	connections []int
	known       bool // the socket had a message
}

// Read reads what a manager has left that has ended. It takes the connections: there is one heir.
func Read(f guardian.Files) (*Estate, error) {
	p, err := mapPage(f[0], unix.PROT_READ)
	if err != nil {
		return nil, err
	}

	e := &Estate{page: p}
	length := int(p.length.Load())
	if length > len(p.text) {
		return nil, fmt.Errorf("memory shared with the manager: a text of %d bytes", length)
	}
	if err := json.Unmarshal(p.text[:length], &e.Testament); err != nil {
		return nil, fmt.Errorf("memory shared with the manager: %w", err)
	}

	buffer := make([]byte, unix.CmsgSpace(4*connectionsMax))
	for {
		var b [1]byte
		_, n, _, _, err := unix.Recvmsg(f[2], b[:], buffer, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return e, nil
		case err != nil:
			return nil, fmt.Errorf("socket shared with the manager: %w", os.NewSyscallError("recvmsg", err))
		}
		for _, fd := range e.connections { // of a message before, which the manager hasn't come to take
			unix.Close(fd)
		}
		if e.connections, err = parseRights(buffer[:n]); err != nil {
			return nil, fmt.Errorf("socket shared with the manager: %w", err)
		}
		e.known = true
	}
}

func parseRights(control []byte) (all []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		all = append(all, fds...)
	}
	return all, nil
}

// Over waits until no write of the manager's can be under way; it gives how many there were. Its error says why that
// isn't known, until the end at the latest.
func (e *Estate) Over(end time.Time) (writes int64, err error) {
	writes = e.page.writes.Load()
	if left := time.Duration(e.page.doubt.Load()) - monotonicNow(); left > 0 {
		return writes, fmt.Errorf("responses to writes were lost, and the API server may still carry them out for %v",
			left.Round(time.Millisecond))
	}
	if writes == 0 {
		return 0, nil
	}
	if !e.known || e.page.blind.Load() != 0 {
		return writes, errors.New("not all connections on which writes were sent are known")
	}
	var all errgroup.Group
	for _, fd := range e.connections {
		all.Go(func() error { return finishConnection(fd, end) })
	}
	if err := all.Wait(); err != nil {
		return writes, fmt.Errorf("writes were in flight on connections that didn't close cleanly: %w", err)
	}
	time.Sleep(e.Late)
	return writes, nil
}

// finishConnection ends a connection, and waits until the server has done so, too.
func finishConnection(fd int, end time.Time) error {
	f := os.NewFile(uintptr(fd), "connection")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return err
	}
	defer c.Close()
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("a connection of type %T", c)
	}
	if err := tcp.CloseWrite(); err != nil {
		return err
	}
	if err := tcp.SetReadDeadline(end); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, tcp)
	return err
}
