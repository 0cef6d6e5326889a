package replay

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

func TestMain(m *testing.M) { life.Main(m) }

const password = "correct-horse-battery-staple"

// Whatever the controllers did on a cluster, their recordings do it again: bit for bit, under the compiler and under
// the interpreter. No secret is in them, and another module shows its difference.
func TestRecordingsReplay(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	lives, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	lives = life.Of("", lives)
	m := windlass.Start(t, c, windlass.Options{Controllers: builtin.Names(), Configure: func(k *config.Configuration) {
		k.Recordings.Bytes = resource.MustParse("64Mi")
		k.Plugins = append(k.Plugins, life.Configured(lives, true)...)
	}})
	playLives(t, c, lives)
	explained(t, m)
	recordings := saveRecordings(t, m)
	m.Stop(t)

	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, path := range recordings {
		t.Run(name, func(t *testing.T) {
			f, err := record.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Syncs) == 0 {
				t.Fatal("nothing was recorded: the workload doesn't concern this controller")
			}
			total += len(f.Syncs)
			for _, interpreter := range []bool{false, true} {
				same, putOff := 0, 0
				from := time.Now()
				o := replay.Options{Interpreter: interpreter, Files: map[string][]byte{"root-ca-file": ca}}
				if err := replay.Run(t.Context(), f, o, func(r replay.Result) {
					switch {
					case r.Verdict == replay.Same:
						same++
					case r.Verdict == replay.Skipped && r.Ended == "stale": // the plugin wasn't called: there is nothing to run again
						putOff++
					case r.Verdict == replay.Skipped && r.Why == "secrets were wiped from it" && seesExpirations[name]:
						// One token's expiration is no time: it may be anything.
					default:
						t.Errorf("interpreter %v: sync %d of %s (%s) is %s: %s\n%s", interpreter, r.Number, r.Key, r.Ended, r.Verdict,
							r.Why, r.Diff)
					}
				}); err != nil {
					t.Fatal(err)
				}
				if same == 0 {
					t.Errorf("interpreter %v: none of %d syncs was run again", interpreter, len(f.Syncs))
				}
				t.Logf("interpreter %v: %d of %d syncs the same, %d were put off until a cache is current, in %v", interpreter,
					same, len(f.Syncs), putOff, time.Since(from).Round(time.Millisecond))
			}
		})
	}
	t.Logf("%d controllers, %d syncs", len(recordings), total)
	t.Run("compilers", func(t *testing.T) { compilers(t, recordings) })
	t.Run("changed module", func(t *testing.T) { changed(t, recordings["deployment-controller"]) })
}

// seesExpirations are the controllers that go by the expirations of bootstrap tokens.
var seesExpirations = map[string]bool{"token-cleaner-controller": true, "bootstrap-signer-controller": true}

