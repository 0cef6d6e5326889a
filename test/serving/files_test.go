package serving

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// What changes in files and fields is taken while requests go on, what is bad is refused and said, and none of the
// requests fails.
func TestChangesWhileRequestsGoOn(t *testing.T) {
	w := beginWorld(t)
	admin := caller{certificate: w.certificate(t, "admin", "system:masters")}

	// Requests on a connection that stays, and on new ones.
	ended := make(chan struct{})
	stop := sync.OnceFunc(func() { close(ended) })
	var asking sync.WaitGroup
	asked := map[string]int{}
	var mu sync.Mutex
	for name, keep := range map[string]bool{"one connection": true, "new connections": false} {
		client := w.newClient(t, admin.certificate)
		client.Transport.(*http.Transport).DisableKeepAlives = !keep
		asking.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				r, err := client.Get(w.m.URL("/metrics"))
				if err != nil || r.StatusCode != http.StatusOK {
					t.Errorf("%s: %v %v", name, err, r)
					return
				}
				r.Body.Close()
				mu.Lock()
				asked[name]++
				mu.Unlock()
			}
		})
	}
	defer asking.Wait()
	defer stop()

	folder := t.TempDir()
	certFile, keyFile, caFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"),
		filepath.Join(folder, "ca.crt")
	serve := func(name string) {
		c, err := w.ClientCertificate(name) // for servers on loopback, too
		if err != nil {
			t.Fatal(err)
		}
		cert, key, err := cluster.PEM(c)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, certFile, cert)
		writeFile(t, keyFile, key)
	}
	shown := func() string {
		c, err := tls.Dial("tcp", w.m.Address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	showing := func(name string) {
		t.Helper()
		eventually(t, "the certificate "+name+" is shown", func() string {
			if got := shown(); got != name {
				return got + " is"
			}
			return ""
		})
	}
	refused := func(parts ...string) {
		t.Helper()
		eventually(t, "it is said what isn't taken: "+strings.Join(parts, " "), func() string {
			s := w.m.Status(t)
			if len(parts) == 0 && s.Refused != "" {
				return "the status still says " + s.Refused
			}
			for _, p := range parts {
				if !strings.Contains(s.Refused, p) {
					return "the status says " + s.Refused
				}
			}
			return ""
		})
	}

	serve("first")
	w.tweak = func(s *config.Serving) { s.TLS.CertFile, s.TLS.KeyFile = certFile, keyFile }
	w.m.Reload()
	showing("first")
	serve("second") // nobody tells it
	showing("second")
	writeFile(t, keyFile, []byte("no key"))
	refused("serving.tls.certFile", certFile)
	if got := shown(); got != "second" {
		t.Errorf("with a bad key %s is shown", got)
	}
	serve("third")
	showing("third")
	refused()

	t.Log("CAs of clients: one more, then junk")
	other := newCA(t)
	ours, _, err := cluster.PEM(tls.Certificate{Certificate: [][]byte{other.Leaf.Raw}, PrivateKey: other.PrivateKey})
	if err != nil {
		t.Fatal(err)
	}
	stranger := caller{certificate: signCertificate(t, other, "stranger", "system:masters")}
	if code, _ := w.askManager(t, stranger, http.MethodGet, "/metrics"); code != 401 {
		t.Errorf("a stranger gets %d", code)
	}
	both := append(clusterCA(t, w), ours...)
	writeFile(t, caFile, both)
	w.tweak = func(s *config.Serving) {
		s.TLS.CertFile, s.TLS.KeyFile, s.Authentication.ClientCAFile = certFile, keyFile, caFile
	}
	w.m.Reload()
	eventually(t, "the stranger's CA is taken", func() string {
		return expectCode(w.askManager(t, stranger, http.MethodGet, "/metrics"))(200)
	})
	writeFile(t, caFile, []byte("junk"))
	refused("serving.authentication.clientCAFile", caFile, "no certificate in PEM")
	if code, _ := w.askManager(t, stranger, http.MethodGet, "/metrics"); code != 200 {
		t.Errorf("what was right is gone: %d", code)
	}
	writeFile(t, caFile, clusterCA(t, w))
	eventually(t, "the stranger's CA is gone", func() string {
		return expectCode(w.askManager(t, stranger, http.MethodGet, "/metrics"))(401)
	})

	t.Log("fields: a path for anybody; a port, which waits; a kubeconfig that isn't there")
	w.tweak = func(s *config.Serving) {
		s.TLS.CertFile, s.TLS.KeyFile, s.Authentication.ClientCAFile = certFile, keyFile, caFile
		s.Authorization.AlwaysAllowPaths = []string{"/metrics*"}
		s.Port = 1
	}
	w.m.Reload()
	eventually(t, "metrics are anybody's", func() string {
		return expectCode(w.askManager(t, caller{}, http.MethodGet, "/metrics/slis"))(200)
	})
	eventually(t, "the port waits for a restart", func() string {
		if s := w.m.Status(t); !slices.Equal(s.Restart, []string{"serving.port"}) || s.Refused != "" {
			return fmt.Sprintf("%q waits, %s", s.Restart, s.Refused)
		}
		return ""
	})
	w.tweak = func(s *config.Serving) {
		s.TLS.CertFile, s.TLS.KeyFile, s.Authentication.ClientCAFile = certFile, keyFile, caFile
		s.Authorization.Kubeconfig = "/nowhere"
	}
	w.m.Reload()
	refused("serving.authorization.kubeconfig", "/nowhere")
	if code, _ := w.askManager(t, caller{}, http.MethodGet, "/metrics/slis"); code != 200 {
		t.Errorf("a part of a bad section was taken: %d", code)
	}

	stop()
	asking.Wait()
	mu.Lock()
	defer mu.Unlock()
	if asked["one connection"] < 20 || asked["new connections"] < 20 {
		t.Errorf("hardly anything was asked: %v", asked)
	}
}

func clusterCA(t *testing.T, w *world) []byte {
	t.Helper()
	b, err := os.ReadFile(w.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
