// Package resync shows that every key is looked at again, though nothing happens to it.
package resync

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

// What nothing wakes a controller for is mended all the same: Endpoints that somebody has edited, and a key that was
// given up.
func TestEveryKeyIsLookedAtAgain(t *testing.T) {
	folder := t.TempDir()
	module.Build(t, filepath.Join(folder, "serviceaccount.wasm"), "test/resync/testdata/impatient")
	c := cluster.Start(t, cluster.Options{})
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"endpoints-controller", "serviceaccount-controller"},
		Configure: func(k *config.Configuration) {
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
			k.PluginFolder = folder
			k.Plugins = []config.Plugin{{Name: "serviceaccount", File: "serviceaccount.wasm"}}
			k.MinResyncPeriod.Duration = time.Second
		}})
	client := c.Client()
	cluster.Eventually(t, cluster.Patience, "both run", func() (bool, any) {
		all := m.Status(t).Controllers
		return len(all) == 2 && all[0].State == "Running" && all[1].State == "Running", all
	})
	for _, s := range m.Status(t).Controllers {
		if p, err := time.ParseDuration(s.Resync); err != nil || p < time.Second || p > 2*time.Second {
			t.Errorf("%s says that its keys are looked at again in %q: %v", s.Name, s.Resync, err)
		}
	}

	t.Run("edited by hand", func(t *testing.T) { editEndpoints(t, client) })
	t.Run("given up", func(t *testing.T) { giveUpKey(t, c, m) })
	for _, name := range []string{"endpoints-controller", "serviceaccount-controller"} {
		if m.Count(t, "windlass_resyncs_total", "controller", name) < 1 {
			t.Errorf("no resync of %s is counted", name)
		}
	}
}

// editEndpoints puts an address into a service's Endpoints and waits until it is gone: the controller doesn't watch for
// that.
func editEndpoints(t *testing.T, client kubernetes.Interface) {
	const name = "web"
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), s,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	all := client.CoreV1().Endpoints(metav1.NamespaceDefault) //nolint:staticcheck // the controller is about them
	cluster.Eventually(t, time.Minute, "the service has Endpoints", func() (bool, any) {
		_, err := all.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil, err
	})
	wrong := []byte(`{"subsets":[{"addresses":[{"ip":"10.1.2.3"}],"ports":[{"port":80}]}]}`)
	edited, err := all.Patch(t.Context(), name, "application/merge-patch+json", wrong, metav1.PatchOptions{})
	if err != nil || len(edited.Subsets) != 1 {
		t.Fatalf("%v, %v", edited, err)
	}
	cluster.Eventually(t, time.Minute, "the wrong address is gone", func() (bool, any) {
		e, err := all.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(e.Subsets) == 0, e
	})
}

// giveUpKey has a policy refuse a namespace's service account until its key is given up, and waits for the account once
// the policy has gone: nothing tells the controller of that.
func giveUpKey(t *testing.T, c *cluster.Cluster, m *windlass.Manager) {
	const name = "shop"
	client := c.Client()
	rule := admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"serviceaccounts"}}
	c.Admit(t, name, admissionv1.Create, rule, fmt.Sprintf("request.namespace != %q && object.metadata.name != %[1]q",
		name))
	cluster.Eventually(t, time.Minute, "service accounts are refused", func() (bool, any) {
		refused := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(t.Context(), refused,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), err
	})
	if _, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "the namespace is given up", func() (bool, string) {
		var k state.Keys
		b := m.Get(t, "/windlass/v1/keys?controller=serviceaccount&key="+name)
		if err := json.Unmarshal(b, &k); err != nil {
			t.Fatal(err)
		}
		return len(k.Keys) == 1 && k.Keys[0].State == controller.GivenUp, string(b)
	})

	policies := client.AdmissionregistrationV1()
	if err := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "the namespace has its account", func() (bool, any) {
		_, err := client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, err
	})
}
