package subject

import (
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestParseStatus(t *testing.T) {
	m, err := parseStatus([]byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t     512 kB\n"))
	if want := (Memory{RSS: 1 << 20, Anon: 512 << 10, Peak: 2 << 20}); err != nil || m != want {
		t.Errorf("got %+v, %v; want %+v", m, err, want)
	}
	for _, bad := range []string{"", "VmHWM:\t2048 kB\nVmRSS:\tmuch\nRssAnon:\t512 kB\n", "State:\tZ (zombie)\n"} {
		if m, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("%q: %+v without an error", bad, m)
		}
	}
}

func TestParseCounts(t *testing.T) {
	c, err := parseCounts([]byte(`# TYPE go_memstats_heap_alloc_bytes gauge
go_memstats_heap_alloc_bytes 1.5e+07
# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_bucket{name="a",le="+Inf"} 3
workqueue_work_duration_seconds_sum{name="a"} 0.5
workqueue_work_duration_seconds_count{name="a"} 3
workqueue_work_duration_seconds_bucket{name="b",le="+Inf"} 4
workqueue_work_duration_seconds_sum{name="b"} 0.25
workqueue_work_duration_seconds_count{name="b"} 4
`))
	if want := (Counts{Heap: 1.5e7, Syncs: 7, SyncSeconds: 0.75}); err != nil || c != want {
		t.Errorf("got %+v, %v; want %+v", c, err, want)
	}
	if _, err := parseCounts(nil); err == nil {
		t.Error("no metrics without an error")
	}
}

func TestNamed(t *testing.T) {
	got, err := defaultControllers([]byte(`{"manifest":{"controllers":[{"name":"a"},{"name":"b","partOf":"a"},{"name":"c","disabledByDefault":true},{"name":"d"}]}}`))
	if want := []string{"a", "d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A process's figures are the kernel's: they grow with what it does.
func TestProcess(t *testing.T) {
	s := &Subject{PID: os.Getpid()}
	before, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	const ballast = 64 << 20
	b := make([]byte, ballast)
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		for i := 0; i < len(b); i += 4096 {
			b[i]++
		}
	}
	after, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	if took := after - before; took <= 0 || took > time.Minute {
		t.Errorf("the processor time of a busy while is %v", took)
	}
	m, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if m.RSS < ballast || m.Anon < ballast || m.Peak < m.RSS {
		t.Errorf("%+v with a ballast of %d bytes", m, ballast)
	}
	runtime.KeepAlive(b)

	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	s.PID = child.Process.Pid
	if c, err := s.CPU(); err == nil {
		t.Errorf("a process that has ended has used %v", c)
	}
}

// The proxy passes bytes on both ways and counts those that come back.
func TestProxyCounts(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				question := make([]byte, 5)
				if _, err := io.ReadFull(c, question); err == nil {
					_, _ = c.Write(append(question, make([]byte, 1<<20)...))
				}
			}()
		}
	}()

	p, err := startProxy(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil || len(answer) != 5+1<<20 || string(answer[:5]) != "hello" {
			t.Errorf("%d bytes came back: %v", len(answer), err)
		}
		c.Close()
	}

	if got := p.received.Load(); got != 2*(5+1<<20) {
		t.Errorf("counted %d bytes, want %d", got, 2*(5+1<<20))
	}
	p.Close()

	if c, err := net.Dial("tcp", p.Address()); err == nil {
		c.Close()
		t.Error("a closed proxy takes connections")
	}
}
