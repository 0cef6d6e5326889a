// Package webhook is a webhook for admission that a test has in its hand: slow, hung or refusing.
package webhook

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Webhook says which requests are asked about, and what is answered.
type Webhook struct {
	Name      string // of the configuration
	Namespace string // of the objects
	Operation registrationv1.OperationType
	Group     string
	Resource  string
	// Timeout is how long the API server waits for an answer: whole seconds; by default 10, as the API server's.
	Timeout time.Duration
	// Policy is what becomes of a request about which there is no answer; by default Fail.
	Policy registrationv1.FailurePolicyType
	// Answer decides, and may take as long as it likes: ctx ends when the API server waits no more. Its text says why the
	// request is refused; "" lets it pass.
	Answer func(ctx context.Context, r *admissionv1.AdmissionRequest) (refusal string)
}

// Hang is an Answer that never comes.
func Hang(ctx context.Context, _ *admissionv1.AdmissionRequest) string {
	<-ctx.Done()
	return ""
}

// After returns an Answer that lets everything pass, some time later.
func After(wait time.Duration) func(context.Context, *admissionv1.AdmissionRequest) string {
	return func(ctx context.Context, _ *admissionv1.AdmissionRequest) string {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		return ""
	}
}

// Start serves the webhook and registers it; remove, which the test's end calls, too, removes it.
func Start(t testing.TB, client kubernetes.Interface, w Webhook) (remove func()) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(rw, "no review", http.StatusBadRequest)
			return
		}
		refusal := w.Answer(r.Context(), review.Request)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: refusal == "",
			Result: &metav1.Status{Message: refusal}}
		review.Request = nil
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(&review)
	}))

	fail, none, equivalent := registrationv1.Fail, registrationv1.SideEffectClassNone, registrationv1.Exact
	if w.Policy != "" {
		fail = w.Policy
	}
	seconds := int32(10)
	if w.Timeout > 0 {
		seconds = int32(w.Timeout / time.Second)
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(t.Context(), &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: w.Name + ".example.com", FailurePolicy: &fail, SideEffects: &none, MatchPolicy: &equivalent,
			TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: registrationv1.WebhookClientConfig{URL: &s.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}},
			Rules: []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{w.Operation},
				Rule: registrationv1.Rule{APIGroups: []string{w.Group}, APIVersions: []string{"*"},
					Resources: []string{w.Resource}}}},
		}}}, metav1.CreateOptions{})
	if err != nil {
		s.Close()
		t.Fatal(err)
	}
	removed := false
	remove = func() {
		if removed {
			return
		}
		removed = true
		if err := configurations.Delete(context.Background(), w.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		s.CloseClientConnections()
		s.Close()
	}
	t.Cleanup(remove)
	return remove
}
