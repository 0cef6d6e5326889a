package deployment

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/deployment"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/deployment.(*DeploymentController).processNextWorkItem
func process(*upstream.DeploymentController, context.Context) bool

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "deployment-controller",
		Gates:      []string{"DeploymentReplicaSetTerminatingReplicas"},
		Plugin:     deployment.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c, err := upstream.NewDeploymentController(e.Context, f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(),
				f.Core().V1().Pods(), e.Client)
			o := &observer{Env: e}
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { o.look(); return process(c, ctx) }, Begin: o.begin,
				Note: o.note,
			}, err
		},
		World: objects,
		Deeds: deeds(),
		Faults: []string{
			"create replicasets", "update replicasets", "patch replicasets", "delete replicasets", "update deployments",
			"update deployments/status",
		},
		Steps:   6,
		AtRest:  true,
		Renames: renames,
		Events:  scalings,
	}
}

// observer notes what keeps upstream's from going on with a Deployment's roll-out where the plugin does, or has it do
// more.
type observer struct {
	*native.Env
	surplus map[string]string // of a Deployment, at the beginning of one of its syncs
}

func (o *observer) begin() { o.surplus = map[string]string{} }

// owned are a Deployment's sets as upstream's sees them, those that it is about to adopt among them.
func (o *observer) owned(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	all, err := o.Informers.Apps().V1().ReplicaSets().Lister().ReplicaSets(d.Namespace).List(labels.Everything())
	if err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(s *appsv1.ReplicaSet) bool {
		return !metav1.IsControlledBy(s, d) && (metav1.GetControllerOf(s) != nil || !selector.Matches(labels.Set(s.Labels)))
	})
}

// look looks for Deployments that have pods to take away by upstream's reckoning, and a set that has more available
// pods than it should have pods.
func (o *observer) look() {
	all, err := o.Informers.Apps().V1().Deployments().Lister().List(labels.Everything())
	if err != nil {
		return
	}
	for _, d := range all {
		sets := o.owned(d)
		spare, lost := util.GetReplicaCountForReplicaSets(sets)-util.MinAvailable(d), ""
		if fresh := util.FindNewReplicaSet(d, sets); fresh != nil {
			spare -= *fresh.Spec.Replicas - fresh.Status.AvailableReplicas
		}
		for _, s := range sets {
			if n := s.Status.AvailableReplicas; n > *s.Spec.Replicas {
				lost = fmt.Sprintf("%s has %d available pods of %d", s.Name, n, *s.Spec.Replicas)
			}
		}
		if key := d.Namespace + "/" + d.Name; spare > 0 && lost != "" {
			o.surplus[key] = fmt.Sprintf("upstream's has %d pods of %s to take away, and %s", spare, key, lost)
		}
	}
}

func (o *observer) note(key string) string {
	namespace, name, _ := strings.Cut(key, "/")
	d, err := o.Informers.Apps().V1().Deployments().Lister().Deployments(namespace).Get(name)
	if err != nil || d.Spec.Paused {
		return o.surplus[key]
	}
	var lines []string
	if c := util.GetDeploymentCondition(d.Status, appsv1.DeploymentProgressing); c != nil &&
		c.Reason == util.NewRSAvailableReason &&
		!util.DeploymentComplete(d, &d.Status) {
		lines = append(lines, key+" has progressed and isn't complete")
	}
	for _, s := range o.owned(d) {
		if n, ok := util.GetDesiredReplicasAnnotation(klog.Background(), s); ok && *s.Spec.Replicas > 0 &&
			n != *d.Spec.Replicas {
			lines = append(lines, fmt.Sprintf("upstream's takes %s for being scaled: %s is of a Deployment of %d", key, s.Name,
				n))
		}
	}
	if s := o.surplus[key]; s != "" {
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n")
}

// renames are the parts of a new set that come of its template's hash, which is another one by rule.
func renames(o runtime.Object) map[string]string {
	m, ok := o.(metav1.Object)
	if !ok || m.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey] == "" {
		return nil
	}
	name := m.GetName()
	for _, r := range m.GetOwnerReferences() {
		name = r.Name + "-<hash>"
	}
	return map[string]string{m.GetName(): name, m.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]: "<hash>"}
}

var scaled = regexp.MustCompile(`^(.*ScalingReplicaSet: Scaled) (?:up|down) (replica set \S+) from (\d+) to (\d+)$`)

// scalings puts a set's scalings that follow each other into one: upstream's controller scales an old set once for its
// pods that aren't available and once for others, and starts a new one small where it doesn't know yet that the old
// ones are gone.
func scalings(events []string) (out []string) {
	for _, e := range events {
		at := slices.IndexFunc(out, func(was string) bool {
			a, b := scaled.FindStringSubmatch(was), scaled.FindStringSubmatch(e)
			return a != nil && b != nil && a[1] == b[1] && a[2] == b[2] && a[4] == b[3]
		})
		if at < 0 {
			out = append(out, e)
			continue
		}
		a, b := scaled.FindStringSubmatch(out[at]), scaled.FindStringSubmatch(e)
		out[at] = fmt.Sprintf("%s %s %s from %s to %s", a[1], way(a[3], b[4]), a[2], a[3], b[4])
	}
	return out
}

func way(from, to string) string {
	if len(from) < len(to) || len(from) == len(to) && from < to {
		return "up"
	}
	return "down"
}

func ago(seconds int) metav1.Time {
	return metav1.NewTime(time.Now().Add(-time.Duration(seconds) * time.Second).UTC().Truncate(time.Second))
}

var (
	deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	sets        = appsv1.SchemeGroupVersion.WithResource("replicasets")
	namespaces  = corev1.SchemeGroupVersion.WithResource("namespaces")
)
