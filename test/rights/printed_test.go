package rights

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	builtin "github.com/windlass-dev/windlass/plugins"
	table "github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	home    = "windlass-system"
	account = "system:serviceaccount:" + home + ":"
)

// Every built-in plugin works with exactly the roles that windlass rbac prints: the manager and each plugin are service accounts that nothing else in the cluster knows.
func TestPluginsWorkWithWhatIsPrinted(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Audit: true})
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: %s\nkind: %s\nplugins:\n", config.APIVersion, config.Kind)
	for _, name := range builtin.Names() {
		fmt.Fprintf(&text, "- name: %s\n  impersonate: {serviceAccount: %s/%s}\n", name, home, name)
	}
	file := write(t, text.String())
	c.Apply(t, printed(t, binary(t), "--bindings", "--user", account+"windlass", "--config", file))
	self := kubeconfig(t, c, home, "windlass")
	windlass.Start(t, c, windlass.Options{Configure: func(k *config.Configuration) {
		loaded, err := config.Load(file)
		if err != nil {
			t.Error(err)
			return
		}
		loaded.ClientConnection, loaded.Serving = k.ClientConnection, k.Serving
		loaded.ClientConnection.Kubeconfig = self
		*k = *loaded
	}})
	end := work(t, c)

	did := map[string]bool{}
	for _, e := range c.Audit(t, cluster.Filter{}) {
		name, ours := strings.CutPrefix(e.User, account)
		if !ours {
			continue
		}
		if e.Denied || e.Code == http.StatusForbidden && e.Time.Before(end) { // in a namespace that ends, admission refuses
			t.Errorf("what is printed doesn't allow: %v (%s)", e, e.URI)
		}
		if name != "windlass" && !strings.HasPrefix(e.UserAgent, "kube-controller-manager/") {
			t.Errorf("%v comes from %q", e, e.UserAgent)
		}
		if e.Code < 300 && slices.Contains(cluster.Writes, e.Verb) && e.Resource != "events" && e.Resource != "leases" {
			did[name] = true
		}
	}
	for _, name := range builtin.Names() {
		if !did[name] {
			t.Errorf("plugin %s has written nothing under its own name", name)
		}
	}
	if did["windlass"] {
		t.Error("the manager has written under its own name")
	}
	// What admission may ask for where it is told to (OwnerReferencesPermissionEnforcement): who makes children that block an owner's deletion may change the owner's finalizers.
	// Which those are, package conformance checks.
	for _, own := range table.Controllers() {
		for _, w := range own.Manifest.Writes {
			if w.Subresource != "finalizers" {
				continue
			}
			r, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: account + own.Plugin.Folder,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: "x", Verb: "update", Group: w.Resource.Group, Resource: w.Resource.Name, Subresource: w.Subresource,
				},
			}}, metav1.CreateOptions{})
			if err != nil || !r.Status.Allowed {
				t.Errorf("plugin %s may not update %s/finalizers (%v)", own.Plugin.Folder, w.Resource.Name, err)
			}
		}
	}
}

