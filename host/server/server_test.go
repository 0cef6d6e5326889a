package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// world is a server with a client whom it knows as an administrator by its certificate; no API server is there.
type world struct {
	*Server
	url    string
	ca     tls.Certificate
	client *http.Client
	stop   func() error
}

// startServer serves on a free port.
func startServer(t *testing.T, o Options) *world {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ca, err := cluster.Sign(tls.Certificate{}, pkix.Name{CommonName: "ca"})
	if err != nil {
		t.Fatal(err)
	}

	if o.Config == nil {
		o.Config = &config.Default().Serving
	}
	o.Config.Port = -1
	o.Config.Authentication.SkipLookup = true
	o.Config.Authentication.ClientCAFile = writeFile(t, filepath.Join(t.TempDir(), "ca.crt"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate[0]}))
	o.Client = &rest.Config{Host: "https://127.0.0.1:1"}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &world{Server: s, url: "https://" + s.Address(), ca: ca}
	w.client = w.clientAs(t, "admin", "system:masters")
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.stop = func() error { cancel(); return <-done }
	return w
}

// clientAs returns a client with a certificate of the CA that the server trusts.
func (w *world) clientAs(t *testing.T, user string, groups ...string) *http.Client {
	t.Helper()
	c, err := cluster.Sign(w.ca, pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.Certificate().Leaf)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
		Certificates: []tls.Certificate{c}}, ForceAttemptHTTP2: true}}
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestHealth(t *testing.T) {
	var broken, synced atomic.Bool
	w := startServer(t, Options{
		Checks: func() []Check {
			return []Check{
				{"replicaset-controller", func() error {
					if broken.Load() {
						return errors.New("quarantined\n[+]forged ok")
					}
					return nil
				}},
				{"job-controller", func() error { return nil }},
			}
		},
		Ready: func() []Check {
			return []Check{{"caches", func() error {
				if !synced.Load() {
					return errors.New("waiting for v1/pods")
				}
				return nil
			}}}
		},
	})
	expect := func(path string, code int, body string) {
		t.Helper()
		if c, b := get(t, w.client, w.url+path); c != code || b != body {
			t.Errorf("%s: %d %q, want %d %q", path, c, b, code, body)
		}
	}
	expect("/healthz", 200, "ok")
	expect("/livez", 200, "ok")
	expect("/readyz", 500, "[+]ping ok\n[+]replicaset-controller ok\n[+]job-controller ok\n[-]caches failed: waiting for v1/pods\nreadyz check failed\n")
	expect("/readyz?exclude=caches", 200, "ok")
	synced.Store(true)
	expect("/readyz", 200, "ok")
	expect("/healthz?verbose", 200,
		"[+]ping ok\n[+]replicaset-controller ok\n[+]job-controller ok\nhealthz check passed\n")
	expect("/healthz/job-controller", 200, "ok")
	expect("/healthz/nothing", 404, "no check of that name: see /healthz?verbose\n")

	broken.Store(true)
	expect("/healthz", 500, "[+]ping ok\n[-]replicaset-controller failed: quarantined [+]forged ok\n[+]job-controller ok\nhealthz check failed\n")
	expect("/healthz/replicaset-controller", 500, "internal server error: quarantined [+]forged ok\n")
	expect("/healthz/job-controller", 200, "ok")
	expect("/livez", 200, "ok")
	if c, _ := get(t, w.client, w.url+"/elsewhere"); c != 404 {
		t.Errorf("/elsewhere: %d", c)
	}
	if r, err := w.client.Post(w.url+"/healthz", "", nil); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", r, err)
	}

	// Whoever isn't known is told that something is wrong, not what: errors may name objects.
	anybody := w.clientAs(t, "")
	if c, b := get(t, anybody, w.url+"/healthz"); c != 500 ||
		b != "[+]ping ok\n[-]replicaset-controller failed: reason withheld\n[+]job-controller ok\nhealthz check failed\n" {
		t.Errorf("%d %q", c, b)
	}
}

