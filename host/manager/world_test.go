package manager

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/simulator"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/server"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
)

// world is an API server in memory with a manager, and the configuration and folder of plugins that it has.
type world struct {
	t      testing.TB
	config *rest.Config // of the API server, as the manager has it
	client kubernetes.Interface
	folder string
	// sources are where its plugins come from: by default the folder, whose modules are taken for built-in ones.
	sources []plugins.Source
	// unwatched has the manager look at files every ten seconds, and not watch them.
	unwatched bool
	files     []string // of the configuration

	mu      sync.Mutex
	current *config.Configuration
	bad     error // why the configuration can't be loaded
	// anything tells that the configuration needn't be valid.
	anything bool

	m      *manager
	reload chan struct{}
}

// trusted is a folder whose modules are taken for built-in ones: no child process, whose time would be most of a
// test's, compiles them first.
type trusted plugins.Folder

func (f trusted) Modules() ([]*plugins.Plugin, []error) {
	all, errs := plugins.Folder(f).Modules()
	for _, p := range all {
		p.Origin = plugins.OriginBuiltin
	}
	return all, errs
}

// newWorld returns a world with the namespaces default and kube-system, whose manager hasn't begun.
func newWorld(t testing.TB) *world {
	t.Helper()
	c, err := simulator.NewCluster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, config: c.Config("windlass"), folder: t.TempDir(), reload: make(chan struct{})}
	w.sources = []plugins.Source{trusted(w.folder)}
	theirs := c.Config("test")
	theirs.QPS = -1
	if w.client, err = kubernetes.NewForConfig(theirs); err != nil {
		t.Fatal(err)
	}
	w.makeNamespaces("default", "kube-system")

	k := config.Default()
	k.ClientConnection.Server = w.config.Host
	k.ClientConnection.QPS, k.ClientConnection.Burst = 1e6, 1e6
	k.PluginFolder, k.LeaderElection.LeaderElect, k.Serving.Port = w.folder, false, 0
	w.current = k
	return w
}

func (w *world) makeNamespaces(names ...string) {
	w.t.Helper()
	for _, name := range names {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := w.client.CoreV1().Namespaces().Create(w.t.Context(), ns, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// begin runs the manager until the test is over.
func (w *world) begin() {
	w.t.Helper()
	begun, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	w.m = newManager(w.loadFirst(), Options{
		Sources: w.sources, Reload: w.reload, Load: w.load, Files: w.files,
		Wrap:    func(r *rest.Config) { r.Transport, r.QPS = w.config.Transport, -1 },
		Serving: func(*server.Server) { close(begun) },
	})
	if w.unwatched {
		w.m.newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("this test's time is virtual") }
	}
	go func() { ended <- w.m.run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				w.t.Errorf("the manager: %v", err)
			}
		case <-time.After(cluster.Patience):
			w.t.Errorf("the manager hasn't ended within %v", cluster.Patience)
		}
	})

	select {
	case <-begun:
	case err := <-ended:
		ended <- nil
		w.t.Fatalf("the manager ended: %v", err)
	}
}

func (w *world) load() (*config.Configuration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil {
		return nil, w.bad
	}
	if w.anything {
		return w.current, nil
	}
	return w.current, w.current.Validate()
}

