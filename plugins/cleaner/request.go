package cleaner

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/x509"
)

const (
	// settledAge is how long what has become of a request can be read: that it was issued, denied or has failed.
	settledAge = time.Hour
	// waitingAge is how long a request waits for somebody to look at it, or one that is approved for its certificate.
	waitingAge = 24 * time.Hour
)

var requests = sdk.Key(certificatesv1.CertificateSigningRequests).
	Fields("metadata.creationTimestamp", "status.conditions.type", "status.conditions.lastUpdateTime",
		"status.certificate").QuietOn(abi.QuietDelete)

// syncRequest deletes a request for a certificate when the first of its times is over.
func syncRequest(c *sdk.Call) error {
	request, ok := requests.Get(c)
	if !ok {
		return nil
	}
	over, some := endOf(request)
	if !some {
		return nil
	}
	if left := over.Sub(c.Now()); left >= 0 {
		return c.After(min(left, farAway) + 1)
	}
	return c.Delete(request, sdk.Tolerate(abi.TolerateNotFound))
}

// farAway is more than anybody waits for, and less than all that an int64 holds.
const farAway = time.Duration(1 << 62)

// endOf returns the time after which a request is of no use, the earliest of all that there are. What has no time never
// comes to it.
func endOf(r *certificatesv1.CertificateSigningRequest) (end metav1.Time, some bool) {
	until := func(t metav1.Time, age time.Duration) {
		if t = t.Add(age); !some || t.Before(end) {
			end, some = t, true
		}
	}

	issued := len(r.Status.Certificate) > 0
	if len(r.Status.Conditions) == 0 && !r.CreationTimestamp.IsZero() {
		until(r.CreationTimestamp, waitingAge)
	}
	for i := range r.Status.Conditions {
		condition := &r.Status.Conditions[i]
		approved := condition.Type == certificatesv1.CertificateApproved
		if approved && issued {
			if x, err := x509.Certificate(r.Status.Certificate); err == nil {
				until(metav1.Unix(x.NotAfter, 0), 0)
			}
		}
		if condition.LastUpdateTime.IsZero() {
			continue
		}
		switch {
		case approved && !issued:
			until(condition.LastUpdateTime, waitingAge)
		case approved, condition.Type == certificatesv1.CertificateDenied,
			condition.Type == certificatesv1.CertificateFailed:
			until(condition.LastUpdateTime, settledAge)
		}
	}
	return end, some
}
