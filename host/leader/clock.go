package leader

import "time"

// reading is what the clocks show.
type reading struct {
	awake time.Duration // runs on while the process is stopped, not while the machine is suspended
	boot  time.Duration // runs on while the machine is suspended, too
	wall  time.Duration // may be set
}

var start = time.Now()

// readClocks reads the system's clocks.
func readClocks() reading {
	now := time.Now()
	return reading{awake: now.Sub(start), boot: sinceBoot(), wall: time.Duration(now.UnixNano())}
}

// clocksWith reads the system's clocks with another wall clock in place of its own, if there is one.
func clocksWith(wall func() time.Time) func() reading {
	if wall == nil {
		return readClocks
	}
	return func() reading {
		r := readClocks()
		r.wall = time.Duration(wall().UnixNano())
		return r
	}
}

// elapsedSince returns the time since an earlier reading by the clock that shows most; false if the wall clock was put
// back.
func (r reading) elapsedSince(earlier reading) (time.Duration, bool) {
	wall := r.wall - earlier.wall
	return max(r.awake-earlier.awake, r.boot-earlier.boot, wall), wall >= 0
}
