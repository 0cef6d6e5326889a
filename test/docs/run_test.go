package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// Windlass runs with each configuration that pages show, nothing is bad, and its controllers do their work. Those that
// a page's commands use as a file are run by TestCommands.
func TestConfigurationsRun(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	client := c.Client()
	const namespace, label = "web", "team"
	makeWork(t, client, namespace, label)
	contents := configured(t, c)

	for _, x := range shownConfigurations(t) {
		if strings.HasPrefix(x.mark, "file ") {
			continue
		}
		t.Run(fmt.Sprintf("%s:%d", filepath.Base(x.page), x.line), func(t *testing.T) {
			file := x.write(t, contents)
			fromRegistry := map[string]bool{} // no registry has the images
			m := windlass.Begin(t, c, windlass.Options{Configure: func(k *config.Configuration) {
				given, err := config.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				serving := k.Serving // for the test to ask
				if *k = *given; k.Serving.TLS.CertFile == "" {
					k.Serving.TLS = serving.TLS
				}
				k.Serving.BindAddress, k.Serving.Port = serving.BindAddress, serving.Port
				k.Serving.Authentication.ClientCAFile = serving.Authentication.ClientCAFile
				k.ClientConnection.Kubeconfig = c.Kubeconfig // an administrator's, who may impersonate
				for _, p := range k.Plugins {
					fromRegistry[p.Name] = p.Image != ""
				}
			}})

			runs := map[string]bool{}
			cluster.Eventually(t, cluster.Patience, "all is well", func() (bool, []state.Trouble) {
				s := m.Status(t)
				for _, trouble := range s.Troubles {
					if trouble.Level == state.Bad && !fromRegistry[trouble.About] {
						return false, s.Troubles
					}
				}
				all := len(s.Controllers) > 0
				for _, c := range s.Controllers {
					runs[c.Name] = true
					all = all && (c.State == "Running" || fromRegistry[c.Plugin])
				}
				return all, s.Troubles
			})
			for name, owner := range map[string]string{"replicaset-controller": "set",
				"replicationcontroller-controller": "old"} {
				if runs[name] {
					replacePods(t, client, namespace, owner)
				}
			}
		})
	}
}

// configured returns the contents of files that configurations name, by the ends of their names.
func configured(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	certificate, key := c.ServingCertificate()
	public, _ := newKey(t)
	return map[string]string{"/tls.crt": read(certificate), "-client.crt": read(certificate), ".key": read(key),
		"-ca.crt": read(c.CAFile), ".pub": public, ".json": "{}"}
}

// makeWork makes a set of pods and an old one, with a label, in a namespace where whoever is impersonated may work.
func makeWork(t *testing.T, client kubernetes.Interface, namespace, label string) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, one := t.Context(), int32(1)
	for _, name := range []string{namespace, "windlass-system"} {
		must(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}))
	}
	must(client.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}))
	must(client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "impersonated"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "windlass-system", Name: "replicaset"}},
	}, metav1.CreateOptions{}))

	template := func(app string) (metav1.ObjectMeta, corev1.PodTemplateSpec) {
		x := workload.Template(app, "web:1")
		x.Labels[label] = namespace
		return metav1.ObjectMeta{Name: app, Labels: x.Labels}, x
	}
	meta, pods := template("set")
	must(client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: meta,
		Spec: appsv1.ReplicaSetSpec{Replicas: &one, Template: pods,
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}}}, metav1.CreateOptions{}))
	meta, pods = template("old")
	must(client.CoreV1().ReplicationControllers(namespace).Create(ctx, &corev1.ReplicationController{ObjectMeta: meta,
		Spec: corev1.ReplicationControllerSpec{Replicas: &one, Template: &pods, Selector: meta.Labels}},
		metav1.CreateOptions{}))
}

// replacePods deletes what pods an owner has, and waits until there is another one.
func replacePods(t *testing.T, client kubernetes.Interface, namespace, app string) {
	t.Helper()
	pods, before := client.CoreV1().Pods(namespace), map[string]bool{}
	selector := metav1.ListOptions{LabelSelector: "app=" + app}
	l, err := pods.List(t.Context(), selector)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.Items {
		before[p.Name] = true
		if err := pods.Delete(t.Context(), p.Name, *metav1.NewDeleteOptions(0)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, time.Minute, app+" has another pod", func() (bool, string) {
		l, err := pods.List(t.Context(), selector)
		for i := range l.Items {
			if !before[l.Items[i].Name] {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%d pods, %v", len(l.Items), err)
	})
}
