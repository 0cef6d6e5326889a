package effects

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

var patchTypes = map[abi.PatchType]types.PatchType{
	abi.JSONPatch: types.JSONPatchType, abi.MergePatch: types.MergePatchType,
	abi.StrategicPatch: types.StrategicMergePatchType,
}

var tolerances = map[string]abi.Tolerance{
	string(metav1.StatusReasonNotFound):      abi.TolerateNotFound,
	string(metav1.StatusReasonAlreadyExists): abi.TolerateAlreadyExists,
	string(metav1.StatusReasonConflict):      abi.TolerateConflict,
	string(metav1.StatusReasonInvalid):       abi.TolerateInvalid,
	NamespaceTerminatingReason:               abi.TolerateNamespaceTerminating,
}

// bodyType is the type that travels under a resource's subresource.
func bodyType(res *schema.Resource, subresource string) (apiVersion, kind string) {
	switch subresource {
	case "scale":
		return "autoscaling/v1", "Scale"
	case "binding":
		return "v1", "Binding"
	case "token":
		return "authentication.k8s.io/v1", "TokenRequest"
	case "eviction":
		return "policy/v1", "Eviction"
	}
	return res.APIVersion(), res.Kind
}

// ownBody reports whether a subresource's objects are of another type than the resource's.
func ownBody(subresource string) bool {
	switch subresource {
	case "scale", "binding", "token", "eviction":
		return true
	}
	return false
}

// message is the schema of that type.
func message(res *schema.Resource, subresource string) (*schema.Message, error) {
	if subresource != "scale" {
		return res.Message, nil
	}
	return schema.MessageOf(reflect.TypeFor[autoscalingv1.Scale]())
}

func (s *Session) objectKeyOf(e *abi.Effect, res *schema.Resource) objectKey {
	// Cloned: a guest's strings may point into a buffer that is used again.
	scale := e.Subresource == "scale"
	return objectKey{res.Resource, scale, res.Partial && !scale, strings.Clone(e.Namespace), strings.Clone(e.Name)}
}

// performOne does one effect.
func (s *Session) performOne(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	switch e.Kind {
	case abi.EffectGroup:
		return s.performGroup(ctx, e)
	case abi.EffectView:
		if e.Ask.Fresh {
			if err := s.w.waitForFresh(ctx, e.Ask); err != nil {
				return s.failedOutcome(e, err)
			}
		}
		data, err := s.snapshot.Ask(e.Ask)
		if err != nil {
			return s.failedOutcome(e, err)
		}
		return abi.Outcome{View: &data}, nil
	case abi.EffectWake:
		k := e.Wake.Key
		s.w.Wake(e.Wake.Controller, abi.KeyRef{Resource: strings.Clone(k.Resource), Namespace: strings.Clone(k.Namespace),
			Name: strings.Clone(k.Name)})
		return abi.Outcome{}, nil
	case abi.EffectDiscover, abi.EffectRead:
		o, err := s.discoverOrRead(ctx, e)
		if err != nil {
			return s.failedOutcome(e, err)
		}
		return o, nil
	case abi.EffectPublish:
		s.w.facts.publish(s.key, e.Object, e.Terms)
		return abi.Outcome{}, nil
	case abi.EffectFacts:
		return abi.Outcome{Facts: s.w.facts.inNamespace(e.Namespace, e.Terms)}, nil
	}

	find := s.w.resource
	if e.Kind == abi.EffectReview {
		find = s.w.reviewed
	}

	res, err := find(e.Resource)
	if err == nil {
		res, err = s.resolveForm(ctx, e, res)
	}
	if err != nil {
		return s.failedOutcome(e, err)
	}
	if e.Kind != abi.EffectEvent {
		if err := s.granted(e, res, func(objectKey) bool { return false }); err != nil {
			return s.failedOutcome(e, err)
		}
	}

	if deletes(e) {
		if err := s.spendDelete(); err != nil {
			return s.failedOutcome(e, err)
		}
	}

	var o abi.Outcome
	switch e.Kind {
	case abi.EffectEvent:
		s.recordEvent(e, res)
		s.tellEvent(e)
	case abi.EffectCreate:
		o, err = s.create(ctx, e, res)
	case abi.EffectReview:
		o, err = s.sendReview(ctx, e, res)
	case abi.EffectUpdate:
		o, err = s.update(ctx, e, res)
	case abi.EffectPatch, abi.EffectApply:
		o, err = s.patch(ctx, e, res)
	case abi.EffectDelete, abi.EffectEvict:
		o, err = s.remove(ctx, e, res)
	case abi.EffectDeleteCollection:
		o, err = s.deleteCollection(ctx, e, res)
	case abi.EffectGet:
		o, err = s.get(ctx, e, res)
	case abi.EffectList:
		o, err = s.list(ctx, e, res)
	default:
		err = fmt.Errorf("unknown kind of effect %d", e.Kind)
	}

	if err != nil {
		return s.failedOutcome(e, err)
	}
	return o, nil
}

// failedOutcome makes the outcome of a failure, which is none where the effect tolerates it.
func (s *Session) failedOutcome(e *abi.Effect, err error) (abi.Outcome, error) {
	o := abi.Outcome{Code: abi.CodeFailed, Reason: reasonOf(err), Message: err.Error()}
	if t := tolerances[o.Reason]; t != 0 && e.Tolerate&t != 0 {
		o.Code = abi.CodeOK
		return o, nil
	}
	what := verbs[e.Kind] + " " + strings.Clone(e.Resource)
	if e.Subresource != "" {
		what += "/" + strings.Clone(e.Subresource)
	}
	switch {
	case e.Kind == abi.EffectDiscover && e.Discover != nil:
		what = strings.Join(strings.Fields("discover "+e.Discover.APIVersion+" "+e.Discover.Kind), " ")
	case e.Kind == abi.EffectRead:
		what = "read " + strings.Clone(e.Path)
	case e.Name != "":
		what += " " + strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	}
	return o, &Error{Request: what, Reason: o.Reason, Err: err}
}

