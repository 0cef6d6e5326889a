package authors

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// crowd is how much there is to do for all examples at once: in each of so many namespaces a Deployment of so many
// pods. With FULL=1 these are 50,000.
var crowd = struct{ nodes, namespaces, pods int }{workload.Size(3, 500), workload.Size(2, 500), workload.Size(3, 100)}

// patienceWithCrowd is how long so many pods may take.
var patienceWithCrowd = time.Duration(workload.Size(1, 40)) * time.Minute

// allowCrowd lets controllers send as many requests as a crowd needs. Budgets and limits stay what they are by default.
func allowCrowd(k *config.Configuration) {
	k.ClientConnection.QPS, k.ClientConnection.Burst = float32(workload.Size(20, 500)), int32(workload.Size(30, 1000))
}

// overruns are metrics that count what a budget or a limit has put off, refused or dropped.
var overruns = []struct {
	metric string
	labels []string
}{
	{"windlass_over_budget_total", nil},
	{"windlass_refused_effects_total", nil},
	{"windlass_dropped_log_bytes_total", nil},
	{"windlass_syncs_total", []string{"result", "trap"}},
	{"windlass_syncs_total", []string{"result", "refused"}},
	{"windlass_syncs_total", []string{"result", "performed"}},
	{"windlass_syncs_total", []string{"result", "deferred"}},
	{"windlass_syncs_total", []string{"result", "panic"}},
}

// checkRoom has all examples run at once, beside the built-in controllers, and fails the test if one of them needs more
// than four fifths of its memory, or comes up against another bound.
func (a *author) checkRoom(modules map[string]string) {
	for _, x := range examples {
		if modules[x.plugin()] == "" {
			a.t.Fatalf("the example %s isn't built: run the whole of TestExamples", x.name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(modules)) {
		a.loadPlugin(name, modules[name])
	}
	before := a.countOverruns()

	for i := range crowd.namespaces {
		a.createTenant(fmt.Sprint("tenant-", i))
	}
	a.awaitTenants("50%")
	for i := range crowd.namespaces {
		workload.PatchDeployment(a.t, a.client, fmt.Sprint("tenant-", i), "app",
			`{"metadata":{"labels":{"budgets.example.com/min-available":"1"}}}`)
	}
	a.awaitTenants("1")

	for i, n := range a.countOverruns() {
		if n > before[i] {
			a.t.Errorf("%s%v has grown from %v to %v", overruns[i].metric, overruns[i].labels, before[i], n)
		}
	}
}

// countOverruns returns how often each bound was met. A metric that has counted nothing isn't served, so its name is
// looked up in the page that has all of them.
func (a *author) countOverruns() (all []float64) {
	a.t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		a.t.Fatal(err)
	}

	for _, x := range overruns {
		if !strings.Contains(string(page), "`"+x.metric+"`") {
			a.t.Fatalf("there is no metric %s", x.metric)
		}
		all = append(all, a.m.Counted(a.t, x.metric, x.labels...))
	}
	return all
}

// createTenant makes a namespace with something to do for each example.
func (a *author) createTenant(name string) {
	a.t.Helper()
	_, err := a.client.CoreV1().Namespaces().Create(a.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"isolation.example.com/default-deny": "true"}}}, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}

	d := workload.Deployment("app", int32(crowd.pods))
	d.Labels = map[string]string{"budgets.example.com/min-available": "50-percent"}
	workload.CreateDeployment(a.t, a.client, name, d)
	a.c.Apply(a.t, fmt.Appendf(nil, "{apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop, namespace: %s}, "+
		`spec: {image: "shop:1", replicas: 1}}`, name))
}

// awaitTenants waits until each example has done its part in all namespaces, and looks meanwhile at what plugins hold.
func (a *author) awaitTenants(amount string) {
	a.t.Helper()
	apps := dynamic.NewForConfigOrDie(a.c.RESTConfig()).Resource(
		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "webapps"})
	ctx, n := a.t.Context(), crowd.namespaces
	most := map[string]int64{}

	cluster.Eventually(a.t, patienceWithCrowd, "all namespaces have what they should", func() (bool, string) {
		a.checkHeld(most)
		deployments, err := a.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		ready := int32(0)
		for _, d := range deployments.Items {
			if d.Name == "app" {
				ready += d.Status.ReadyReplicas
			}
		}

		budgets, err := a.client.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		kept := 0
		for _, b := range budgets.Items {
			if b.Spec.MinAvailable.String() == amount {
				kept++
			}
		}

		policies, err := a.client.NetworkingV1().NetworkPolicies("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}

		shops, err := apps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		open := 0
		for _, s := range shops.Items {
			if available, _, _ := unstructured.NestedInt64(s.Object, "status", "availableReplicas"); available == 1 {
				open++
			}
		}

		return int(ready) == n*crowd.pods && kept == n && len(policies.Items) == n && open == n,
			fmt.Sprintf("of %d namespaces with %d pods each: %d pods ready, %d budgets, %d policies, %d web apps available",
				n, crowd.pods, ready, kept, len(policies.Items), open)
	})
	a.t.Logf("with %d pods plugins have held at most, in bytes: %v", n*crowd.pods, most)
}

// checkHeld fails the test if a plugin holds more than four fifths of its memory, and notes the most that each has
// held.
func (a *author) checkHeld(most map[string]int64) {
	a.t.Helper()
	for _, p := range a.m.Status(a.t).Plugins {
		if most[p.Name] = max(most[p.Name], p.Memory.Held); 5*p.Memory.Held > 4*p.Memory.Limit {
			a.t.Fatalf("plugin %s holds %d of %d bytes: %v", p.Name, p.Memory.Held, p.Memory.Limit, p.Memory.By)
		}
	}
}
