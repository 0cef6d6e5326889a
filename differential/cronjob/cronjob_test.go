package cronjob

import (
	"context"
	"regexp"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/cronjob"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/cronjob"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/cronjob.(*ControllerV2).processNextWorkItem
func process(*upstream.ControllerV2, context.Context) bool

var (
	cronJobs = batchv1.SchemeGroupVersion.WithResource("cronjobs")
	jobs     = batchv1.SchemeGroupVersion.WithResource("jobs")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "cronjob-controller",
		Plugin:     cronjob.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Batch().V1()
			c, err := upstream.NewControllerV2(e.Context, f.Jobs(), f.CronJobs(), e.Client)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, err
		},
		World:  objects,
		Shape:  shape,
		Deeds:  deeds(),
		Events: events,
		Faults: []string{"create jobs", "delete jobs", "update cronjobs/status"},
		Steps:  6,
	}
}

// events leaves out, where caches are late, what upstream's controller tells in syncs that meet a conflict with its own
// last write and are tried again: what it finds missing that it has deleted or made itself, and what each of its syncs
// tells again (docs/differences.md: "CronJob: repeated events").
func events(all []string) []string { return slices.DeleteFunc(all, toldAgain.MatchString) }

var toldAgain = regexp.MustCompile(`^event CronJob \S+ (?:Normal (?:JobAlreadyActive|MissingJob|SawCompletedJob)|` +
	`Warning (?:UnexpectedJob|InvalidSchedule|UnparseableSchedule|UnParseableCronJobSchedule|UnsupportedSchedule|` +
	`UnknownTimeZone|TooManyMissedTimes)): `)

// shape takes the labels and the selector out of a Job that the API server has made of its UID.
func shape(o runtime.Object) {
	j, ok := o.(*batchv1.Job)
	if !ok || j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	j.Spec.Selector = nil
	for _, labels := range []map[string]string{j.Labels, j.Spec.Template.Labels} {
		delete(labels, batchv1.ControllerUidLabel)
		delete(labels, "controller-uid")
	}
}
