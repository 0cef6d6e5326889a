package endpointslice

// memory is what the syncs of a service keep: whether it has hints of the topology mode, and what the trigger time is
// found by.
type memory struct {
	hinted bool
	pods   []byte
}

func remember(state []byte) memory {
	last := len(state) - 1
	if last < 0 {
		return memory{}
	}
	return memory{hinted: state[last] == 'h', pods: state[:last]}
}

// differs reports whether there is something new to be kept.
func (m *memory) differs(hinted bool, pods []byte) bool {
	return hinted != m.hinted || len(m.pods) == 0 || &pods[0] != &m.pods[0]
}

// stateOf ends with an h where there are hints.
func stateOf(hinted bool, pods []byte) []byte {
	state := append(make([]byte, 0, len(pods)+1), pods...)
	if hinted {
		return append(state, 'h')
	}
	return append(state, '-')
}

// parseNumber reads a whole number from 1 to most. strconv would bring its errors along, and these reflection.
func parseNumber(s string, most int) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > most {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, n >= 1 && n <= most
}
