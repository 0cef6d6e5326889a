package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
)

// startVariable has the test binary be a process that starts: with what it takes its memory.
const startVariable = "TEST_START"

func TestMain(m *testing.M) {
	if how := os.Getenv(startVariable); how != "" {
		starts(how)
		return
	}
	os.Exit(m.Run())
}

// starts fills as much of a heap as a start does, in pieces, and says how many page faults that took.
func starts(how string) {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	debug.SetGCPercent(1000) // as at a start, nothing is collected meanwhile
	if how == "ahead" {
		takeAhead()
	}

	var pieces [][]byte
	for size := 0; size < ahead*3/4; size += 1 << 10 {
		piece := make([]byte, 1<<10)
		piece[0] = 1 // a page that nobody has touched isn't there yet
		pieces = append(pieces, piece)
	}

	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	worked := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	fmt.Println(len(pieces), after.Minflt-before.Minflt, worked/1000)
}

// BenchmarkStart is what it takes a process to fill a heap, with its memory taken at once and page by page.
func BenchmarkStart(b *testing.B) {
	for _, how := range []string{"ahead", "by page"} {
		b.Run(how, func(b *testing.B) {
			var faults, worked int
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), startVariable+"="+how)
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				var pieces, f, µs int
				if _, err := fmt.Sscan(string(out), &pieces, &f, &µs); err != nil {
					b.Fatal(err)
				}
				faults, worked = faults+f, worked+µs
			}
			b.ReportMetric(float64(faults)/float64(b.N), "faults/op")
			b.ReportMetric(float64(worked)/float64(b.N), "µs-cpu/op")
		})
	}
}
