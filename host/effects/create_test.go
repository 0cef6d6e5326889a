package effects

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// A create whose answer was lost is done if what is there is what it would have made; otherwise the name is somebody
// else's, and another one is taken.
func TestLostCreates(t *testing.T) {
	deleted := metav1.Unix(1, 0)
	for name, x := range map[string]struct {
		change func(p *corev1.Pod) // of the pod that is there
		posts  int
	}{
		"it is there":                {func(*corev1.Pod) {}, 2},
		"it is being deleted":        {func(p *corev1.Pod) { p.DeletionTimestamp = &deleted }, 3},
		"another owner's":            {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, 3},
		"nobody's":                   {func(p *corev1.Pod) { p.OwnerReferences = nil }, 3},
		"of another name's making":   {func(p *corev1.Pod) { p.GenerateName = "db-" }, 3},
		"a person has given it that": {func(p *corev1.Pod) { p.GenerateName = "" }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			posts := 0
			answer := func(w http.ResponseWriter, kind string, raw []byte) {
				w.Header().Set("Content-Type", envelope.Protobuf)
				_, _ = w.Write(envelope.Wrap("v1", kind, raw))
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				there := templatePod()
				there.Name, there.UID, there.ResourceVersion = "web-5d4f-there", "u", "7"
				switch {
				case r.Method == http.MethodGet:
					x.change(there)
					answer(w, "PodList", schematest.Marshal(t, &corev1.PodList{Items: []corev1.Pod{*there}}))
				case r.Method != http.MethodPost:
					t.Errorf("a %s", r.Method)
				default:
					switch posts++; posts {
					case 1:
						panic(http.ErrAbortHandler) // the answer is lost
					case 2:
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(http.StatusConflict)
						fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "code": 409, "reason": "AlreadyExists"}`)
					default:
						there.UID = "made"
						answer(w, "Pod", schematest.Marshal(t, there))
					}
				}
			}))
			defer server.Close()
			w, err := New(Options{Plugin: "p", Config: &rest.Config{Host: server.URL}, Controller: &abi.Controller{
				Name: "c", Writes: []abi.Write{{Resource: podsR, Verbs: []string{"create"}}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()

			s := w.Begin(abi.KeyRef{Name: "web"}, nil)
			defer s.End()
			create := abi.Effect{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: "default"}
			create.Object = schematest.Marshal(t, templatePod())
			out, err := s.Perform(t.Context(), []abi.Effect{create})
			if err != nil || out[0].Code != abi.CodeOK {
				t.Fatalf("%+v, %v", out, err)
			}
			uid := map[int]string{2: "u", 3: "made"}[x.posts]
			if posts != x.posts || out[0].UID != uid {
				t.Errorf("sent %d times, the pod is %s; expected %d times and %s", posts, out[0].UID, x.posts, uid)
			}
		})
	}
}
