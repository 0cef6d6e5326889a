package golden

import (
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/windlass-dev/windlass/abi"
)

// review answers a SubjectAccessReview: what the case allows is allowed to everybody.
func (h *host) review(e *abi.Effect) (abi.Outcome, error) {
	res, err := h.schemaOf(e)
	if err != nil {
		return abi.Outcome{}, err
	}
	o, err := decodeTyped(res, e.Object)
	if err != nil {
		return abi.Outcome{}, err
	}
	r, ok := o.(*authorizationv1.SubjectAccessReview)
	if !ok || r.Spec.ResourceAttributes == nil {
		return abi.Outcome{}, fmt.Errorf("%s: a case can answer SubjectAccessReviews of resources alone", e.Resource)
	}

	what := accessed(r.Spec.ResourceAttributes)
	h.used.allowed[what] = true
	r.Status.Allowed = slices.Contains(h.c.Allowed, what)
	answer, err := encodeObject(res, r)
	if err != nil {
		return abi.Outcome{}, err
	}
	return answerObject(answer), nil
}

// accessed returns what a review asks about, as [Case.Allowed] has it.
func accessed(a *authorizationv1.ResourceAttributes) string {
	what := a.Verb + " "
	if a.Group != "" {
		what += a.Group + "/"
	}
	what += a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	return what
}
