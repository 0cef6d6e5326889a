package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/state"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/worlds"
)

// A manager with the defaults of a user lives through a virtual day with a plugin of each sort: one that is built in,
// one that is built in and replaced for a while, and a stranger's, whose module the child compiles. They rest and wake,
// and while they rest they are configured anew, replaced, rolled back and removed, the Lease is lost and won, and the
// stranger's key is looked at again though nothing has woken it.
func TestDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := beginDay(t)
		d.work("dawn")
		d.rest()
		d.work("morning")

		d.rest()
		d.configure(nil, func(k *config.Configuration) {
			settings := map[string]string{"max-endpoints-per-slice": "1"}
			k.Plugins = append(k.Plugins, config.Plugin{Name: "endpointslice", Settings: settings})
		})
		d.perSlice = []int{1, 1}
		d.swapped("endpointslice", digestOf(d.world, "endpointslice"), state.SwapReconfigured)
		d.work("forenoon")

		d.rest()
		original := digestOf(d.world, "serviceaccount")
		d.place(greeter(t, "serviceaccount", "bad", "(unreachable)", func(m *abi.Manifest) {
			m.Controllers[0].Name = "serviceaccount-controller"
		}))
		d.swapped("serviceaccount", original, state.SwapRolledBack)
		d.notMade("bad")
		d.work("noon")

		d.rest()
		another := d.placeVariant("serviceaccount")
		d.swapped("serviceaccount", another.digest(), state.SwapRolledBack, state.SwapOK)
		d.work("afternoon")
		d.rest()
		d.removeModule("serviceaccount")
		d.swapped("serviceaccount", original, state.SwapRolledBack, state.SwapOK, state.SwapOK)

		d.rest()
		d.handLease("somebody else")
		d.eventually("all stand by", func(s *state.Status) bool { return all(s, "Standby") })
		d.rest()
		d.handLease("")
		d.eventually("all run again", func(s *state.Status) bool { return all(s, "Running") })
		d.work("evening")

		d.rest()
		d.removeModule(d.stranger.name)
		d.eventually("the stranger's plugin is gone", func(s *state.Status) bool {
			return pluginOf(s, d.stranger.name) == nil
		})
		d.place(d.stranger)
		d.work("night")

		d.unmake(d.stranger.says)
		time.Sleep(2 * d.current.MinResyncPeriod.Duration)
		d.made(d.stranger.says)
		d.work("tomorrow")
	})
}

// compiled are the built-in plugins that live through the day, with native code that this process can take: what the
// build has left is of another program.
type compiled struct {
	t      *testing.T
	folder string
}

func (c compiled) Modules() ([]*plugins.Plugin, []error) {
	all, errs := plugins.Builtin{}.Modules()
	all = slices.DeleteFunc(all, func(p *plugins.Plugin) bool { return p.Name != "endpointslice" && p.Name != "serviceaccount" })
	giveCode(c.t, all, c.folder)
	return all, errs
}

// giveCode gives plugins native code that this process can take, which it makes in a folder once.
func giveCode(t *testing.T, all []*plugins.Plugin, in string) {
	for _, p := range all {
		folder := filepath.Join(in, p.Name)
		if _, err := os.Stat(folder); err != nil {
			wasm, err := p.Wasm()
			if err != nil {
				t.Fatal(err)
			}
			if err := sandbox.Compile(t.Context(), wasm, sandbox.DefaultMemoryLimit, folder); err != nil {
				t.Error(err)
			}
		}
		p.Code = os.DirFS(folder)
	}
}

// day is a world whose time is virtual.
type day struct {
	*world
	stranger *guest
	perSlice []int // how many of a service's two endpoints each of its slices has
}