// playLives has every controller do the work that its plugin's life has for it. There is a secret in a namespace that
// ends, and a Deployment of which it is asked who wrote it.
func playLives(t *testing.T, c *cluster.Cluster, lives []*life.Life) {
	t.Helper()
	client := c.Client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stage := life.NewStage(t, c)
	stage.RestrainKubelets(t)
	stage.Metrics = metricsapi.Serve(t, c.RESTConfig())
	const ns = "shop"
	stage.Namespace(t, ns)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}}
	secret.StringData = map[string]string{"password": password}
	must(client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}))
	stage.PlayWorks(t, lives)

	must(nil, client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}))
	cluster.Eventually(t, 2*time.Minute, "the namespace is gone", func() (bool, string) {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	windlass.Account(t, client, "default")
	other := workload.Web{Client: client, Namespace: "default", Name: "other"}
	must(nil, other.Create(t.Context(), 2))
	cluster.Eventually(t, time.Minute, "other", func() (bool, string) {
		done, seen, err := other.Converged(t.Context(), 2, "web:1")
		return done, fmt.Sprint(seen, err)
	})
}

// saveRecordings saves the recordings of all controllers.
func saveRecordings(t *testing.T, m *windlass.Manager) map[string]string {
	t.Helper()
	var s state.Status
	if err := json.Unmarshal(m.Get(t, "/windlass/v1/status"), &s); err != nil {
		t.Fatal(err)
	}
	for _, own := range builtin.Controllers() {
		runs := slices.ContainsFunc(s.Controllers, func(c state.ControllerStatus) bool { return c.Name == own.Name })
		if !runs && !own.Manifest.DisabledByDefault {
			t.Fatalf("%s doesn't run", own.Name)
		}
	}
	folder, paths := t.TempDir(), map[string]string{}
	for _, c := range s.Controllers {
		b := m.Get(t, "/debug/recordings/"+c.Name)
		for _, value := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
			if bytes.Contains(b, []byte(value)) {
				t.Errorf("the recording of %s has a secret's value", c.Name)
			}
		}
		paths[c.Name] = filepath.Join(folder, c.Name+record.Extension)
		if err := record.WriteFile(paths[c.Name], b); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// explained fails the test unless the writers of the objects in namespace default are known.
func explained(t *testing.T, m *windlass.Manager) {
	t.Helper()
	for kind, want := range map[string][]string{
		"deployment": {"deployment-controller"}, "Deployments.apps": {"deployment-controller"}, "endpointslice": nil,
		"serviceaccount/default": {"serviceaccount-controller"},
	} {
		kind, name, named := strings.Cut(kind, "/")
		if !named {
			name = "other"
		}

		var e state.Explanation
		// moments after the write is seen
		cluster.Eventually(t, time.Minute, "the syncs that wrote "+kind+" "+name+" have ended", func() (bool, string) {
			e = state.Explanation{}
			if err := json.Unmarshal(m.Get(t, "/debug/explain?"+url.Values{"resource": {kind}, "namespace": {"default"},
				"name": {name}}.Encode()), &e); err != nil {
				t.Fatal(err)
			}
			return !slices.ContainsFunc(e.Writes, func(w record.Write) bool { return w.Result == "" }),
				fmt.Sprintf("%+v", e.Writes)
		})

		var got []string
		for _, w := range e.Writes {
			got = append(got, w.Controller)
			if w.Plugin == "" || !strings.HasPrefix(w.Digest, "sha256:") || w.Version == "" || w.Key == "" || w.Result == "" ||
				w.ResourceVersion == "" || time.Since(w.Time) > time.Hour {
				t.Errorf("%s: %+v", kind, w)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s was written by %v, want %v", kind, name, got, want)
		}
	}
}

// changed replays the deployment controller's recording with a module that differs in the text of one event, and
// demands to see that difference and no other.
func changed(t *testing.T, path string) {
	f, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	p, err := plugins.Named("builtin:deployment")
	if err != nil {
		t.Fatal(err)
	}

	wasm, err := p.Wasm()
	if err != nil {
		t.Fatal(err)
	}
	const before, after = "ScalingReplicaSet", "ScalingReplicaBag"
	if n := bytes.Count(wasm, []byte(before)); n != 1 {
		t.Fatalf("%q is %d times in the module", before, n)
	}

	p = plugins.New(p.Name, p.Origin, bytes.Replace(wasm, []byte(before), []byte(after), 1))
	events := func(s *record.Sync) int { return bytes.Count(s.Answer, []byte(before)) }
	different := 0
	err = replay.Run(context.WithoutCancel(t.Context()), f, replay.Options{Plugin: p}, func(r replay.Result) {
		n := events(&f.Syncs[r.Number-1])
		if (r.Verdict == replay.Different) != (n > 0) {
			t.Errorf("sync %d has %d such events and is %s: %s", r.Number, n, r.Verdict, r.Diff)
		}
		if r.Verdict != replay.Different {
			return
		}
		different++
		for _, l := range strings.Split(r.Diff, "\n") {
			if l != "" && l[0] == '-' && strings.TrimSpace(l[1:]) != "reason: "+before || l != "" && l[0] == '+' &&
				strings.TrimSpace(l[1:]) != "reason: "+after {
				t.Errorf("sync %d: %s", r.Number, l)
			}
		}
	})
	if err != nil || different == 0 {
		t.Errorf("%v, %d syncs differ", err, different)
	}
	t.Logf("%d of %d syncs differ, each in nothing but the event's reason", different, len(f.Syncs))
}
