package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // counts what queues do

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

func TestCode(t *testing.T) {
	conflict := apierrors.NewConflict(kschema.GroupResource{Resource: "pods"}, "web", errors.New("changed"))
	odd := &apierrors.StatusError{}
	odd.ErrStatus.Code = 99999
	for want, errs := range map[int][]error{
		200: {nil},
		409: {conflict, fmt.Errorf("update: %w", conflict), errors.Join(errors.New("said so"), conflict)},
		500: {errors.New("said so"), odd, &apierrors.StatusError{}},
	} {
		for _, err := range errs {
			if got := statusCode(err); got != want {
				t.Errorf("%v: %d, want %d", err, got, want)
			}
		}
	}
}

// A key that comes back at its timer counts as one that was added after a delay, as with upstream's AddAfter; one that
// an event wakes doesn't.
func TestTimersCountAsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{}, &Version{Target: syncer.Target{Manifest: &abi.Controller{Name: "timed"}}})
		defer c.queue.ShutDown()
		c.Wake(Key{Name: "woken"})
		c.setTimer(Key{Name: "timed"}, time.Minute, false)
		c.setTimer(Key{Name: "replaced"}, time.Minute, false)
		c.setTimer(Key{Name: "replaced"}, 0, false)
		time.Sleep(time.Hour) // virtual
		synctest.Wait()
		if n := c.Depth(); n != 2 {
			t.Errorf("%d keys wait", n)
		}
	})

	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	retries := -1.0
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "workqueue_retries_total" && isNamed(m, "timed") {
				retries = m.Counter.GetValue()
			}
		}
	}
	if retries != 1 {
		t.Errorf("workqueue_retries_total is %v", retries)
	}
}

func isNamed(m *dto.Metric, name string) bool {
	return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool {
		return l.GetName() == "name" && l.GetValue() == name
	})
}

// counted takes down what a plugin's answers add to one of its metrics, with the values of its labels in objects.
type counted struct {
	unmeasured
	metric int32
	series []string
	gone   []Key
}

func (c *counted) Answered(_ Key, updates []abi.MetricUpdate, objects func(metric, row int32) ([]string, bool)) {
	for _, u := range updates {
		if u.Metric == c.metric {
			values, ok := objects(u.Metric, u.Row)
			c.series = append(c.series, fmt.Sprint(values, ok, u.Value))
		}
	}
}

func (c *counted) Gone(k Key) { c.gone = append(c.gone, k) }

// What a label is comes from the object that the sync has seen, whatever the guest may say; and the end of the object
// is told of, so that its series may end.
func TestLabelsComeFromTheSnapshot(t *testing.T) {
	found, err := plugins.Named("builtin:job")
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	l, err := plugins.Open(t.Context(), found, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	m := &l.Manifest.Controllers[0]
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := plan.Labels(l.Manifest.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	writer.Lead()
	metric := slices.IndexFunc(l.Manifest.Metrics, func(x abi.Metric) bool {
		return x.Name == "job_controller_jobs_by_external_controller_total"
	})
	seen := &counted{metric: int32(metric)}

	onJobs := m.Views[0].Resource
	s, err := schema.For(onJobs)
	if err != nil {
		t.Fatal(err)
	}
	by := "example.com/other"
	raw, err := (&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "work", UID: "u"},
		Spec: batchv1.JobSpec{ManagedBy: &by}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	around := world{onJobs: {"work": {Resource: s, Namespace: "shop", Name: "work", UID: "u", Raw: raw}}}
	c := New(Options{World: around}, &Version{Target: syncer.Target{Manifest: m, Module: l.Module, Plan: plan,
		Writer: writer, Labels: labels}, Metrics: seen})
	defer c.queue.ShutDown()

	w, k := newWorker(c), Key{Namespace: "shop", Name: "work"}
	c.Wake(k)
	w.syncNext(t.Context())
	if want := []string{"[example.com/other] true 1"}; !slices.Equal(seen.series, want) || seen.gone != nil {
		t.Errorf("the job counts as %q, gone %v; want %q", seen.series, seen.gone, want)
	}
	delete(around[onJobs], "work")
	c.Wake(k)
	w.syncNext(t.Context())
	if len(seen.series) != 1 || !slices.Equal(seen.gone, []Key{k}) {
		t.Errorf("after its end it counts as %q, gone %v", seen.series, seen.gone)
	}
}