// work gives each of the built-in plugins something to do, and waits until it is done. Its namespace's end began at the time that it gives.
func work(t *testing.T, c *cluster.Cluster) (end time.Time) {
	t.Helper()
	ctx, kube := t.Context(), c.Client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const ns = "work"
	must(kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}))
	await(t, time.Minute, func(ctx context.Context) string {
		_, err := kube.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = kube.CoreV1().ConfigMaps(ns).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		return reason(err)
	})
	two, one := int32(2), int32(1)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: ns} }
	apps := kube.AppsV1()
	must(apps.Deployments(ns).Create(ctx, &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: selector("web"), Template: template("web")}}, metav1.CreateOptions{}))
	must(apps.StatefulSets(ns).Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Replicas: &one, ServiceName: "db", Selector: selector("db"), Template: template("db")}}, metav1.CreateOptions{}))
	must(apps.DaemonSets(ns).Create(ctx, &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent")}}, metav1.CreateOptions{}))
	job := template("job")
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	must(kube.BatchV1().Jobs(ns).Create(ctx, &batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Template: job}}, metav1.CreateOptions{}))
	must(kube.CoreV1().Services(ns).Create(ctx, &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
	must(kube.AutoscalingV2().HorizontalPodAutoscalers(ns).Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("web"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MaxReplicas: 3, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
	}}, metav1.CreateOptions{}))
	// The pod garbage collector's: never scheduled, being deleted, held by a finalizer.
	stuck := template("stuck")
	stuck.Spec.NodeSelector = map[string]string{"no": "node"}
	pod := &corev1.Pod{ObjectMeta: meta("stuck"), Spec: stuck.Spec}
	pod.Finalizers = []string{"example.com/held"}
	must(kube.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{}))
	must(nil, kube.CoreV1().Pods(ns).Delete(ctx, "stuck", metav1.DeleteOptions{}))

	await(t, 2*time.Minute, func(ctx context.Context) string {
		d, err := apps.Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil || d.Status.ReadyReplicas < 1 {
			return fmt.Sprintf("deployment: %+v %v", d.Status, err)
		}
		s, err := apps.StatefulSets(ns).Get(ctx, "db", metav1.GetOptions{})
		if err != nil || s.Status.ReadyReplicas != 1 {
			return fmt.Sprintf("stateful set: %+v %v", s.Status, err)
		}
		a, err := apps.DaemonSets(ns).Get(ctx, "agent", metav1.GetOptions{})
		if err != nil || a.Status.NumberReady != 2 {
			return fmt.Sprintf("daemon set: %+v %v", a.Status, err)
		}
		j, err := kube.BatchV1().Jobs(ns).Get(ctx, "job", metav1.GetOptions{})
		if err != nil || j.Status.Active+j.Status.Succeeded != 1 {
			return fmt.Sprintf("job: %+v %v", j.Status, err)
		}
		h, err := kube.AutoscalingV2().HorizontalPodAutoscalers(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil || len(h.Status.Conditions) == 0 {
			return fmt.Sprintf("autoscaler: %+v %v", h.Status, err)
		}
		e, err := kube.DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
		if err != nil || len(e.Items) == 0 || len(e.Items[0].Endpoints) == 0 {
			return fmt.Sprintf("endpoint slices: %+v %v", e.Items, err)
		}
		if len(c.Audit(t, cluster.Filter{Users: []string{account + "podgc"}, Verbs: []string{"delete"}})) == 0 {
			return "the pod garbage collector has deleted nothing"
		}
		return ""
	})
	must(kube.CoreV1().Pods(ns).Patch(ctx, "stuck", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))
	// A new template, for roll-outs; then the end of the owners, and at last of everything.
	change := []byte(`{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)
	must(apps.Deployments(ns).Patch(ctx, "web", "application/merge-patch+json", change, metav1.PatchOptions{}))
	must(apps.StatefulSets(ns).Patch(ctx, "db", "application/merge-patch+json", change, metav1.PatchOptions{}))
	must(apps.DaemonSets(ns).Patch(ctx, "agent", "application/merge-patch+json", change, metav1.PatchOptions{}))
	await(t, time.Minute, func(ctx context.Context) string {
		d, err := apps.Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil || d.Status.UpdatedReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas || d.Status.ReadyReplicas != *d.Spec.Replicas {
			return fmt.Sprintf("deployment: %+v %v", d.Status, err)
		}
		return ""
	})
	background := metav1.DeletePropagationBackground
	must(nil, apps.Deployments(ns).Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &background}))
	awaitPods(t, c, ns, "web", 0)
	end = time.Now()
	must(nil, kube.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}))
	await(t, 2*time.Minute, func(ctx context.Context) string {
		n, err := kube.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return fmt.Sprintf("namespace: %+v", n.Status)
	})
	return end
}
