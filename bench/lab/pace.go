package lab

import (
	"fmt"
	"time"
)

// pace guesses how much time is left, from how long the runs so far have taken beside what they were expected to.
type pace struct {
	expected, done, took time.Duration
}

// expectedTime returns about how long a run of a batch takes in the short form on two cores: what it takes beside its
// scenarios, and a scenario of the common length. It only has to be right in proportion.
func expectedTime(b batch) time.Duration {
	return time.Duration(5+10*len(b.scenarios)) * time.Second
}

func newPace(groups []batch, o Options) *pace {
	p := &pace{}
	for _, g := range groups {
		p.expected += time.Duration(o.Pairs*len(o.Kinds)) * expectedTime(g)
	}
	return p
}

// addRuns notes that a batch has more runs than it was to have.
func (p *pace) addRuns(b batch, runs int) {
	p.expected += time.Duration(runs) * expectedTime(b)
}

// finishRun notes that a run of a batch is over.
func (p *pace) finishRun(b batch, took time.Duration) {
	p.done += expectedTime(b)
	p.took += took
}

// timeLeft returns what a line of progress says of it; nothing before the first run is over.
func (p *pace) timeLeft() string {
	if p.done == 0 {
		return ""
	}
	left := time.Duration(float64(p.expected-p.done) * float64(p.took) / float64(p.done))
	if left < time.Minute {
		return ", less than a minute left"
	}
	return fmt.Sprintf(", about %.0f min left", left.Minutes())
}
