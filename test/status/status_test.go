// Package status asks a running windlass on a real cluster, with the program's own commands, what runs, what doesn't,
// and what that means for the cluster's objects.
package status

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// runAgainst runs a command of windlass against a process, and returns what it prints.
func runAgainst(t *testing.T, c *cluster.Cluster, p *windlass.Process, args ...string) string {
	t.Helper()
	return runWindlass(t, append(args, "--server", p.Address, "--kubeconfig", c.Kubeconfig, "--certificate-authority",
		c.CAFile)...)
}

// runWindlass runs a command of windlass, and returns what it prints; the exit code of windlass status is of no account
// here.
func runWindlass(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), windlass.Program(), args...).Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || args[0] != "status") {
		if ok {
			t.Fatalf("windlass %s: %v\n%s%s", strings.Join(args, " "), err, out, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

func budget(name string) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}}
}

func replicaSet(name string) *appsv1.ReplicaSet {
	d := workload.Deployment(name, 2).Spec
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: d.Replicas, Selector: d.Selector, Template: d.Template}}
}

func newClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
	}}
}

// Every controller of kube-controller-manager's is listed with its state, those that don't run with the reason; objects
// that nobody acts for are counted, with metadata of one object a minute, and where that isn't allowed nothing is said
// of them.
func TestWhatDoesNotRunIsTold(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Audit: true})
	client := c.Client()
	for i := range 3 {
		if _, err := client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget(fmt.Sprint("web-", i)),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), newClaim("data"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := windlass.Spawn(t, c, "*", "-job", "-disruption", "-validatingadmissionpolicy-status-controller")
	p.AwaitReady(t)

	states := map[string]string{}
	var all []struct{ Name, State, Message string }
	if err := json.Unmarshal([]byte(runAgainst(t, c, p, "get", "controllers", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		states[x.Name] = strings.TrimSpace(x.State + " " + x.Message)
	}
	for _, x := range kcm.Controllers {
		if states[x.Name] == "" {
			t.Errorf("%s isn't listed", x.Name)
		}
	}
	for name, want := range map[string]string{
		"deployment-controller":                       "Running",
		"job-controller":                              "Disabled is turned off by --controllers",
		"resourceclaim-controller":                    "NotBuilt isn't built yet",
		"token-cleaner-controller":                    "Disabled is off unless --controllers names it",
		"selinux-warning-controller":                  "Disabled is off unless --controllers names it, and isn't built yet",
		"validatingadmissionpolicy-status-controller": "Disabled is turned off by --controllers, and isn't built yet",
		"disruption-controller":                       "Disabled is turned off by --controllers: 3 policy/v1/poddisruptionbudgets",
		"persistentvolume-binder-controller":          "NotBuilt isn't built yet: 1 v1/persistentvolumeclaims",
		"persistentvolume-attach-detach-controller":   "NotBuilt isn't built yet",
	} {
		if states[name] != want {
			t.Errorf("%s: %q, want %q", name, states[name], want)
		}
	}

	said := runAgainst(t, c, p, "status")
	for _, want := range []string{
		"not running    ", " not built yet, ", " disabled; windlass get controllers --server ", " lists them\n",
		"NOTE     disruption-controller: is turned off by --controllers: no controller here handles 3 poddisruptionbudgets.policy\n",
		"NOTE     persistentvolume-binder-controller: isn't built yet: no controller here handles 1 persistentvolumeclaims\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("status doesn't say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "Nothing is wrong") || strings.Contains(said, "resourceclaims") {
		t.Errorf("status:\n%s", said)
	}
	lists := 0
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"list"}, Resources: []string{"poddisruptionbudgets"}}) {
		if strings.HasPrefix(e.User, "system:kube-controller-manager") {
			lists++
			if !strings.Contains(e.URI, "limit=1") {
				t.Errorf("more than one object is asked for: %s", e.URI)
			}
		}
	}
	if lists != 1 {
		t.Errorf("budgets were counted %d times for three questions within a minute", lists)
	}
}

// allBut turns off all controllers that are here but one.
func allBut(name string) []string {
	all := []string{"*"}
	for _, other := range builtin.Names() {
		if other != name {
			all = append(all, "-"+other)
		}
	}
	return all
}

