package effects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// outcome is what the guest learns of an object: what it reads of the resource.
func (s *Session) outcome(subresource string, res *schema.Resource, a opened) (abi.Outcome, error) {
	data := a.raw
	if !ownBody(subresource) {
		var err error
		if data, err = s.w.seen.projectAnswer(res.Resource, res.Partial, a.raw); err != nil {
			return abi.Outcome{}, fmt.Errorf("projecting the server's answer: %w", err)
		}
	}
	return abi.Outcome{
		Object: abi.ObjectData{Data: data, ResourceVersion: a.ResourceVersion}, Name: a.Name, UID: a.UID,
	}, nil
}

var tolerances = map[string]abi.Tolerance{
	string(metav1.StatusReasonNotFound):      abi.TolerateNotFound,
	string(metav1.StatusReasonAlreadyExists): abi.TolerateAlreadyExists,
	string(metav1.StatusReasonConflict):      abi.TolerateConflict,
	string(metav1.StatusReasonInvalid):       abi.TolerateInvalid,
	NamespaceTerminatingReason:               abi.TolerateNamespaceTerminating,
}

// failedOutcome makes the outcome of a failure, which is none where the effect tolerates it.
func (s *Session) failedOutcome(e *abi.Effect, err error) (abi.Outcome, error) {
	if isServerFailure(err) {
		s.serverFailed.Store(true)
	}
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
	case e.Kind == abi.EffectZone:
		what = "zone " + strings.Clone(e.Zone.Name)
	case e.Kind == abi.EffectRead:
		what = "read " + strings.Clone(e.Path)
	case e.Name != "":
		what += " " + printable.Line(strings.TrimPrefix(e.Namespace+"/"+e.Name, "/"), textMost)
	}
	return o, &Error{Request: what, Reason: o.Reason, Err: err}
}

// isServerFailure reports whether an error is the API server's own, as ServerFailed says.
func isServerFailure(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	var connection *url.Error
	return errors.As(err, &connection)
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

// awaitNewer notes that a failure shows that the cache was behind: the key waits, briefly, until the cache's object is
// another one.
func (s *Session) awaitNewer(k objectKey, version string) {
	s.w.wait.AwaitChange(s.key, barrier.Stale{Resource: k.resource, Namespace: k.namespace, Name: k.name,
		Version: version})
}

// NamespaceTerminatingReason is the Reason of an outcome whose object can't be made because its namespace is being
// deleted.
const NamespaceTerminatingReason = "NamespaceTerminating"

// reasonOf names an error as an Outcome does.
func reasonOf(err error) string {
	if apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return NamespaceTerminatingReason
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	var own interface{ Reason() string }
	switch {
	case errors.As(err, &own):
		return own.Reason()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "Canceled"
	}
	return "Unavailable"
}

// Error is an effect that failed.
type Error struct {
	Request string // such as "update apps/v1/deployments/status default/web"
	Reason  string
	Err     error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Request, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// NamespaceTerminating reports whether a sync failed because the namespace is being deleted, which is as good as
// success.
func NamespaceTerminating(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == NamespaceTerminatingReason
}

// Reason is why an effect failed, as an outcome has it: a word of Kubernetes' or of the host's, nothing of any object.
// Empty for other errors.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
