package hostile

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

var (
	variants = flag.Int("variants", 2, "how many variants of each class run")
	seed     = flag.Uint64("seed", 1, "of the first one")
	only     = flag.String("class", "", "run this class alone")
)

// What a variant may cost others: so many times what the same takes without it, in one of so many tries, for another
// process may have had the machine meanwhile.
const (
	rolloutSlowdown = 3
	liveSlowdown    = 5
	liveMax         = time.Second
	rolloutAtLeast  = 500 * time.Millisecond // of polls and the machine's chance
	variantTries    = 3
	variantLasts    = time.Second       // at least
	wholeMemory     = 2 << 30           // bytes that the manager and its children may take
	variantMemory   = 128               // MiB, its budget
	secretValue     = "the-loot-itself" // in no text but the Secret's
)

// whole is a manager in a process of its own, a Deployment that is rolled out again and again, and who watches both.
type whole struct {
	t      *testing.T
	c      *cluster.Cluster
	client kubernetes.Interface
	p      *windlass.Process
	group  *cgroup // nil: there is none
	folder string
	web    workload.Web
	image  int

	usual   map[string]bool // requests without variants
	began   time.Time       // of those with
	rollout time.Duration   // what one takes without them
	live    time.Duration   // what the longest answer of /livez took
	memory  int64           // resident bytes
}

// TestVariants runs modules that a generator makes, one at a time, in a whole manager beside a busy Deployment. The
// process lives, its memory is bounded, others are hardly slower, nothing is sent to the API server that isn't granted,
// and no secret is in what it logs and serves.
func TestVariants(t *testing.T) {
	w := newWhole(t)
	w.measureQuiet()
	about, err := w.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "bystander", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := clusterState(t, w.client)

	for class, kind := range classes {
		if *only != "" && *only != kind.name {
			continue
		}
		for n := range *variants {
			one := *seed + uint64(n)
			t.Run(fmt.Sprint(kind.name, "-", one), func(t *testing.T) {
				v := makeVariant(t, class, one, about)
				w.attack(t, &v)
			})
		}
	}

	w.checkMemory()
	w.checkAudit()
	w.checkSecret()
	if after := clusterState(t, w.client); after != before {
		t.Errorf("the namespace was\n%s\nand is\n%s", before, after)
	}
}

// newWhole starts a cluster, and a manager in which a harmless plugin has the variants' name.
func newWhole(t *testing.T) *whole {
	t.Helper()
	w := &whole{t: t, c: cluster.Start(t, cluster.Options{Audit: true, Nodes: 1}), folder: t.TempDir()}
	w.client = w.c.Client()
	ctx := t.Context()
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: variantName}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// An administrator's rights: what is refused is refused by the host.
	if _, err := w.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: variantName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: variantName}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "loot"}, StringData: map[string]string{"value": secretValue},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "bystander"}, Data: map[string]string{"a": "b"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	w.place(assembleText(t, variantName, "(module "+pluginMark+")", nil))
	fields := fmt.Sprintf(`leaderElection: {leaderElect: false}
pluginFolder: %q
recordings: {folder: %q}
plugins:
- name: %s
  impersonate: {serviceAccount: %s/%[3]s}
  limits: {deadline: 1s}
  budget: {memory: %[5]dMi}
  grant:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch], namespaces: [%[4]s]}
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [create, update, patch, delete, deletecollection]
    namespaces: [%[4]s]
    selector: {matchLabels: {hostile: %[3]s}}
`, w.folder, w.recordings(), variantName, namespace, variantMemory)
	w.p = windlass.SpawnReplica(t, w.c, windlass.Replica{Name: "whole", Kubeconfig: w.c.Kubeconfig, Fields: fields}, "*")
	w.p.AwaitReady(t)
	var err error
	if w.group, err = confine(t, w.p.Manager(t), wholeMemory); err != nil {
		t.Logf("in no cgroup: %v", err)
	}
	windlass.Account(t, w.client, namespace)
	w.web = workload.Web{Client: w.client, Namespace: "default", Name: "web"}
	if err := w.web.Create(ctx, 3); err != nil {
		t.Fatal(err)
	}
	none := new(int32) // of the old revisions is kept: from the first roll-out on each does the same
	if err := w.web.Change(ctx, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = none }); err != nil {
		t.Fatal(err)
	}
	w.image = 1
	w.awaitRollout(t)
	return w
}

// recordings is the folder that the manager keeps failed syncs in.
func (w *whole) recordings() string { return filepath.Join(w.c.Dir, "recordings") }

// place puts a module into the manager's folder.
func (w *whole) place(wasm []byte) {
	w.t.Helper()
	next := filepath.Join(w.folder, "next")
	if err := os.WriteFile(next, wasm, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(w.folder, variantName+".wasm")); err != nil {
		w.t.Fatal(err)
	}
}

