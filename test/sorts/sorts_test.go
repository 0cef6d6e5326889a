// Package sorts runs one manager with a plugin of each sort: built in; from a registry, from a folder; in the place of
// a built-in one, a stranger's; made by TinyGo, Go and a C compiler.
package sorts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/host/plugins/oci"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	"github.com/windlass-dev/windlass/host/state"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// fields are those of the configuration file: the registry's certificate, the folder for its modules, the folder of the
// plugins, replicaset's image.
const fields = `
sandbox: {rest: 1s}
leaderElection: {leaderElect: true}
registries: {caFile: %s, cacheFolder: %s}
pluginFolder: %s
plugins:
- {name: replicaset, serviceAccount: replicaset-controller, image: %q}
- {name: serviceaccount, file: serviceaccount.wasm, serviceAccount: service-account-controller}
- {name: ttlafterfinished, file: ttlafterfinished.wasm, serviceAccount: ttl-after-finished-controller}
- {name: default-deny, impersonate: {user: somebody, groups: [system:masters]}}
`

// sorts are plugins of each sort: built in, from a registry, made of Go and of C, in a built-in one's place.
var sorts = []string{"deployment", "garbagecollector", "replicaset", "serviceaccount", "default-deny", "ttlafterfinished"}

// Each plugin does its work before and after a rest, whatever comes in between: its file changes, a bad one is rolled
// back, another process leads for a while, its configuration changes, it is removed. The program ends when it is told
// to.
func TestEachSortRestsAndWakes(t *testing.T) {
	w := begin(t)
	w.work("first")
	w.rest()
	w.work("second")

	w.rest()
	w.place("ttlafterfinished", variant(t, "ttlafterfinished", 2))
	w.swapped("ttlafterfinished", state.SwapOK, state.SwapOnTrial)
	w.rest()
	w.place("serviceaccount", []byte("no module"))
	w.eventually("a broken file is told", func(s *state.Status) bool { return pluginOf(s, "serviceaccount").Broken != "" })
	w.work("third")
	w.place("serviceaccount", w.accountant)

	w.rest()
	w.handLease("somebody else")
	w.eventually("it stands by", func(s *state.Status) bool { return len(s.Leaders) == 1 && !s.Leaders[0].Here })
	w.rest()
	w.handLease("")
	w.eventually("it leads", func(s *state.Status) bool { return len(s.Leaders) == 1 && s.Leaders[0].Here })
	w.work("fourth")

	w.rest()
	w.remove("default-deny")
	w.eventually("it is removed", func(s *state.Status) bool { return pluginOf(s, "default-deny") == nil })
	w.place("default-deny", w.denier)
	w.work("fifth")
	w.eventually("nothing is wrong with what runs", func(s *state.Status) bool {
		return !slices.ContainsFunc(s.Troubles, func(x state.Trouble) bool { return x.Level == state.Bad })
	})
}

// world is a cluster with the program.
type world struct {
	t                  *testing.T
	c                  *cluster.Cluster
	client             kubernetes.Interface
	folder             string
	denier, accountant []byte // modules made of C and of Go
	p                  *windlass.Process
}

