package garbagecollector

import (
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// An owner stays as long as one of its dependents can't be let go: it would go with its owner.
func TestOrphanThatCantBeLetGo(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Audit: true})
	w := newWorld(t, c, "x")
	unrefuse := refuse(t, c, "stubborn")
	owner := w.config("owner")
	stubborn := w.config("stubborn", ref(owner, true))
	for i := range 20 {
		w.config(fmt.Sprint("child-", i), ref(owner, true))
	}
	windlass.Eventually(t, time.Minute, "the policy holds", func() (bool, string) {
		in, _ := w.where(configMaps, "stubborn")
		_, err := in.Patch(t.Context(), "stubborn", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, "it doesn't"
	})
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	w.delete(configMaps, "owner", metav1.DeletePropagationOrphan)
	all := []schema.GroupVersionResource{configMaps}
	refused := cluster.Filter{Verbs: []string{"patch"}, Users: []string{account}, Codes: []int{422}}
	windlass.Eventually(t, time.Minute, "the others are let go, the one is tried again", func() (bool, string) {
		owned := 0
		for name, s := range w.look(all...) {
			if name != "ConfigMap owner" && s != "" {
				owned++
			}
		}
		n := len(c.Audit(t, refused))
		return owned == 1 && n >= 3, fmt.Sprintf("%d are owned, %d patches refused", owned, n)
	})
	if s := w.look(all...); s["ConfigMap owner"] != "deleting orphan" || s["ConfigMap stubborn"] != "<ConfigMap owner blocked>" {
		t.Errorf("the owner is %q, the dependent %q", s["ConfigMap owner"], s["ConfigMap stubborn"])
	}
	unrefuse()
	windlass.Eventually(t, time.Minute, "the owner goes", func() (bool, string) {
		s, there := w.look(all...)["ConfigMap owner"]
		return !there, s
	})
	in, _ := w.where(configMaps, "stubborn")
	if o := w.must(in.Get(t.Context(), "stubborn", metav1.GetOptions{})); o.GetUID() != stubborn.GetUID() || len(o.GetOwnerReferences()) > 0 {
		t.Errorf("what couldn't be let go at first is %v now", o)
	}
	m.Stop(t)
}

// refuse has an admission policy refuse all changes of a ConfigMap until it is undone.
func refuse(t *testing.T, c *cluster.Cluster, name string) (undo func()) {
	t.Helper()
	policies := c.Client().AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: `object.metadata.name != "` + name + `"`}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bindings := policies.ValidatingAdmissionPolicyBindings()
	_, err = bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := bindings.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
