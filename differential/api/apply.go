package api

import (
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// typeConverter knows how the built-in kinds' lists and maps are merged.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(legacyscheme.Scheme)
})

// applied returns an object, in its resource's version, with what a request's field manager applies to it.
func (res *resource) applied(r *Request, old runtime.Object) (runtime.Object, error) {
	m, err := managedfields.NewDefaultFieldManager(typeConverter(), legacyscheme.Scheme, legacyscheme.Scheme,
		legacyscheme.Scheme, res.gvr.GroupVersion().WithKind(res.kind), res.gvr.GroupVersion(), r.Subresource, nil)
	if err != nil {
		return nil, err
	}
	patch := &unstructured.Unstructured{}
	if err := patch.UnmarshalJSON(r.Patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	manager, force := r.query["fieldManager"], r.query["force"]
	if len(manager) == 0 {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", res.gvr.GroupResource(), r.Name,
			"fieldManager is required for apply patch", 0, false)
	}
	return m.Apply(old, patch, manager[0], len(force) > 0 && force[0] == "true")
}
