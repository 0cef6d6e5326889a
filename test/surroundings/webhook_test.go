package surroundings

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/webhook"
	"github.com/windlass-dev/windlass/test/workload"
)

// verbs are those that webhooks are called on, all in the short form, and each by itself with FULL=1.
func verbs() map[string][]registration.OperationType {
	create, update, remove := registration.Create, registration.Update, registration.Delete
	if workload.Size(0, 1) == 0 {
		return map[string][]registration.OperationType{"": {create, update, remove}}
	}
	return map[string][]registration.OperationType{"/create": {create}, "/update": {update}, "/delete": {remove}}
}

// Webhooks that must be asked hang, refuse, change what they are shown and are slow at it, or answer what makes no
// sense.
func webhooks() (all []surrounding) {
	for _, x := range []struct {
		name   string
		told   string
		answer func(w http.ResponseWriter, r *http.Request, asked *admission.AdmissionRequest)
	}{
		{"hangs", "webhook", hang},
		{"refuses", "the surroundings refuse it", refuse},
		{"mutates slowly", "", mutate}, // nothing fails for it
		{"nonsense", "webhook", nonsense},
	} {
		for verb, on := range verbs() {
			unmade := ""
			if x.told != "" && slices.Contains(on, registration.Create) {
				unmade = restless
			}
			all = append(all, surrounding{name: "webhook " + x.name + verb, spares: true, common: true, told: x.told,
				unmade: unmade, begin: func(t *testing.T, w *world) func(*testing.T) {
					return w.serveWebhook(t, strings.HasPrefix(x.name, "mutates"), on, x.answer)
				}})
		}
	}
	return all
}

// hang doesn't answer.
func hang(_ http.ResponseWriter, r *http.Request, _ *admission.AdmissionRequest) {
	<-r.Context().Done()
}

func refuse(w http.ResponseWriter, _ *http.Request, asked *admission.AdmissionRequest) {
	webhook.Write(w, &admission.AdmissionResponse{UID: asked.UID,
		Result: &metav1.Status{Message: "the surroundings refuse it", Code: http.StatusForbidden}})
}

// mutate adds an annotation, and takes a second for it.
func mutate(w http.ResponseWriter, r *http.Request, asked *admission.AdmissionRequest) {
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
		return
	}
	var object struct {
		Metadata *struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	// That a service account was made anew its script sees by the annotation that it lacks.
	if err := json.Unmarshal(asked.Object.Raw, &object); err != nil || object.Metadata == nil ||
		asked.Resource.Resource == "serviceaccounts" {
		allow(w, asked, nil)
		return
	}
	patch := `[{"op": "add", "path": "/metadata/annotations/surroundings", "value": "hostile"}]`
	if object.Metadata.Annotations == nil {
		patch = `[{"op": "add", "path": "/metadata/annotations", "value": {"surroundings": "hostile"}}]`
	}
	allow(w, asked, []byte(patch))
}

// nonsense answers what no webhook should.
func nonsense(w http.ResponseWriter, _ *http.Request, asked *admission.AdmissionRequest) {
	switch asked.UID[0] % 4 {
	case 0:
		_, _ = io.WriteString(w, "<html>It works!</html>")
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
	case 2:
		webhook.Write(w, &admission.AdmissionResponse{UID: "another", Allowed: true})
	default:
		w.WriteHeader(http.StatusTeapot)
		webhook.Write(w, nil)
	}
}

func allow(w http.ResponseWriter, asked *admission.AdmissionRequest, patch []byte) {
	a := &admission.AdmissionResponse{UID: asked.UID, Allowed: true}
	if patch != nil {
		a.Patch, a.PatchType = patch, new(admission.PatchTypeJSONPatch)
	}
	webhook.Write(w, a)
}

// whoIsMet are the writes that webhooks see: those of controllers, but for namespaces that others stand on and for what
// would keep the manager itself from working.
var whoIsMet = []registration.MatchCondition{
	{Name: "controllers", Expression: `request.userInfo.username.startsWith("system:serviceaccount:kube-system:") ` +
		`|| request.userInfo.username == "system:kube-controller-manager"`},
	{Name: "elsewhere", Expression: `!has(request.namespace) || ` +
		`!(request.namespace in ["kube-system", "` + calm + `", "kubelets"])`},
	{Name: "resources", Expression: `!(request.resource.resource in ["events", "leases", "tokenreviews", ` +
		`"subjectaccessreviews", "localsubjectaccessreviews"])`},
	// Scripts wait for their namespaces' service accounts, or what they do would come when all is over.
	{Name: "accounts", Expression: `request.resource.resource != "serviceaccounts" ` +
		`|| request.namespace == "serviceaccount-work"`},
}

// serveWebhook has the API server ask a webhook about controllers' writes; end ends that.
func (w *world) serveWebhook(t *testing.T, mutating bool, on []registration.OperationType,
	answer func(http.ResponseWriter, *http.Request, *admission.AdmissionRequest)) (end func(*testing.T)) {
	t.Helper()
	all := registration.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}}
	remove := webhook.Start(t, w.stage.Client, webhook.Webhook{Name: "surroundings", Mutating: mutating,
		Rules: []registration.RuleWithOperations{{Operations: on, Rule: all}}, Conditions: whoIsMet,
		Timeout: 4 * time.Second, // longer than a sync holds a worker for
		Reply: func(rw http.ResponseWriter, r *http.Request, asked *admission.AdmissionRequest) {
			w.hits.Add(1)
			answer(rw, r, asked)
		}})
	return func(*testing.T) { remove() }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