// Ours, the work queues' and the process's metrics come from one page, each family once.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	ours := prometheus.NewCounter(prometheus.CounterOpts{Name: "windlass_syncs_total", Help: "."})
	registry.MustRegister(ours)
	ours.Add(3)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "replicaset"})
	defer queue.ShutDown()
	queue.Add("default/a")

	w := startServer(t, Options{Registry: registry})
	code, page := get(t, w.client, w.url+"/metrics")
	if code != 200 {
		t.Fatalf("%d %s", code, page)
	}
	for _, want := range []string{"windlass_syncs_total 3\n", "workqueue_depth{name=\"replicaset\"} 1\n",
		"workqueue_adds_total{name=\"replicaset\"} 1\n", "go_goroutines ", "process_open_fds ",
		"windlass_serving_certificate_expiration_timestamp_seconds "} {
		if strings.Count(page, "\n"+want) != 1 {
			t.Errorf("%d of %q", strings.Count(page, "\n"+want), want)
		}
	}
}

// What upstream serves beside health and metrics is there, with what belongs to it.
func TestStatePages(t *testing.T) {
	k := config.Default()
	w := startServer(t, Options{Configuration: func() any { return k },
		Flags: map[string]string{"v": "2", "kubeconfig": "/k"}})
	for path, want := range map[string]string{
		"/configz":                        `{"controllermanager.config.windlass.dev":{"apiVersion":"config.windlass.dev/v1alpha1"`,
		"/windlass/v1/flagz":              "\nkubeconfig=/k\nv=2\n",
		"/windlass/v1/statusz":            "\n  PUT /debug/flags/v\n",
		"/metrics/slis":                   "kubernetes_healthcheck",
		"/debug/pprof/":                   "goroutine",
		"/debug/pprof/heap":               "",
		"/debug/pprof/cmdline":            "server",
		"/debug/pprof/symbol":             "num_symbols",
		"/debug/pprof/trace?seconds=0.01": "go 1",
	} {
		get(t, w.client, w.url+"/healthz") // which makes a metric
		if code, body := get(t, w.client, w.url+path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.500s, want %q", path, code, body, want)
		}
	}
}

func TestLogLevel(t *testing.T) {
	w := startServer(t, Options{})
	set := func(level string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(http.MethodPut, w.url+"/debug/flags/v", strings.NewReader(level))
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(b)
	}
	if code, said := set("1"); code != 200 || said != "successfully set klog.logging.verbosity to 1\n" {
		t.Errorf("%d %s", code, said)
	}
	defer set("0")
	if code, said := set("loud"); code != 400 || !strings.Contains(said, "must be a number") {
		t.Errorf("%d %s", code, said)
	}
}