// Where the objects that nobody acts for may not be listed, nothing is said of them, and the log is silent, too.
func TestNothingIsToldThatMayNotBeSeen(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Audit: true})
	if _, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget("web"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, []byte(runWindlass(t, "rbac", "replicaset", "--use-service-account-credentials", "--bindings", "--user",
		"system:serviceaccount:lean:windlass")))
	p := windlass.SpawnReplica(t, c, windlass.Replica{Name: "lean",
		Kubeconfig: windlass.Kubeconfig(t, c, "lean", "windlass"), Fields: "leaderElection: {leaderElect: false}"},
		allBut("replicaset-controller")...)
	p.AwaitReady(t)

	if said := runAgainst(t, c, p, "status"); !strings.Contains(said, "Nothing is wrong") ||
		!strings.Contains(said, "not running    ") {
		t.Errorf("status:\n%s", said)
	}
	cluster.Eventually(t, cluster.Patience, "budgets were asked for and refused", func() (bool, any) {
		all := c.Audit(t, cluster.Filter{Verbs: []string{"list"}, Resources: []string{"poddisruptionbudgets"}})
		return slices.ContainsFunc(all, func(e cluster.Event) bool {
			return e.Denied &&
				e.User == "system:serviceaccount:lean:windlass"
		}), all
	})
	for line := range strings.Lines(p.Log(t)) {
		waited := strings.Contains(line, "Waited before sending request") // client-go says where it throttles itself
		if strings.Contains(line, "poddisruptionbudgets") && !waited || strings.Contains(line, "forbidden") {
			t.Errorf("the log: %s", line)
		}
	}
}

// Keys that fail for the same reason are one warning with their number; what a sync did is what it wrote, not what was
// refused; keys that wait for a time are listed, and namespaces that are being deleted.
func TestWhatIsHeldUpIsTold(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	client := c.Client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"full", "kept"} {
		must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}))
	}
	must(client.CoreV1().ConfigMaps("kept").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/nobody"}}},
		metav1.CreateOptions{}))
	p := windlass.Spawn(t, c, "replicaset", "namespace")
	p.AwaitReady(t)
	// Nobody gives the namespace its service account, so no pod may be made in it.
	for _, name := range []string{"web", "api", "db"} {
		must(client.AppsV1().ReplicaSets("full").Create(t.Context(), replicaSet(name), metav1.CreateOptions{}))
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	cluster.Eventually(t, cluster.Patience, "three keys have one cause", func() (bool, any) {
		said := runAgainst(t, c, p, "status")
		return strings.Contains(said, "WARNING  replicaset-controller: 3 keys stuck, the longest full/") &&
			strings.Count(said, "stuck, the longest") == 1, said
	})
	var syncs []state.Sync
	if err := json.Unmarshal([]byte(runAgainst(t, c, p, "get", "syncs", "--controller", "replicaset", "--match", "full/",
		"-o",
		"json")), &syncs); err != nil {
		t.Fatal(err)
	}
	wrote := 0
	for _, s := range syncs {
		for _, did := range s.Did {
			if wrote++; strings.HasPrefix(did, "create") {
				t.Errorf("no pod was created, yet a sync says %q", did)
			}
		}
	}
	if len(syncs) == 0 || wrote == 0 {
		t.Errorf("%d syncs, which wrote %d times", len(syncs), wrote)
	}

	shown := runAgainst(t, c, p, "get", "sync", "replicaset", "full/web")
	for _, want := range []string{
		"key: full/web\n", "result: error\n", "resource: apps/v1/replicasets\n", "      name: web\n", // the snapshot
		"- do: create v1/pods full/\n", "  outcome: 'Forbidden: ", "wrote:\n- event on apps/v1/replicasets full/web\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("get sync doesn't show %q", want)
		}
	}
	cases := t.TempDir()
	file := filepath.Join(cases, "seen.yaml")
	if err := os.WriteFile(file, []byte(runAgainst(t, c, p, "get", "sync", "replicaset", "full/web", "-o", "golden")),
		0o600); err != nil {
		t.Fatal(err)
	}
	runWindlass(t, "plugin", "test", "builtin:replicaset", "--cases", cases, "--update")
	runWindlass(t, "plugin", "test", "builtin:replicaset", "--cases", cases, "--run", "seen/")
	seen, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"key: full/web\n", "reason: Forbidden,", "want:\n",
		"  - do: perform create v1/pods full/\n    failed: Forbidden\n"} {
		if !strings.Contains(string(seen), want) {
			t.Errorf("the golden case doesn't have %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", shown, seen)
	}

	cluster.Eventually(t, cluster.Patience, "the namespace that is kept waits", func() (bool, any) {
		keys := runAgainst(t, c, p, "get", "keys", "--controller", "namespace")
		return strings.Contains(keys, "waiting") && strings.Contains(keys, "kept"), keys
	})
}
