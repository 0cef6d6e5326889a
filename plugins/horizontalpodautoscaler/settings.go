package horizontalpodautoscaler

import (
	"time"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
)

var (
	syncPeriod = &sdk.Setting{Name: "horizontal-pod-autoscaler-sync-period", Default: "15s",
		Description: "How long after a sync an autoscaler is synced again."}
	downscaleStabilization = &sdk.Setting{Name: "horizontal-pod-autoscaler-downscale-stabilization", Default: "5m0s",
		Description: "How long an autoscaler without a window of its own isn't scaled below an earlier recommendation."}
	defaultTolerance = &sdk.Setting{Name: "horizontal-pod-autoscaler-tolerance", Default: "0.1",
		Description: "How far from 1 the ratio of a metric's actual to its desired value may be before the target is scaled."}
	cpuInitialization = &sdk.Setting{Name: "horizontal-pod-autoscaler-cpu-initialization-period", Default: "5m0s",
		Description: "How long after a pod's start its use of CPU counts only while it is ready."}
	readinessDelay = &sdk.Setting{Name: "horizontal-pod-autoscaler-initial-readiness-delay", Default: "30s",
		Description: "How long after a pod's start changes of its readiness count as its initial readiness."}
)

var (
	scaleToZero = sdk.Gate("HPAScaleToZero", true, "Whether an autoscaler that took its target's last pod can start it "+
		"again, and says so in its condition ScaledToZero.")
	generation  = sdk.Gate("HPAGeneration", true, "Whether status.observedGeneration is set.")
	podRequests = sdk.Gate("PodLevelResources", true,
		"Whether what a pod asks for as a whole counts before what its containers do.")
)

// periods are the settings that are times; the first one must be some time.
var periods = []*sdk.Setting{syncPeriod, downscaleStabilization, cpuInitialization, readinessDelay}

func checkSettings(s *sdk.Settings) error {
	for i, p := range periods {
		if d, err := time.ParseDuration(p.In(s)); err != nil || d < 0 || i == 0 && d == 0 {
			return sdk.Errors(p.Name, ": ", p.In(s), " is not a time such as 15s")
		}
	}
	if q, ok := wire.ParseQuantity(defaultTolerance.In(s)); !ok || q.Sign() < 0 || q.Text == "" {
		return sdk.Errors(defaultTolerance.Name, ": ", defaultTolerance.In(s), " is not a number such as 0.1")
	}
	return nil
}

// periodSetting returns a setting that [checkSettings] has seen.
func periodSetting(c *sdk.Call, s *sdk.Setting) time.Duration {
	d, _ := time.ParseDuration(s.Get(c))
	return d
}