// What a reload changes holds for the next request; what it can't change it says.
func TestConfigure(t *testing.T) {
	w := startServer(t, Options{})
	c := *w.options.Config
	c.Profiling = false
	c.Authorization.AlwaysAllowPaths = []string{"/metrics"}
	if err := w.Configure(&c); err != nil {
		t.Fatal(err)
	}

	if code, body := get(t, w.client, w.url+"/debug/pprof/heap"); code != 404 ||
		!strings.Contains(body, "serving.profiling") {
		t.Errorf("profiles: %d %s", code, body)
	}

	anybody := w.clientAs(t, "")
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 401} {
		if code, _ := get(t, anybody, w.url+path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}

	c.Profiling, c.ContentionProfiling, c.Port, c.BindAddress = true, true, 1, "::1"
	c.TLS.CertFile, c.TLS.KeyFile = "/nowhere.crt", "/nowhere.key"
	c.Authentication.RequestHeader.ClientCAFile = "/nowhere.ca"
	err := w.Configure(&c)
	for _, want := range []string{
		"serving.tls.certFile and keyFile: stat /nowhere.crt: no such file",
		"serving.authentication.requestHeader.clientCAFile: stat /nowhere.ca: no such file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}

	if code, _ := get(t, w.client, w.url+"/debug/pprof/heap"); code != 200 {
		t.Errorf("what can be changed wasn't: %d", code)
	}
	runtime.SetBlockProfileRate(0)
}

// Connections go on while the certificate changes, new ones get the new one; a bad one is refused, told of, and the old
// one is served until it is mended.
func TestCertificateIsReplaced(t *testing.T) {
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	sign := func(name string, life time.Duration) *x509.Certificate {
		t.Helper()
		ca, err := cluster.Sign(tls.Certificate{}, pkix.Name{CommonName: "ca"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cluster.SignFor(ca, pkix.Name{CommonName: name}, life)
		if err != nil {
			t.Fatal(err)
		}
		cert, key, err := cluster.PEM(c)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, certFile, cert)
		writeFile(t, keyFile, key)
		return c.Leaf
	}

	first := sign("first", time.Hour)
	o := Options{Config: &config.Default().Serving, Registry: prometheus.NewRegistry()}
	o.Config.TLS.CertFile, o.Config.TLS.KeyFile = certFile, keyFile
	w := startServer(t, o)
	shown := func() *x509.Certificate {
		t.Helper()
		c, err := tls.Dial("tcp", w.Address(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0]
	}

	expect := func(want *x509.Certificate, problem string) {
		t.Helper()
		w.Refresh()
		if got := shown(); !got.Equal(want) {
			t.Errorf("%s is shown, want %s", got.Subject, want.Subject)
		}
		if err := w.Problems(); (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("problem %v, want %q", err, problem)
		}
		if code, _ := get(t, w.client, w.url+"/configz"); code != 200 { // on the connection of the first request
			t.Errorf("code %d", code)
		}
	}

	expect(first, "")
	second := sign("second", time.Hour)
	expect(second, "")
	writeFile(t, keyFile, []byte("no key"))
	expect(second, certFile+" with "+keyFile+": tls: ")
	_, page := get(t, w.client, w.url+"/metrics")
	if !strings.Contains(page, `windlass_serving_reloads_total{result="failed"} 1`) ||
		!strings.Contains(page, `windlass_serving_reloads_total{result="ok"} 1`) {
		t.Error("the metrics don't tell of one certificate that was taken, and one that wasn't")
	}

	if _, page := get(t, w.client, w.url+"/windlass/v1/statusz"); !strings.Contains(page,
		"Serving: serving.tls.certFile and keyFile: ") {
		t.Errorf("no problem in %s", page)
	}
	sign("third", -time.Minute)
	expect(second, "which isn't now")
	fourth := sign("fourth", time.Hour)
	expect(fourth, "")
}

// A certificate that is signed by itself is for loopback, can't sign others, is left for this user's commands without
// its key, and taken away at the end. In certDir it outlives the process.
func TestOwnCertificate(t *testing.T) {
	o := Options{Config: &config.Default().Serving}
	o.Config.TLS.CertDir = filepath.Join(t.TempDir(), "certs")
	w := startServer(t, o)
	_, port, _ := net.SplitHostPort(w.Address())
	number, _ := strconv.Atoi(port)

	left, path, err := Pinned(number)
	leaf := w.Certificate().Leaf
	if err != nil || !bytes.Equal(left, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})) {
		t.Errorf("left in %s: %v %s", path, err, left)
	}
	if leaf.IsCA || leaf.VerifyHostname("127.0.0.1") != nil || leaf.VerifyHostname("localhost") != nil {
		t.Errorf("CA: %v, names %v %v", leaf.IsCA, leaf.DNSNames, leaf.IPAddresses)
	}
	if info, err := os.Stat(filepath.Join(o.Config.TLS.CertDir, ownKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v %v", info, err)
	}

	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := Pinned(number); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}

	again, err := ownPair(o.Config.TLS.CertDir, "127.0.0.1")
	if err != nil || !again.Leaf.Equal(leaf) {
		t.Errorf("another certificate, %v", err)
	}
	writeFile(t, filepath.Join(o.Config.TLS.CertDir, ownKeyFile), []byte("x"))
	if _, err := ownPair(o.Config.TLS.CertDir, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), ownCertFile) {
		t.Errorf("a bad key: %v", err)
	}
}

