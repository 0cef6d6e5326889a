package serving

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// startNative starts the native manager on the cluster, as it serves with the same clients' CA, and returns its
// address.
func (w *world) startNative(t *testing.T, controllers []string, flags ...string) (address string) {
	t.Helper()
	address, port := cluster.FreeAddress(t)
	w.Native(t, controllers, append([]string{
		"--secure-port=" + port, "--bind-address=127.0.0.1", "--authentication-kubeconfig=" + w.ManagerKubeconfig,
		"--authorization-kubeconfig=" + w.ManagerKubeconfig,
	}, flags...)...)
	admin := caller{certificate: w.certificate(t, "admin", "system:masters")}
	eventually(t, "the native manager serves, and knows the clients' CA", func() string {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err.Error()
		}
		c.Close()
		a := w.askServer(t, address, admin, http.MethodGet, "/configz")
		return expectCode(a.code, string(a.body))(200)
	})
	return address
}

// Who may not ask is told so as by the native manager, on every path; who is let through anonymously by the cluster is.
func TestAccessBesideNative(t *testing.T) {
	w := beginWorld(t)
	native := w.startNative(t, w.controllers)
	callers := w.callers(t, w.account(t, "nobody"))
	always := config.Default().Serving.Authorization.AlwaysAllowPaths
	same := func(who string, c caller, method, path string) (code int) {
		t.Helper()
		want, got := w.askServer(t, native, c, method, path), answer{}
		eventually(t, "there aren't too many requests of strangers", func() string {
			got = w.askServer(t, w.m.Address, c, method, path)
			if got.code == http.StatusTooManyRequests {
				return string(got.body)
			}
			return ""
		})
		if want.code != got.code {
			t.Errorf("%s: %s %s: %d, natively %d\n%.300s\n%.300s", who, method, path, got.code, want.code, got.body, want.body)
		}
		return want.code
	}

	paths := []string{"/nowhere"}
	for _, q := range questions(t, w) {
		if path, _, _ := strings.Cut(q.path, "?"); !slices.Contains(always, path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		for who, c := range callers {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
				if code := same(who, c.caller, method, path); code != c.code {
					t.Errorf("%s: %s %s: natively %d, not %d", who, method, path, code, c.code)
				}
			}
		}
	}

	admin := caller{certificate: w.certificate(t, "admin", "system:masters")}
	for _, path := range []string{"/healthz", "/healthz/nothing", "/metrics", "/metrics/slis", "/configz", "/debug/pprof/",
		"/debug/pprof/goroutine", "/flagz", "/statusz", "/nowhere"} {
		same("an administrator", admin, http.MethodGet, path)
	}

	w.createRoles(t, []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-metrics"},
			Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "open-metrics"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "open-metrics"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated"}},
		},
	})
	for name, address := range map[string]string{"the native manager": native, "windlass": w.m.Address} {
		eventually(t, name+" lets anybody see the metrics", func() string {
			a := w.askServer(t, address, caller{}, http.MethodGet, "/metrics")
			return expectCode(a.code, string(a.body))(200)
		})
	}
	for _, path := range []string{"/metrics/slis", "/configz", "/windlass/v1/status"} {
		same("nobody", caller{}, http.MethodGet, path)
	}
	same("nobody", caller{}, http.MethodPost, "/metrics")
	same("one with a wrong token", caller{token: "wrong"}, http.MethodGet, "/metrics")
}

// A list that turns no controller on is no error: the manager runs, is healthy, and starts one when it is told to.
func TestNoControllersBesideNative(t *testing.T) {
	w := prepare(t)
	for _, list := range [][]string{{}, {"-job"}} {
		w.controllers = list
		w.startManager(t)
		native := w.startNative(t, list)
		for name, address := range map[string]string{"the native manager": native, "windlass": w.m.Address} {
			if a := w.askServer(t, address, caller{}, http.MethodGet, "/healthz"); a.code != 200 {
				t.Errorf("%v: %s: %d %s", list, name, a.code, a.body)
			}
		}
		if s := w.m.Status(t); len(s.Controllers) > 0 {
			t.Errorf("%v: %d controllers run", list, len(s.Controllers))
		}

		w.controllers = []string{"serviceaccount-controller"}
		w.m.Reload()
		eventually(t, "a controller runs that is turned on", func() string {
			if s := w.m.Status(t); len(s.Controllers) != 1 {
				return fmt.Sprint(s.Controllers)
			}
			return ""
		})
		w.m.Stop(t)
	}
}

// answer is what a server says to a request.
type answer struct {
	code    int
	headers http.Header
	body    []byte
}

