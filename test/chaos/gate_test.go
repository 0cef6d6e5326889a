package chaos

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
)

// gate stands between windlass and the API server. It lets all through, and springs at one write.
type gate struct {
	kubeconfig string

	mu   sync.Mutex
	trap *trap
}

// trap kills the process at the n-th write to a namespace's objects, events aside.
type trap struct {
	namespace string
	n         int  // counted from 1
	after     bool // after the API server has done the write, and before the answer comes; else before it has seen it
	kill      func()

	count  int
	write  *http.Request // the n-th
	sprung chan string   // gets what it was
}

func openGate(t testing.TB, c *cluster.Cluster) *gate {
	t.Helper()
	admin, err := clientcmd.LoadFromFile(c.ManagerKubeconfig)
	if err != nil {
		t.Fatal(err)
	}

	g := &gate{kubeconfig: filepath.Join(c.Dir, "gate.kubeconfig")}
	server := rest.AnonymousClientConfig(c.ManagerRESTConfig())
	(&faults.Faults{Before: g.trapBefore, After: g.trapAfter}).Wrap(server)
	transport, err := rest.TransportFor(server)
	if err != nil {
		t.Fatal(err)
	}

	to, err := url.Parse(server.Host)
	if err != nil {
		t.Fatal(err)
	}

	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // for watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})

	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})

	for _, to := range admin.Clusters {
		*to = clientcmdapi.Cluster{Server: proxy.URL,
			CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})}
	}
	if err := clientcmd.WriteToFile(*admin, g.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return g
}

// setTrap sets a trap, or takes the last one away.
func (g *gate) setTrap(t *trap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trap = t; t != nil {
		t.sprung = make(chan string, 1)
	}
}

func (g *gate) trapBefore(r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/events") {
		g.mu.Lock()
		t := g.trap
		reached := false
		if t != nil && strings.Contains(r.URL.Path, "/namespaces/"+t.namespace+"/") {
			if t.count++; t.count == t.n {
				t.write, reached = r, true
			}
		}
		g.mu.Unlock()
		return reached && !t.after && t.spring()
	}
	return false
}

func (g *gate) trapAfter(r *http.Request) bool {
	g.mu.Lock()
	t := g.trap
	reached := t != nil && t.write == r
	g.mu.Unlock()
	return reached && t.after && t.spring()
}

// reached reports whether there was the n-th write. The trap must not be set any more.
func (t *trap) reached() bool { return t.count >= t.n }

func (t *trap) spring() bool {
	t.kill()
	t.sprung <- writeName(t.write)
	return true
}

// writeName names a write by its verb and resource.
func writeName(r *http.Request) string {
	_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/") // namespace, resource, name, subresource
	resource := parts[min(1, len(parts)-1)]
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	return fmt.Sprintf("%s %s", r.Method, resource)
}
