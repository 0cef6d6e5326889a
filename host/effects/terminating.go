package effects

import (
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// denialTime is for how long creates of a key are held back once its namespace has refused one because it is being
// deleted: as long as upstream's expectations of pods that never come hold its controllers back (ExpectationsTimeout in
// pkg/controller).
const denialTime = 5 * time.Minute

// denials are the namespaces that refused a key's creates because they are being deleted. Nothing ends that but the
// namespace's end, so asking again at each event would only use up the requests that the controller's other keys need.
type denials struct {
	mu   sync.Mutex
	last map[abi.KeyRef]denial
}

// denial is of one object: its end comes before its namespace's, and one of its name in the next namespace has another
// UID.
type denial struct {
	uid   string
	until time.Time
	err   error
}

// remember remembers that a create of the key was refused.
func (d *denials) remember(key abi.KeyRef, uid string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = map[abi.KeyRef]denial{}
	}
	d.last[key] = denial{uid, time.Now().Add(denialTime), err}
}

// denialOf returns why the key's creates are refused, nil if they may not be.
func (d *denials) denialOf(key abi.KeyRef, uid string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, ok := d.last[key]
	if !ok {
		return nil
	}
	if was.uid != uid || !time.Now().Before(was.until) {
		delete(d.last, key)
		return nil
	}
	return was.err
}

func (d *denials) forget(key abi.KeyRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, key)
}
