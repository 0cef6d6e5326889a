package audit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const (
	asked = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"admin"},"objectRef":{"resource":"deployments","namespace":"a","name":"d"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.900000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z"}
`
	first = `{"stage":"ResponseComplete","verb":"update","user":{"username":"system:serviceaccount:kube-system:deployment-controller"},"objectRef":{"resource":"replicasets","namespace":"a","name":"r","subresource":"scale"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:01.250000Z","stageTimestamp":"2026-01-01T00:00:01.300000Z"}
`
	second = `{"stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:kube-system:replicaset-controller"},"objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:02.250000Z","stageTimestamp":"2026-01-01T00:00:02.300000Z"}
`
	others = `{"stage":"ResponseComplete","verb":"update","user":{"username":"kwok"},"objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"system:kube-controller-manager"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
`
	watch = `{"stage":"ResponseStarted","verb":"watch","user":{"username":"system:kube-controller-manager"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
`
)

func TestReadGoesOnWhereItStopped(t *testing.T) {
	l := &Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	text := ""
	write := func(more string) {
		text += more
		if err := os.WriteFile(l.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	verbs := func() (all []string) {
		events, err := l.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			all = append(all, e.Verb+" "+e.Resource)
		}
		return all
	}

	write(asked)
	if err := l.Skip(); err != nil {
		t.Fatal(err)
	}

	write(others + watch + first + second[:20])
	if got, want := verbs(), []string{"watch pods", "update replicasets/scale"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	write(second[20:])
	if got, want := verbs(), []string{"create pods"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: the half line and nothing twice", got, want)
	}
	write(`{"user":{"username":"admin"` + "\n")
	if _, err := l.Read(); err == nil {
		t.Error("a line that is no event was read without an error")
	}
}

func TestReactions(t *testing.T) {
	l := &Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(l.Path, []byte(second+first+asked+others), 0o600); err != nil {
		t.Fatal(err)
	}
	events, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	// The first write counts, whatever the log's order, and is counted once.
	if got := Reactions(events); !slices.Equal(got, []time.Duration{250 * time.Millisecond}) {
		t.Errorf("got %v, want [250ms]", got)
	}
}