// askServer asks a server, whose certificate isn't looked at.
func (w *world) askServer(t *testing.T, address string, c caller, method, path string) answer {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		q.Header.Set("Authorization", "Bearer "+c.token)
	}
	for k, v := range c.headers {
		q.Header.Set(k, v)
	}
	client := w.newClient(t, c.certificate)
	client.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	defer client.CloseIdleConnections()
	r, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.StatusCode, r.Header, b}
}

// words are the text's lines without what is behind the names of fields.
var words = regexp.MustCompile(
	`(?m)^(Started|Up|Go version|Binary version|Emulation version|Paths|[a-z0-9-]+?)(: |:|=| )( ?).*$`)

// answerShape returns what two answers must have in common: for text its lines up to their values, for an object its
// fields with the types of their values, and the values themselves where they say what it is.
func answerShape(t *testing.T, a answer) any {
	t.Helper()
	var o map[string]any
	var err error
	form, _, _ := strings.Cut(a.headers.Get("Content-Type"), ";")
	switch form {
	case "application/json":
		err = json.Unmarshal(a.body, &o)
	case "application/yaml":
		err = yaml.Unmarshal(a.body, &o)
	case "application/cbor":
		err = direct.Unmarshal(a.body, &o)
	default:
		text := string(a.body)
		header, rest, ok := strings.Cut(text, "purposes only.\n")
		if !ok {
			return text
		}
		var names []string
		for _, m := range words.FindAllStringSubmatch(rest, -1) {
			if !slices.Contains(oneSided, m[1]) {
				names = append(names, m[1])
			}
		}
		return map[string]any{"header": header, "names": names}
	}

	if err != nil {
		t.Fatalf("%s: %v\n%s", form, err, a.body)
	}
	return fieldTypes(o)
}

// oneSided are the flags that only one of both has: files of Windlass, and what cobra adds to commands.
var oneSided = []string{"config", "plugin-folder", "help", "version"}

func fieldTypes(v map[string]any) map[string]any {
	all := map[string]any{}
	for k, x := range v {
		switch x := x.(type) {
		case map[string]any:
			if k == "flags" {
				maps.DeleteFunc(x, func(name string, _ any) bool { return slices.Contains(oneSided, name) })
			}
			all[k] = fieldTypes(x)
		default:
			all[k] = fmt.Sprintf("%T", x)
			if slices.Contains([]string{"kind", "apiVersion", "name", "status", "reason", "message", "code", "emulationVersion"},
				k) {
				all[k] = x
			}
		}
	}
	return all
}

// The pages of the process and its flags are asked for, and answered, as the native manager's.
func TestPagesBesideNative(t *testing.T) {
	w := beginWorld(t)
	native := w.startNative(t, w.controllers, "--feature-gates=CBORServingAndStorage=true")
	admin := w.certificate(t, "admin", "system:masters")

	answered := map[int]int{}
	for _, kind := range []string{"Statusz", "Flagz"} {
		path := "/" + strings.ToLower(kind)
		accepts := []string{"", " ", "*/*", "text/plain", "text/plain;charset=utf-8", "text/html", "text/*",
			"text/html,text/plain;q=0.5", "application/vnd.kubernetes.protobuf", "nonsense"}
		for _, form := range []string{"application/json", "application/yaml", "application/cbor", "application/*", "*/*",
			"text/plain", "application/vnd.kubernetes.protobuf"} {
			accepts = append(accepts, form)
			for _, version := range []string{"v1beta1", "v1alpha1", "v1", ""} {
				accepts = append(accepts,
					form+";v="+version+";g=config.k8s.io;as="+kind,
					form+";v="+version+";g=config.k8s.io;as=Other",
					form+";v="+version+";g=apps;as="+kind+",text/plain",
					form+";as="+kind+";v="+version+";g=config.k8s.io;pretty=1")
			}
		}

		for _, accept := range accepts {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
				c := caller{certificate: admin, headers: map[string]string{"Accept": accept}}
				want, got := w.askServer(t, native, c, method, path), w.askServer(t, w.m.Address, c, method, path)
				answered[want.code]++
				if want.code != got.code {
					t.Errorf("%s %s as %q: %d, natively %d\n%.300s\n%.300s",
						method, path, accept, got.code, want.code, got.body, want.body)
					continue
				}
				for _, h := range []string{"Content-Type", "Warning", "Cache-Control"} {
					if d := cmp.Diff(want.headers[h], got.headers[h]); d != "" {
						t.Errorf("%s %s as %q: %s, -native +ours:\n%s", method, path, accept, h, d)
					}
				}
				if method != http.MethodHead {
					if d := cmp.Diff(answerShape(t, want), answerShape(t, got)); d != "" {
						t.Errorf("%s %s as %q: -native +ours:\n%s\n%s", method, path, accept, d, want.body)
					}
				}
			}
		}
	}
	if answered[200] < 100 || answered[406] < 100 {
		t.Errorf("hardly anything was compared: %v", answered)
	}
}