// loadFirst returns the configuration that the manager begins with.
func (w *world) loadFirst() *config.Configuration {
	w.t.Helper()
	k, err := w.load()
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// configure changes the configuration, and has a running manager read it; bad is why it can't be read.
func (w *world) configure(bad error, change func(*config.Configuration)) {
	w.t.Helper()
	w.mu.Lock()
	b, err := json.Marshal(w.current)
	next := &config.Configuration{}
	if err == nil {
		err = json.Unmarshal(b, next)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	change(next)
	w.current, w.bad = next, bad
	w.mu.Unlock()
	w.look()
}

// elect has a manager that hasn't begun contend for the Lease.
func (w *world) elect() {
	w.t.Helper()
	w.configure(nil, func(k *config.Configuration) {
		e := &k.LeaderElection
		e.LeaderElect = true
		e.LeaseDuration.Duration, e.RenewDeadline.Duration, e.RetryPeriod.Duration = 15e9, 10e9, 1e8
	})
}

// standBy has a manager that hasn't begun find the Lease held by somebody else, who gives it up by the function that it
// returns.
func (w *world) standBy() (letGo func()) {
	w.t.Helper()
	w.elect()
	who, seconds, now := "somebody else", int32(3600), metav1.NowMicro()
	leases := w.client.CoordinationV1().Leases("kube-system")
	lease, err := leases.Create(w.t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds, AcquireTime: &now,
			RenewTime: &now, LeaseTransitions: new(int32)},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}

	return func() {
		w.t.Helper()
		nobody := ""
		lease.Spec.HolderIdentity = &nobody
		if _, err := leases.Update(w.t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// handLease makes somebody the holder of the Lease, nobody where the name is empty, as one who contends for it does.
func (w *world) handLease(who string) {
	w.t.Helper()
	leases := w.client.CoordinationV1().Leases("kube-system")
	l, err := leases.Get(w.t.Context(), "kube-controller-manager", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	changed := l.DeepCopy()
	changed.Spec.HolderIdentity = &who
	n := *l.Spec.LeaseTransitions + 1
	changed.Spec.LeaseTransitions = &n
	changed.ResourceVersion = "" // a renewal may come between
	if _, err := leases.Update(w.t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("%q holds the Lease", who)
}

// look has a running manager compare the configuration and the plugins with what runs.
func (w *world) look() {
	w.t.Helper()
	if w.m == nil {
		return
	}
	select {
	case w.reload <- struct{}{}:
	case <-time.After(cluster.Patience):
		w.t.Fatalf("the manager hasn't looked again within %v", cluster.Patience)
	}
}

// place puts a module into the folder, in one step, and has the manager look.
func (w *world) place(g *guest) {
	w.t.Helper()
	w.placeBytes(g.name, g.wasm)
}

func (w *world) placeBytes(name string, wasm []byte) {
	w.t.Helper()
	beside := filepath.Join(w.folder, ".new")
	if err := os.WriteFile(beside, wasm, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(beside, filepath.Join(w.folder, name+".wasm")); err != nil {
		w.t.Fatal(err)
	}
	w.look()
}

// eventually waits until the state of what runs is as it should be.
func (w *world) eventually(what string, condition func(*state.Status) bool) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, what, func() (bool, string) {
		s := w.m.inspector.status(w.t.Context())
		return condition(&s), fmt.Sprintf("%+v %+v %+v %s", s.Plugins, s.Controllers, s.Swaps, s.Refused)
	})
}

// runs waits until a module runs in all its controllers, and its plugin's swaps have ended so. One that is to be on
// trial may have passed it: that is a matter of time, too.
func (w *world) runs(g *guest, swaps ...string) state.PluginStatus {
	w.t.Helper()
	var p *state.PluginStatus
	w.eventually(fmt.Sprintf("%s runs, and the swaps are %q", g.says, swaps), func(s *state.Status) bool {
		p = pluginOf(s, g.name)
		return p != nil && p.Digest == g.digest() && slices.EqualFunc(swapsOf(s, g.name), swaps, func(is, want string) bool {
			return is == want || want == state.SwapOnTrial && is == state.SwapOK
		}) &&
			!slices.ContainsFunc(s.Controllers, func(c state.ControllerStatus) bool {
				return c.Plugin == g.name && c.State != "Running"
			})
	})
	return *p
}

// running waits until these controllers have started, and no others.
func (w *world) running(want ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%q run", want), func(s *state.Status) bool {
		var names []string
		for _, c := range s.Controllers {
			if c.State == "Running" {
				names = append(names, c.Name)
			}
		}
		return slices.Equal(names, want)
	})
}

func pluginOf(s *state.Status, name string) *state.PluginStatus {
	for i := range s.Plugins {
		if s.Plugins[i].Name == name {
			return &s.Plugins[i]
		}
	}
	return nil
}

// swapsOf returns how a plugin's swaps have ended, the oldest first.
func swapsOf(s *state.Status, plugin string) (all []string) {
	for _, x := range slices.Backward(s.Swaps) {
		if x.Plugin == plugin {
			all = append(all, x.Result)
		}
	}
	return all
}

// hold has the manager's requests that make a config map wait until they are let go of. It returns how many there have
// been.
func (w *world) hold() (held *atomic.Int32, letGo func()) {
	held, over := &atomic.Int32{}, make(chan struct{})
	next := w.config.Transport
	w.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
			gotConnection(r)
			held.Add(1)
			<-over
		}
		return next.RoundTrip(r)
	})
	return held, sync.OnceFunc(func() { close(over) })
}

