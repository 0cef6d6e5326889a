// Package runqueue tells tests how long the kernel kept this process waiting for a processor.
package runqueue

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Waited returns how long the one thread of a process that waited longest was ready and waited for a processor.
func Waited(pid int) (longest time.Duration) {
	for _, d := range threadDelays(strconv.Itoa(pid)) {
		longest = max(longest, d)
	}
	return longest
}

// threadDelays returns how long each thread of a process was ready and waited for a processor.
func threadDelays(process string) map[string]time.Duration {
	all := map[string]time.Duration{}
	files, _ := filepath.Glob(filepath.Join("/proc", process, "task", "*", "schedstat"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited int64
		if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
			all[f] = time.Duration(waited)
		}
	}
	return all
}

// Pauses measures the longest time that a goroutine had to wait, less what the kernel let the one thread wait that
// waited longest meanwhile: that is the machine's doing.
type Pauses struct {
	Longest time.Duration
	Beats   int
	last    time.Time
	looked  time.Time
	before  map[string]time.Duration
}

const worthwhile = 50 * time.Millisecond // shorter pauses aren't looked into

// Beat is called by the goroutine at every tick of a timer of a millisecond or so.
func (p *Pauses) Beat() {
	now := time.Now()
	if p.Beats++; p.Beats > 1 {
		pause := now.Sub(p.last)
		if pause > worthwhile {
			pause -= min(pause, p.machine())
		}
		p.Longest = max(p.Longest, pause)
	}
	if now.Sub(p.looked) > worthwhile/2 {
		p.before, p.looked = threadDelays("self"), time.Now()
	}
	p.last = time.Now()
}

// machine is the longest wait of a thread since delays were looked at.
func (p *Pauses) machine() (longest time.Duration) {
	for thread, d := range threadDelays("self") {
		longest = max(longest, d-p.before[thread])
	}
	return longest
}
