// Package webhook is a webhook for admission that a test has in its hand: slow, hung, refusing or talking nonsense.
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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Webhook says which requests are asked about, and what is answered.
type Webhook struct {
	Name      string // of the configuration
	Namespace string // of the objects; empty: any
	Operation registrationv1.OperationType
	Group     string
	Resource  string
	// Rules say which requests these are, instead of Operation, Group and Resource.
	Rules []registrationv1.RuleWithOperations
	// Conditions say which of these requests are asked about; by default all are.
	Conditions []registrationv1.MatchCondition
	// Mutating is whether it may change objects. Such webhooks are asked one after another, all others at once.
	Mutating bool
	// Timeout is how long the API server waits for an answer: whole seconds; by default 10, as the API server's.
	Timeout time.Duration
	// Policy is what becomes of a request about which there is no answer; by default Fail.
	Policy registrationv1.FailurePolicyType
	// Answer decides, and may take as long as it likes: ctx ends when the API server waits no more. Its text says why the
	// request is refused; "" lets it pass.
	Answer func(ctx context.Context, r *admissionv1.AdmissionRequest) (refusal string)
	// Reply writes the whole answer instead of Answer, whatever it is.
	Reply func(w http.ResponseWriter, r *http.Request, asked *admissionv1.AdmissionRequest)
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

// Write writes an answer as a webhook should.
func Write(w http.ResponseWriter, response *admissionv1.AdmissionResponse) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&admissionv1.AdmissionReview{Response: response,
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}})
}

// Start serves the webhook and registers it; remove, which the test's end calls, too, removes it.
func Start(t testing.TB, client kubernetes.Interface, w Webhook) (remove func()) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(w.serve))
	if err := w.register(t.Context(), client, s); err != nil {
		s.Close()
		t.Fatal(err)
	}

	removed := false
	remove = func() {
		if removed {
			return
		}
		removed = true
		if err := w.unregister(client); err != nil {
			t.Error(err)
		}
		s.CloseClientConnections()
		s.Close()
	}
	t.Cleanup(remove)
	return remove
}

func (w *Webhook) serve(rw http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(rw, "no review", http.StatusBadRequest)
		return
	}
	if w.Reply != nil {
		w.Reply(rw, r, review.Request)
		return
	}
	refusal := w.Answer(r.Context(), review.Request)
	Write(rw, &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: refusal == "",
		Result: &metav1.Status{Message: refusal}})
}

// register has the API server ask the webhook.
func (w *Webhook) register(ctx context.Context, client kubernetes.Interface, s *httptest.Server) error {
	policy, none, exact := registrationv1.Fail, registrationv1.SideEffectClassNone, registrationv1.Exact
	if w.Policy != "" {
		policy = w.Policy
	}
	seconds := int32(10)
	if w.Timeout > 0 {
		seconds = int32(w.Timeout / time.Second)
	}
	rules := w.Rules
	if rules == nil {
		rules = []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{w.Operation},
			Rule: registrationv1.Rule{APIGroups: []string{w.Group}, APIVersions: []string{"*"},
				Resources: []string{w.Resource}}}}
	}
	namespaces := &metav1.LabelSelector{}
	if w.Namespace != "" {
		namespaces.MatchLabels = map[string]string{corev1.LabelMetadataName: w.Namespace}
	}

	validating := registrationv1.ValidatingWebhook{Name: w.Name + ".example.com", FailurePolicy: &policy,
		SideEffects: &none, MatchPolicy: &exact, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: registrationv1.WebhookClientConfig{URL: &s.URL,
			CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
		NamespaceSelector: namespaces, MatchConditions: w.Conditions, Rules: rules}
	named := metav1.ObjectMeta{Name: w.Name}
	configurations := client.AdmissionregistrationV1()
	if w.Mutating {
		_, err := configurations.MutatingWebhookConfigurations().Create(ctx, &registrationv1.MutatingWebhookConfiguration{
			ObjectMeta: named, Webhooks: []registrationv1.MutatingWebhook{asMutating(&validating)}}, metav1.CreateOptions{})
		return err
	}
	_, err := configurations.ValidatingWebhookConfigurations().Create(ctx,
		&registrationv1.ValidatingWebhookConfiguration{ObjectMeta: named,
			Webhooks: []registrationv1.ValidatingWebhook{validating}}, metav1.CreateOptions{})
	return err
}

// asMutating returns the same for the other kind of configuration.
func asMutating(w *registrationv1.ValidatingWebhook) registrationv1.MutatingWebhook {
	return registrationv1.MutatingWebhook{Name: w.Name, FailurePolicy: w.FailurePolicy, SideEffects: w.SideEffects,
		MatchPolicy: w.MatchPolicy, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		ClientConfig: w.ClientConfig, NamespaceSelector: w.NamespaceSelector, MatchConditions: w.MatchConditions,
		Rules: w.Rules}
}

func (w *Webhook) unregister(client kubernetes.Interface) error {
	ctx, configurations := context.Background(), client.AdmissionregistrationV1()
	if w.Mutating {
		return configurations.MutatingWebhookConfigurations().Delete(ctx, w.Name, metav1.DeleteOptions{})
	}
	return configurations.ValidatingWebhookConfigurations().Delete(ctx, w.Name, metav1.DeleteOptions{})
}
