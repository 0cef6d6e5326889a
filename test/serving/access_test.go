package serving

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// question is a method with a path that a pattern of the server's mux answers.
type question struct{ method, path string }

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// questions are one for each pattern that is served, so that none is forgotten.
func questions(t *testing.T, w *world) (all []question) {
	t.Helper()
	for _, p := range w.m.Server.Patterns() {
		method, path, ok := strings.Cut(p, " ")
		if !ok {
			method, path = http.MethodGet, p
		}
		path = placeholder.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "x")
		if strings.HasSuffix(path, "/profile") || strings.HasSuffix(path, "/trace") {
			path += "?seconds=1"
		}
		all = append(all, question{method, path})
	}
	if len(all) < 20 {
		t.Fatalf("only %d patterns are served: %v", len(all), all)
	}
	return all
}

// refused are callers whom the cluster gives no rights to, and how they are told.
type refused struct {
	caller
	code int
}

// callers are such ones by name; the token is that of an account without a role.
func (w *world) callers(t *testing.T, token string) map[string]refused {
	t.Helper()
	administrator := map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}

	return map[string]refused{
		"nobody":                     {caller{}, 403},
		"a wrong token":              {caller{token: "wrong"}, 401},
		"an empty token":             {caller{headers: map[string]string{"Authorization": "Bearer "}}, 403},
		"a password":                 {caller{headers: map[string]string{"Authorization": "Basic YTpi"}}, 403},
		"a token without a role":     {caller{token: token}, 403},
		"a stranger's certificate":   {caller{certificate: signCertificate(t, newCA(t), "admin", "system:masters")}, 401},
		"certificate without a role": {caller{certificate: w.certificate(t, "jane")}, 403},
		"certificate without a name": {caller{certificate: w.certificate(t, "", "system:masters")}, 401},
		"headers and nothing":        {caller{headers: administrator}, 403},
		"headers of no proxy":        {caller{certificate: w.certificate(t, "jane"), headers: administrator}, 403},
		"headers of another name": {caller{certificate: signCertificate(t, w.front, "other"), headers: administrator},
			401},
		"a proxy for nobody": {caller{certificate: signCertificate(t, w.front, proxyName)}, 401},
		"a proxy for one who may not": {caller{certificate: signCertificate(t, w.front, proxyName),
			headers: map[string]string{"X-Remote-User": "jane"}}, 403},
	}
}

