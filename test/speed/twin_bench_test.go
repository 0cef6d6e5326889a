package speed

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/plugins/endpoints"
	"github.com/windlass-dev/windlass/plugins/endpointslice"
	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/plugins/serviceaccount"
	"github.com/windlass-dev/windlass/sdk"
)

const crowd = 1000 // pods

// twin is one key's sync, in the sandbox and natively. The world is as the controller wants it: there is nothing to do,
// as most times when an event wakes a key.
type twin struct {
	plugin   *sdk.Plugin
	settings *sdk.Settings
	module   *sandbox.Module
	plan     *views.Plan
	world    world

	snapshot views.Snapshot
	request  abi.SyncRequest
	message  []byte // the request on the wire
	answer   abi.SyncResponse
	buffer   []byte
}

var (
	now    = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	labels = map[string]string{"app": "web", "tier": "front", "pod-template-hash": "7d9c8b6f5d"}
)

var (
	namespaces  = abi.Resource{Version: "v1", Name: "namespaces"}
	accounts    = abi.Resource{Version: "v1", Name: "serviceaccounts"}
	pods        = abi.Resource{Version: "v1", Name: "pods"}
	nodes       = abi.Resource{Version: "v1", Name: "nodes"}
	services    = abi.Resource{Version: "v1", Name: "services"}
	replicasets = abi.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
)

func newTwin(t testing.TB, p *sdk.Plugin, key abi.KeyRef, objects func(put func(abi.Resource, runtime.Object))) *twin {
	t.Helper()
	found, err := plugins.Named("builtin:" + p.Name)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := plugins.Open(t.Context(), found, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loaded.Close(t.Context()) })
	w := &twin{plugin: p, module: loaded.Module, settings: &sdk.Settings{}}
	manifest := p.Manifest()
	for _, s := range manifest.Settings {
		w.settings.Values = append(w.settings.Values, s.Default)
	}
	if w.plan, err = views.Compile(&manifest.Controllers[0]); err != nil {
		t.Fatal(err)
	}
	w.world = newWorld(t, w.plan)
	objects(func(r abi.Resource, o runtime.Object) { w.world.putObject(t, r, o) })
	w.request = abi.SyncRequest{Key: key, Now: now.UnixNano()}
	w.syncUntilDone(t)
	return w
}

// syncUntilDone syncs natively until there is nothing to do.
func (w *twin) syncUntilDone(t testing.TB) {
	t.Helper()
	for range 20 {
		w.takeSnapshot(t)
		w.message = abi.AppendRequest(nil, &w.request)
		var r abi.SyncRequest
		if err := abi.DecodeRequest(w.message, &r); err != nil {
			t.Fatal(err)
		}
		changed := false
		a := sdk.Run(w.plugin, &r, w.settings, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
			changed = w.world.applyEffects(t, p.Effects) || changed
			return &abi.PerformResponse{Outcomes: make([]abi.Outcome, len(p.Effects))}, nil
		})
		if a.Error != "" {
			t.Fatal(a.Error)
		}
		changed = w.world.applyEffects(t, a.Effects) || changed
		if !a.KeepState {
			changed = changed || string(w.request.State) != string(a.State)
			w.request.State = a.State
		}
		if !changed {
			return
		}
	}

	t.Fatalf("%s has something to do after 20 syncs", w.plugin.Name)
}

// takeSnapshot makes the request from the world.
func (w *twin) takeSnapshot(t testing.TB) {
	if err := w.plan.Snapshot(w.world, w.request.Key, &w.snapshot); err != nil {
		t.Fatal(err)
	}
	w.snapshot.Request(&w.request)
}

// sandboxed is the sync in the sandbox, from the request's bytes to the decoded answer.
func (w *twin) sandboxed(t testing.TB) {
	w.callModule(t, len(w.message), func(b []byte) { copy(b, w.message) })
}

