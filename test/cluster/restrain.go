package cluster

import (
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// kwok is the user that plays the kubelets.
const kwok = "kwok"

// Kwok is a client with the identity of KWOK, which plays the kubelets.
func (c *Cluster) Kwok() kubernetes.Interface {
	config := rest.CopyConfig(c.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: kwok, Groups: []string{"system:masters"}}
	return kubernetes.NewForConfigOrDie(config)
}

// OwnPodsOnly keeps KWOK from deleting pods that nobody wants gone: it deletes by name, now and then a new pod after
// the old one of its name; kubelets don't. It returns when that holds, for which there must be a pod in the namespace
// that stays.
func (c *Cluster) OwnPodsOnly(t testing.TB, namespace string) {
	t.Helper()
	c.Restrain(t, "own-pods-only", admissionv1.Delete, "pods", `has(oldObject.metadata.deletionTimestamp)`)
	pods, err := c.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("a pod of namespace %s: %v", namespace, err)
	}
	kwok := c.Kwok().CoreV1().Pods(namespace)
	Eventually(t, time.Minute, "KWOK is kept from deleting", func() (bool, any) {
		err := kwok.Delete(t.Context(), pods.Items[0].Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), err
	})
}

// Restrain refuses requests of KWOK's on a core resource (such as "pods" or "nodes/status") unless the CEL expression
// allows them. It takes a moment until that holds.
func (c *Cluster) Restrain(t testing.TB, name string, operation admissionv1.OperationType, resource, unless string) {
	t.Helper()
	rule := admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}}
	c.Admit(t, name, operation, rule, `request.userInfo.username != "`+kwok+`" || (`+unless+`)`)
}

// Admit refuses requests of an operation that a rule is about unless the CEL expression allows them, by a policy and a
// binding of that name. It takes a moment until that holds.
func (c *Cluster) Admit(t testing.TB, name string, operation admissionv1.OperationType, rule admissionv1.Rule,
	unless string) {
	t.Helper()
	fail, all := admissionv1.Fail, admissionv1.AllScopes
	rule.Scope = &all
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{operation}, Rule: rule,
			},
		}}},
		Validations: []admissionv1.Validation{{Expression: unless}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}

	policies := c.Client().AdmissionregistrationV1()
	if _, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bindings := policies.ValidatingAdmissionPolicyBindings()
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
