package resourcequota

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/controller-manager/pkg/informerfactory"
	upstream "k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/resourcequota"
)

//go:linkname worker k8s.io/kubernetes/pkg/controller/resourcequota.(*Controller).worker
func worker(*upstream.Controller, workqueue.TypedRateLimitingInterface[string]) func(context.Context)

//go:linkname processResourceChanges k8s.io/kubernetes/pkg/controller/resourcequota.(*QuotaMonitor).processResourceChanges
func processResourceChanges(*upstream.QuotaMonitor, context.Context) bool

var (
	quotas       = corev1.SchemeGroupVersion.WithResource("resourcequotas")
	services     = corev1.SchemeGroupVersion.WithResource("services")
	claims       = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	configMaps   = corev1.SchemeGroupVersion.WithResource("configmaps")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	deviceClaims = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
)

// period is that of both by default.
const period = 5 * time.Minute

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "resourcequota-controller",
		Plugin:     resourcequota.Plugin,
		Settings:   map[string]string{"recount-after": "0"}, // a row of docs/differences.md
		Native:     made,
		World:      objects,
		Steps:      6,
		Deeds:      deeds(),
		Faults:     []string{"update resourcequotas/status"},
		Gates:      []string{"PodLevelResources", "PodLevelResourcesFixKubeletQOSClass"},
	}
}

// field returns a field that its package keeps to itself.
func field(of any, name string) any {
	return native.Exposed(reflect.ValueOf(of).Elem().FieldByName(name))
}

type queue = workqueue.TypedRateLimitingInterface[string]

// made makes upstream's controller as its manager does. A quota that has been counted is counted again after the
// period, a row of docs/differences.md.
func made(e *native.Env) (*native.Made, error) {
	lister := generic.ListerFuncForResourceFunc(e.Informers.ForResource)
	configuration, err := install.NewQuotaConfigurationForControllers(lister, e.Informers)
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	close(started)
	found := e.Informers.Core().V1().ResourceQuotas()
	c, err := upstream.NewController(e.Context, &upstream.ControllerOptions{
		QuotaClient:           e.Client.CoreV1(),
		ResourceQuotaInformer: found,
		ResyncPeriod:          func() time.Duration { return period },
		Registry:              generic.NewRegistry(configuration.Evaluators()),
		DiscoveryFunc: func() ([]*metav1.APIResourceList, error) {
			all, err := e.Served()
			return discovery.FilteredBy(discovery.ResourcePredicateFunc(func(_ string, r *metav1.APIResource) bool {
				return r.Namespaced
			}), all), err
		},
		IgnoredResourcesFunc: configuration.IgnoredResources,
		InformersStarted:     started,
		InformerFactory: informerfactory.NewInformerFactory(e.Informers,
			metadatainformer.NewSharedInformerFactory(e.Metadata, 0)),
		ReplenishmentResyncPeriod: func() time.Duration { return 0 },
		UpdateFilter:              install.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}

	// What the monitors see is handled at once.
	monitor := field(c, "quotaMonitor").(*upstream.QuotaMonitor)
	go func() {
		for processResourceChanges(monitor, e.Context) {
		}
	}()
	return &native.Made{
		Controller: c,
		Process: func(ctx context.Context) bool {
			q := field(c, "queue").(queue)
			key, _ := q.Get()
			q.(interface{ Hand(string) }).Hand(key)
			worker(c, q)(ctx)
			namespace, name, _ := cache.SplitMetaNamespaceKey(key)
			if _, err := found.Lister().ResourceQuotas(namespace).Get(name); err == nil {
				q.AddAfter(key, period)
			}
			return true
		},
		Feeds: map[string]func(context.Context) bool{"missingUsageQueue": func(context.Context) bool {
			first := field(c, "missingUsageQueue").(queue)
			key, _ := first.Get()
			first.Done(key)
			field(c, "queue").(queue).Add(key)
			return true
		}},
		End: func() { field(monitor, "resourceChanges").(interface{ ShutDown() }).ShutDown() },
	}, nil
}

// objects are quotas of all sorts, with what they count.
func objects(r *world.Rand) (all []runtime.Object) {
	all = append(all, r.Namespace("other"), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu",
		UID: r.UID()}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: world.Maybe(r, "example.com/gpu")}})
	for i := range 1 + r.IntN(3) {
		all = append(all, newQuota(r, quotaNames[i]))
	}
	for i := range r.IntN(6) {
		all = append(all, pod(r, podNames[i]))
	}
	for i := range r.IntN(3) {
		all = append(all, r.Service(otherNames[i], namespaceOf(r)), claim(r, otherNames[i]), configMap(r, otherNames[i]),
			deviceClaim(r, otherNames[i], all))
	}
	return all
}

