package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// Writes are the verbs that change something, for Filter.Verbs.
var Writes = []string{"create", "update", "patch", "delete", "deletecollection"}

// Event is a request that the API server answered.
type Event struct {
	Verb      string
	User      string // who acted: the impersonated user if there was one
	UserAgent string
	Group     string
	Resource  string // with its subresource, if any: "pods", "pods/status"
	Namespace string
	Name      string // empty for a create with a generated name
	Code      int
	Denied    bool      // no role allows it: a 403 of admission's, such as a quota's, is not that
	Time      time.Time // of the answer
	Received  time.Time
	Source    string // the address that it came from
	URI       string
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s %s/%s by %s: %d", e.Verb, e.Resource, e.Namespace, e.Name, e.User, e.Code)
}

// Filter selects events. What is empty selects all.
type Filter struct {
	Verbs     []string
	Users     []string
	Resources []string // as in Event.Resource: "pods" doesn't select "pods/status"
	Namespace string
	Codes     []int
	Since     time.Time
}

func (f Filter) matches(e Event) bool {
	return isWanted(f.Verbs, e.Verb) && isWanted(f.Users, e.User) && isWanted(f.Resources, e.Resource) &&
		isWanted(f.Codes, e.Code) &&
		(f.Namespace == "" || f.Namespace == e.Namespace) && !e.Time.Before(f.Since)
}

func isWanted[T comparable](wanted []T, v T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, v)
}

// Audit returns the events so far that the filter selects, oldest first. An event is in the log before its request is
// answered, so a request that a caller has seen end is there; of a watch only its end is.
func (c *Cluster) Audit(t testing.TB, f Filter) (selected []Event) {
	t.Helper()
	if c.AuditLog == "" {
		t.Fatal("cluster: started without Options.Audit")
	}
	all, err := c.audit.readEvents(c.AuditLog)
	if err != nil {
		t.Fatalf("%s: %v", c.AuditLog, err)
	}
	for _, e := range all {
		if f.matches(e) {
			selected = append(selected, e)
		}
	}
	return selected
}

// audited is what has been read of an audit log. Each line is read once: tests look at the log again and again while
// they wait, and by then it may have tens of thousands of lines.
type audited struct {
	mu   sync.Mutex
	read int64 // bytes
	all  []Event
}

// readEvents returns all events that are in the file.
func (a *audited) readEvents(path string) ([]Event, error) {
	a.mu.Lock()
	defer a.mu.Unlock()

	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(a.read, io.SeekStart); err != nil {
		return nil, err
	}

	more, read, err := readAudit(file)
	if err != nil {
		return nil, err
	}
	a.all, a.read = append(a.all, more...), a.read+read
	return a.all[:len(a.all):len(a.all)], nil
}

// readAudit reads audit.k8s.io/v1 events, one a line, and returns how many bytes these are. A last line without its end
// is still being written, and left out.
func readAudit(r io.Reader) (events []Event, read int64, _ error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return events, read, nil
		}
		if err != nil {
			return nil, 0, err
		}

		read += int64(len(line))
		var raw struct {
			Stage, Verb, UserAgent, RequestURI string
			SourceIPs                          []string
			RequestReceivedTimestamp           time.Time
			User                               struct{ Username string }
			ImpersonatedUser                   struct{ Username string }
			ObjectRef                          struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus                     struct{ Code int }
			StageTimestamp                     time.Time
			Annotations                        map[string]string
		}
		if err := json.Unmarshal(line, &raw); err != nil {
			return nil, 0, fmt.Errorf("event %q: %w", line, err)
		}

		e := Event{
			Verb: raw.Verb, User: raw.User.Username, UserAgent: raw.UserAgent,
			Group: raw.ObjectRef.APIGroup, Resource: raw.ObjectRef.Resource,
			Namespace: raw.ObjectRef.Namespace, Name: raw.ObjectRef.Name,
			Code: raw.ResponseStatus.Code, Denied: raw.Annotations["authorization.k8s.io/decision"] == "forbid",
			Time: raw.StageTimestamp, URI: raw.RequestURI,
		}

		e.Received = raw.RequestReceivedTimestamp
		if len(raw.SourceIPs) > 0 {
			e.Source = raw.SourceIPs[0]
		}

		if raw.ImpersonatedUser.Username != "" {
			e.User = raw.ImpersonatedUser.Username
		}
		if raw.ObjectRef.Subresource != "" {
			e.Resource += "/" + raw.ObjectRef.Subresource
		}

		// A watch is also reported when it starts.
		if raw.Stage != "ResponseStarted" {
			events = append(events, e)
		}
	}
}
