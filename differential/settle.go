package differential

import (
	"errors"
	"fmt"
	"time"
)

// pauses are how long the clock goes on when there is nothing to do, one after the other while nothing is written.
var pauses = []time.Duration{
	10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, 20 * time.Second, 20 * time.Second,
	20 * time.Second, 50 * time.Second,
}

// timersMost is how long a step waits for keys that are to be synced at a time; what a set says of its pods is
// comparable once the last has come.
const timersMost = time.Hour

// roundsMost bounds what happens in a step.
const roundsMost = 400

// settle goes on until there is nothing to do and the clock has nothing to bring.
func (s *side) settle() error {
	s.writes, s.before = nil, s.measured()
	begun := time.Now()
	most := roundsMost
	if !s.until.IsZero() {
		most *= 3 // something may be due each minute
	}
	for rounds, pause := 0, 0; rounds < most; rounds++ {
		if s.isOver() {
			return nil
		}
		did, wrote, err := s.once()
		if err != nil {
			return err
		}
		if wrote {
			pause, s.wrote = 0, time.Now()
		}

		switch {
		case did:
		case pause == len(pauses):
			at, ok := s.next()
			if !ok || at.After(s.end(begun)) {
				return nil
			}
			time.Sleep(time.Until(at))
		default:
			time.Sleep(s.pause(pauses[pause]))
			pause++
		}
	}
	if !s.until.IsZero() {
		return errRestless
	}
	return nil
}

// once shows the controller some of what there is to be shown and has it do one thing. It did nothing where there was
// nothing to be shown or done.
func (s *side) once() (did, wrote bool, err error) {
	if err := s.take(); err != nil {
		return false, false, err
	}
	if err := s.deliver(s.some(), false); err != nil {
		return false, false, err
	}
	if did, err = s.work(); err != nil {
		return false, false, fmt.Errorf("%s: %w", s.name, err)
	}
	wrote = s.written()

	switch {
	case did:
		s.syncs++
	case len(s.backlog) > 0:
		return true, wrote, s.deliver(1, false)
	}
	return did, wrote, nil
}

// workFor has sides work for so long, side by side: each does what there is to do, and then the clock goes on by a tick.
func workFor(d time.Duration, sides []*side) error {
	const tick = 250 * time.Millisecond
	for _, s := range sides {
		s.writes, s.before = nil, s.measured()
	}
	for end := time.Now().Add(d); ; time.Sleep(min(tick, time.Until(end))) {
		for _, s := range sides {
			for did, rounds := true, 0; did && rounds < roundsMost; rounds++ {
				var err error
				if did, _, err = s.once(); err != nil {
					return err
				}
			}
		}
		if !time.Now().Before(end) {
			return nil
		}
	}
}

// pause is how long the clock goes on at most: where a step is over at a given time, no longer than until then or until
// a key is due.
func (s *side) pause(most time.Duration) time.Duration {
	if s.until.IsZero() {
		return most
	}
	if at, ok := s.next(); ok && at.After(time.Now()) {
		most = min(most, time.Until(at))
	}
	return min(most, time.Until(s.over()))
}

// isOver reports whether it is time for what comes after a step, whatever is left to be done.
func (s *side) isOver() bool { return !s.until.IsZero() && !time.Now().Before(s.over()) }

// over is when that time comes: not in the middle of what a write is a part of.
func (s *side) over() time.Time {
	const (
		part = time.Second
		most = 20 * time.Second
	)
	end := s.wrote.Add(part)
	if last := s.until.Add(most); end.After(last) {
		end = last
	}
	if end.Before(s.until) {
		return s.until
	}
	return end
}

// errRestless is that upstream's controller comes to no rest in a step.
var errRestless = errors.New("upstream's controller comes to no rest")

// end is when a step that began at a time is over, at the latest.
func (s *side) end(begun time.Time) time.Time {
	switch {
	case !s.until.IsZero():
		return s.over()
	case s.subject.periodic():
		return begun
	}
	return begun.Add(timersMost)
}
