// Package audit counts what a controller manager asked of the API server.
package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Event is a request that has been answered; of a watch it is the start.
type Event struct {
	Verb, User, Resource, Namespace, Name string
	Code                                  int
	Received, Answered                    time.Time
}

// Write reports whether the request was one that changes something.
func (e Event) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) &&
		!strings.HasPrefix(e.Resource, "subjectaccessreviews") &&
		e.Resource != "serviceaccounts/token" && e.Resource != "leases" // which are renewed for ever
}

// Manager reports whether a controller manager asked.
func (e Event) Manager() bool {
	return e.User == "system:kube-controller-manager" || strings.HasPrefix(e.User, "system:serviceaccount:kube-system:")
}

// Log is an audit log that is being written.
type Log struct {
	Path   string
	offset int64
}

// Skip passes over what is there.
func (l *Log) Skip() error {
	i, err := os.Stat(l.Path)
	if err == nil {
		l.offset = i.Size()
	}
	return err
}

// Read returns the manager's and the administrator's events since the last Read or Skip. A line that is still being
// written is left for the next time.
func (l *Log) Read() ([]Event, error) {
	f, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}

	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}

	var events []Event
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return events, nil
		}
		l.offset += int64(len(line)) + 1
		b = rest
		e, ok, err := parseEvent(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", l.Path, line, err)
		}
		if ok {
			events = append(events, e)
		}
	}
}

// admin is whom the benchmark acts as.
const admin = "admin"

func parseEvent(line []byte) (Event, bool, error) {
	// Most lines are the scheduler's and KWOK's: a look costs less than decoding.
	if !bytes.Contains(line, []byte(`"username":"system:kube-controller-manager"`)) &&
		!bytes.Contains(line, []byte(`"username":"system:serviceaccount:kube-system:`)) &&
		!bytes.Contains(line, []byte(`"username":"`+admin+`"`)) {
		return Event{}, false, nil
	}

	var raw struct {
		Stage, Verb                              string
		User                                     struct{ Username string }
		ObjectRef                                struct{ Resource, Subresource, Namespace, Name string }
		ResponseStatus                           struct{ Code int }
		RequestReceivedTimestamp, StageTimestamp time.Time
	}

	if err := json.Unmarshal(line, &raw); err != nil {
		return Event{}, false, err
	}

	// A watch is told of twice; its start counts, for its end may be long after.
	if (raw.Verb == "watch") != (raw.Stage == "ResponseStarted") {
		return Event{}, false, nil
	}
	e := Event{Verb: raw.Verb, User: raw.User.Username, Resource: raw.ObjectRef.Resource,
		Namespace: raw.ObjectRef.Namespace, Name: raw.ObjectRef.Name,
		Code: raw.ResponseStatus.Code, Received: raw.RequestReceivedTimestamp, Answered: raw.StageTimestamp}
	if raw.ObjectRef.Subresource != "" {
		e.Resource += "/" + raw.ObjectRef.Subresource
	}

	return e, e.Manager() || e.User == admin, nil
}

// Reactions are the times from the administrator's last write in each namespace before the manager's first one there to
// that one's arrival.
func Reactions(events []Event) []time.Duration {
	slices.SortStableFunc(events, func(a, b Event) int { return a.Answered.Compare(b.Answered) })
	asked := map[string]time.Time{}
	var all []time.Duration
	for _, e := range events {
		if !e.Write() || e.Namespace == "" || e.Code >= 400 {
			continue
		}
		if !e.Manager() {
			if e.Resource != "pods" && e.Resource != "pods/status" {
				asked[e.Namespace] = e.Answered
			}
			continue
		}
		if from, ok := asked[e.Namespace]; ok {
			all = append(all, max(0, e.Received.Sub(from)))
			delete(asked, e.Namespace)
		}
	}
	return all
}