var (
	quotaNames = []string{"all", "some", "few"}
	podNames   = []string{"a", "b", "c", "d", "e", "f", "g"}
	otherNames = []string{"a", "b", "c"}
)

func namespaceOf(r *world.Rand) string {
	if r.One(8) {
		return "other"
	}
	return world.Namespace
}

func meta(r *world.Rand, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespaceOf(r), Name: name, UID: r.UID(), CreationTimestamp: r.Ago(9000)}
}

var (
	computed = []corev1.ResourceName{"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu",
		"limits.memory"}
	anything = append([]corev1.ResourceName{"count/pods", "count/pods", "ephemeral-storage", "hugepages-2Mi",
		"requests.hugepages-2Mi", "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu",
		"services", "count/services", "services.nodeports", "services.loadbalancers", "persistentvolumeclaims",
		"requests.storage", "gold.storageclass.storage.k8s.io/requests.storage",
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims", "count/persistentvolumeclaims",
		"count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices", "configmaps",
		"count/configmaps", "count/replicasets.apps", "resourcequotas", "secrets", "replicationcontrollers",
		"count/gears.example.com", "count/events", "count/nodes"}, computed...)
)

func newQuota(r *world.Rand, name string) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: meta(r, name)}
	from := anything
	switch r.IntN(8) {
	case 0:
		from = computed
		q.Spec.Scopes = []corev1.ResourceQuotaScope{world.Of(r, corev1.ResourceQuotaScopeTerminating,
			corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
			corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity)}
	case 1:
		from = []corev1.ResourceName{"pods", "count/pods", "count/configmaps"}
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	case 2:
		from = computed
		q.Spec.ScopeSelector = selector(corev1.ResourceQuotaScopePriorityClass, r, "high", "low")
	case 3:
		from = []corev1.ResourceName{"persistentvolumeclaims", "requests.storage"}
		q.Spec.ScopeSelector = selector(corev1.ResourceQuotaScopeVolumeAttributesClass, r, "fast", "slow")
	}

	hard(r, q, from)
	switch r.IntN(3) {
	case 0:
		q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
		for name := range q.Spec.Hard {
			q.Status.Used[name] = resource.MustParse(world.Of(r, "0", "1", "2", "1Gi"))
		}
	case 1:
		other := &corev1.ResourceQuota{}
		hard(r, other, anything)
		q.Status = corev1.ResourceQuotaStatus{Hard: other.Spec.Hard, Used: corev1.ResourceList{}}
		for name := range other.Spec.Hard {
			if r.One(2) {
				q.Status.Used[name] = resource.MustParse(world.Of(r, "0", "1", "3"))
			}
		}
	}
	return q
}

// hard has a quota bound some resources, one of which at least is one that is counted.
func hard(r *world.Rand, q *corev1.ResourceQuota, from []corev1.ResourceName) {
	q.Spec.Hard = corev1.ResourceList{from[len(from)-1]: resource.MustParse("9")}
	for range r.IntN(7) {
		q.Spec.Hard[world.Of(r, from...)] = resource.MustParse(world.Of(r, "0", "1", "5", "10", "100"))
	}
}

func selector(scope corev1.ResourceQuotaScope, r *world.Rand, values ...string) *corev1.ScopeSelector {
	x := corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: world.Of(r, corev1.ScopeSelectorOpIn,
		corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)}
	if x.Operator == corev1.ScopeSelectorOpIn || x.Operator == corev1.ScopeSelectorOpNotIn {
		x.Values = values[r.IntN(len(values)):]
	}
	return &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{x}}
}

