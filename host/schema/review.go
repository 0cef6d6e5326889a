package schema

import (
	"fmt"
	"reflect"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/windlass-dev/windlass/abi"
)

// ForReview returns the resource of what can only be created and is answered, never stored, such as
// SubjectAccessReviews: no cache can know it.
func ForReview(r abi.Resource) (*Resource, error) {
	if r.Group != authenticationv1.GroupName && r.Group != authorizationv1.GroupName {
		return nil, fmt.Errorf("%s can't be reviewed: only groups %s and %s have reviews; use a create for other resources",
			r, authenticationv1.GroupName, authorizationv1.GroupName)
	}
	gv := apischema.GroupVersion{Group: r.Group, Version: r.Version}
	for kind, typ := range scheme.Scheme.KnownTypes(gv) {
		if plural, _ := apimeta.UnsafeGuessKindToResource(gv.WithKind(kind)); plural.Resource != r.Name {
			continue
		}
		m, err := MessageOf(typ)
		if err != nil {
			return nil, err
		}
		namespaced := kind == "LocalSubjectAccessReview" // the only one
		return &Resource{Resource: r, Kind: kind, Namespaced: namespaced, Message: m,
			New: func() runtime.Object { return reflect.New(typ).Interface().(runtime.Object) }}, nil
	}
	return nil, fmt.Errorf("%s is not a built-in resource", r)
}
