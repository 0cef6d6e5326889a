package endpointslicemirroring

import (
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// collects reports whether the sync is to wait until others may have done more to the slices, as upstream's
// --mirroring-endpointslice-updates-batch-period has it: another sync has been asked for then. Where the Endpoints have
// changed since the last sync there is no waiting, nor after a failure.
//
// The state is the version of the Endpoints that were mirrored last, followed by the time since which a sync waits, in
// nanoseconds.
func collects(c *sdk.Call, e *corev1.Endpoints) bool {
	period, _ := time.ParseDuration(batchPeriod.Get(c))
	if period <= 0 {
		return false
	}

	version, since, waits := strings.Cut(string(c.State()), " ")
	c.SetState([]byte(e.ResourceVersion))
	if version != e.ResourceVersion || c.Attempt() > 0 {
		return false
	}

	begun, ok := decimal.Parse(since)
	if !waits || !ok {
		begun = c.Now().UnixNano()
	}
	rest := begun + int64(period) - c.Now().UnixNano()
	if rest <= 0 {
		return false
	}
	c.SetState([]byte(version + " " + strconv.FormatInt(begun, 10)))
	_ = c.After(time.Duration(rest))
	return true
}
