package replay_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/test/module"
)

// recorded is a recording of deployments that have no replica set yet, made by running the built-in module.
func recorded(t *testing.T) *record.File {
	t.Helper()
	p, err := plugins.Named("builtin:deployment")
	if err != nil {
		t.Fatal(err)
	}

	l, err := plugins.Open(t.Context(), p, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.WithoutCancel(t.Context()))
	ring := record.NewRing("deployment-controller", 1<<20)

	recorder := ring.Recorder(&record.Source{Plugin: p.Name, Version: l.Manifest.Version, Digest: p.Digest,
		Origin: p.String(), Manifest: l.Manifest})
	for _, name := range []string{"one", "two"} {
		replicas, labels := int32(len(name)), map[string]string{"app": name}
		raw, err := (&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "1", ResourceVersion: "1", Generation: 1},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			},
		}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		key := abi.KeyRef{Namespace: "default", Name: name}
		r := &abi.SyncRequest{Key: key, Now: 1e18}
		for i, v := range l.Manifest.Controllers[0].Views {
			data := abi.ViewData{View: int32(i)}
			if v.Resource.Name == "deployments" {
				data.Objects = []abi.ObjectData{{Data: raw, ResourceVersion: "1"}}
			}
			r.Views = append(r.Views, data)
		}
		rec := recorder.Begin(key, time.Now())
		_, err = l.Module.Sync(t.Context(), &sandbox.Call{
			Size:  abi.SizeRequest(r),
			Write: func(b []byte) { rec.Request(abi.AppendRequest(b[:0], r)) },
			Perform: func(_ context.Context, in []byte) ([]byte, error) {
				var p abi.PerformRequest
				if err := abi.DecodePerform(in, &p); err != nil {
					return nil, err
				}
				a, err := module.Succeed(&p)
				if err != nil {
					return nil, err
				}
				out := abi.AppendPerformed(nil, a)
				rec.Performed(in, out, nil)
				return out, nil
			},
		}, func(b []byte) error {
			rec.Answered(b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rec.End("ok", nil)
	}
	return ring.File()
}

func runReplay(t *testing.T, f *record.File, o replay.Options) (all []replay.Result) {
	t.Helper()
	if err := replay.Run(t.Context(), f, o, func(r replay.Result) { all = append(all, r) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSame(t *testing.T) {
	f := recorded(t)
	for _, interpreter := range []bool{false, true} {
		for _, r := range runReplay(t, f, replay.Options{Interpreter: interpreter}) {
			if r.Verdict != replay.Same {
				t.Errorf("interpreter %v: %+v", interpreter, r)
			}
		}
	}
	if got := runReplay(t, f, replay.Options{Key: "default/two"}); len(got) != 1 || got[0].Key != "default/two" {
		t.Errorf("of one key: %+v", got)
	}
}

// Whatever is otherwise in a sync is found and shown: what it performed, what it answered, how it ended.
func TestDifferent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.Sync)
		want   string
	}{
		"an effect": {func(s *record.Sync) {
			var a abi.SyncResponse
			if err := abi.DecodeResponse(s.Answer, &a); err != nil {
				t.Fatal(err)
			}
			a.Effects = append(a.Effects, abi.Effect{Kind: abi.EffectDelete, Resource: "v1/pods", Namespace: "default",
				Name: "a"})
			s.Answer = abi.AppendResponse(nil, &a)
		}, "-- do: delete v1/pods default/a"},
		"a perform": {func(s *record.Sync) {
			s.Performs[0].In = abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{{Kind: abi.EffectGet,
				Resource: "v1/pods", Name: "x"}}})
		}, "-- do: get v1/pods x"},
		"one perform less": {func(s *record.Sync) { s.Performs = nil }, "+performed:"},
		"one perform more": {func(s *record.Sync) { s.Performs = append(s.Performs, s.Performs[0]) }, "-"},
		"no answer": {func(s *record.Sync) { s.Answer, s.Answered, s.Error = nil, false, "it trapped" },
			"-failed: 'no answer: it trapped'"},
	} {
		t.Run(name, func(t *testing.T) {
			f := recorded(t)
			if len(f.Syncs[0].Performs) == 0 {
				t.Fatal("the sync performs nothing")
			}
			c.change(&f.Syncs[0])
			got := runReplay(t, f, replay.Options{})
			if got[0].Verdict != replay.Different || !strings.Contains(got[0].Diff, c.want) {
				t.Errorf("%s: %s\n%s", got[0].Verdict, got[0].Why, got[0].Diff)
			}
			if got[1].Verdict != replay.Same {
				t.Errorf("the other sync is %s", got[1].Verdict)
			}
		})
	}
}

