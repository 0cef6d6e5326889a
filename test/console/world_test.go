package console

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// The namespaces: why one refuses pods is for people to read, what the other says is for a careless page to run.
const (
	shop, alley = "shop", "alley"

	closed  = "the shop is closed for stock-taking, no pods before Monday"
	hostile = `<img src=x onerror="document.title='owned'"> no pods today`
)

// world is a cluster with a windlass, one of whose controllers has a shadow that never wants anything.
type world struct {
	*cluster.Cluster
	client kubernetes.Interface
	host   *windlass.Process
	folder string // of plugins
}

func newWorld(t *testing.T) *world {
	w := &world{Cluster: cluster.Start(t, cluster.Options{Nodes: 2}), folder: t.TempDir()}
	w.client = w.Client()
	shadow := filepath.Join(t.TempDir(), "idle.wasm")
	if err := os.WriteFile(shadow, assembleSimple(t, "(i64.const 0)"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.replaceModule(t, original(t)) // a file that the configuration names and that isn't there is trouble
	w.host = windlass.SpawnWith(t, w.Cluster,
		fmt.Sprintf("pluginFolder: %s\nplugins:\n- name: replicaset\n  file: replicaset.wasm\n  serviceAccount: replicaset-controller\n  shadow: %s\n",
			w.folder, shadow),
		"daemonset", "deployment", "endpointslice", "garbagecollector", "job", "replicaset", "serviceaccount", "statefulset")
	for _, name := range []string{shop, alley} {
		w.must(t)(w.client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	}
	for _, name := range []string{shop, alley, "default"} {
		windlass.Account(t, w.client, name)
	}
	return w
}

// populate gives each controller something to do.
func (w *world) populate(t *testing.T) {
	t.Helper()
	must, web := w.must(t), workload.Web{Client: w.client, Namespace: "default", Name: "blog"}
	if err := web.Create(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	must(w.client.AppsV1().StatefulSets("default").Create(t.Context(), workload.StatefulSet("db", 2),
		metav1.CreateOptions{}))
	must(w.client.AppsV1().DaemonSets("default").Create(t.Context(), workload.DaemonSet("agent"), metav1.CreateOptions{}))
	must(w.client.BatchV1().Jobs("default").Create(t.Context(), workload.Job("report", 2, 1), metav1.CreateOptions{}))
}

func (w *world) must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// assembleSimple assembles testdata/simple.wat with the manifest of replicaset, and with what it does at each sync.
func assembleSimple(t *testing.T, sync string) []byte {
	t.Helper()
	wasm, ok := builtin.Module("replicaset")
	if !ok {
		t.Fatal("no built-in plugin replicaset: run make plugins")
	}
	manifest, err := rewrite.Manifest(wasm)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/simple.wat")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("(; manifest ;)", module.Escape(manifest), "(; manifest at ;)",
		fmt.Sprintf("0x%08x%08x", 16, len(manifest)), "(; sync ;)", sync).Replace(string(source))
	return module.Assemble(t, text)
}

// createDeployment makes a Deployment whose pods carry what a careless page would run.
func (w *world) createDeployment(t *testing.T, namespace, name string) {
	t.Helper()
	workload.CreateDeployment(t, w.client, namespace, workload.Deployment(name, 2, func(d *appsv1.DeploymentSpec) {
		d.Template.Annotations = map[string]string{"note": hostile}
	}))
}

// forbidPods has the API server refuse all pods of a namespace, and waits until it does.
func (w *world) forbidPods(t *testing.T, namespace, message string) {
	t.Helper()
	api := w.client.AdmissionregistrationV1()
	w.must(t)(api.ValidatingAdmissionPolicies().Create(t.Context(),
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule: admissionv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
						},
					},
				}}},
				Validations: []admissionv1.Validation{{Expression: "false", Message: message}},
			}}, metav1.CreateOptions{}))

	w.must(t)(api.ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace},
				}},
			}}, metav1.CreateOptions{}))
	w.awaitAdmission(t, namespace, "the policy refuses pods", func(err error) bool {
		return apierrors.IsInvalid(err) ||
			apierrors.IsForbidden(err)
	})
}

