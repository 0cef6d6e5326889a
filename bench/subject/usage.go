package subject

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sys/unix"
)

// Memory is what /proc/PID/status says, in bytes.
type Memory struct {
	RSS, Anon, Peak int64 // VmRSS, RssAnon, VmHWM
}

// Counts are sums from /metrics, by metric.
type Counts struct {
	Heap        float64 // bytes of live and not yet collected objects
	Syncs       float64
	SyncSeconds float64
}

// CPU is the processor time that the process has used so far, of user and system, to the nanosecond.
func (s *Subject) CPU() (time.Duration, error) {
	var t unix.Timespec
	// The kernel's number for the processor clock of another process: see clock_getcpuclockid(3).
	if err := unix.ClockGettime(int32(^s.PID<<3|2), &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", s.PID, err)
	}
	return time.Duration(t.Nano()), nil
}

// Received is how many bytes have come from the API server.
func (s *Subject) Received() int64 { return s.proxy.received.Load() }

// ResetPeak lets the peak of memory start from what is used now.
func (s *Subject) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.PID), []byte("5"), 0)
}

// Memory reads what the process uses now.
func (s *Subject) Memory() (Memory, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(b)
}

func parseStatus(b []byte) (m Memory, err error) {
	found := 0
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		to := map[string]*int64{"VmRSS": &m.RSS, "RssAnon": &m.Anon, "VmHWM": &m.Peak}[name]
		if to == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return m, fmt.Errorf("/proc/PID/status: %q: %w", lines.Text(), err)
		}
		*to = kib << 10
		found++
	}
	if found != 3 {
		return m, fmt.Errorf("/proc/PID/status has %d of VmRSS, RssAnon and VmHWM: has the process ended?", found)
	}
	return m, nil
}

// The native manager's certificate is the API server's, and this is loopback.
//
// Nothing is compressed for it: to look must take of a manager as little as can be.
var client = &http.Client{Timeout: 10 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
		DisableCompression: true}}

// Get asks the manager's own server.
func (s *Subject) Get(path string, timeout time.Duration) ([]byte, error) {
	c := *client
	c.Timeout = timeout
	r, err := c.Get("https://" + s.Address + path)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s%s: %s: %s", s.Kind, path, r.Status, b)
	}
	return b, err
}

// Counts reads /metrics.
func (s *Subject) Counts() (Counts, error) {
	b, err := s.Get("/metrics", 10*time.Second)
	if err != nil {
		return Counts{}, err
	}
	return parseCounts(b)
}

func parseCounts(b []byte) (c Counts, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		return c, fmt.Errorf("/metrics: %w", err)
	}
	heap, syncs := families["go_memstats_heap_alloc_bytes"], families["workqueue_work_duration_seconds"]
	if heap == nil {
		return c, fmt.Errorf("/metrics has no go_memstats_heap_alloc_bytes")
	}
	c.Heap = heap.Metric[0].GetGauge().GetValue()
	if syncs != nil { // there is none before the first queue
		for _, m := range syncs.Metric {
			c.Syncs += float64(m.GetHistogram().GetSampleCount())
			c.SyncSeconds += m.GetHistogram().GetSampleSum()
		}
	}
	return c, nil
}
