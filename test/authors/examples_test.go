package authors

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// examples are those in Go, with what shows in a cluster that they work.
var examples = []example{
	{name: "budgets", check: checkBudgets},
	{name: "replicaset", check: checkReplicaSet},
	{name: "webapp", custom: true, check: checkWebApp},
	{name: "c-default-deny", module: "default-deny", check: checkDefaultDeny},
}

type example struct {
	name   string
	module string // the module's name where it isn't the folder's
	custom bool   // has types of its own, of which something is generated
	check  func(*author)
}

// plugin is the module's name.
func (x *example) plugin() string {
	if x.module != "" {
		return x.module
	}
	return x.name
}

// Each example is copied out of the repository, built, tested, loaded into a Windlass that is running, and has its
// effect; another version takes its place while it runs; and it is unloaded. In the end all run at once. Plugins write
// as accounts of their own, with the rights that windlass rbac prints.
func TestExamples(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: crowd.nodes})
	a := newAuthor(t, c, false)
	a.runWindlass(func(k *config.Configuration) {
		allowCrowd(k)
		// A module that isn't built in has neither a place nor rights by its name alone; and this one lacks a controller.
		k.Plugins = []config.Plugin{{Name: "replicaset", File: "replicaset.wasm", ServiceAccount: "replicaset-controller"}}
		k.Controllers = []string{"*", "-replicationcontroller-controller"}
	})

	modules := map[string]string{}
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			a := *a
			a.t = t
			folder := filepath.Join(a.home, x.name)
			if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", "examples", x.name))); err != nil {
				t.Fatal(err)
			}

			name := x.plugin()
			if x.module != "" {
				a.runShell(folder, "chmod +x build.sh && ./build.sh")
			} else {
				a.runShell(folder, "windlass plugin sdk && go mod edit -replace github.com/windlass-dev/windlass=./.windlass")
				a.onlySDK(folder)
				if x.custom {
					a.runShell(folder, "windlass plugin generate --check")
				}
				a.runShell(folder, "windlass plugin build")
			}

			module := filepath.Join(folder, name+".wasm")
			a.checkSize(module)
			a.runShell(folder, "windlass plugin test "+name+".wasm")
			a.grantRights(folder, name)
			a.loadPlugin(name, module)
			x.check(&a)
			if x.module == "" {
				a.sameUnderGo(folder, name)
			}
			a.replace(name, module)
			a.unloadPlugin(name)
			modules[name] = module
		})
	}
	t.Run("all at once", func(t *testing.T) {
		a := *a
		a.t = t
		a.checkRoom(modules)
	})
}

// sameUnderGo replays what a module of TinyGo's has just done in the same plugin as Go's own compiler builds it: every
// message is the same, byte for byte.
func (a *author) sameUnderGo(folder, name string) {
	a.t.Helper()
	a.runShell(folder, "windlass plugin build --compiler go -o ../"+name+"-go.wasm")
	i := slices.IndexFunc(a.m.Status(a.t).Controllers, func(c state.ControllerStatus) bool { return c.Plugin == name })
	if i < 0 {
		a.t.Fatalf("no controller of plugin %s runs", name)
	}
	file := filepath.Join(a.home, name+record.Extension)
	if err := record.WriteFile(file, a.m.Get(a.t, "/debug/recordings/"+a.m.Status(a.t).Controllers[i].Name)); err != nil {
		a.t.Fatal(err)
	}
	a.runShell(folder, "windlass replay "+file+" --plugin ../"+name+"-go.wasm")
	f, err := record.Open(file)
	if err != nil {
		a.t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(f.Syncs, func(s record.Sync) bool { return !s.Answered })); n < 3 {
		a.t.Errorf("%d syncs were recorded: too few to tell", n)
	}
}

// grantRights gives a plugin the rights that windlass rbac prints of it, as its operator would with kubectl.
func (a *author) grantRights(folder, plugin string) {
	a.t.Helper()
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\npluginFolder: %s\nuseServiceAccountCredentials: true\n",
		config.APIVersion, config.Kind, folder)
	if plugin == "replicaset" {
		text += "controllers: ['*', -replicationcontroller-controller]\n" +
			"plugins: [{name: replicaset, file: replicaset.wasm, serviceAccount: replicaset-controller}]\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "windlass.yaml"), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.c.Apply(a.t, []byte(a.runShell(folder, "windlass rbac "+plugin+" --bindings --config windlass.yaml")))
}

