package manager

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/messages"
)

// seedsOfAKind is how many messages of each kind of effect a run of the tests has that doesn't fuzz.
const seedsOfAKind = 4

// FuzzAnswers has a plugin of many rights, of which it is granted some, perform and answer whatever bytes there are, in
// a whole manager: none makes the host panic or has it send a request that the plugin isn't granted, and each time the
// controller goes on with its next key.
func FuzzAnswers(f *testing.F) {
	w := newWorld(f)
	audit := w.audit()
	g := parrot(f)
	w.place(g)
	w.configure(nil, func(k *config.Configuration) {
		core, reading := []string{""}, []string{"get", "list", "watch"}
		k.Plugins = []config.Plugin{{Name: "parrot", Grant: []config.Rule{
			{APIGroups: core, Resources: []string{"configmaps", "pods", "namespaces"}, Verbs: reading},
			{APIGroups: core, Resources: []string{"configmaps"}, Namespaces: []string{"default"},
				Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
				Verbs: []string{"create"}},
		}}}
	})
	w.begin()
	w.runs(g)
	bystander, err := w.client.CoreV1().ConfigMaps("default").Create(f.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "bystander"}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}

	r := messages.NewAuthor(1, bystander)
	for range seedsOfAKind {
		answer := &abi.SyncResponse{}
		r.Fill(answer, 3)
		f.Add([]byte{}, abi.AppendResponse(nil, answer))
		for kind := range abi.EffectSign + 2 {
			e := r.Effect(kind)
			f.Add(abi.AppendPerform(nil, &abi.PerformRequest{Effects: e}), []byte{})
			f.Add([]byte{}, abi.AppendResponse(nil, &abi.SyncResponse{Effects: e}))
		}
	}
	done := abi.AppendResponse(nil, &abi.SyncResponse{Effects: []abi.Effect{{Kind: abi.EffectCreate,
		Resource: "v1/configmaps", Namespace: "default", Name: "done", Tolerate: abi.TolerateAlreadyExists,
		Object: configMapBytes(f, "done")}}})

	f.Fuzz(func(t *testing.T, perform, answer []byte) {
		if len(perform)+len(answer) > 500_000 {
			return // more than an object holds
		}
		maps := w.client.CoreV1().ConfigMaps("default")
		say := func(name string, perform, answer []byte) {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
				BinaryData: map[string][]byte{"says": messages.Said(perform, answer)}}
			if _, err := maps.Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"parrot", "after", "done"} {
			if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}

		say("parrot", perform, answer)
		cluster.Eventually(t, time.Minute, "the next key's config map", func() (bool, string) {
			for _, c := range w.m.inspector.status(t.Context()).Controllers {
				if c.State != "Running" || c.Last != nil && c.Last.Result == syncer.Panic {
					t.Fatalf("%s is %s: %s: %+v", c.Name, c.State, c.Message, c.Last)
				}
			}
			if all := audit(); len(all) > 0 {
				t.Fatalf("requests that the plugin isn't granted: %q", all)
			}
			say("after", nil, done) // again, for the one before may have deleted it
			return exists(t, w.client, "done"), "no sync of it"
		})
	})
}

// granted are the requests that a manager of the parrot's grant may send.
var granted = regexp.MustCompile(`^(` + strings.Join([]string{
	`GET /(api|apis|healthz)`, `GET /api/v1`, `GET /apis/[a-z0-9.]+(/v[a-z0-9]+)?`, // what is served
	`GET /api/v1/(namespaces|configmaps|pods)`, `GET /api/v1/namespaces/[a-z0-9-]+`,
	`GET /api/v1/namespaces/[a-z0-9-]+/(configmaps|pods)(/[a-z0-9.-]+)?`,
	`(POST|DELETE) /api/v1/namespaces/default/configmaps`,
	`(PUT|PATCH|DELETE) /api/v1/namespaces/default/configmaps/[a-z0-9.-]+`,
	`POST /apis/authorization.k8s.io/v1/subjectaccessreviews`,
	`(POST|PATCH) (/api/v1|/apis/events.k8s.io/v1)/namespaces/[a-z0-9-]+/events(/[a-z0-9.-]+)?`,
}, "|") + `)$`)

// audit has what the manager sends looked at, and returns what tells of those requests that nobody is granted.
func (w *world) audit() (others func() []string) {
	var mu sync.Mutex
	var all []string
	next := w.config.Transport
	w.config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		// whether there are objects of controllers that don't run
		counts := r.URL.Query().Get("limit") == "1" && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
		if said := r.Method + " " + r.URL.EscapedPath(); !granted.MatchString(said) && !counts {
			mu.Lock()
			all = append(all, said)
			mu.Unlock()
		}
		return next.RoundTrip(r)
	})

	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func exists(t *testing.T, client kubernetes.Interface, name string) bool {
	_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func configMapBytes(t testing.TB, name string) []byte {
	b, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parrot returns a plugin that performs and answers what is said in its key's config map.
func parrot(t testing.TB) *guest {
	maps, pods := abi.Resource{Version: "v1", Name: "configmaps"}, abi.Resource{Version: "v1", Name: "pods"}
	all := []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}
	namespaces := abi.View{Name: "namespaces", Resource: abi.Resource{Version: "v1", Name: "namespaces"},
		Fields: []string{"metadata.name"}}

	m := &abi.Manifest{Name: "parrot", Version: "1",
		Controllers: []abi.Controller{
			{Name: "parrot-controller", EventSource: "parrot", State: true,
				Views: []abi.View{
					{Name: "configmaps", Resource: maps, Fields: []string{"metadata", "data", "binaryData"}},
					{Name: "pods", Resource: pods, Fields: []string{"metadata"}, Lazy: true, AskBy: []string{"spec.nodeName"}},
					{Name: "namespaces", Resource: namespaces.Resource, Fields: namespaces.Fields, Count: 1},
				},
				Writes: []abi.Write{{Resource: maps, Verbs: all}, {Resource: pods, Verbs: all},
					{Resource: pods, Subresource: "status", Verbs: all}, {Resource: pods, Subresource: "eviction", Verbs: all},
					{Resource: abi.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "subjectaccessreviews"},
						Verbs: []string{"create"}}}},
			{Name: "other-controller", Views: []abi.View{namespaces}},
		},
		Metrics: []abi.Metric{
			{Name: "parrot_total", Help: "A counter.", Type: abi.MetricCounter,
				Labels: []abi.Label{{Name: "kind", Values: []string{"a", "b"}}}},
			{Name: "parrot_named", Help: "A gauge.", Type: abi.MetricGauge,
				Labels: []abi.Label{{Name: "name", From: abi.LabelKeyName}, {Name: "namespace", From: abi.LabelNamespace}}},
			{Name: "parrot_sum", Help: "A sum.", Type: abi.MetricSum,
				Labels: []abi.Label{{Name: "label", View: "configmaps", Paths: []string{"data[label]"}}}},
			{Name: "parrot_seconds", Help: "A histogram.", Type: abi.MetricHistogram, Buckets: []float64{1, 2}},
		}}

	return &guest{"parrot", "1", messages.Parrot(t, m)}
}
