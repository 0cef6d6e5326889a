package takeover

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	living = "living" // a namespace that stays
	ending = "ending" // one that is deleted, and waits for an object in it
	keep   = "example.com/keep"
)

// owned are objects with owners, in the midst of going where something holds them up.
type owned struct{ client kubernetes.Interface }

func (o owned) create(t *testing.T) {
	t.Helper()
	for _, name := range []string{living, ending} {
		_, err := o.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		do(t, err)
	}
	o.object(t, living, "dependent", nil, o.object(t, living, "owner", nil))
	o.object(t, living, "shared", nil, o.object(t, living, "one", nil), o.object(t, living, "other", nil))
	o.object(t, living, "held", []string{keep}, o.object(t, living, "waiting", nil))
	o.object(t, living, "orphan", nil, o.object(t, living, "orphaning", nil))
	o.object(t, ending, "kept", []string{keep})
	o.object(t, ending, "settings", nil)

	o.delete(t, "one", metav1.DeletePropagationBackground)
	o.delete(t, "waiting", metav1.DeletePropagationForeground)
	o.delete(t, "orphaning", metav1.DeletePropagationOrphan)
	do(t, o.client.CoreV1().Namespaces().Delete(t.Context(), ending, metav1.DeleteOptions{}))
	eventually(t, "the dependent that a finalizer holds is being deleted", func() (bool, string) {
		held, err := o.client.CoreV1().ConfigMaps(living).Get(t.Context(), "held", metav1.GetOptions{})
		do(t, err)
		return held.DeletionTimestamp != nil, ""
	})
	o.gone(t, living, "one")
	o.gone(t, living, "orphaning")
	eventually(t, "the namespace says what holds it", func() (bool, string) {
		ns, err := o.client.CoreV1().Namespaces().Get(t.Context(), ending, metav1.GetOptions{})
		do(t, err)
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceFinalizersRemaining && c.Status == corev1.ConditionTrue {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", ns.Status)
	})
	o.gone(t, ending, "settings")
}

// goOn has whoever runs now delete what nobody owns any more, and sees that it has deleted nothing else.
func (o owned) goOn(t *testing.T, name string) {
	t.Helper()
	o.object(t, living, name+"-dependent", nil, o.object(t, living, name, nil))
	o.delete(t, name, metav1.DeletePropagationBackground)
	o.gone(t, living, name+"-dependent")
	for _, name := range []string{"owner", "dependent", "shared", "other", "held", "waiting", "orphan"} {
		_, err := o.client.CoreV1().ConfigMaps(living).Get(t.Context(), name, metav1.GetOptions{})
		do(t, err)
	}
}

// finish lets go of all that is held.
func (o owned) finish(t *testing.T) {
	t.Helper()
	for _, in := range [][2]string{{living, "held"}, {ending, "kept"}} {
		_, err := o.client.CoreV1().ConfigMaps(in[0]).Patch(t.Context(), in[1], types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		do(t, err)
	}
	o.gone(t, living, "waiting")
	eventually(t, "the namespace is gone", func() (bool, string) {
		_, err := o.client.CoreV1().Namespaces().Get(t.Context(), ending, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// object makes one that blocks the deletion of its owners.
func (o owned) object(t *testing.T, namespace, name string, finalizers []string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	block := true
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	for _, owner := range owners {
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block})
	}
	c, err := o.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), c, metav1.CreateOptions{})
	do(t, err)
	return c
}

func (o owned) delete(t *testing.T, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	do(t, o.client.CoreV1().ConfigMaps(living).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

func (o owned) gone(t *testing.T, namespace, name string) {
	t.Helper()
	eventually(t, name+" is gone", func() (bool, string) {
		_, err := o.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}
