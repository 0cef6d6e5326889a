package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// What needs an API server is in test/serving.

func newAuthority(t *testing.T) string {
	t.Helper()
	c, err := cluster.Sign(tls.Certificate{}, pkix.Name{CommonName: "ca"})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := cluster.PEM(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAlwaysAllowed(t *testing.T) {
	all := always{"/healthz", "/metrics/*", "/open*"}
	for path, want := range map[string]bool{
		"/healthz": true, "/healthz/": false, "/healthz/ping": false, "/healthzz": false, "/metrics": false,
		"/metrics/": true, "/metrics/slis": true, "/open": true, "/opener/x": true, "/": false, "": false,
	} {
		if got := all.matchesPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !(always{"/*"}).matchesPath("/anything") {
		t.Error("/* isn't all")
	}
}

func TestUncleanPathsAreNone(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/": true, "/a/b": true, "": false, "a": false, "//a": false, "/a//": false,
		"/a/../b": false, "/./a": false, "/a/..": false, "*": false,
	} {
		if got := isCleanPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// What the API server publishes is taken as a whole or not at all, and who may name others is never the same as who may
// only name himself.
func TestPublished(t *testing.T) {
	clients, front := newAuthority(t), newAuthority(t)
	data := func(kv ...string) *corev1.ConfigMap {
		m := &corev1.ConfigMap{Data: map[string]string{"client-ca-file": clients, "requestheader-client-ca-file": front,
			"requestheader-allowed-names": `["a"]`, "requestheader-username-headers": `["X-Remote-User"]`}}
		for i := 0; i < len(kv); i += 2 {
			m.Data[kv[i]] = kv[i+1]
		}
		return m
	}

	for name, c := range map[string]struct {
		m    *corev1.ConfigMap
		want string
	}{
		"no CA": {data("client-ca-file", "junk"), "client-ca-file: has no certificate in PEM"},
		"a key": {data("client-ca-file", clients+"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
			`client-ca-file: has a block "PRIVATE KEY"`},
		"broken": {data("requestheader-client-ca-file",
			"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
			"requestheader-client-ca-file: has a certificate that can't be read"},
		"names a text": {data("requestheader-allowed-names", "a"), "requestheader-allowed-names: "},
	} {
		if _, err := parsePublished(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}

	p, err := parsePublished(data())
	if err != nil {
		t.Fatal(err)
	}

	k := &config.Default().Serving.Authentication
	a, h, err := joinTrust(k, nil, nil, p)
	if err != nil || !a.equal(p.clients) || h == nil || h.AllowedNames[0] != "a" {
		t.Errorf("as published: %v %v %v", a, h, err)
	}
	if a, h, err = joinTrust(k, nil, nil, nil); a != nil || h != nil || err != nil {
		t.Errorf("nothing known yet: %v %v %v", a, h, err)
	}
	own, err := parseAuthority([]byte(newAuthority(t)))
	if err != nil {
		t.Fatal(err)
	}

	if a, h, err = joinTrust(k, own, nil, p); err != nil || !a.equal(own) || h == nil {
		t.Errorf("a file goes first: %v %v %v", a, h, err)
	}
	skip := *k
	skip.SkipLookup = true
	if a, h, err = joinTrust(&skip, own, nil, p); err != nil || !a.equal(own) || h != nil {
		t.Errorf("without what is published: %v %v %v", a, h, err)
	}

	for name, c := range map[string]struct {
		m    *corev1.ConfigMap
		want error
	}{
		"one CA, no names": {data("requestheader-client-ca-file", clients, "requestheader-allowed-names", "[]"),
			errSameAuthority},
		"one CA with names": {data("requestheader-client-ca-file", clients), nil},
		"two CAs, no names": {data("requestheader-allowed-names", "[]"), nil},
		"no front proxies":  {data("requestheader-client-ca-file", ""), nil},
		"one CA, names none": {data("requestheader-client-ca-file", clients, "requestheader-allowed-names", ""),
			errSameAuthority},
	} {
		p, err := parsePublished(c.m)
		if err != nil {
			t.Fatal(err)
		}
		a, h, err := joinTrust(k, nil, nil, p)
		if !errors.Is(err, c.want) || c.want != nil && h != nil || a == nil {
			t.Errorf("%s: %v %v %v, want %v", name, a, h, err, c.want)
		}
	}
}

// freely lets the API server be asked anything.
func freely() error { return nil }

// Answers are kept for their time, errors aren't, and one question isn't asked twice at once.
func TestAnswers(t *testing.T) {
	a := newAnswers[string](time.Hour, 0)
	asked := 0
	ask := func(answer string, yes bool, err error) string {
		got, failed := a.get(t.Context(), "q", freely, func(context.Context) (string, bool, error) {
			asked++
			return answer, yes, err
		})
		return got + fmt.Sprint(failed)
	}
	for i, c := range []struct {
		answer string
		yes    bool
		err    error
		want   string
		asked  int
	}{
		{"", false, errors.New("down"), "down", 1}, {"no", false, nil, "no<nil>", 2}, {"no", false, nil, "no<nil>", 3},
		{"yes", true, nil, "yes<nil>", 4}, {"other", true, nil, "yes<nil>", 4},
	} {
		if got := ask(c.answer, c.yes, c.err); got != c.want || asked != c.asked {
			t.Errorf("%d: %s, asked %d times; want %s, %d", i, got, asked, c.want, c.asked)
		}
	}

	entered, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	b := newAnswers[string](0, 0)
	slow := func(context.Context) (string, bool, error) { close(entered); <-release; return "x", true, nil }
	all.Go(func() { _, _ = b.get(t.Context(), "q", freely, slow) })
	<-entered
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.get(short, "q", freely, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("one who doesn't wait: %v", err)
	}
	close(release)
	all.Wait()
}

// Those who show tokens that nobody knows, or nothing, run into a bound, and take no place from who is known.
func TestStrangers(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
			fmt.Fprint(w, `{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": {"allowed": true}}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": {"authenticated": %v,
			"user": {"username": "jane"}}}`, bytes.Contains(body, []byte("good")))
	}))
	t.Cleanup(server.Close)
	k := config.Default().Serving
	k.Authentication.SkipLookup, k.Authentication.TokenCacheTTL.Duration = true, 0 // so each is asked about again
	g, err := New(t.Context(), &k, &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{
		ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	handler := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	get := func(token, from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.RemoteAddr = from + ":4711"
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}

	if code := get("good", "192.0.2.1"); code != http.StatusOK {
		t.Fatal(code)
	}
	// refused is after how many requests from there one isn't gone into.
	refused := func(token func(n int) string, otherwise int) int {
		for n := range 10_000 {
			switch code := get(token(n), "192.0.2.1"); code {
			case http.StatusTooManyRequests:
				return n
			case otherwise:
			default:
				t.Fatal(code)
			}
		}
		t.Error("none of 10,000 requests was refused")
		return 0
	}
	before := asked
	n := refused(func(n int) string { return fmt.Sprintf("wrong-%d", n) }, http.StatusUnauthorized)
	if n+1 < strangerAtOnce || asked-before != n { // one was the good one's first
		t.Errorf("the first was refused after %d wrong tokens, for which the API server was asked %d times", n, asked-before)
	}
	if code := get("good", "192.0.2.1"); code != http.StatusOK {
		t.Errorf("the token that was good before, from the same address: %d", code)
	}
	if code := get("", "192.0.2.3"); code != http.StatusOK {
		t.Errorf("an anonymous request, from a third one: %d", code)
	}
	if code := get("good too", "192.0.2.2"); code != http.StatusOK {
		t.Errorf("another good token, from another address: %d", code)
	}
}

// A user may what somebody allows and nobody denies.
func TestDeniedIsNotAllowed(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"allowed": true}`:                  true,
		`{"allowed": false}`:                 false,
		`{"allowed": false, "denied": true}`: false,
		`{"allowed": true, "denied": true}`:  false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": %s}`, answer)
		}))
		t.Cleanup(server.Close)
		client, err := authorizationclient.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		got, err := newAccess(client, &config.Authorization{}).authorize(t.Context(), &User{Name: "jane"}, "get", "/metrics",
			freely)
		if err != nil || got.allowed != want {
			t.Errorf("%s: %v, %v", answer, got.allowed, err)
		}
	}
}

// The names that are read from JSON are lists of strings, or an error.
func FuzzPublishedNeverPanics(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", `["a"]`)
	f.Fuzz(func(t *testing.T, pem, names string) {
		p, err := parsePublished(&corev1.ConfigMap{Data: map[string]string{"client-ca-file": pem,
			"requestheader-client-ca-file": pem, "requestheader-allowed-names": names}})
		if err == nil && p.proxies != nil && names != "" && !json.Valid([]byte(names)) {
			t.Errorf("took %q", names)
		}
	})
}

// The hint names the role that has what was asked for.
func TestAccessHint(t *testing.T) {
	for _, x := range []struct{ verb, path, role string }{
		{"get", "/windlass/v1/status", "--viewer"},
		{"get", "/debug/explain", "--viewer"},
		{"get", "/debug/recordings/job-controller", "--operator"},
		{"get", "/debug/pprof/heap", "--operator"},
		{"post", "/windlass/v1/release/job-controller", "--operator"},
	} {
		if got := accessHint(&User{Name: "jane"}, x.verb, x.path); !strings.Contains(got, "windlass rbac "+x.role+" USER") {
			t.Errorf("%s %s: %s", x.verb, x.path, got)
		}
	}
}
