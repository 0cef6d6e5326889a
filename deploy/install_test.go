package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// onLoopback is what a test adds to values, because there is no pod network: an address and a port that are free.
func onLoopback(t *testing.T) (fields string, port int) {
	t.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  serving: {bindAddress: 127.0.0.1, port: %d}\n", port), port
}

// podSpec is that of a Deployment's pods, as the API server has it.
func podSpec(t *testing.T, c *cluster.Cluster, ns, name string) corev1.PodSpec {
	t.Helper()
	d, err := c.Client().AppsV1().Deployments(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Spec.Template.Spec
}

// From helm install to a healthy manager, by way of a bad edit, to helm uninstall: on a cluster that has no other
// manager, with RBAC, in a container like the one that a kubelet would make of the pod.
func TestInstall(t *testing.T) {
	const ns = "kube-system"
	c := cluster.Start(t, cluster.Options{Nodes: 2, Audit: true})
	h := newHelm(c)
	loopback, port := onLoopback(t)
	// One plugin isn't built in: a child process compiles it, into /tmp. It is a built-in one's module.
	module, err := os.ReadFile("../plugins/modules/endpoints.wasm")
	if err != nil {
		t.Fatal(err)
	}
	modules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "windlass-plugins"},
		BinaryData: map[string][]byte{"endpoints.wasm": module}}
	if _, err := c.Client().CoreV1().ConfigMaps(ns).Create(t.Context(), modules, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	always := image + "plugins: {volume: {configMap: {name: windlass-plugins}}}\nconfig:\n" + loopback
	const plugins = "  plugins: [{name: endpoints, serviceAccount: endpoint-controller}]\n"
	r := release{name: "windlass", namespace: ns, values: always + plugins}
	out := r.mustRender(t)
	h.applyObjects(t, out.objects)

	// As on a cluster where kube-controller-manager runs: who stands by is ready, and does nothing.
	release := holdLease(t, c)
	p := runPod(t, c, ns, podSpec(t, c, ns, "windlass"), nil)
	p.awaitReady(t)
	p.confined(t)
	for _, e := range c.Audit(t, cluster.Filter{}) {
		if strings.HasPrefix(e.User, "system:serviceaccount:") && e.Resource != "leases" && e.Verb != "get" &&
			e.Verb != "list" && e.Verb != "watch" {
			t.Errorf("who stands by has written: %v (%s)", e, e.URI)
		}
	}
	release()
	// The first Deployment that it runs is its own. KWOK's nodes have the pods run.
	cluster.Eventually(t, time.Minute, "windlass to roll itself out", func() (bool, any) {
		d, err := c.Client().AppsV1().Deployments(ns).Get(t.Context(), "windlass", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.ReadyReplicas == 2 && d.Status.ObservedGeneration == d.Generation, d.Status
	})

	t.Run("metrics", func(t *testing.T) {
		url := fmt.Sprintf("https://127.0.0.1:%d/metrics", port)
		if code, body, err := httpGet(t.Context(), url, ""); err != nil || code != http.StatusForbidden &&
			code != http.StatusUnauthorized {
			t.Errorf("without credentials: %d %v %.100s", code, err, body)
		}
		viewer := serviceAccount(t, c, "default", "prometheus")
		if code, _, err := httpGet(t.Context(), url, viewer); err != nil || code != http.StatusForbidden {
			t.Errorf("as somebody who may not: %d %v", code, err)
		}
		other := serviceAccount(t, c, "default", "dashboard")
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "dashboard"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "windlass-viewer"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "dashboard"}},
		}
		if _, err := c.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, time.Minute, "metrics for whom the viewer's role is bound to", func() (bool, any) {
			code, body, err := httpGet(t.Context(), url, other)
			return code == http.StatusOK && strings.Contains(body, "workqueue_adds_total"), fmt.Sprint(code, err)
		})
	})

	t.Run("configuration", func(t *testing.T) {
		upgrade := func(config string) {
			t.Helper()
			r.values = always + config
			next := r.mustRender(t)
			before, after := template(t, out), template(t, next)
			if before != after {
				t.Errorf("the change takes new pods:\n%s\n%s", before, after)
			}
			h.applyObjects(t, next.objects)
			p.updateConfigMaps(t)
		}
		checks := func(ctx context.Context) string {
			_, body, err := httpGet(ctx, fmt.Sprintf("https://127.0.0.1:%d/healthz?verbose", port), "")
			return fmt.Sprint(body, err)
		}
		upgrade("  controllers: ['*', '-endpoint']\n" + plugins)
		cluster.Eventually(t, time.Minute, "the endpoints controller to go, without a restart", func() (bool, any) {
			text := checks(t.Context())
			return strings.Contains(text, "deployment-controller") && !strings.Contains(text, "endpoints-controller"), text
		})
		// What helm can't know of is refused by windlass.
		upgrade("  controllers: ['*']\n  plugins: [{name: deployment, workers: 3000}]\n")
		cluster.Eventually(t, time.Minute, "the log to name the wrong field", func() (bool, any) {
			return strings.Contains(p.output(), "plugins[0].workers"), cluster.Tail(p.log)
		})
		if text := checks(t.Context()); !strings.Contains(text, "deployment-controller ok") ||
			strings.Contains(text, "endpoints-controller") {
			t.Errorf("after a bad edit it isn't as before:\n%s", text)
		}
		upgrade(plugins)
		cluster.Eventually(t, time.Minute, "the endpoints controller to come back", func() (bool, any) {
			text := checks(t.Context())
			return strings.Contains(text, "endpoints-controller ok"), text
		})
	})

	t.Run("a pod that starts with a wrong field", func(t *testing.T) {
		maps := c.Client().CoreV1().ConfigMaps(ns)
		m, err := maps.Get(t.Context(), "windlass", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.Data["windlass.yaml"] += "sandbx: {}\n"
		if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		p := runPod(t, c, ns, podSpec(t, c, ns, "windlass"), nil)
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			t.Fatal("it runs with a wrong field")
		}
		if out := p.output(); p.err == nil || !strings.Contains(out, "/etc/windlass/windlass.yaml") ||
			!strings.Contains(out, "sandbx") {
			t.Errorf("it ended with %v, and doesn't name the field:\n%s", p.err, out)
		}
	})

	t.Run("what a Deployment had made goes with it", func(t *testing.T) {
		background := metav1.DeletePropagationBackground
		deployments := c.Client().AppsV1().Deployments("default")
		workload.CreateDeployment(t, c.Client(), "default", workload.Deployment("web", 1))
		cluster.Eventually(t, time.Minute, "a Deployment to be available", func() (bool, any) {
			d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return d.Status.AvailableReplicas == 1, d.Status
		})
		if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
		awaitGone(t, c, "default")
	})

	// Nothing was refused to it that it asked for.
	for _, e := range c.Audit(t, cluster.Filter{}) {
		if strings.HasPrefix(e.User, "system:serviceaccount:"+ns+":") && e.Denied {
			t.Errorf("the chart's roles don't allow: %v (%s)", e, e.URI)
		}
	}
	if err := c.Client().CoreV1().ConfigMaps(ns).Delete(t.Context(), modules.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.uninstall(t, out.objects)
	p.stop(t, time.Duration(*p.spec.TerminationGracePeriodSeconds)*time.Second)
	// Its rights went together with its Deployment, so how much of what that had made windlass took away itself is chance.
	// The next manager, which takes the Lease over, takes the rest.
	c.Native(t, []string{"garbage-collector-controller"}, "--leader-elect")
	awaitGone(t, c, metav1.NamespaceAll)
	checkNothingLeft(t, c)
}