// A sync whose recording is not whole is not compared, and it is said why.
func TestSkipped(t *testing.T) {
	for want, change := range map[string]func(f *record.File){
		"raise recordings.bytes": func(f *record.File) {
			f.Syncs[0].Cut, f.Syncs[0].Request, f.Syncs[0].Answered = true, nil,
				false
		},
		"secrets were wiped": func(f *record.File) { f.Syncs[0].Redacted = true },
		"before the plugin was called: too large": func(f *record.File) {
			f.Syncs[0] = record.Sync{Key: f.Syncs[0].Key, Result: "error", Error: "too large"}
		},
		"--file key=PATH": func(f *record.File) {
			p, err := plugins.Named("builtin:rootca")
			if err != nil {
				t.Fatal(err)
			}
			i, err := plugins.Inspect(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			f.Controller = i.Manifest.Controllers[0].Name
			f.Sources[0] = record.Source{Digest: p.Digest, Manifest: i.Manifest}
			values := make([]string, len(i.Manifest.Settings))
			for n := range values {
				values[n] = "content"
			}
			f.Sources[0].SetSettings(values)
		},
	} {
		f := recorded(t)
		change(f)
		got := runReplay(t, f, replay.Options{})[0]
		if got.Verdict != replay.Skipped || !strings.Contains(strings.ReplaceAll(got.Why, "root-ca-file=", "key="), want) {
			t.Errorf("%q: %s: %s", want, got.Verdict, got.Why)
		}
	}
}

func TestUnknownModule(t *testing.T) {
	f := recorded(t)
	f.Sources[0].Digest = "sha256:0"
	err := replay.Run(t.Context(), f, replay.Options{}, func(replay.Result) {})
	if err == nil || !strings.Contains(err.Error(), "--plugin") || !strings.Contains(err.Error(), "sha256:0") {
		t.Errorf("got %v", err)
	}

	p, err := plugins.Named("builtin:podgc")
	if err != nil {
		t.Fatal(err)
	}

	err = replay.Run(t.Context(), f, replay.Options{Plugin: p}, func(replay.Result) {})
	if err == nil || !strings.Contains(err.Error(), "no controller deployment-controller") {
		t.Errorf("got %v", err)
	}
	if w := replay.Warnings(t.Context(), f, p); len(w) != 0 {
		t.Errorf("of another controller: %v", w)
	}

	// A module that declares its views otherwise gets the recorded ones, which is said.
	p, err = plugins.Named("builtin:deployment")
	if err != nil {
		t.Fatal(err)
	}
	if w := replay.Warnings(t.Context(), f, p); len(w) != 0 {
		t.Errorf("of the same module: %v", w)
	}

	other := *f.Sources[0].Manifest // the module's own is the process's
	other.Controllers = slices.Clone(other.Controllers)
	other.Controllers[0].Views = slices.Clone(other.Controllers[0].Views)
	other.Controllers[0].Views[0].Fields = []string{"spec"}
	f.Sources[0].Manifest = &other
	if w := replay.Warnings(t.Context(), f, p); len(w) != 1 || !strings.Contains(w[0], "the recorded snapshots") {
		t.Errorf("of other views: %v", w)
	}
}

// A recording that went through a file is replayed as it was.
func TestThroughAFile(t *testing.T) {
	f := recorded(t)
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x"+record.Extension)
	if err := record.WriteFile(path, b); err != nil {
		t.Fatal(err)
	}
	again, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runReplay(t, again, replay.Options{}) {
		if r.Verdict != replay.Same || !bytes.Equal(again.Syncs[i].Answer, f.Syncs[i].Answer) {
			t.Errorf("%+v", r)
		}
	}
}
