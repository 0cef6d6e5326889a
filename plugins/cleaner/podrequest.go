package cleaner

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
)

// podRequestAge is when a pod's request for a certificate goes: whoever answers it has done so long before.
const podRequestAge = 15 * time.Minute

var podRequests = sdk.Key(certificatesv1.PodCertificateRequests).Fields("metadata.creationTimestamp").
	QuietOn(abi.QuietUpdate, abi.QuietDelete)

// syncPodRequest deletes a pod's request for a certificate when it is old, whatever has become of it.
func syncPodRequest(c *sdk.Call) error {
	request, ok := podRequests.Get(c)
	if !ok || !podCertificateRequest.On(c) {
		return nil
	}
	if left := podRequestAge - c.Now().Sub(request.CreationTimestamp); left > 0 {
		return c.After(left)
	}
	return c.Delete(request, sdk.Tolerate(abi.TolerateNotFound))
}