func beginDay(t *testing.T) *day {
	t.Helper()
	w := newWorld(t)
	w.unwatched = true
	w.sources = []plugins.Source{compiled{t, t.TempDir()}, plugins.Folder(w.folder)}
	w.elect()
	w.configure(nil, func(k *config.Configuration) {
		// Leases are measured by the machine's clock, too, which runs on while the virtual one stands.
		e := &k.LeaderElection
		e.LeaseDuration.Duration, e.RenewDeadline.Duration = 2*time.Hour, time.Hour
		e.RetryPeriod.Duration = 30 * time.Second
		k.Controllers = []string{"endpointslice-controller", "serviceaccount-controller", "greeter-0"}
		k.Plugins = []config.Plugin{{Name: "serviceaccount", File: "serviceaccount.wasm"}}
		if worlds.Raced { // the hours after the last event are the same ones again and again
			k.MinResyncPeriod.Duration = time.Hour
		}
	})

	d := &day{w, greeter(t, "greeter", "hello", ""), []int{2}}
	d.place(d.stranger)
	d.begin()
	d.made(d.stranger.says)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if _, err := d.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// work makes a namespace with a service, for which each of the plugins has something to do, and waits until it is done.
func (d *day) work(namespace string) {
	d.t.Helper()
	d.unmake(d.stranger.says)
	d.makeNamespaces(namespace)
	d.makeService(namespace)
	d.made(d.stranger.says)
	d.eventually("namespace "+namespace+" has its service account", func(*state.Status) bool {
		_, err := d.client.CoreV1().ServiceAccounts(namespace).Get(d.t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	d.slices(namespace, d.perSlice...)
}

// makeService makes a service with two endpoints.
func (d *day) makeService(namespace string) {
	d.t.Helper()
	for name, ip := range map[string]string{"one": "10.0.0.1", "other": "10.0.0.2"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: "node"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		pods := d.client.CoreV1().Pods(namespace)
		made, err := pods.Create(d.t.Context(), pod, metav1.CreateOptions{})
		if err == nil {
			made.Status = pod.Status
			_, err = pods.UpdateStatus(d.t.Context(), made, metav1.UpdateOptions{})
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, ClusterIP: "10.1.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
	}}
	if _, err := d.client.CoreV1().Services(namespace).Create(d.t.Context(), service, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
}

// slices waits until a namespace's service has slices with so many endpoints.
func (d *day) slices(namespace string, want ...int) {
	d.t.Helper()
	cluster.Eventually(d.t, time.Minute, "the endpoints of namespace "+namespace, func() (bool, string) {
		l, err := d.client.DiscoveryV1().EndpointSlices(namespace).List(d.t.Context(),
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			d.t.Fatal(err)
		}
		var sizes []int
		for i := range l.Items {
			sizes = append(sizes, len(l.Items[i].Endpoints))
		}
		return slices.Equal(sizes, want), fmt.Sprintf("slices with %d endpoints", sizes)
	})
}

// rest lets time pass until all plugins have let go of their memory.
func (d *day) rest() {
	d.t.Helper()
	rest := d.current.Sandbox.Rest.Duration
	time.Sleep(rest)

	// A resync of some key may come meanwhile, and the rest begins anew.
	cluster.Eventually(d.t, 4*rest, "all plugins rest", func() (bool, string) {
		var wrong []string
		for _, p := range d.m.inspector.status(d.t.Context()).Plugins {
			if !p.Resting {
				wrong = append(wrong, fmt.Sprintf("%s of %s doesn't", p.Name, p.Origin))
			}
		}
		return wrong == nil, strings.Join(wrong, ", ")
	})
}

// swapped waits until a plugin's module is this one, and its swaps have ended so.
func (d *day) swapped(plugin, digest string, swaps ...string) {
	d.t.Helper()
	d.eventually("another version of plugin "+plugin, func(s *state.Status) bool {
		return pluginOf(s, plugin).Digest == digest && slices.Equal(swapsOf(s, plugin), swaps)
	})
}

// placeVariant puts a built-in plugin's module into the folder, with bytes at its end that nothing reads.
func (d *day) placeVariant(name string) *guest {
	d.t.Helper()
	wasm, ok := builtin.Module(name)
	if !ok {
		d.t.Fatalf("no built-in plugin %s: run make plugins", name)
	}
	g := &guest{name: name, wasm: append(slices.Clone(wasm), 0, 6, 4, 'n', 'o', 't', 'e', '!')}
	d.place(g)
	return g
}

func (d *day) removeModule(name string) {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.folder, name+".wasm")); err != nil {
		d.t.Fatal(err)
	}
	d.look()
}

func digestOf(w *world, plugin string) string {
	s := w.m.inspector.status(w.t.Context())
	return pluginOf(&s, plugin).Digest
}

// all reports whether all controllers are in this state.
func all(s *state.Status, want string) bool {
	return !slices.ContainsFunc(s.Controllers, func(c state.ControllerStatus) bool { return c.State != want })
}
