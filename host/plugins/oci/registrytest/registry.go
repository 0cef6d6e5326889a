// Package registrytest runs an OCI registry on loopback, for tests.
package registrytest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Options say what a registry is like.
type Options struct {
	TLS bool
	// User and Password are asked for where they are set, by basic authentication; with Token, by a token service that
	// wants them.
	User, Password string
	Token          bool
}

// Registry is a running registry.
type Registry struct {
	// Host is its host:port.
	Host string
	// CAFile is what signed its certificate.
	CAFile string

	t       testing.TB
	server  *httptest.Server
	options Options
	next    http.Handler

	mu        sync.Mutex
	intercept func(w http.ResponseWriter, r *http.Request, next http.Handler)
	requests  []string
}

// token is what the token service gives.
const token = "let-me-in"

// Start runs a registry until the test is over.
func Start(t testing.TB, o Options) *Registry {
	t.Helper()
	r := &Registry{t: t, options: o, next: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if o.TLS {
		r.server.StartTLS()
		r.CAFile = filepath.Join(t.TempDir(), "ca.crt")
		b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
		if err := os.WriteFile(r.CAFile, b, 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		r.server.Start()
	}
	t.Cleanup(r.Stop)
	_, r.Host, _ = strings.Cut(r.server.URL, "://")
	return r
}

// Stop has the registry refuse connections.
func (r *Registry) Stop() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// Intercept has all requests answered by f, which may pass them on; nil ends that.
func (r *Registry) Intercept(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.intercept = f
}

// Requests returns the method and path of all requests with that in them.
func (r *Registry) Requests(with string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.requests), func(q string) bool { return !strings.Contains(q, with) })
}

// Credentials writes a docker config file with a password for the registry.
func (r *Registry) Credentials(user, password string) string {
	r.t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	b, err := json.Marshal(map[string]any{"auths": map[string]any{r.Host: map[string]string{"auth": auth}}})
	if err != nil {
		r.t.Fatal(err)
	}
	path := filepath.Join(r.t.TempDir(), "config.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *Registry) serve(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, q.Method+" "+q.URL.Path)
	f := r.intercept
	r.mu.Unlock()
	if !r.isAuthorized(w, q) {
		return
	}
	if f != nil {
		f(w, q, r.next)
		return
	}
	r.next.ServeHTTP(w, q)
}

// isAuthorized reports whether a request has the password or the token, and answers one that lacks it.
func (r *Registry) isAuthorized(w http.ResponseWriter, q *http.Request) bool {
	if r.options.User == "" {
		return true
	}
	user, password, _ := q.BasicAuth()
	known := user == r.options.User && password == r.options.Password
	scheme := "http"
	if r.options.TLS {
		scheme = "https"
	}
	switch {
	case r.options.Token && q.URL.Path == "/token" && known:
		fmt.Fprintf(w, `{"token":%q}`, token)
		return false
	case r.options.Token && q.Header.Get("Authorization") == "Bearer "+token, !r.options.Token && known:
		return true
	case r.options.Token:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s://%s/token",service="test"`, scheme, q.Host))
	default:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
	}
	http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, http.StatusUnauthorized)
	return false
}
