package horizontalpodautoscaler

import (
	"math"
	"time"

	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
)

// normalize holds what the metrics ask for against what they asked for lately and against the limits.
func (r *run) normalize(current, desired, least int32) int32 {
	b := r.hpa.Spec.Behavior
	var stable, limited int32
	var reason, message string
	if b == nil {
		stable, reason, message = r.highest(desired)
	} else {
		stable, reason, message = r.stabilize(current, desired)
	}
	if stable != desired {
		r.setCondition(autoscalingv2.AbleToScale, true, reason, message)
	} else {
		r.setCondition(autoscalingv2.AbleToScale, true, "ReadyForNewScale", "recommended size matches current size")
	}
	if b == nil {
		limited, reason, message = limitReplicas(stable, least, r.hpa.Spec.MaxReplicas, max(2*int64(current), 4),
			math.MinInt64)
	} else {
		limited, reason, message = r.limitByRules(current, stable, least)
	}
	r.setCondition(autoscalingv2.ScalingLimited, limited != stable, reason, message)
	return limited
}

const (
	lower  = "recent recommendations were lower than current one, applying the lowest recent recommendation"
	higher = "recent recommendations were higher than current one, applying the highest recent recommendation"
)

// highest is the highest recommendation of the last few minutes.
func (r *run) highest(desired int32) (stable int32, reason, message string) {
	cutoff := r.now - periodSetting(r.c, downscaleStabilization).Milliseconds()
	stable = desired
	for _, m := range r.history.recommended {
		if m.at >= cutoff {
			stable = max(stable, m.replicas)
		}
	}
	r.history.recommended = remember(r.history.recommended, mark{desired, r.now}, cutoff)
	return stable, "ScaleDownStabilized", higher
}

// stabilize goes no higher than the lowest recommendation of the window for scaling up, and no lower than the highest
// of the one for scaling down.
func (r *run) stabilize(current, desired int32) (stable int32, reason, message string) {
	up, down := r.scalingRules()
	lowest, highest := desired, desired
	upCutoff, downCutoff := r.now-up.window, r.now-down.window
	for _, m := range r.history.recommended {
		if m.at > upCutoff {
			lowest = min(lowest, m.replicas)
		}
		if m.at > downCutoff {
			highest = max(highest, m.replicas)
		}
	}
	r.history.recommended = remember(r.history.recommended, mark{desired, r.now}, min(upCutoff, downCutoff))
	stable = min(max(current, lowest), highest)
	if desired >= current {
		return stable, "ScaleUpStabilized", lower
	}
	return stable, "ScaleDownStabilized", higher
}

// limitByRules goes no further in one direction than the policies allow.
func (r *run) limitByRules(current, desired, least int32) (int32, string, string) {
	up, down := r.scalingRules()
	switch {
	case desired > current:
		return limitReplicas(desired, math.MinInt32, r.hpa.Spec.MaxReplicas, max(r.allowed(current, up, 1), int64(current)),
			math.MinInt64)
	case desired < current:
		return limitReplicas(desired, least, math.MaxInt32, math.MaxInt64, min(r.allowed(current, down, -1), int64(current)))
	}
	return limitReplicas(desired, math.MinInt32, math.MaxInt32, math.MaxInt64, math.MinInt64)
}

// limitReplicas keeps replicas between the least and the most that there may be at all, and within what may be reached
// now.
func limitReplicas(desired, least, most int32, fastest, slowest int64) (int32, string, string) {
	switch {
	case int64(desired) < slowest && slowest > int64(least):
		return int32(slowest), "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"
	case desired < least:
		return least, "TooFewReplicas", "the desired replica count is less than the minimum replica count"
	case int64(desired) > fastest && fastest < int64(most):
		return int32(fastest), "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"
	case desired > most:
		return most, "TooManyReplicas", "the desired replica count is more than the maximum replica count"
	}
	return desired, "DesiredWithinRange", "the desired count is within the acceptable range"
}

// rules are how fast an autoscaler may scale in one direction.
type rules struct {
	window   int64 // of stabilization, in milliseconds
	choice   autoscalingv2.ScalingPolicySelect
	policies []autoscalingv2.HPAScalingPolicy
}

// scalingRules returns the behavior's. The API server sets what isn't said of them, but for the window for scaling
// down.
func (r *run) scalingRules() (up, down rules) {
	double := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
	four := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}
	up = rules{0, autoscalingv2.MaxChangePolicySelect, []autoscalingv2.HPAScalingPolicy{four, double}}
	// Upstream counts this window in whole seconds.
	down = rules{int64(periodSetting(r.c, downscaleStabilization)/time.Second) * 1000, autoscalingv2.MaxChangePolicySelect,
		[]autoscalingv2.HPAScalingPolicy{double}}
	up.override(r.hpa.Spec.Behavior.ScaleUp)
	down.override(r.hpa.Spec.Behavior.ScaleDown)
	return up, down
}

func (u *rules) override(s *autoscalingv2.HPAScalingRules) {
	if s == nil {
		return
	}
	if s.StabilizationWindowSeconds != nil {
		u.window = int64(*s.StabilizationWindowSeconds) * 1000
	}
	if s.SelectPolicy != nil {
		u.choice = *s.SelectPolicy
	}
	if len(s.Policies) > 0 {
		u.policies = s.Policies
	}
}

// longest is the longest period of the policies, in milliseconds.
func (u *rules) longest() (most int64) {
	for i := range u.policies {
		most = max(most, int64(u.policies[i].PeriodSeconds)*1000)
	}
	return most
}

// allowed is how many replicas the policies allow to go to in a direction, from those that there were when each one's
// period began.
func (r *run) allowed(current int32, u rules, direction int64) int64 {
	if u.choice == autoscalingv2.DisabledPolicySelect {
		return int64(current)
	}
	change := int64(0)
	for i := range u.policies {
		p := &u.policies[i]
		cutoff := r.now - int64(p.PeriodSeconds)*1000
		begin := int64(current) - sumSince(r.history.up, cutoff) + sumSince(r.history.down, cutoff)
		to := begin
		switch p.Type {
		case autoscalingv2.PodsScalingPolicy:
			to += direction * int64(p.Value)
		case autoscalingv2.PercentScalingPolicy:
			share := float64(begin) * (1 + float64(direction)*float64(p.Value)/100)
			if to = int64(share); direction > 0 {
				to = int64(math.Ceil(share)) // else it might never grow
			}
		}
		// The direction's sign makes the largest change the greatest number either way.
		if n := direction * to; i == 0 || (u.choice == autoscalingv2.MinChangePolicySelect) == (n < change) {
			change = n
		}
	}
	return direction * change
}

// rememberScaling remembers by how much the target was scaled, as far as policies will ask for it.
func (r *run) rememberScaling(from, to int32) {
	if r.hpa.Spec.Behavior == nil {
		return
	}
	up, down := r.scalingRules()
	if to > from {
		r.history.up = remember(r.history.up, mark{to - from, r.now}, r.now-up.longest())
	} else {
		r.history.down = remember(r.history.down, mark{from - to, r.now}, r.now-down.longest())
	}
}
