package effects

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Which answers say what became of a request, which ask to come again later, and which leave it open.
func TestVerdicts(t *testing.T) {
	status := func(code int32, message string, causes ...metav1.CauseType) error {
		s := metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message, Details: &metav1.StatusDetails{}}
		for _, c := range causes {
			s.Details.Causes = append(s.Details.Causes, metav1.StatusCause{Type: c})
		}
		return &apierrors.StatusError{ErrStatus: s}
	}

	internal := func(reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code: http.StatusInternalServerError, Reason: reason, Message: message}}
	}
	raw := func(err error) error { return internal(metav1.StatusReasonUnknown, err.Error()) }
	own := func(message string) error { return apierrors.NewInternalError(errors.New(message)) }

	for name, x := range map[string]struct {
		err  error
		want int
	}{
		"done":                  {nil, definite},
		"the connection breaks": {io.ErrUnexpectedEOF, lost},
		"no time is left":       {context.DeadlineExceeded, lost},
		"a conflict":            {status(http.StatusConflict, ""), definite},
		"not found":             {status(http.StatusNotFound, ""), definite},
		"forbidden":             {status(http.StatusForbidden, ""), definite},
		"too many requests":     {status(http.StatusTooManyRequests, ""), throttling},
		"a disruption budget":   {status(http.StatusTooManyRequests, "", policyv1.DisruptionBudgetCause), definite},
		"the request timed out": {status(http.StatusRequestTimeout, ""), lost},
		"the gateway timed out": {status(http.StatusGatewayTimeout, ""), lost},
		"unavailable":           {status(http.StatusServiceUnavailable, ""), lost},
		"too large":             {status(http.StatusRequestEntityTooLarge, "limit is 3145728"), definite},
		"over quota":            {status(http.StatusForbidden, "exceeded quota: pods"), definite},
		"over quota, in doubt":  {own("resource quota evaluation timed out"), definite},

		"an admission webhook hangs": {own(`failed calling webhook "a.b.c": failed to call webhook: Post ` +
			`"https://localhost:1/?timeout=3s": context deadline exceeded`), definite},
		"an admission webhook is down": {own(`failed calling webhook "a.b.c": failed to call webhook: Post ` +
			`"https://localhost:1/": dial tcp 127.0.0.1:1: connect: connection refused`), definite},
		"an admission webhook names etcd": {own(`failed calling webhook "a.b.c": etcdserver: leader changed`), definite},
		"a webhook denies, unavailable": {status(http.StatusServiceUnavailable,
			`admission webhook "a.b.c" denied the request: context deadline exceeded`), definite},
		"a conversion webhook hangs":        {raw(errors.New(conversion + "context deadline exceeded")), lost},
		"a conversion webhook is down":      {raw(errors.New(conversion + "connection refused")), doubtful},
		"one that speaks of admission":      {own(conversion + `failed calling webhook "x"`), doubtful},
		"what no handler has made a status": {raw(errors.New("unable to decode")), doubtful},

		"etcd: too large":          {raw(rpctypes("request is too large")), definite},
		"etcd: larger than gRPC's": {raw(errors.New(grpcTooLarge)), definite},
		"etcd: too many requests":  {raw(rpctypes("too many requests")), definite},
		"etcd: no space":           {raw(rpctypes("mvcc: database space exceeded")), doubtful},
		"etcd: corrupt":            {raw(rpctypes("corrupt cluster")), doubtful},
		"etcd: timed out":          {raw(rpctypes("request timed out")), lost},
		"etcd: lost its leader":    {raw(rpctypes("request timed out, possibly due to previous leader failure")), lost},
		"etcd: another leader":     {raw(rpctypes("leader changed")), lost},
		"etcd: no leader":          {raw(rpctypes("no leader")), lost},
		"etcd: in a status":        {own("etcdserver: request timed out"), lost},
		"etcd: gone": {raw(errors.New("rpc error: code = Unavailable desc = error reading from server: EOF")),
			lost},
		"the API server's context": {raw(context.DeadlineExceeded), lost},
		"a proxy's error": {status(http.StatusInternalServerError, "", metav1.CauseTypeUnexpectedServerResponse),
			lost},
		"the API server's own": {own("metadata.name was not generated"), definite},
		"wrapped":              {errors.Join(errors.New("while writing"), status(http.StatusConflict, "")), definite},
	} {
		if got := verdict(x.err); got != x.want {
			t.Errorf("%s: %d, expected %d", name, got, x.want)
		}
	}
}

const conversion = "conversion webhook for example.com/v1, Kind=Web failed: "

const grpcTooLarge = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3 vs. 2)"

// rpctypes is an error as etcd's server has it.
func rpctypes(text string) error { return errors.New("etcdserver: " + text) }
