//go:build unfinished

package deployment

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/deployment"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/deployment"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/deployment.(*DeploymentController).processNextWorkItem
func process(*upstream.DeploymentController, context.Context) bool

func TestAsUpstream(t *testing.T) {
	differential.Run(t, &differential.Subject{
		Controller: "deployment-controller",
		Plugin:     deployment.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c, err := upstream.NewDeploymentController(e.Context, f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), e.Client)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, err
		},
		World: objects,
		Deeds: deeds(),
		Faults: []string{
			"create replicasets", "update replicasets", "patch replicasets", "delete replicasets", "update deployments", "update deployments/status",
		},
		Steps:  6,
		AtRest: true, Forgiving: true,
		Renames: renames,
		Events:  scalings,
	})
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

// scalings puts a set's scalings that follow each other into one: upstream's controller scales an old set once for its pods that
// aren't available and once for others, and starts a new one small where it doesn't know yet that the old ones are gone.
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