// measureQuiet measures what the manager does without variants.
func (w *whole) measureQuiet() {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.folder, variantName+".wasm")); err != nil {
		w.t.Fatal(err)
	}
	w.awaitGone(w.t)
	stop := w.probe()
	for range 5 {
		w.rollout = max(w.rollout, w.rollOut(w.t))
	}
	live, err := stop()
	if err != nil {
		w.t.Fatal(err)
	}
	w.live, w.memory = live, w.resident("VmRSS")
	w.usual = map[string]bool{}
	for _, e := range w.requests() {
		w.usual[said(e)] = true
	}
	w.began = time.Now()
	w.t.Logf("without variants: a roll-out takes %v, /livez at most %v, %d MiB are resident", w.rollout, w.live,
		w.memory>>20)
}

// attack runs one variant, and removes it.
func (w *whole) attack(t *testing.T, v *variant) {
	maps := w.client.CoreV1().ConfigMaps(namespace)
	for _, o := range v.configMaps() {
		if _, err := maps.Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	w.place(v.wasm)
	for try := 1; ; try++ {
		took, live, end := w.watch(t)
		slow := took > max(rolloutSlowdown*w.rollout, rolloutAtLeast) || live > max(liveSlowdown*w.live, liveMax)
		if !slow || try == variantTries {
			t.Logf("a roll-out takes %v, /livez at most %v: %.200s", took, live, end)
			if slow {
				t.Errorf("in each of %d tries a roll-out takes more than %d times as long, or /livez more than %d times", try,
					rolloutSlowdown, liveSlowdown)
			}
			break
		}
	}

	if err := os.Remove(filepath.Join(w.folder, variantName+".wasm")); err != nil {
		t.Fatal(err)
	}
	w.awaitGone(t)
	if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{
		LabelSelector: "hostile=" + variantName}); err != nil {
		t.Fatal(err)
	}
}

// status returns what the manager tells of itself.
func (w *whole) status(t *testing.T) (s state.Status) {
	t.Helper()
	if err := json.Unmarshal(w.p.Get(t, "/windlass/v1/status"), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// watch rolls out again and again until the variant has had a sync, or doesn't run, and for a while at least. It
// returns the median of what that takes, what the longest answer of /livez took, and what is told of the variant.
func (w *whole) watch(t *testing.T) (rollout, live time.Duration, seen string) {
	t.Helper()
	stop := w.probe()
	var all []time.Duration
	from := time.Now()
	cluster.Eventually(t, time.Minute, "the variant runs, or is left out", func() (bool, string) {
		all = append(all, w.rollOut(t))
		seen = w.told(t)
		return seen != "" && time.Since(from) > variantLasts, seen
	})
	live, err := stop()
	if err != nil {
		t.Fatalf("/livez: %v\n%s", err, seen)
	}
	slices.Sort(all)
	return all[len(all)/2], live, seen
}

// told returns what the manager tells of the variant once it has had a sync, or why it doesn't run.
func (w *whole) told(t *testing.T) string {
	t.Helper()
	s := w.status(t)
	if why := leftOut(&s); why != "" {
		return "left out: " + why
	}
	for _, c := range s.Controllers {
		if c.Plugin == variantName && (c.Syncs.Total > 0 || c.State != "Running") {
			return fmt.Sprintf("%s is %s: %s: %+v", c.Name, c.State, c.Message, c.Last)
		}
	}
	return ""
}

// awaitGone waits until no variant runs.
func (w *whole) awaitGone(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "the plugin is removed", func() (bool, string) {
		s := w.status(t)
		for _, p := range s.Plugins {
			if p.Name == variantName {
				return false, fmt.Sprintf("%+v", p)
			}
		}
		why := leftOut(&s)
		return why == "", why
	})
}

// leftOut returns why the variant's file can't be used, if it can't.
func leftOut(s *state.Status) string {
	for _, why := range append(s.LeftOut, s.Refused) {
		if strings.Contains(why, variantName+".wasm") {
			return why
		}
	}
	return ""
}

// rollOut rolls the next image out, and returns what that takes.
func (w *whole) rollOut(t *testing.T) time.Duration {
	t.Helper()
	w.image++
	from := time.Now()
	if err := w.web.Image(t.Context(), fmt.Sprint("web:", w.image)); err != nil {
		t.Fatal(err)
	}
	w.awaitRollout(t)
	return time.Since(from)
}

func (w *whole) awaitRollout(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "the roll-out", func() (bool, string) {
		done, seen, err := w.web.Converged(t.Context(), 3, fmt.Sprint("web:", w.image))
		if err != nil {
			t.Fatal(err)
		}
		return done, seen
	})
}