// A folder of certificates that others may write to isn't believed.
func TestPinnedFolderIsClosed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, _, _, err := newPair("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	running, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	inUse := running.Addr().(*net.TCPAddr).Port
	if _, err := pinCertificate(inUse, c); err != nil {
		t.Fatal(err)
	}
	for port := range pinnedMost + 5 {
		if _, err := pinCertificate(port+1, c); err != nil {
			t.Fatal(err)
		}
	}

	_, path, err := Pinned(pinnedMost + 5)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) > pinnedMost+1 {
		t.Errorf("%d certificates are left, %d and that of the running server at most are to be: %v", len(all), pinnedMost,
			err)
	}
	if _, _, err := Pinned(inUse); err != nil {
		t.Errorf("that of a running server has gone: %v", err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o770); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pinned(pinnedMost + 5); err == nil || !strings.Contains(err.Error(), "accessible to other users") {
		t.Errorf("got %v", err)
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer taken.Close()
	empty := writeFile(t, filepath.Join(t.TempDir(), "empty"), nil)
	junk := writeFile(t, filepath.Join(t.TempDir(), "junk"), []byte("junk"))
	for want, change := range map[string]func(*config.Serving){
		"serving.bindAddress and port: listen tcp " + taken.Addr().String(): func(c *config.Serving) {
			c.Port = int32(taken.Addr().(*net.TCPAddr).Port)
		},
		"serving.tls.certFile and keyFile: " + empty + ": is empty": func(c *config.Serving) {
			c.TLS.CertFile, c.TLS.KeyFile = empty, junk
		},
		"serving.tls.certFile and keyFile: " + junk + " with " + junk: func(c *config.Serving) {
			c.TLS.CertFile, c.TLS.KeyFile = junk, junk
		},
		"serving.authentication.clientCAFile: " + junk + ": has no certificate in PEM": func(c *config.Serving) {
			c.Authentication.ClientCAFile = junk
		},
		"serving.authentication.requestHeader.clientCAFile: stat /nowhere": func(c *config.Serving) {
			c.Authentication.RequestHeader.ClientCAFile = "/nowhere"
		},
		"serving.authentication.kubeconfig: stat /nowhere": func(c *config.Serving) {
			c.Authentication.Kubeconfig = "/nowhere"
		},
		"serving.authorization.kubeconfig: stat /nowhere": func(c *config.Serving) {
			c.Authorization.Kubeconfig = "/nowhere"
		},
		"Role extension-apiserver-authentication-reader": func(c *config.Serving) {
			c.Authentication.SkipLookup, c.Authentication.TolerateLookupFailure = false, false
		},
	} {
		c := config.Default().Serving
		c.Port = -1
		c.Authentication.SkipLookup = true
		change(&c)

		if _, err := New(t.Context(), Options{Config: &c, Client: &rest.Config{Host: "https://127.0.0.1:1"}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got:  %v\nwant: %s", err, want)
		}
	}
}

// A request in flight when the server is told to stop is answered; after it nobody listens.
func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	w := startServer(t, Options{Checks: func() []Check {
		return []Check{{"slow", func() error { close(entered); <-release; return nil }}}
	}})
	answered := make(chan string, 1)
	go func() {
		r, err := w.client.Get(w.url + "/healthz")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		answered <- string(b)
	}()

	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- w.stop() }()
	for {
		c, err := net.Dial("tcp", w.Address())
		if err != nil {
			break // the server no longer listens
		}
		c.Close()
	}

	close(release)
	if got := <-answered; got != "ok" {
		t.Errorf("got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// The versions of TLS, the cipher suites and the folder of the own certificate are followed by the next connection.
func TestTLSIsFollowed(t *testing.T) {
	w := startServer(t, Options{})
	connect := func(version uint16) (*tls.ConnectionState, error) {
		c, err := tls.Dial("tcp", w.Address(), &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return new(c.ConnectionState()), nil
	}

	const suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
	c := *w.options.Config
	c.TLS.CipherSuites = []string{suite}
	if err := w.Configure(&c); err != nil {
		t.Fatal(err)
	}
	if s, err := connect(tls.VersionTLS12); err != nil || tls.CipherSuiteName(s.CipherSuite) != suite {
		t.Errorf("%+v, %v", s, err)
	}

	c.TLS.MinVersion = "VersionTLS13"
	if err := w.Configure(&c); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(tls.VersionTLS12); err == nil {
		t.Error("TLS 1.2 is still accepted")
	}

	c.TLS.CertDir = t.TempDir()
	if err := w.Configure(&c); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(c.TLS.CertDir, "kube-controller-manager.crt"))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := pem.Decode(kept)
	if s, err := connect(0); err != nil || first == nil || !bytes.Equal(s.PeerCertificates[0].Raw, first.Bytes) {
		t.Errorf("another certificate is served: %v", err)
	}
}
