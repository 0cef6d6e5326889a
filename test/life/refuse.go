package life

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// refuseChanges returns when no change of the object is let in any more.
func (p *player) refuseChanges(x *Which) {
	p.Helper()
	o := p.awaitObjects(x, 1, nil)[0]
	gvk := o.GroupVersionKind()
	m, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	p.must(err)
	rule := admissionv1.Rule{
		APIGroups: []string{gvk.Group}, APIVersions: []string{"*"}, Resources: []string{m.Resource.Resource},
	}
	others := fmt.Sprintf("object.metadata.name != %q || object.metadata.?namespace.orValue('') != %q", o.GetName(),
		o.GetNamespace())
	p.Cluster.Admit(p, p.refusal(x), admissionv1.Update, rule, others)

	r, err := p.resourceOf(&o)
	p.must(err)
	change := []byte(`{"metadata":{"labels":{"refused":"no"}}}`)
	dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	cluster.Poll(p, interval, patience+p.Longer, p.what, func() (bool, any) {
		_, err := r.Patch(p.Context(), o.GetName(), types.MergePatchType, change, dry)
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), err
	})
}

func (p *player) allowChanges(x *Which) {
	p.Helper()
	policies := p.Client.AdmissionregistrationV1()
	p.must(policies.ValidatingAdmissionPolicyBindings().Delete(p.Context(), p.refusal(x), metav1.DeleteOptions{}))
	p.must(policies.ValidatingAdmissionPolicies().Delete(p.Context(), p.refusal(x), metav1.DeleteOptions{}))
}

func (p *player) refusal(x *Which) string { return p.namespace + "-refuses-" + x.Name }