// needs are what a container may ask for. Each resource is always written in one way: which way a sum is written in is
// upstream's chance otherwise.
func needs(r *world.Rand) (l corev1.ResourceRequirements) {
	set := func(name corev1.ResourceName, same bool, texts ...string) {
		if r.One(2) {
			return
		}
		n := r.IntN(len(texts))
		request, limit := texts[n], texts[n+r.IntN(len(texts)-n)]
		if same {
			limit = request
		}
		if l.Requests == nil {
			l.Requests, l.Limits = corev1.ResourceList{}, corev1.ResourceList{}
		}
		l.Requests[name] = resource.MustParse(request)
		if same || r.One(2) {
			l.Limits[name] = resource.MustParse(limit)
		}
	}

	set("cpu", false, "100m", "250m", "1", "2")
	set("memory", false, "64Mi", "1Gi", "2Gi")
	set("ephemeral-storage", false, "1Gi", "3Gi")
	if r.One(4) {
		set("hugepages-2Mi", true, "2Mi", "4Mi")
		set("example.com/gpu", true, "1", "2")
		set("deviceclass.resource.kubernetes.io/gpu", true, "1", "2")
	}
	return l
}

func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	p.Namespace, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = namespaceOf(r), nil, nil
	if r.One(8) {
		end(r, p)
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Resources = needs(r)
	}
	for i := range p.Spec.InitContainers {
		p.Spec.InitContainers[i].Resources = needs(r)
	}
	p.Spec.ActiveDeadlineSeconds = world.Of[*int64](r, nil, nil, nil, world.Ptr[int64](60))
	p.Spec.PriorityClassName, p.Spec.Priority = world.Of(r, "", "", "high", "low"), nil
	if r.One(5) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{affinityTerm(r)}}}
	}
	live(r, p)
	return p
}

// live gives a pod a status as kubelets leave it, perhaps in a resize.
func live(r *world.Rand, p *corev1.Pod) {
	r.Live(p)
	p.Status.ContainerStatuses = nil
	if r.One(2) {
		return
	}
	for _, c := range p.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, AllocatedResources: c.Resources.Requests,
			Resources: c.Resources.DeepCopy()}
		if r.One(3) {
			s.Resources = world.Ptr(needs(r))
		}
		if r.One(5) {
			s.AllocatedResources = needs(r).Requests
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
	if r.One(4) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending,
			Status: corev1.ConditionTrue, Reason: world.Of(r, corev1.PodReasonInfeasible, corev1.PodReasonDeferred)})
	}
}

// end has a pod be deleted, with no time left or with plenty: when time itself frees what a pod takes is a row of
// docs/differences.md.
func end(r *world.Rand, p *corev1.Pod) {
	grace := world.Of[int64](r, 0, 0, 36_000)
	at := metav1.NewTime(time.Now().Add(time.Duration(grace)*time.Second - time.Second).UTC().Truncate(time.Second))
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	p.Finalizers = []string{"example.com/stay"}
}

func claim(r *world.Rand, name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: meta(r, name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: world.Of(r, nil, world.Ptr("gold"), world.Ptr("lead")),
	}}
	vary(r, c)
	return c
}

// vary has a claim ask for other space, or attributes, or have been given others.
func vary(r *world.Rand, c *corev1.PersistentVolumeClaim) {
	size := func() resource.Quantity { return resource.MustParse(world.Of(r, "1Gi", "2Gi", "3Gi")) }
	class := func() *string { return world.Of(r, nil, world.Ptr("fast"), world.Ptr("slow")) }
	if c.Spec.Resources.Requests == nil || r.One(2) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size()}
	}
	if r.One(2) {
		c.Spec.VolumeAttributesClassName = class()
	}
	if r.One(3) {
		c.Status.CurrentVolumeAttributesClassName = class()
	}
	if r.One(3) {
		c.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: size()}
	}
}

