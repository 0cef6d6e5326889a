package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// do has the registry do a request.
func (c *Cluster) do(res *resource, storage any, r *Request) (runtime.Object, int, error) {
	ctx := res.context(r.Namespace, r.Subresource)
	switch s := storage.(type) {
	case rest.Lister:
		if r.Verb == "list" {
			o, err := c.list(ctx, s, r)
			return o, http.StatusOK, err
		}
	}

	switch r.Verb {
	case "get":
		o, err := storage.(rest.Getter).Get(ctx, r.Name, &metav1.GetOptions{})
		return o, http.StatusOK, err
	case "create":
		if r.Subresource != "" {
			break
		}
		sent := r.Sent.DeepCopyObject()
		o, err := c.create(res, r.Namespace, sent, &metav1.CreateOptions{DryRun: r.dryRun()})
		r.takeName(sent)
		return o, http.StatusCreated, err
	case "update":
		o, err := c.forgiven(res, r)
		if err != nil {
			return nil, 0, err
		}
		o, err = c.update(ctx, storage, r, rest.DefaultUpdatedObjectInfo(o))
		return o, http.StatusOK, err
	case "patch":
		o, err := c.update(ctx, storage, r, rest.DefaultUpdatedObjectInfo(nil,
			func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
				o, err := res.patched(r, old)
				if err == nil {
					r.Sent = o.DeepCopyObject()
				}
				return o, err
			}))
		return o, http.StatusOK, err
	case "delete":
		o, gone, err := storage.(rest.GracefulDeleter).Delete(ctx, r.Name, rest.ValidateAllObjectFunc, r.Delete.DeepCopy())
		return deleted(o, gone, storage), http.StatusOK, err
	case "deletecollection":
		lo, err := r.listOptions()
		if err != nil {
			return nil, 0, err
		}
		s, ok := storage.(rest.CollectionDeleter)
		if !ok {
			return nil, 0, apierrors.NewMethodNotSupported(res.gvr.GroupResource(), r.Verb)
		}
		o, err := s.DeleteCollection(ctx, rest.ValidateAllObjectFunc, r.Delete.DeepCopy(), lo)
		return o, http.StatusOK, err
	}
	return nil, 0, apierrors.NewInternalError(fmt.Errorf("%s: %w", r, errVerb))
}

// takeName takes down the name that an object was given while it was made, if it came to that.
func (r *Request) takeName(made runtime.Object) {
	m, err := meta.Accessor(made)
	if err != nil || r.Name != "" {
		return
	}
	r.Name = m.GetName()
	if sent, err := meta.Accessor(r.Sent); err == nil {
		sent.SetName(r.Name)
	}
}

func (r *Request) dryRun() []string {
	if r.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (c *Cluster) create(res *resource, namespace string, o runtime.Object,
	options *metav1.CreateOptions) (runtime.Object, error) {
	ctx := res.context(namespace, "")
	if m, err := meta.Accessor(o); err == nil && res.namespaced && m.GetNamespace() == "" {
		m.SetNamespace(namespace)
	}
	if err := c.server.admission.create(ctx, c, res, namespace, o); err != nil {
		return nil, err
	}
	return res.storage.(rest.Creater).Create(ctx, o, rest.ValidateAllObjectFunc, options)
}

func (c *Cluster) update(ctx context.Context, storage any, r *Request, info rest.UpdatedObjectInfo) (runtime.Object,
	error) {
	o, _, err := storage.(rest.Updater).Update(ctx, r.Name, info, rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false,
		&metav1.UpdateOptions{DryRun: r.dryRun()})
	return o, err
}

func (r *Request) listOptions() (*metainternal.ListOptions, error) {
	o := &metainternal.ListOptions{}
	get := func(name string) string {
		if v := r.query[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	var err error
	if o.LabelSelector, err = labels.Parse(get("labelSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if o.FieldSelector, err = fields.ParseSelector(get("fieldSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}

func (c *Cluster) list(ctx context.Context, s rest.Lister, r *Request) (runtime.Object, error) {
	o, err := r.listOptions()
	if err != nil {
		return nil, err
	}
	return s.List(ctx, o)
}

// deleted is the answer to a delete: the object where it stays for now or its storage shows what is gone, else a
// success.
func deleted(o runtime.Object, gone bool, storage any) runtime.Object {
	shown := false
	if s, ok := storage.(rest.MayReturnFullObjectDeleter); ok {
		shown = s.DeleteReturnsDeletedObject()
	}
	if o == nil || !gone || shown {
		return o
	}
	s := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		Code: http.StatusOK, Details: &metav1.StatusDetails{}}
	if m, err := meta.Accessor(o); err == nil {
		s.Details.Name, s.Details.UID = m.GetName(), m.GetUID()
	}
	return s
}

// patched applies a request's patch to an object, in its resource's version.
func (res *resource) patched(r *Request, old runtime.Object) (runtime.Object, error) {
	v, err := legacyscheme.Scheme.ConvertToVersion(old, res.gvr.GroupVersion())
	if err != nil {
		return nil, err
	}

	if r.patch == types.ApplyYAMLPatchType {
		o, err := res.applied(r, v)
		if err != nil {
			return nil, err
		}
		return internal(o)
	}

	was, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}

	var now []byte
	switch r.patch {
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(r.Patch); err == nil {
			now, err = p.Apply(was)
		}
	case types.MergePatchType:
		now, err = jsonpatch.MergePatch(was, r.Patch)
	case types.StrategicMergePatchType:
		now, err = strategicpatch.StrategicMergePatch(was, r.Patch, v)
	default:
		return nil, apierrors.NewBadRequest("patches of type " + string(r.patch) + " aren't known")
	}

	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", res.gvr.GroupResource(), r.Name,
			err.Error(), 0, false)
	}

	o, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), now)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}
