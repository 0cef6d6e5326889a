package syncer

import (
	"bytes"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// States are what the syncs of a controller's keys keep for the next ones, in memory. A nil States is empty, and keeps
// nothing.
type States struct {
	Memory *budget.Memory // the plugin's, which the states are held on; nil: no bound

	mu      sync.Mutex
	version int32
	byKey   map[abi.KeyRef]State
	kept    int // bytes of all
}

// State is what one key keeps.
type State struct {
	UID  string // of the key's object; empty: the key had none
	Blob []byte
}

// statesMax is how many bytes of state all keys of a controller may keep together.
const statesMax = 256 << 20

// Adopt has syncs keep state on versions whose state has this number, and on no others. What those before have kept is
// dropped where these wouldn't understand it.
func (s *States) Adopt(version int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == s.version {
		return
	}
	s.clearLocked()
	s.version = version
}

// Clear drops all states.
func (s *States) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

// clearLocked is Clear. The caller holds the lock.
func (s *States) clearLocked() {
	for key, state := range s.byKey {
		s.Memory.Add(budget.State, -stateSize(key, len(state.Blob)))
	}
	clear(s.byKey)
	s.kept = 0
}

// stateSize is about what a key's state takes in memory, in bytes.
func stateSize(key abi.KeyRef, blob int) int64 {
	if blob == 0 {
		return 0
	}
	return int64(blob + len(key.Resource) + len(key.Namespace) + len(key.Name) + 200)
}

// Get returns what a key keeps, and whether it keeps anything.
func (s *States) Get(key abi.KeyRef) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.byKey[key]
	return kept, ok
}

// Set has a key keep a state; one without bytes is none.
func (s *States) Set(key abi.KeyRef, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(key, state)
}

// setLocked is Set. The caller holds the lock.
func (s *States) setLocked(key abi.KeyRef, state State) {
	was := len(s.byKey[key].Blob)
	s.kept += len(state.Blob) - was
	s.Memory.Add(budget.State, stateSize(key, len(state.Blob))-stateSize(key, was))
	if len(state.Blob) == 0 {
		delete(s.byKey, key)
		return
	}
	if s.byKey == nil {
		s.byKey = map[abi.KeyRef]State{}
	}
	s.byKey[key] = state
}

// stateOf returns the state that a sync of the key begins with: not that of another object of the same name, nor one
// that the version wouldn't understand.
func (s *States) stateOf(version int32, key abi.KeyRef, uid string) []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.byKey[key]
	if version != s.version || uid != "" && kept.UID != "" && kept.UID != uid {
		return nil
	}
	return kept.Blob
}

// hasRoom reports whether a key's new state fits in beside those of the others.
func (s *States) hasRoom(key abi.KeyRef, size int) bool {
	if s == nil || size == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept-len(s.byKey[key].Blob)+size <= statesMax
}

// checkMemory returns an error where the plugin's memory doesn't suffice for a key's new state.
func (s *States) checkMemory(key abi.KeyRef, size int) error {
	if s == nil || size == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Memory.Room(stateSize(key, size) - stateSize(key, len(s.byKey[key].Blob)))
}

// keepState keeps what an accepted answer says of the key's state, which ends with the key's object.
func (s *States) keepState(version int32, key abi.KeyRef, uid string, gone bool, a *abi.SyncResponse) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case version != s.version: // of a version that has been replaced: the present one wouldn't understand it
	case gone:
		s.setLocked(key, State{})
	case a.KeepState:
	default:
		s.setLocked(key, State{uid, bytes.Clone(a.State)})
	}
}