// replace loads another version: the same with a note at its end, in a section that nothing reads.
func (a *author) replace(name, module string) {
	a.t.Helper()
	b, err := os.ReadFile(module)
	if err != nil {
		a.t.Fatal(err)
	}
	next := filepath.Join(a.home, name+"-next.wasm")
	if err := os.WriteFile(next, append(b, "\x00\x05\x04next"...), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.loadPlugin(name, next)
}

func checkBudgets(a *author) {
	ctx, budgets := a.t.Context(), a.client.PolicyV1().PodDisruptionBudgets("default")
	d := workload.Deployment("guarded", 2)
	d.Labels = map[string]string{"budgets.example.com/min-available": "50-percent"}
	workload.CreateDeployment(a.t, a.client, "default", d)
	amount := func(want string) {
		a.t.Helper()
		a.eventually("the budget is "+want, func() error {
			b, err := budgets.Get(ctx, "guarded-deployment", metav1.GetOptions{})
			if err == nil && b.Spec.MinAvailable.String() != want {
				return errNotYet
			}
			return err
		})
	}
	amount("50%")
	a.setLabel("guarded", `"1"`)
	amount("1")
	a.setLabel("guarded", "null")
	a.eventually("the budget is gone", func() error {
		return expectNotFound(budgets.Get(ctx, "guarded-deployment", metav1.GetOptions{}))
	})
}

func checkReplicaSet(a *author) {
	ctx, pods := a.t.Context(), a.client.CoreV1().Pods("default")
	d := workload.Deployment("ordered", 3)
	d.Annotations = map[string]string{"scaledown.example.com/order": "oldest"}
	workload.CreateDeployment(a.t, a.client, "default", d)

	names := func() (all []string) {
		l, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=ordered"})
		if err != nil {
			a.t.Fatal(err)
		}
		for _, p := range l.Items {
			ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			if ready && p.DeletionTimestamp == nil {
				all = append(all, p.Name)
			}
		}
		return all
	}

	await := func(n int) (all []string) {
		a.t.Helper()
		a.eventually(fmt.Sprint(n, " ready pods"), func() error {
			if all = names(); len(all) != n {
				return fmt.Errorf("%v", all)
			}
			return nil
		})
		return all
	}

	chosen := await(3)[1] // whichever order they were made in
	if _, err := pods.Patch(ctx, chosen, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"scaledown.example.com/first":"yes"}}}`), metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}

	workload.PatchDeployment(a.t, a.client, "default", "ordered", `{"spec":{"replicas":2}}`)
	if left := await(2); slices.Contains(left, chosen) {
		a.t.Errorf("the pod %s, which was labelled, is still there: %v", chosen, left)
	}
}

func checkWebApp(a *author) {
	crds, err := filepath.Glob(filepath.Join(a.home, "webapp", "crd", "*.yaml"))
	if err != nil || len(crds) == 0 {
		a.t.Fatalf("no crd/*.yaml: %v", err)
	}

	for _, f := range crds {
		b, err := os.ReadFile(f)
		if err != nil {
			a.t.Fatal(err)
		}
		a.c.Apply(a.t, b)
	}

	ctx := a.t.Context()
	apps := dynamic.NewForConfigOrDie(a.c.RESTConfig()).Resource(
		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "webapps"}).Namespace("default")
	apply := func(spec string) {
		a.t.Helper()
		a.c.Apply(a.t, []byte("{apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop, namespace: default}, spec: "+
			spec+"}"))
	}

	ready := func(replicas int64, image string) {
		a.t.Helper()
		a.eventually(fmt.Sprint("the app is ready with ", replicas, " pods of ", image), func() error {
			o, err := apps.Get(ctx, "shop", metav1.GetOptions{})
			if err != nil {
				return err
			}
			available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
			observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			if available != replicas || observed != o.GetGeneration() || len(conditions) != 1 ||
				conditions[0].(map[string]any)["status"] != "True" {
				return fmt.Errorf("%v", o.Object["status"])
			}
			d, err := a.client.AppsV1().Deployments("default").Get(ctx, "shop", metav1.GetOptions{})
			if err == nil && d.Spec.Template.Spec.Containers[0].Image != image {
				return errNotYet
			}
			return err
		})
	}

	apply(`{image: "shop:1", replicas: 2, env: [{name: TITLE, value: Shop}]}`)
	ready(2, "shop:1")
	if s, err := a.client.CoreV1().Services("default").Get(ctx, "shop", metav1.GetOptions{}); err != nil ||
		s.Spec.Ports[0].TargetPort.String() != "http" {
		a.t.Errorf("the service: %v, error %v", s, err)
	}
	apply(`{image: "shop:2", replicas: 3, maxReplicas: 5}`)
	ready(3, "shop:2")
	autoscalers := a.client.AutoscalingV2().HorizontalPodAutoscalers("default")
	if h, err := autoscalers.Get(ctx, "shop", metav1.GetOptions{}); err != nil || h.Spec.MaxReplicas != 5 ||
		*h.Spec.MinReplicas != 3 {
		a.t.Errorf("the autoscaler: %+v, error %v", h, err)
	}
	apply(`{image: "shop:2", replicas: 1}`)
	ready(1, "shop:2")
	a.eventually("the autoscaler is gone", func() error {
		return expectNotFound(autoscalers.Get(ctx, "shop",
			metav1.GetOptions{}))
	})
	if err := apps.Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
		a.t.Fatal(err)
	}

	a.eventually("the children are gone with the app", func() error {
		return expectNotFound(a.client.AppsV1().Deployments("default").Get(ctx, "shop", metav1.GetOptions{}))
	})
}

func checkDefaultDeny(a *author) {
	ctx := a.t.Context()
	namespace := func(labels string) {
		a.t.Helper()
		a.c.Apply(a.t, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: closed, labels: {"+labels+"}}}"))
	}
	namespace(`isolation.example.com/default-deny: "true"`)
	policies := a.client.NetworkingV1().NetworkPolicies("closed")
	closed := func() error {
		p, err := policies.Get(ctx, "default-deny", metav1.GetOptions{})
		if err == nil && (len(p.Spec.Ingress) > 0 || len(p.Spec.PolicyTypes) != 1) {
			return fmt.Errorf("%+v", p.Spec)
		}
		return err
	}
	a.eventually("the namespace has its policy", closed)
	if _, err := policies.Patch(ctx, "default-deny", types.MergePatchType, []byte(`{"spec":{"ingress":[{}]}}`),
		metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}
	a.eventually("the policy is closed again", closed)
	namespace("")
	a.eventually("the policy is gone", func() error {
		return expectNotFound(policies.Get(ctx, "default-deny", metav1.GetOptions{}))
	})
}

func (a *author) setLabel(deployment, value string) {
	a.t.Helper()
	workload.PatchDeployment(a.t, a.client, "default", deployment,
		`{"metadata":{"labels":{"budgets.example.com/min-available":`+value+`}}}`)
}

// expectNotFound returns no error where an object can't be found.
func expectNotFound(_ any, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errNotYet
	}
	return err
}