// writeParams returns the query parameters of a write.
func (w *Writer) writeParams(e *abi.Effect) map[string]string {
	p := map[string]string{}
	if e.DryRun {
		p["dryRun"] = metav1.DryRunAll
	}
	if w.FieldManager != "" {
		p["fieldManager"] = w.FieldManager
	}
	return p
}

func (s *Session) request(e *abi.Effect, res *schema.Resource, method, verb string) *request {
	r := &request{
		method: method, verb: verb, resource: res.Resource, subresource: e.Subresource, namespace: e.Namespace, name: e.Name,
		contentType: protobuf, params: s.w.writeParams(e), foreign: !builtin(res.Resource),
	}
	switch {
	case ownBody(e.Subresource):
	case res.Partial:
		r.accept = acceptMetadata
	case res.Custom:
		r.accept = runtime.ContentTypeJSON
	}
	return r
}

// sendWrite sends a write and counts it.
func (s *Session) sendWrite(ctx context.Context, e *abi.Effect, r *request) (answer, error) {
	s.w.gate.RLock()
	defer s.w.gate.RUnlock()
	if s.w.revoked {
		return answer{}, fmt.Errorf("%s: not sent: this version of plugin %s was revoked", r, s.w.Plugin)
	}
	if !e.DryRun {
		s.writes.Add(1)
	}
	a, err := s.w.send(ctx, r)
	s.reportWrite(e, r, a, err)
	return a, err
}

// opened is an object that the server answered with.
type opened struct {
	raw []byte
	meta
}

func openAnswer(res *schema.Resource, b []byte) (opened, error) {
	_, kind, raw, err := unwrapOf(res, b)
	if err != nil || kind == "Status" {
		return opened{}, err
	}
	m, err := readMeta(raw)
	if err != nil {
		return opened{}, fmt.Errorf("the server's answer: %w", err)
	}
	return opened{raw: raw, meta: m}, nil
}

// acceptWritten takes in the answer to a create, an update or a patch: the next base, the barrier, the echo, and the
// outcome.
func (s *Session) acceptWritten(e *abi.Effect, res *schema.Resource, b, sent []byte) (abi.Outcome, error) {
	a, err := openAnswer(res, b)
	if err != nil {
		return abi.Outcome{}, err
	}
	if a.raw == nil {
		return abi.Outcome{}, nil // a Status: a binding, say
	}

	o, err := s.outcome(e.Subresource, res, a)
	if err != nil {
		return abi.Outcome{}, err
	}
	if e.DryRun {
		if !res.Partial {
			o.Object.Data = a.raw // what the server would make of it is what was asked
		}
		return o, nil
	}

	k := s.objectKeyOf(e, res)
	k.name = a.name
	switch e.Subresource {
	case "binding", "token":
		return o, nil
	}

	s.moveBase(k, res, a.meta, a.raw, sent, e)
	if k.scale {
		// A scale carries its parent's version: the parent's cached form is no base for this sync's next update of it.
		s.w.wait.written(s.key, res.Resource, a.resourceVersion)
		s.w.noteWritten(a.uid, a.resourceVersion)
		return o, nil
	}

	if a.deleting && a.noGrace && a.finalizers == 0 && !staysFor(res, a.raw) {
		// This write was the last thing that kept the object: the answer has the version from before the deletion.
		s.w.wait.removed(s.key, gone{resource: res.Resource, namespace: k.namespace, name: k.name, uid: a.uid})
		s.loseBase(k)
		return o, nil
	}
	s.w.wait.written(s.key, res.Resource, a.resourceVersion)
	s.w.noteWritten(a.uid, a.resourceVersion)
	return o, nil
}

// staysFor reports whether a deleted namespace still has finalizers in its spec, which keep it. Its metadata alone
// don't show them.
func staysFor(res *schema.Resource, raw []byte) bool {
	return res.Resource == namespacesResource && (res.Partial || namespaceFinalizersOf(raw) > 0)
}

var namespacesResource = abi.Resource{Version: "v1", Name: "namespaces"}

// outcome is what the guest learns of an object: what it reads of the resource.
func (s *Session) outcome(subresource string, res *schema.Resource, a opened) (abi.Outcome, error) {
	data := a.raw
	if !ownBody(subresource) {
		var err error
		if data, err = s.w.projectAnswer(res.Resource, res.Partial, a.raw); err != nil {
			return abi.Outcome{}, fmt.Errorf("projecting the server's answer: %w", err)
		}
	}
	return abi.Outcome{
		Object: abi.ObjectData{Data: data, ResourceVersion: a.resourceVersion}, Name: a.name, UID: a.uid,
	}, nil
}

// awaitNewer notes that a failure shows that the cache was behind: the key waits, briefly, until the cache's object is
// another one.
func (s *Session) awaitNewer(k objectKey, version string) {
	s.w.wait.awaitChange(s.key, behind{resource: k.resource, namespace: k.namespace, name: k.name, version: version})
}

func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// errGone is what the server would answer about an object that an earlier effect of this sync has deleted: where that
// is as good as success to the guest, it isn't an error here either.
func errGone(k objectKey) error {
	return fmt.Errorf("an earlier effect of this sync has deleted the object: %w",
		apierrors.NewNotFound(groupResource(k.resource), k.name))
}
