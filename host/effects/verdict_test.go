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

	for name, x := range map[string]struct {
		err  error
		want int
	}{
		"done":                     {nil, definite},
		"the connection breaks":    {io.ErrUnexpectedEOF, lost},
		"no time is left":          {context.DeadlineExceeded, lost},
		"a conflict":               {status(http.StatusConflict, ""), definite},
		"not found":                {status(http.StatusNotFound, ""), definite},
		"forbidden":                {status(http.StatusForbidden, ""), definite},
		"too many requests":        {status(http.StatusTooManyRequests, ""), throttling},
		"a disruption budget":      {status(http.StatusTooManyRequests, "", policyv1.DisruptionBudgetCause), definite},
		"the request timed out":    {status(http.StatusRequestTimeout, ""), lost},
		"the gateway timed out":    {status(http.StatusGatewayTimeout, ""), lost},
		"unavailable":              {status(http.StatusServiceUnavailable, ""), lost},
		"etcd says":                {status(http.StatusInternalServerError, "etcdserver: request timed out"), lost},
		"the API server's context": {status(http.StatusInternalServerError, "context deadline exceeded"), lost},
		"a proxy's error": {status(http.StatusInternalServerError, "", metav1.CauseTypeUnexpectedServerResponse),
			lost},
		"the API server's own": {status(http.StatusInternalServerError, "a webhook failed"), definite},
		"wrapped":              {errors.Join(errors.New("while writing"), status(http.StatusConflict, "")), definite},
	} {
		if got := verdict(x.err); got != x.want {
			t.Errorf("%s: %d, expected %d", name, got, x.want)
		}
	}
}