// allowPods ends what forbidPods began.
func (w *world) allowPods(t *testing.T, namespace string) {
	t.Helper()
	if err := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), namespace,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitAdmission(t, namespace, "the policy is gone", func(err error) bool { return err == nil })
	w.wakeReplicaSets(t, namespace)
}

// awaitAdmission creates a pod for show until the answer is as it should be.
func (w *world) awaitAdmission(t *testing.T, namespace, what string, done func(error) bool) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c:1"}}}}
	cluster.Eventually(t, time.Minute, what, func() (bool, string) {
		_, err := w.client.CoreV1().Pods(namespace).Create(t.Context(), pod,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return done(err), fmt.Sprint(err)
	})
}

// wakeReplicaSets changes the replica sets, so that nobody has to wait for their next tries.
func (w *world) wakeReplicaSets(t *testing.T, namespace string) {
	t.Helper()
	sets, err := w.client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"woken":"%d"}}}`, time.Now().UnixNano())
		w.must(t)(w.client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), s.Name, types.MergePatchType, patch,
			metav1.PatchOptions{}))
	}
}

// keepBusy keeps the controllers busy for a while, for a picture.
func (w *world) keepBusy(t *testing.T) {
	t.Helper()
	web := workload.Web{Client: w.client, Namespace: "default", Name: "blog"}
	for i := range int32(10) {
		if err := web.Scale(t.Context(), 2+(i*7)%13); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // with -update alone
	}
}

// viewerToken returns a token of somebody who may look.
func (w *world) viewerToken(t *testing.T) string {
	t.Helper()
	must, meta := w.must(t), metav1.ObjectMeta{Name: "viewer", Namespace: "default"}
	must(w.client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta},
		metav1.CreateOptions{}))
	// what windlass rbac --viewer prints
	for _, o := range rbac.People([]string{"system:serviceaccount:default:viewer"}, nil) {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			must(w.client.RbacV1().ClusterRoles().Create(t.Context(), o, metav1.CreateOptions{}))
		case *rbacv1.ClusterRoleBinding:
			must(w.client.RbacV1().ClusterRoleBindings().Create(t.Context(), o, metav1.CreateOptions{}))
		}
	}
	token, err := w.client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "viewer",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// original is the built-in replicaset.
func original(t *testing.T) []byte {
	t.Helper()
	wasm, ok := builtin.Module("replicaset")
	if !ok {
		t.Fatal("no built-in plugin replicaset: run make plugins")
	}
	return wasm
}

// variant does what the built-in replicaset does, with other bytes.
func variant(t *testing.T) []byte {
	t.Helper()
	note := "\x04notevariant"
	return append(slices.Clone(original(t)), append([]byte{0, byte(len(note))}, note...)...)
}

// replaceModule has a module take replicaset's place.
func (w *world) replaceModule(t *testing.T, wasm []byte) {
	t.Helper()
	beside := filepath.Join(w.folder, ".new")
	if err := os.WriteFile(beside, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(beside, filepath.Join(w.folder, "replicaset.wasm")); err != nil {
		t.Fatal(err)
	}
}

// runWindlass runs a command of windlass and returns what it prints and its exit code.
func (w *world) runWindlass(t *testing.T, args ...string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), windlass.Program(), append(args, w.accessFlags()...)...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatalf("%v: run make build", err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// accessFlags returns the flags by which an administrator's commands reach this windlass.
func (w *world) accessFlags() []string {
	return []string{"--server", w.host.Address, "--kubeconfig", w.Kubeconfig, "--certificate-authority", w.CAFile}
}

// openConsole runs windlass console, and returns the address that it prints.
func (w *world) openConsole(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, windlass.Program(), append([]string{"console"}, w.accessFlags()...)...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 0 {
			t.Errorf("windlass console: %v: %s", err, &stderr)
		}
	})

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if a := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); a != "" {
			return a
		}
	}
	t.Fatalf("windlass console prints no address: %s", &stderr)
	return ""
}