func begin(t *testing.T) *world {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	w := &world{t: t, c: c, client: c.Client(), folder: t.TempDir(), denier: buildDenier(t),
		accountant: module.BuildWithGo(t, "serviceaccount")}
	w.place("default-deny", w.denier)
	w.place("ttlafterfinished", variant(t, "ttlafterfinished", 1))
	w.place("serviceaccount", w.accountant)

	registry := registrytest.Start(t, registrytest.Options{TLS: true})
	client, err := oci.New(oci.Options{CAFile: registry.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	to, err := oci.Parse(registry.Host + "/plugins/replicaset")
	if err != nil {
		t.Fatal(err)
	}
	image, err := client.Push(t.Context(), to, variant(t, "replicaset", 1), nil)
	if err != nil {
		t.Fatal(err)
	}

	w.p = windlass.SpawnReplica(t, c, windlass.Replica{Name: "windlass", Kubeconfig: c.Kubeconfig,
		Fields: fmt.Sprintf(fields, registry.CAFile, filepath.Join(t.TempDir(), "modules"), w.folder, image.String())},
		"deployment", "replicaset", "serviceaccount", "ttl-after-finished", "garbagecollector",
		"default-deny")
	return w
}

func buildDenier(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "default-deny.wasm")
	c := exec.CommandContext(t.Context(), "./build.sh", path)
	c.Dir = "../../examples/c-default-deny"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c, err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// variant is a built-in plugin's module with a note at its end, which nothing reads.
func variant(t *testing.T, name string, n byte) []byte {
	t.Helper()
	wasm, ok := builtin.Module(name)
	if !ok {
		t.Fatalf("no built-in plugin %s: run make plugins", name)
	}
	return append(slices.Clone(wasm), 0, 6, 4, 'n', 'o', 't', 'e', n)
}

func (w *world) place(name string, wasm []byte) {
	w.t.Helper()
	beside := filepath.Join(w.folder, ".new")
	err := os.WriteFile(beside, wasm, 0o600)
	if err == nil {
		err = os.Rename(beside, filepath.Join(w.folder, name+".wasm"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.folder, name+".wasm")); err != nil {
		w.t.Fatal(err)
	}
}

// work makes something to do for each plugin, and waits until it is done: a namespace gets its service account and its
// policy, a Deployment its pods, and a finished Job is deleted.
func (w *world) work(namespace string) {
	w.t.Helper()
	ctx := w.t.Context()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
		Labels: map[string]string{"isolation.example.com/default-deny": "true"}}}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.await("the service account of "+namespace, func() error {
		_, err := w.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	w.await("the policy of "+namespace, func() error {
		_, err := w.client.NetworkingV1().NetworkPolicies(namespace).Get(ctx, "default-deny", metav1.GetOptions{})
		return err
	})

	workload.CreateDeployment(w.t, w.client, namespace, workload.Deployment("web", 2))
	workload.AwaitPods(w.t, w.client, namespace, "web", 2)
	w.finishJob(namespace)
	w.await("the end of the finished job of "+namespace, func() error {
		_, err := w.client.BatchV1().Jobs(namespace).Get(ctx, "done", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return cmp.Or(err, errors.New("it is there"))
	})
}

// finishJob makes a Job that is to go as soon as it has finished, and has it finish.
func (w *world) finishJob(namespace string) {
	w.t.Helper()
	jobs := w.client.BatchV1().Jobs(namespace)
	j, err := jobs.Create(w.t.Context(), workload.Job("done", 1, 1, func(s *batchv1.JobSpec) {
		s.TTLSecondsAfterFinished = new(int32)
	}), metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}

	now := metav1.Now()
	j.Status = batchv1.JobStatus{StartTime: &now, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}}
	if _, err := jobs.UpdateStatus(w.t.Context(), j, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) await(what string, done func() error) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, what, func() (bool, error) {
		err := done()
		return err == nil, err
	})
}

func (w *world) status() (s *state.Status) {
	w.t.Helper()
	s = &state.Status{}
	if err := json.Unmarshal(w.p.Get(w.t, "/windlass/v1/status"), s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) eventually(what string, condition func(*state.Status) bool) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, what, func() (bool, string) {
		s := w.status()
		return condition(s), fmt.Sprintf("%+v %+v %+v %+v", s.Plugins, s.Leaders, s.Swaps, s.Troubles)
	})
}

// rest waits until each plugin has let go of its memory.
func (w *world) rest() {
	w.t.Helper()
	for _, name := range sorts {
		w.eventually(name+" rests", func(s *state.Status) bool {
			p := pluginOf(s, name)
			return p != nil && p.Resting
		})
	}
}

// swapped waits until the last swap of a plugin has ended in one of these ways.
func (w *world) swapped(plugin string, results ...string) {
	w.t.Helper()
	w.eventually(plugin+" is swapped: "+strings.Join(results, " or "), func(s *state.Status) bool {
		i := slices.IndexFunc(s.Swaps, func(x state.Swap) bool { return x.Plugin == plugin })
		return i >= 0 && slices.Contains(results, s.Swaps[i].Result)
	})
}

// handLease makes somebody the holder of the Lease, nobody where the name is empty.
func (w *world) handLease(who string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"holderIdentity":%q,"renewTime":%q}}`, who,
		time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	if _, err := w.client.CoordinationV1().Leases("kube-system").Patch(w.t.Context(), "kube-controller-manager",
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func pluginOf(s *state.Status, name string) *state.PluginStatus {
	for i := range s.Plugins {
		if s.Plugins[i].Name == name {
			return &s.Plugins[i]
		}
	}
	return nil
}