func configMap(r *world.Rand, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(r, name)}
}

// deviceClaim may be one that was made for one of the pods.
func deviceClaim(r *world.Rand, name string, all []runtime.Object) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: meta(r, name), Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "a",
			Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: world.Of(r, "gpu", "other"),
				AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + r.IntN(3))}}}}}}
	for _, o := range all {
		if p, ok := o.(*corev1.Pod); ok && r.One(4) {
			c.Namespace, c.Annotations = p.Namespace, map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
			c.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "Pod", p.Name, p.UID)}
			break
		}
	}
	return c
}

// onPod does something to one of the pods that take anything. What happens to others wakes upstream's controller in
// vain, a row of docs/differences.md, and sets right what objects that came meanwhile have changed.
func onPod(what string, do func(*world.Rand, *api.Cluster, *corev1.Pod) error) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		all, err := c.List(differential.Pods)
		all = slices.DeleteFunc(all, func(o runtime.Object) bool { return viewOf(o.(*corev1.Pod)) > 0 })
		if err != nil || len(all) == 0 {
			return "", err
		}
		p := world.Of(r, all...).(*corev1.Pod)
		return what + " of pods " + p.Name, do(r, c, p)
	}
}

func varyPod(what string, f func(*world.Rand, *corev1.Pod)) differential.Deed {
	return onPod(what, func(r *world.Rand, c *api.Cluster, p *corev1.Pod) error {
		return c.Change(differential.Pods, p.Namespace, p.Name, func(o runtime.Object) { f(r, o.(*corev1.Pod)) })
	})
}

var vanish = onPod("the going", func(_ *world.Rand, c *api.Cluster, p *corev1.Pod) error {
	return c.Remove(differential.Pods, p.Namespace, p.Name)
})

// deeds are what others do.
func deeds() []differential.Deed {
	return []differential.Deed{
		differential.Appear(func(r *world.Rand) runtime.Object { return newQuota(r, world.Of(r, quotaNames...)) }),
		differential.Vary(quotas, "other limits", func(r *world.Rand, q *corev1.ResourceQuota) {
			if len(q.Spec.Scopes) == 0 && q.Spec.ScopeSelector == nil {
				hard(r, q, anything)
			}
		}),
		differential.Vary(quotas, "other usage", func(r *world.Rand, q *corev1.ResourceQuota) {
			for name := range q.Status.Used {
				if r.One(2) {
					q.Status.Used[name] = resource.MustParse(world.Of(r, "0", "1", "7"))
				}
			}
		}),
		differential.Delete(quotas),
		differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, podNames...)) }),
		differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, podNames...)) }),
		varyPod("a change of the life", live),
		varyPod("a change of the life", live),
		varyPod("the end", end),
		varyPod("a deadline", func(_ *world.Rand, p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = world.Ptr[int64](30) }),
		onPod("delete", func(_ *world.Rand, c *api.Cluster, p *corev1.Pod) error {
			return c.Delete(differential.Pods, p.Namespace, p.Name, &metav1.DeleteOptions{})
		}),
		vanish, vanish,
		differential.Appear(func(r *world.Rand) runtime.Object {
			return r.Service(world.Of(r, otherNames...), namespaceOf(r))
		}),
		differential.Vary(services, "another type", func(r *world.Rand, s *corev1.Service) {
			s.Spec.Type = world.Of(r, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort,
				corev1.ServiceTypeLoadBalancer)
		}),
		differential.Vanish(services),
		differential.Appear(func(r *world.Rand) runtime.Object { return claim(r, world.Of(r, otherNames...)) }),
		differential.Vary(claims, "other needs", vary),
		differential.Vanish(claims),
		differential.Appear(func(r *world.Rand) runtime.Object { return configMap(r, world.Of(r, otherNames...)) }),
		differential.Vanish(configMaps),
		differential.Appear(func(r *world.Rand) runtime.Object { return deviceClaim(r, world.Of(r, otherNames...), nil) }),
		differential.Vanish(deviceClaims),
		differential.Vanish(replicaSets),
	}
}