// probe asks /livez again and again; what it returns ends that, and returns what the longest answer took.
func (w *whole) probe() (stop func() (time.Duration, error)) {
	done := make(chan struct{})
	var asking sync.WaitGroup
	var longest time.Duration
	var failed error

	asking.Go(func() {
		for every := time.Tick(20 * time.Millisecond); failed == nil; {
			from := time.Now()
			r, err := w.p.Client.Get(w.p.URL("/livez"))
			switch {
			case err != nil:
				failed = err
			case r.StatusCode != http.StatusOK:
				failed = fmt.Errorf("%s", r.Status)
			}
			if err == nil {
				r.Body.Close()
			}
			longest = max(longest, time.Since(from))

			select {
			case <-done:
				return
			case <-every:
			}
		}
	})

	return func() (time.Duration, error) {
		close(done)
		asking.Wait()
		return longest, failed
	}
}

// resident returns a figure of /proc of the manager's process, in bytes.
func (w *whole) resident(name string) (bytes int64) {
	w.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.p.Manager(w.t)))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, name+":"); ok {
			if _, err := fmt.Sscan(n, &bytes); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return bytes << 10
}

// checkMemory compares the most that was resident with what it was at first and the plugin's budget.
func (w *whole) checkMemory() {
	w.t.Helper()
	most, bound := w.resident("VmHWM"), 2*w.memory+variantMemory<<20
	w.t.Logf("at most %d MiB were resident, of %d", most>>20, bound>>20)
	if w.group != nil {
		w.t.Logf("with its children, and files that were read, it took at most %d MiB", w.group.most(w.t)>>20)
	}
	if most > bound {
		w.t.Errorf("%d MiB were resident, which is more than %d", most>>20, bound>>20)
	}
}

// requests returns what the manager has sent, and its plugins through it.
func (w *whole) requests() []cluster.Event {
	w.t.Helper()
	return slices.DeleteFunc(w.c.Audit(w.t, cluster.Filter{Since: w.began}), func(e cluster.Event) bool {
		return !strings.HasPrefix(e.UserAgent, "kube-controller-manager")
	})
}

// said is what a request is by.
func said(e cluster.Event) string {
	path, _, _ := strings.Cut(e.URI, "?")
	if e.Resource == "" {
		return fmt.Sprintf("%s %s by %s", e.Verb, path, e.User)
	}
	return fmt.Sprintf("%s %s/%s by %s", e.Verb, e.Group, e.Resource, e.User)
}

// Who may send what besides what the manager sends without variants.
var (
	variantUser  = "system:serviceaccount:" + namespace + ":" + variantName
	variantSends = regexp.MustCompile(`^/(api/v1|apis/events.k8s.io/v1)/namespaces/` + namespace +
		`/(configmaps(/` + variantName + `-[0-9]|/[a-z0-9.-]*)?|events(/[a-z0-9.-]+)?)$`)
	managerReads = regexp.MustCompile(`^/api/v1/(namespaces/` + namespace + `/)?configmaps$|^/apis?(/[a-z0-9.]+){0,2}$`)
)

// checkAudit has the API server's log judge what was sent.
func (w *whole) checkAudit() {
	w.t.Helper()
	all := w.requests()
	mine := 0
	for _, e := range all {
		path, _, _ := strings.Cut(e.URI, "?")
		switch {
		case e.User == variantUser:
			if mine++; !variantSends.MatchString(path) {
				w.t.Errorf("sent by the variants: %s (%v)", e.URI, e)
			}
		case !w.usual[said(e)] && (!managerReads.MatchString(path) || slices.Contains(cluster.Writes, e.Verb)):
			w.t.Errorf("sent by the manager, and not without variants: %s (%v)", e.URI, e)
		}
	}
	w.t.Logf("%d requests by the variants, of %d", mine, len(all))
	if mine == 0 && *only == "" {
		w.t.Error("the variants sent no request")
	}
}

// checkSecret looks for what no plugin was granted.
func (w *whole) checkSecret() {
	w.t.Helper()
	said := map[string]string{"the log": w.p.Log(w.t)}
	for _, path := range []string{"/metrics", "/windlass/v1/status"} {
		said[path] = string(w.p.Get(w.t, path))
	}
	recordings, err := filepath.Glob(filepath.Join(w.recordings(), "*"))
	if err != nil || len(recordings) == 0 && *only == "" {
		w.t.Fatalf("no recordings of what failed: %v", err)
	}
	for _, path := range recordings {
		b, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		said[path] = string(b)
	}

	encoded := base64.StdEncoding.EncodeToString([]byte(secretValue))
	for where, text := range said {
		if strings.Contains(text, secretValue) || strings.Contains(text, encoded) {
			w.t.Errorf("a Secret's value is in %s", where)
		}
	}
}
