package horizontalpodautoscaler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	upstream "k8s.io/kubernetes/pkg/controller/podautoscaler"
	upstreammetrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/horizontalpodautoscaler"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).processNextWorkItem
func process(*upstream.HorizontalController, context.Context) bool

var (
	autoscalers  = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// The periods are those that both have by default.
const (
	syncPeriod        = 15 * time.Second
	stabilization     = 5 * time.Minute
	tolerance         = 0.1
	cpuInitialization = 5 * time.Minute
	readinessDelay    = 30 * time.Second
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "horizontal-pod-autoscaler-controller",
		Gates:      []string{"HPAScaleToZero", "HPAGeneration", "PodLevelResources"},
		Plugin:     horizontalpodautoscaler.Plugin,
		Native:     made,
		World:      objects,
		Aggregated: func(r *world.Rand) *api.Aggregated { return servers(r, custom(r)) },
		Steps:      10,
		Deeds: []differential.Deed{
			others, others, wait, wait,
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Vary(differential.Pods, "other labels",
				func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") }),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, fmt.Sprintf("new-%d", r.IntN(100)), "web") }),
			differential.Vary(autoscalers, "another spec", func(r *world.Rand, h *autoscalingv2.HorizontalPodAutoscaler) {
				ref := h.Spec.ScaleTargetRef
				if h.Spec = spec(r); !r.One(4) {
					h.Spec.ScaleTargetRef = ref
				}
				h.Generation++
			}),
			differential.Vary(autoscalers, "other limits", func(r *world.Rand, h *autoscalingv2.HorizontalPodAutoscaler) {
				limits(r, &h.Spec)
				h.Generation++
			}),
			differential.Vary(autoscalers, "other labels", func(r *world.Rand,
				h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Labels = r.Labels("web")
			}),
			differential.Vary(autoscalers, "another status", func(r *world.Rand,
				h *autoscalingv2.HorizontalPodAutoscaler) {
				status(r, h)
			}),
			differential.Vary(deployments, "another size", func(r *world.Rand, d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status.Replicas = replicas(r), *replicas(r)
				d.Generation++
			}),
			differential.Vary(statefulSets, "another size", func(r *world.Rand, s *appsv1.StatefulSet) {
				s.Spec.Replicas, s.Status.Replicas = replicas(r), *replicas(r)
				s.Generation++
			}),
			differential.Vary(replicaSets, "another size", func(r *world.Rand, s *appsv1.ReplicaSet) {
				s.Spec.Replicas, s.Status.Replicas = replicas(r), *replicas(r)
				s.Generation++
			}),
			differential.Delete(autoscalers),
			differential.Vanish(autoscalers),
			differential.Vanish(deployments),
			differential.Appear(func(r *world.Rand) runtime.Object { return autoscaler(r, fmt.Sprintf("hpa-%d", r.IntN(4))) }),
		},
		Faults: []string{"update horizontalpodautoscalers/status", "update deployments/scale", "update statefulsets/scale"},
	}
}

// made makes upstream's controller as its manager does, which lets go of what it knows of the API from time to time:
// here before each sync.
func made(e *native.Env) (*native.Made, error) {
	cached := memory.NewMemCacheClient(e.Client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	versions := custom_metrics.NewAvailableAPIsGetter(e.Client.Discovery())
	scales, err := scale.NewForConfig(e.Config, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(e.Client.Discovery()))
	if err != nil {
		return nil, err
	}
	resources, err := resourceclient.NewForConfig(e.Config)
	if err != nil {
		return nil, err
	}
	external, err := external_metrics.NewForConfig(e.Config)
	if err != nil {
		return nil, err
	}

	c := upstream.NewHorizontalController(e.Context, e.Client.CoreV1(), scales, e.Client.AutoscalingV2(), mapper,
		upstreammetrics.NewRESTMetricsClient(resources, custom_metrics.NewForConfig(e.Config, mapper, versions), external),
		e.Informers.Autoscaling().V2().HorizontalPodAutoscalers(), living{e.Informers.Core().V1().Pods()},
		syncPeriod, stabilization, tolerance, cpuInitialization, readinessDelay)
	monitor.DesiredReplicasCount.Reset()
	return &native.Made{Controller: c, Every: syncPeriod, Process: func(ctx context.Context) bool {
		versions.Invalidate()
		return process(c, ctx)
	}}, nil
}

// living shows upstream's controller no pods that have ended: the plugin does what upstream's would do without them, as
// the row on them says.
type living struct{ coreinformers.PodInformer }

func (l living) Lister() corelisters.PodLister { return livingPods{l.PodInformer.Lister()} }

type livingPods struct{ corelisters.PodLister }

func (l livingPods) Pods(namespace string) corelisters.PodNamespaceLister {
	return livingPodsOf{l.PodLister.Pods(namespace)}
}

type livingPodsOf struct{ corelisters.PodNamespaceLister }

func (l livingPodsOf) List(s labels.Selector) ([]*corev1.Pod, error) {
	all, err := l.PodNamespaceLister.List(s)
	return slices.DeleteFunc(all, ended), err
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// wait lets time go on by about as much as what autoscalers count in.
func wait(r *world.Rand, _ *api.Cluster) (string, error) {
	d := world.Of(r, 1, 15, 15, 30, 60, 300, 301)
	time.Sleep(time.Duration(d) * time.Second)
	return fmt.Sprintf("%d s go by", d), nil
}
