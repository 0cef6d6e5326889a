package simulator

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// accessReviews is where it is asked who may do what.
const accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

// reviewAccess answers a SubjectAccessReview: in the simulated cluster everybody may do everything.
func (c *call) reviewAccess() (*authorizationv1.SubjectAccessReview, error) {
	r := &authorizationv1.SubjectAccessReview{}
	if err := c.message(r); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	r.Status.Allowed = true
	return r, nil
}
