// Package registry runs a controller whose module comes from an OCI registry.
package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins/oci"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	"github.com/windlass-dev/windlass/host/plugins/signature"
	"github.com/windlass-dev/windlass/host/state"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const namespace = "default"

// world is a cluster, a registry, and a manager whose replicaset controller comes from it.
type world struct {
	t        *testing.T
	c        *cluster.Cluster
	client   kubernetes.Interface
	registry *registrytest.Registry
	oci      *oci.Client
	signer   *signature.Signer
	key      string // the public half
	cache    string
	log      *windlass.Log
	m        *windlass.Manager

	controllers []string

	mu            sync.Mutex
	image, shadow string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, c: cluster.Start(t, cluster.Options{Nodes: 3}),
		registry:    registrytest.Start(t, registrytest.Options{TLS: true, User: "u", Password: "s3cret"}),
		controllers: []string{"deployment", "replicaset", "serviceaccount"}, cache: filepath.Join(t.TempDir(), "modules"),
		log: windlass.RecordLog(t)}
	w.client = w.c.Client()
	var err error
	if w.oci, err = oci.New(oci.Options{CAFile: w.registry.CAFile,
		Credentials: w.registry.Credentials("u", "s3cret")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.oci.Close)
	w.signer, w.key = keyPair(t)
	return w
}