// holdLease has somebody hold kube-controller-manager's Lease until release is called.
func holdLease(t *testing.T, c *cluster.Cluster) (release func()) {
	t.Helper()
	leases, holder, seconds, now := c.Client().CoordinationV1().Leases("kube-system"), "kube-controller-manager",
		int32(3600), metav1.NowMicro()
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now,
			RenewTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		holder, seconds = "", 1
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
		if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// template is the pod's template of a Deployment as JSON.
func template(t *testing.T, out *rendered) string {
	t.Helper()
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(out.get(t, "Deployment",
		"windlass").Object, &d, true); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// awaitGone waits until a garbage collector has taken what depended on the namespace's Deployments.
func awaitGone(t *testing.T, c *cluster.Cluster, ns string) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "pods and replica sets to go", func() (bool, any) {
		pods, err := c.Client().CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		sets, err := c.Client().AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items)+len(sets.Items) == 0, fmt.Sprint(len(pods.Items), " pods ", err)
	})
}

// checkNothingLeft fails for each object in the cluster that has to do with the release. What windlass has made itself
// stays, as it would of kube-controller-manager: the Lease, which ends by itself, and service accounts.
func checkNothingLeft(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	h := newHelm(c)
	lists, err := c.Client().Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}

	looked := 0
	for _, l := range lists {
		for _, r := range l.APIResources {
			if !strings.Contains(fmt.Sprint(r.Verbs), "list") {
				continue
			}
			o := &unstructured.Unstructured{}
			o.SetAPIVersion(l.GroupVersion)
			gvr := o.GroupVersionKind().GroupVersion().WithResource(r.Name)
			list, err := h.client.Resource(gvr).List(t.Context(),
				metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=windlass"})
			if err != nil {
				t.Errorf("%v: %v", gvr, err)
				continue
			}
			looked++
			for _, o := range list.Items {
				t.Errorf("%s %s/%s is left", o.GetKind(), o.GetNamespace(), o.GetName())
			}
		}
	}
	if looked < 40 {
		t.Errorf("only %d resources were looked at", looked)
	}
}
