package effects

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// keyObject is the snapshot of a key whose object has this UID.
type keyObject struct {
	snapshot
	uid string
}

func (s keyObject) KeyObject() (uid string, exists bool) { return s.uid, s.uid != "" }

// closing is a server all of whose namespaces are being deleted.
type closing struct{ posts atomic.Int32 }

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	c.posts.Add(1)
	b, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: "unable to create new content",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	})
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(b)), Request: r,
	}, err
}

// In a namespace that is being deleted one create of a key is refused in five minutes, however many it wants and
// however often it is woken.
func TestNamespaceThatIsBeingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &closing{}
		w, err := New(Options{
			Plugin: "p", Config: &rest.Config{Host: "http://closing"},
			Client:     func(*rest.Config) (*http.Client, error) { return &http.Client{Transport: server}, nil },
			Controller: &abi.Controller{Name: "c", Writes: []abi.Write{{Resource: podsR, Verbs: []string{"create"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		sync := func(what string, s Snapshot, in string, tolerate abi.Tolerance, want int32) {
			t.Helper()
			session := w.Begin(abi.KeyRef{Namespace: "default", Name: "web"}, s)
			defer session.End()
			p := templatePod()
			p.Namespace = in
			create := abi.Effect{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: in, Object: schematest.Marshal(t, p),
				Tolerate: tolerate}
			group := abi.Effect{Kind: abi.EffectGroup, Mode: abi.SlowStart, Members: make([]abi.Effect, 100)}
			for i := range group.Members {
				group.Members[i] = create
			}
			before := server.posts.Load()
			out, err := session.Perform(t.Context(), []abi.Effect{group})
			if n := server.posts.Load() - before; err != nil || n != want {
				t.Errorf("%s: %d creates were sent, expected %d; %v", what, n, want, err)
			}
			for _, o := range out[0].Members[:1] {
				if o.Reason != NamespaceTerminatingReason || o.Message == "" {
					t.Errorf("%s: the outcome is %+v", what, o)
				}
			}
		}
		const tolerated = abi.TolerateNamespaceTerminating
		web := keyObject{uid: "web"}
		sync("the first time", web, "default", tolerated, 1)
		time.Sleep(denialTime - time.Second)
		sync("woken again", web, "default", tolerated, 0)
		sync("who wants to be told", web, "default", 0, 1)
		sync("in another namespace", web, "other", tolerated, 100)
		time.Sleep(time.Second)
		sync("five minutes later", web, "default", tolerated, 1)
		sync("an object of the same name, in the namespace's successor", keyObject{uid: "other"}, "default", tolerated, 1)
		w.Forget(abi.KeyRef{Namespace: "default", Name: "web"})
		sync("once the object was gone", keyObject{uid: "other"}, "default", tolerated, 1)
		sync("a key without an object", keyObject{}, "default", tolerated, 100)
	})
}
