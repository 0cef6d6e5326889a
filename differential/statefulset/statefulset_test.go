package statefulset

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/statefulset/metrics"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/plugins/statefulset"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/statefulset.(*StatefulSetController).processNextWorkItem
func process(*upstream.StatefulSetController, context.Context) bool

var (
	sets      = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	revisions = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	claims    = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	limits    = corev1.SchemeGroupVersion.WithResource("limitranges")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "statefulset-controller",
		Gates: []string{
			"MaxUnavailableStatefulSet", "StatefulSetRecreateStrategy", "StatefulSetSemanticRevisionComparison",
		},
		Plugin: statefulset.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c := upstream.NewStatefulSetController(e.Context, f.Core().V1().Pods(), f.Apps().V1().StatefulSets(),
				f.Core().V1().PersistentVolumeClaims(), f.Apps().V1().ControllerRevisions(), e.Client)
			metrics.MaxUnavailable.Reset()
			metrics.UnavailableReplicas.Reset()
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }},
				nil
		},
		World: objects,
		Deeds: deeds(),
		Faults: []string{
			"create pods", "delete pods", "patch pods", "update pods", "update statefulsets/status",
			"create persistentvolumeclaims",
			"update persistentvolumeclaims", "create controllerrevisions", "delete controllerrevisions",
			"patch controllerrevisions",
		},
		Aside:  aside,
		Shape:  shape,
		Normal: normal,
	}
}

// aside says which pod a write is for: where a set's policy is Parallel, upstream does what pods need side by side.
func aside(c *api.Cluster, q *api.Request) string {
	if q.Resource.Resource != "pods" && q.Resource != claims {
		return ""
	}
	all, err := c.List(sets)
	if err != nil {
		return ""
	}
	for _, o := range all {
		s := o.(*appsv1.StatefulSet)
		m := regexp.MustCompile("(^|-)" + s.Name + "-[0-9]+$").FindString(q.Name)
		if m != "" && s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
			return strings.TrimPrefix(m, "-")
		}
	}
	return ""
}

// normal puts a pod's volumes in order, which upstream takes from a map, and several bad claims' errors.
func normal(line string) string {
	if at := severalBad.FindStringIndex(line); at != nil {
		list := bad.Split(line[at[0]+1:at[1]-1], -1)
		names := bad.FindAllString(line[at[0]+1:at[1]-1], -1)
		for i := range names {
			names[i] = strings.TrimPrefix(names[i], ", ") + list[i+1]
		}
		slices.Sort(names)
		return line[:at[0]] + "[" + strings.Join(names, ", ") + "]" + line[at[1]:]
	}

	head, text, ok := strings.Cut(line, "\n")
	if ok && strings.HasPrefix(head, "event ") && strings.Contains(head, "pod updates may not change fields") {
		return head // then comes how the volumes differ, in the order of the map
	}
	if ok && strings.HasPrefix(head, "update pods ") && strings.HasSuffix(head, " fails: Invalid") {
		return head // volumes can't be added to a pod: the whole of it is refused as the patch is
	}
	if !ok || !strings.Contains(head, " pods ") || !strings.Contains(text, "persistentVolumeClaim") {
		return line
	}

	text, err := differential.Kept("volumes "+text, func() (string, error) { return inOrder(text) })
	if err != nil {
		return line
	}
	return head + "\n" + text
}

// inOrder puts the volumes of a pod that is printed in order.
func inOrder(text string) (string, error) {
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return "", err
	}

	spec, _ := m["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	slices.SortFunc(volumes, func(a, b any) int {
		x, _ := a.(map[string]any)["name"].(string)
		y, _ := b.(map[string]any)["name"].(string)
		return strings.Compare(x, y)
	})

	b, err := yaml.Marshal(m)
	return string(b), err
}

// shape puts a pod's volumes in order: of its claims upstream's is a map's.
func shape(o runtime.Object) {
	if p, ok := o.(*corev1.Pod); ok {
		slices.SortFunc(p.Spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	}
}

var (
	severalBad = regexp.MustCompile(`\[(failed to create PVC|pvc) .*, (failed to create PVC|pvc) .*\]`)
	bad        = regexp.MustCompile(`(^|, )(failed to create PVC [^:]*:|pvc \S+ is being deleted)`)
)