func keyPair(t *testing.T) (*signature.Signer, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	private := write("key", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(key.Public())
	public := write("pub", "PUBLIC KEY", der, err)
	signer, err := signature.ReadSigner(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	return signer, public
}

// pushVersion stores a version of replicaset that does the same, with other bytes, and returns its reference.
func (w *world) pushVersion(version int) oci.Reference {
	w.t.Helper()
	wasm, ok := builtin.Module("replicaset")
	if !ok {
		w.t.Fatal("no built-in plugin replicaset: run make plugins")
	}
	note := fmt.Sprintf("\x04noteversion %06d", version)
	to, err := oci.Parse(w.registry.Host + "/plugins/replicaset")
	if err != nil {
		w.t.Fatal(err)
	}
	ref, err := w.oci.Push(w.t.Context(), to, append(slices.Clone(wasm), append([]byte{0, byte(len(note))}, note...)...),
		nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return ref
}

func (w *world) signImage(r oci.Reference, s *signature.Signer) {
	w.t.Helper()
	if err := w.oci.Sign(w.t.Context(), r, s); err != nil {
		w.t.Fatal(err)
	}
}

// useImage writes an image into the configuration.
func (w *world) useImage(image oci.Reference) {
	w.mu.Lock()
	w.image = image.String()
	w.mu.Unlock()
	if w.m != nil {
		w.m.Reload()
	}
}

// useShadow writes a shadow into the configuration.
func (w *world) useShadow(image oci.Reference) {
	w.mu.Lock()
	w.shadow = image.String()
	w.mu.Unlock()
	if w.m != nil {
		w.m.Reload()
	}
}

func (w *world) beginManager() {
	w.t.Helper()
	credentials := w.registry.Credentials("u", "s3cret")
	w.m = windlass.Begin(w.t, w.c, windlass.Options{Controllers: w.controllers, Configure: func(k *config.Configuration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		k.Registries.CAFile, k.Registries.CredentialsFile, k.Registries.CacheFolder = w.registry.CAFile, credentials, w.cache
		k.Registries.VerificationKeys = []string{w.key}
		k.Registries.Timeout.Duration = 2 * time.Second
		k.Plugins = []config.Plugin{{Name: "replicaset", Image: w.image, Shadow: w.shadow,
			ServiceAccount: "replicaset-controller"}}
	}})
}

func (w *world) pluginStatus() (p state.PluginStatus) {
	w.t.Helper()
	for _, p := range w.m.Status(w.t).Plugins {
		if p.Name == "replicaset" {
			return p
		}
	}
	return p
}

func (w *world) awaitPlugin(from oci.Reference) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, "replicaset runs from "+from.String(), func() (bool, string) {
		p := w.pluginStatus()
		return p.Origin == from.String(), fmt.Sprintf("%+v", p)
	})
}

func (w *world) awaitLog(parts ...string) {
	w.t.Helper()
	cluster.Eventually(w.t, time.Minute, fmt.Sprint("the log says ", parts), func() (bool, string) {
		_, ok := w.log.With(parts...)
		return ok, ""
	})
}

func (w *world) createDeployment(name string, replicas int32) {
	w.t.Helper()
	workload.CreateDeployment(w.t, w.client, namespace, workload.Deployment(name, replicas))
}

// scaleDeployment sets how many pods a Deployment has, and waits until it has them.
func (w *world) scaleDeployment(name string, replicas int) {
	w.t.Helper()
	workload.ScaleDeployment(w.t, w.client, namespace, name, replicas)
	w.awaitPods(name, replicas)
}

func (w *world) awaitPods(name string, n int) {
	w.t.Helper()
	workload.AwaitPods(w.t, w.client, namespace, name, n)
}

// A module is pushed, signed, run by its digest, replaced by another digest while it is busy; what isn't signed by the
// key is refused by name, and what ran runs on.
func TestFromTheRegistry(t *testing.T) {
	w := newWorld(t)
	first, second, unsigned, others := w.pushVersion(1), w.pushVersion(2), w.pushVersion(3), w.pushVersion(4)
	w.signImage(first, w.signer)
	w.signImage(second, w.signer)
	stranger, _ := keyPair(t)
	w.signImage(others, stranger)
	w.useImage(first)
	w.beginManager()
	windlass.Account(t, w.client, namespace)
	w.awaitPlugin(first)
	w.createDeployment("web", 5)
	w.awaitPods("web", 5)

	w.useImage(second)
	w.awaitPlugin(second)
	w.scaleDeployment("web", 8)

	w.useImage(unsigned)
	w.awaitLog("Plugin isn't loaded", `plugin \"replicaset\": image `+unsigned.String()+
		": isn't signed, and must be signed by a key of "+w.key)
	w.useImage(others)
	w.awaitLog("Plugin isn't loaded", `plugin \"replicaset\": image `+others.String()+
		": is signed, but not by a key of "+w.key)
	w.awaitPlugin(second)
	w.scaleDeployment("web", 3)

	// A digest that the registry doesn't have, and one that it serves wrongly.
	missing := oci.Reference{Repository: first.Repository, Digest: "sha256:" + strings.Repeat("0", 64)}
	w.useImage(missing)
	w.awaitLog("Plugin isn't loaded", "image "+missing.String()+": isn't signed")
	third := w.pushVersion(5)
	w.signImage(third, w.signer)
	w.registry.Intercept(func(a http.ResponseWriter, q *http.Request, next http.Handler) {
		if strings.HasSuffix(q.URL.Path, third.Digest) {
			q.URL.Path = strings.Replace(q.URL.Path, third.Digest, first.Digest, 1)
		}
		next.ServeHTTP(a, q)
	})
	w.useImage(third)
	w.awaitLog("Plugin isn't loaded", "image "+third.String()+": can't pull its manifest", "digest")
	w.scaleDeployment("web", 4)
	w.registry.Intercept(nil)
	w.m.Reload()
	w.awaitPlugin(third)
	w.scaleDeployment("web", 6)
	if line, ok := w.log.With("s3cret"); ok {
		t.Errorf("a password is in the log: %s", line)
	}
}

// A registry that is down takes nothing down: with the module in the cache a start needs no registry, without it the
// rest starts, nothing else runs in the plugin's place, and it comes when the registry does.
func TestRegistryDown(t *testing.T) {
	w := newWorld(t)
	first, second := w.pushVersion(1), w.pushVersion(2)
	w.signImage(first, w.signer)
	w.signImage(second, w.signer)
	down := func(a http.ResponseWriter, _ *http.Request, _ http.Handler) {
		a.WriteHeader(http.StatusServiceUnavailable)
	}
	w.registry.Intercept(down)
	w.useImage(first)
	w.beginManager()
	w.m.AwaitReady(t) // the others
	windlass.Account(t, w.client, namespace)
	w.awaitLog("Plugin isn't loaded", "image "+first.String()+": can't pull its signatures")
	w.createDeployment("web", 3)
	cluster.Eventually(t, time.Minute, "the deployment controller makes a replica set", func() (bool, string) {
		l, err := w.client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(l.Items) == 1, fmt.Sprint(err)
	})
	if p := w.pluginStatus(); p.Digest != "" {
		t.Errorf("something else runs as replicaset: %+v", p)
	}
	if why := w.m.Status(t).Missing["replicaset"]; !strings.Contains(why, "can't pull its signatures") ||
		w.m.Count(t, "windlass_missing_images") != 1 {
		t.Errorf("the status says %q", why)
	}
	w.registry.Intercept(nil)
	w.m.Reload() // or else within 5 minutes
	w.awaitPlugin(first)
	w.awaitPods("web", 3)

	// The next start has it in the cache.
	w.m.Stop(t)
	w.registry.Intercept(down)
	n := len(w.registry.Requests(""))
	w.beginManager()
	w.awaitPlugin(first)
	w.scaleDeployment("web", 5)
	if all := w.registry.Requests("")[n:]; len(all) != 0 {
		t.Errorf("the registry was asked: %v", all)
	}
	// Another digest has to wait for the registry; the one before runs meanwhile.
	w.useImage(second)
	w.awaitLog("Plugin isn't loaded", "image "+second.String()+": can't pull its signatures")
	w.scaleDeployment("web", 2)
	w.registry.Intercept(nil)
	w.m.Reload()
	w.awaitPlugin(second)
	w.scaleDeployment("web", 4)
	if n := w.m.Count(t, "windlass_missing_images"); n != 0 {
		t.Errorf("%v images are missing", n)
	}

	// Where nothing else is enabled, and nothing is there, the manager waits for it all the same.
	w.m.Stop(t)
	w.cache, w.controllers = filepath.Join(t.TempDir(), "modules"), []string{"replicaset"}
	w.beginManager()
	w.awaitPlugin(second)
}

// A shadow may come from the registry as well, by its digest and signed by the same keys; and recorded syncs are run
// again on a module from there.
func TestShadowFromTheRegistry(t *testing.T) {
	w := newWorld(t)
	live, next, unsigned := w.pushVersion(1), w.pushVersion(2), w.pushVersion(3)
	w.signImage(live, w.signer)
	w.signImage(next, w.signer)
	w.useImage(live)
	w.useShadow(unsigned)
	w.beginManager()
	windlass.Account(t, w.client, namespace)
	w.awaitPlugin(live)
	w.awaitLog("plugins[replicaset].shadow: image " + unsigned.String() + ": isn't signed, " +
		"and must be signed by a key of " +
		w.key)
	w.useShadow(next)
	cluster.Eventually(t, time.Minute, "the plugin has its shadow", func() (bool, string) {
		p := w.pluginStatus()
		return p.Shadow != "" && p.Shadow != p.Digest && p.Origin == live.String(), fmt.Sprintf("%+v", p)
	})
	w.createDeployment("web", 3)
	w.awaitPods("web", 3)
	cluster.Eventually(t, time.Minute, "the shadow is called", func() (bool, string) {
		n := w.m.Counted(t, "windlass_shadow_syncs_total", "controller", "replicaset-controller")
		return n > 0, fmt.Sprint(n)
	})
	if n := w.m.Counted(t, "windlass_shadow_differences_total", "controller", "replicaset-controller"); n != 0 {
		t.Errorf("%v syncs of the same code differ", n)
	}

	file := filepath.Join(t.TempDir(), "replicaset.windlass-recording")
	if err := os.WriteFile(file, w.m.Get(t, "/debug/recordings/replicaset-controller"), 0o600); err != nil {
		t.Fatal(err)
	}
	replay := exec.CommandContext(t.Context(), windlass.Program(), "replay", file, "--plugin", next.String(), "--ca-file",
		w.registry.CAFile, "--credentials-file", w.registry.Credentials("u", "s3cret"))
	out, err := replay.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 different") || strings.Contains(string(out), ": 0 same") {
		t.Errorf("windlass replay --plugin %s: %v\n%s", next, err, out)
	}
}