// No privileged endpoint answers without credentials that the cluster gives rights to.
func TestAccess(t *testing.T) {
	w := beginWorld(t)
	always := config.Default().Serving.Authorization.AlwaysAllowPaths
	token := w.account(t, "nobody")
	callers := w.callers(t, token)

	t.Run("every path", func(t *testing.T) {
		open := 0
		for _, q := range questions(t, w) {
			if slices.Contains(always, q.path) {
				open++
				if code, b := w.askManager(t, caller{}, q.method, q.path); code != http.StatusOK {
					t.Errorf("%v isn't open: %d %s", q, code, b)
				}
				if code, b := w.askManager(t, caller{token: "wrong"}, q.method, q.path); code != http.StatusOK {
					t.Errorf("%v isn't open to one with a wrong token: %d %s", q, code, b)
				}
				continue
			}
			for who, c := range callers {
				if code, b := w.askManager(t, c.caller, q.method, q.path); code != c.code {
					t.Errorf("%s asks for %v: %d, want %d: %s", who, q, code, c.code, b)
				}
			}
			admin := caller{certificate: w.certificate(t, "admin", "system:masters")}
			if code, b := w.askManager(t, admin, q.method, q.path); code == 401 || code == 403 || code == 503 {
				t.Errorf("an administrator asks for %v: %d %s", q, code, b)
			}
		}
		if open != len(always) {
			t.Errorf("%d paths are open, not %v", open, always)
		}
	})

	t.Run("other spellings", func(t *testing.T) {
		for _, path := range []string{"/healthz/../metrics", "//metrics", "/healthz/..%2fmetrics", "/healthz/%2e%2e/metrics",
			"/./metrics", "/healthz//"} {
			if code, b := w.askManager(t, caller{}, http.MethodGet, path); code == 200 || strings.Contains(b, "go_goroutines") {
				t.Errorf("%s: %d %.100s", path, code, b)
			}
		}
	})

	t.Run("with roles", func(t *testing.T) {
		w.createRoles(t, rbac.People([]string{"viewer", "system:serviceaccount:default:viewer"}, []string{"operator"}))
		viewer, operator := caller{token: w.account(t, "viewer")}, caller{certificate: w.certificate(t, "operator")}
		eventually(t, "the roles hold", func() string {
			return expectCode(w.askManager(t, operator, http.MethodGet,
				"/debug/pprof/goroutine"))(200) + expectCode(w.askManager(t, viewer,
				http.MethodGet, "/metrics"))(200)
		})
		proxied := caller{certificate: signCertificate(t, w.front, proxyName),
			headers: map[string]string{"X-Remote-User": "viewer"}}
		for name, c := range map[string]caller{"token": viewer, "certificate": {certificate: w.certificate(t, "viewer")},
			"proxy": proxied, "operator": operator} {
			for _, path := range []string{"/metrics", "/windlass/v1/status", "/configz", "/healthz/ping"} {
				if code, b := w.askManager(t, c, http.MethodGet, path); code != 200 {
					t.Errorf("%s: %s: %d %s", name, path, code, b)
				}
			}
			want := 403
			if name == "operator" {
				want = 404 // nothing of that name runs
			}
			if code, b := w.askManager(t, c, http.MethodPost, "/windlass/v1/controllers/nothing/release"); code != want {
				t.Errorf("%s: release: %d %s", name, code, b)
			}
		}
		if _, b := w.askManager(t, viewer, http.MethodGet, "/debug/pprof/heap"); !strings.Contains(b,
			`user "system:serviceaccount:default:viewer" may not get /debug/pprof/heap: a ClusterRole with nonResourceURLs: ["/debug/pprof/heap"], verbs: [get]`) {
			t.Errorf("what is missing isn't named: %s", b)
		}

		if err := w.Client().RbacV1().ClusterRoleBindings().Delete(t.Context(), rbac.ViewerRole,
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the role is gone", func() string {
			return expectCode(w.askManager(t, viewer, http.MethodGet,
				"/metrics"))(403)
		})
	})

	t.Run("answers are kept", func(t *testing.T) {
		w.tweak = func(s *config.Serving) {
			d := config.Default().Serving
			s.Authentication.TokenCacheTTL, s.Authorization.AllowCacheTTL,
				s.Authorization.DenyCacheTTL = d.Authentication.TokenCacheTTL, d.Authorization.AllowCacheTTL,
				d.Authorization.DenyCacheTTL
		}
		w.m.Reload()
		asked := func(from time.Time, resource string) int {
			return len(w.Audit(t, cluster.Filter{Resources: []string{resource}, Since: from}))
		}
		eventually(t, "the configuration holds", func() string {
			from := time.Now()
			for range 3 {
				w.askManager(t, caller{token: token}, http.MethodGet, "/metrics")
			}
			if n := asked(from, "tokenreviews"); n > 1 {
				return fmt.Sprintf("asked %d times for 3 requests", n)
			}
			return ""
		})
		from := time.Now()
		for range 5 {
			w.askManager(t, caller{token: token}, http.MethodGet, "/metrics")
			w.askManager(t, caller{certificate: w.certificate(t, "admin", "system:masters")}, http.MethodGet, "/metrics")
		}
		if a, b := asked(from, "tokenreviews"), asked(from, "subjectaccessreviews"); a > 1 || b > 1 {
			t.Errorf("the API server was asked %d times for a token and %d times for rights", a, b)
		}
	})
	windlass.ExpectRoles(t, w.Cluster)
}

func expectCode(code int, b string) func(want int) string {
	return func(want int) string {
		if code != want {
			return fmt.Sprintf("%d %s", code, b)
		}
		return ""
	}
}

// eventually waits until there is nothing wrong any more.
func eventually(t *testing.T, what string, wrong func() string) {
	t.Helper()
	cluster.Eventually(t, time.Minute, what, func() (bool, string) {
		s := wrong()
		return s == "", s
	})
}
