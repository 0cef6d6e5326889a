package effects

import (
	"errors"
	"net/http"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/host/budget"
)

// What an answer says of its request.
const (
	definite   = iota // done, or not done and the answer says why
	throttling        // not done: ask again later
	lost              // perhaps done, and sending it again soon may tell
	doubtful          // perhaps done, but sending it again soon wouldn't help
)

// verdict reports what an answer says of its request.
//
// Nothing is lost by taking a definite answer for a doubtful one, but for a look at the object; what is taken for lost
// is sent again, and holds its sync up for that time; what is wrongly taken for definite may be done twice.
func verdict(err error) int {
	if err == nil || errors.As(err, new(*budget.MemoryError)) {
		return definite
	}
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return lost
	}

	status := s.Status()
	if strings.HasPrefix(status.Message, admissionDenial) {
		return definite // whatever code the webhook has chosen
	}
	switch status.Code {
	case http.StatusTooManyRequests:
		if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			return definite
		}
		return throttling
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return lost
	case http.StatusInternalServerError:
		if apierrors.IsUnexpectedServerError(err) {
			return lost // a proxy made it up
		}
		return internalVerdict(status.Reason, status.Message)
	}
	return definite
}

// admissionFailure is how the API server begins to tell that it couldn't call a webhook for admission
// (apiserver pkg/util/webhook/error.go, as an internal error of admission/plugin/webhook/*/dispatcher.go): before it
// stores anything. A conversion webhook's failure begins otherwise, and may come after the object was stored.
const admissionFailure = "Internal error occurred: failed calling webhook "

// admissionDenial is how the API server begins to tell that a webhook for admission has refused an object
// (apiserver pkg/admission/plugin/webhook/errors).
const admissionDenial = "admission webhook "

// internalTexts are parts of the messages of internal errors by which it is known what became of the write. The first
// one that is in a message counts. The etcd server's are in its api/v3rpc/rpctypes/error.go.
var internalTexts = []struct {
	part    string
	verdict int
}{
	// Refused before anything is proposed (etcdserver/v3_server.go, processInternalRaftRequestOnce; api/v3rpc/key.go).
	{"etcdserver: request is too large", definite},
	{"trying to send message larger than max", definite}, // by the client of etcd
	{"etcdserver: too many requests", definite},
	{"etcdserver: permission denied", definite},
	{"etcdserver: invalid auth token", definite},
	{"etcdserver: too many operations in txn request", definite},
	{"etcdserver: not capable", definite},
	{"etcdserver: rpc not supported for learner", definite},

	// Once etcd has raised the alarm it refuses, but the write by which it finds that the space is used up it does
	// (etcdserver/apply/quota.go). It lasts until an administrator has made space.
	{"etcdserver: mvcc: database space exceeded", doubtful},
	{"etcdserver: corrupt cluster", doubtful},

	// Timeouts, a lost leader, a lost member: the proposal may have been committed.
	{"etcdserver:", lost},
	{"rpc error: code =", lost}, // the API server's connection to etcd
	{"context deadline exceeded", lost},
	{"context canceled", lost},

	// A custom resource's object is converted before it is stored, and again for the answer.
	{"conversion webhook for", doubtful},
}

// internalVerdict is verdict for an error with the code 500.
func internalVerdict(reason metav1.StatusReason, message string) int {
	if strings.HasPrefix(message, admissionFailure) {
		return definite
	}
	for _, x := range internalTexts {
		if strings.Contains(message, x.part) {
			return x.verdict
		}
	}
	if reason == metav1.StatusReasonInternalError {
		return definite // what the API server itself calls so fails before it stores anything
	}
	// An error that no handler has made a status of (apiserver endpoints/handlers/responsewriters/status.go) may come from
	// the storage, also from decoding what was stored.
	return doubtful
}