// syncWhole syncs as the host does it, from the key to the decoded answer.
func (w *twin) syncWhole(t testing.TB) {
	w.takeSnapshot(t)
	w.callModule(t, abi.SizeRequest(&w.request), func(b []byte) { abi.AppendRequest(b[:0], &w.request) })
}

func (w *twin) callModule(t testing.TB, size int, write func([]byte)) {
	w.answer = abi.SyncResponse{}
	_, err := w.module.Sync(t.Context(), &sandbox.Call{Size: size, Write: write}, func(b []byte) error {
		w.buffer = append(w.buffer[:0], b...)
		return abi.DecodeResponse(w.buffer, &w.answer)
	})
	if err != nil || len(w.answer.Effects) > 0 || w.answer.Error != "" {
		t.Fatalf("%v %s, %d effects", err, w.answer.Error, len(w.answer.Effects))
	}
}

// syncNatively syncs with the same code compiled for this machine, from the request's bytes to those of the answer.
func (w *twin) syncNatively(t testing.TB) {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(w.message, &r); err != nil {
		t.Fatal(err)
	}
	a := sdk.Run(w.plugin, &r, w.settings, nil)
	if w.buffer = abi.AppendResponse(w.buffer[:0], a); len(a.Effects) > 0 {
		t.Fatalf("%d effects", len(a.Effects))
	}
}

// newQuietTwin returns a twin for the sync of a namespace that has its service account: the empty sync.
func newQuietTwin(t testing.TB) *twin {
	return newTwin(t, serviceaccount.Plugin, abi.KeyRef{Name: "default"}, func(put func(abi.Resource, runtime.Object)) {
		put(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"},
			Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}})
		put(accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}})
	})
}

// crowded are the syncs over 1,000 pods.
var crowded = map[string]func(testing.TB) *twin{
	"replicaset": func(t testing.TB) *twin {
		n := int32(crowd)
		return newTwin(t, replicaset.Plugin, abi.KeyRef{Namespace: "default", Name: "web"},
			func(put func(abi.Resource, runtime.Object)) {
				rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid",
					Generation: 1}, Spec: appsv1.ReplicaSetSpec{
					Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: runningPod(0).Spec},
				}}
				put(replicasets, rs)
				for i := range crowd {
					put(pods, runningPod(i))
				}
			})
	},
	"endpointslice": func(t testing.TB) *twin { return newTwin(t, endpointslice.Plugin, serviceKey, service) },
	"endpoints":     func(t testing.TB) *twin { return newTwin(t, endpoints.Plugin, serviceKey, service) },
}

var serviceKey = abi.KeyRef{Namespace: "default", Name: "web"}

// service is a service of 1,000 pods on 50 nodes.
func service(put func(abi.Resource, runtime.Object)) {
	put(services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "service-uid"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80,
				TargetPort: intstr.FromString("http")}},
		}})
	for i := range 50 {
		put(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i),
			Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}}})
	}
	for i := range crowd {
		put(pods, runningPod(i))
	}
}

// runningPod returns a running and ready pod with what a kubelet and the API server usually write into one.
func runningPod(i int) *corev1.Pod {
	yes, seconds := true, int64(300)
	name, ip := fmt.Sprintf("web-7d9c8b6f5d-%05d", i), fmt.Sprintf("10.244.%d.%d", i/250, i%250+1)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, GenerateName: "web-7d9c8b6f5d-",
			UID:               types.UID(fmt.Sprintf("5d1f5a3e-7c55-4c8e-9d4e-%012d", i)),
			CreationTimestamp: now, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web-uid",
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%50), ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: &seconds,
			Containers: []corev1.Container{{Name: "web", Image: "registry.k8s.io/web:1.2.3",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIP: "192.168.0.1",
			StartTime: &now,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, Image: "registry.k8s.io/web:1.2.3",
				ContainerID: "containerd://0123456789abcdef"}}},
	}
	for _, c := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return p
}
