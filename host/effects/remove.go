package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

var propagations = map[abi.Propagation]metav1.DeletionPropagation{
	abi.PropagationBackground: metav1.DeletePropagationBackground,
	abi.PropagationForeground: metav1.DeletePropagationForeground,
	abi.PropagationOrphan:     metav1.DeletePropagationOrphan,
}

func deleteOptions(e *abi.Effect, version, uid string) *metav1.DeleteOptions {
	o := &metav1.DeleteOptions{}
	if version != "" || uid != "" {
		o.Preconditions = &metav1.Preconditions{}
		if uid != "" {
			u := types.UID(uid)
			o.Preconditions.UID = &u
		}
		if version != "" {
			o.Preconditions.ResourceVersion = &version
		}
	}
	if p, ok := propagations[e.Propagation]; ok {
		o.PropagationPolicy = &p
	}
	if e.HasGrace {
		o.GracePeriodSeconds = &e.Grace
	}
	if e.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return o
}

// deleteBody puts options into a request: in JSON where the resource isn't built in, for custom ones take no protobuf.
func deleteBody(res *schema.Resource, o *metav1.DeleteOptions) (contentType string, body []byte, err error) {
	if res.Partial || res.Custom {
		o.APIVersion, o.Kind = "v1", "DeleteOptions"
		body, err = json.Marshal(o)
		return runtime.ContentTypeJSON, body, err
	}
	raw, err := o.Marshal()
	return envelope.Protobuf, envelope.Wrap("v1", "DeleteOptions", raw), err
}

// remove deletes or evicts an object, by default the one of the UID that the guest saw.
func (s *Session) remove(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	k := objectKeyOf(e, res)
	k.scale, k.metadata = false, res.Partial
	b := s.bases.find(k)
	version, uid := expected(e, b, abi.PreconditionUID)
	r := s.request(e, res, "DELETE", "delete")
	r.Params = nil // a delete's options are in its body
	if version+uid == "" {
		uid = s.slowUID(ctx, e, res, r, b)
	}
	options := deleteOptions(e, version, uid)
	if e.Kind == abi.EffectEvict {
		r.Method, r.Verb, r.Subresource = "POST", "create", "eviction"
		v := policyv1.Eviction{DeleteOptions: options}
		v.Name, v.Namespace = e.Name, e.Namespace
		raw, err := v.Marshal()
		if err != nil {
			return abi.Outcome{}, err
		}
		r.Body = envelope.Wrap("policy/v1", "Eviction", raw)
	} else {
		var err error
		if r.ContentType, r.Body, err = deleteBody(res, options); err != nil {
			return abi.Outcome{}, err
		}
	}

	mine := mark{uid: uid, version: version, once: version+uid != ""}
	if uid != "" {
		mine.name = e.Name
	}
	before := s.isUnsettled(res.Resource, e.Namespace, e.Name)
	a, err := s.sendWrite(ctx, e, r, &mine)
	if (a.repeated || before) && uid != "" && (apierrors.IsNotFound(err) || apierrors.IsConflict(err) && version == "") {
		err, a.body = nil, nil // the lost request has deleted it
	}
	if err != nil {
		if isStale(err) && b != nil {
			s.awaitNewer(k, b.version)
		}
		return abi.Outcome{}, err
	}
	if e.DryRun {
		return abi.Outcome{}, nil
	}

	o, reached, stays := abi.Outcome{}, "", false
	if a.body != nil {
		if _, kind, raw, err := envelope.UnwrapOf(res, a.body); err == nil && kind != "Status" {
			if m, err := envelope.ReadMeta(raw); err == nil && (uid == "" || m.UID == uid) {
				// The answer is the object as it was deleted or is being deleted.
				uid, reached = m.UID, m.ResourceVersion
				if o, err = s.outcome("", res, opened{raw: raw, Meta: m}); err != nil {
					return abi.Outcome{}, err
				}
				if stays = m.Deleting && (m.Finalizers > 0 || !m.NoGrace); stays {
					// A later effect may take its finalizer away, as a job's does from the pods that it has deleted.
					s.bases.move(k, res, m, raw, nil, e)
				}
			}
		} else if err == nil && uid == "" {
			uid = envelope.StatusUID(raw)
		}
	}
	if uid == "" && b != nil {
		uid = b.uid
	}

	s.w.wait.Removed(s.key, barrier.Gone{Resource: res.Resource, Namespace: k.namespace, Name: k.name,
		UID: strings.Clone(uid), Deleted: true, Version: reached})
	if !stays {
		s.bases.lose(k)
	}
	return o, nil
}

// deleteCollection deletes the objects of a namespace, or those of it that match the labels in Ask.Selector. Where that
// has taken longer than the Lease leaves, as of a resource whose deletions webhooks hold up, it fails as where the API
// server doesn't have the verb: the deletion of one object by its UID may outlast the Lease.
func (s *Session) deleteCollection(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	r := s.request(e, res, "DELETE", "deletecollection")
	r.Name, r.Params = "", map[string]string{}
	if res.Partial || res.Custom {
		r.Accept = envelope.AcceptMetadataList
	}

	if err := selectorParam(e, r.Params); err != nil {
		return abi.Outcome{}, err
	}
	if a := s.w.Grant.Ask(s.requested(e, res)); !a.Allowed && len(a.Selectors) == 1 {
		r.Params["labelSelector"] = strings.Trim(r.Params["labelSelector"]+","+a.Selectors[0].String(), ",")
	}

	if !e.DryRun && s.w.Outlast != nil && s.w.slow.has(r) {
		return abi.Outcome{}, fmt.Errorf("the deletion of the collection takes longer than the Lease leaves, delete its "+
			"objects one by one: %w", apierrors.NewMethodNotSupported(groupResource(res.Resource), "deletecollection"))
	}
	var err error
	if r.ContentType, r.Body, err = deleteBody(res, deleteOptions(e, "", "")); err != nil {
		return abi.Outcome{}, err
	}

	a, err := s.sendWrite(ctx, e, r, &mark{})
	if err != nil {
		return abi.Outcome{}, err
	}

	o := abi.Outcome{}
	if _, kind, raw, err := envelope.UnwrapList(res, a.body); err == nil && kind != "Status" {
		if l, err := envelope.ReadList(raw); err == nil {
			o.Object.ResourceVersion = l.Version
			if !e.DryRun && slices.ContainsFunc(l.Items, isNotDeleting) {
				s.w.wait.Written(s.key, res.Resource, l.Version)
			}
		}
	}
	return o, nil
}

// isNotDeleting reports whether the object wasn't being deleted: only what a delete changes moves the cache past the
// version of the list that was answered.
func isNotDeleting(raw []byte) bool {
	m, err := envelope.ReadMeta(raw)
	return err == nil && !m.Deleting
}