// gotConnection says that a request which is held back has its connection, or others would wait for that.
func gotConnection(r *http.Request) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// made waits until a module has written what it says.
func (w *world) made(says string) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, "the config map "+says+" is made", func() (bool, error) {
		_, err := w.client.CoreV1().ConfigMaps("default").Get(w.t.Context(), says, metav1.GetOptions{})
		return err == nil, err
	})
}

// notMade fails the test if a module has written.
func (w *world) notMade(says string) {
	w.t.Helper()
	_, err := w.client.CoreV1().ConfigMaps("default").Get(w.t.Context(), says, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		w.t.Errorf("%s has written: %v", says, err)
	}
}

// unmake takes away what was written, which no controller is woken by.
func (w *world) unmake(says string) {
	w.t.Helper()
	if err := w.client.CoreV1().ConfigMaps("default").Delete(w.t.Context(), says, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// guest is a plugin whose controllers have namespaces for keys, and make the same config map at each sync.
type guest struct {
	name, says string // of the plugin, and of the config map
	wasm       []byte
}

func (g *guest) digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(g.wasm)) }

// greeter returns a plugin's version that makes a config map; change may have it declare otherwise, and body do
// otherwise.
func greeter(t *testing.T, name, says, body string, change ...func(*abi.Manifest)) *guest {
	t.Helper()
	m := &abi.Manifest{Name: name, Version: says, Controllers: []abi.Controller{newGreeting(name + "-0")}}
	for _, f := range change {
		f(m)
	}
	manifest, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	object, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: says, Namespace: "default"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	answer := abi.AppendResponse(nil, &abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectCreate,
		Resource: "v1/configmaps", Namespace: "default", Name: says, Object: object, Tolerate: abi.TolerateAlreadyExists}}})
	return &guest{name, says, module.Assemble(t, fmt.Sprintf(greeterText, module.Escape(manifest), module.Escape(answer),
		16<<32|len(manifest), body, 32768<<32|len(answer)))}
}

// newGreeting returns what such a controller declares.
func newGreeting(name string) abi.Controller {
	return abi.Controller{Name: name,
		Views: []abi.View{{Name: "namespaces", Resource: abi.Resource{Version: "v1", Name: "namespaces"},
			Fields: []string{"metadata.name", "metadata.annotations"}}},
		Writes: []abi.Write{{Resource: abi.Resource{Version: "v1", Name: "configmaps"}, Verbs: []string{"create"}}}}
}

// greeterText is the module, in which are its manifest, its answer, where the manifest is, what a sync does first, and
// where the answer is.
const greeterText = `(module
  (memory (export "memory") 2)
  (data (i32.const 16) "%s")
  (data (i32.const 32768) "%s")
  (func (export "windlass_abi_v1"))
  (func (export "windlass_alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "windlass_manifest") (result i64) (i64.const %d))
  (func (export "windlass_configure") (result i64) (i64.const 0))
  (func (export "windlass_sync") (result i64) %s (i64.const %d)))`
