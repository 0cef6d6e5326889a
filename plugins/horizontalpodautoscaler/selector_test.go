package horizontalpodautoscaler

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv1 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v1"
)

// A selector of any length is good for scaling. The others are told of it up to a length, under terms up to a number,
// and where they aren't that is logged; the host has no room for it or has, the autoscaler goes on.
func TestLongSelectors(t *testing.T) {
	for _, x := range []struct {
		values      int
		refuse      bool
		told, terms int
		logged      string
	}{
		{values: 3, told: 1, terms: 4},
		{values: 600, told: 1},
		{values: 3000, told: 1, logged: "isn't told to the namespace's other autoscalers"},
		{values: 3, refuse: true, told: 1, terms: 4, logged: "no room"},
	} {
		var values strings.Builder
		for i := range x.values {
			fmt.Fprintf(&values, ",value-%08d", i)
		}
		var target autoscalingv1.Scale
		target.Spec.Replicas, target.Status.Replicas = 3, 3
		target.Status.Selector = "app in (web" + values.String() + ")"

		var logged string
		earlier := sdk.Logged
		sdk.Logged = func(text string) { logged += text }
		t.Cleanup(func() { sdk.Logged = earlier })
		var told []abi.Effect
		r, perform := newRequest(3)
		a := sdk.Run(Plugin, r, settingsOf([]string{"15s", "5m0s", "0.1", "5m0s", "30s"}),
			func(q *abi.PerformRequest) (*abi.PerformResponse, error) {
				answer, err := perform(q)
				for i := range q.Effects {
					switch e := &q.Effects[i]; e.Kind {
					case abi.EffectGet:
						answer.Outcomes[i].Object.Data = wire.Append(nil, unsafe.Pointer(&target), &autoscalingv1.ScaleTable)
					case abi.EffectPublish:
						told = append(told, *e)
						if x.refuse {
							answer.Outcomes[i] = abi.Outcome{Code: abi.CodeFailed, Reason: "LimitExceeded", Message: "no room"}
						}
					}
				}
				return answer, err
			})

		if a.Error != "" || len(told) != x.told || len(told[0].Terms) != x.terms || !strings.Contains(logged, x.logged) ||
			(x.logged == "") != (logged == "") {
			t.Errorf("%d values: error %q, %d facts, of %d bytes under %d terms, logged %q", x.values, a.Error, len(told),
				len(told[0].Object), len(told[0].Terms), logged)
		}
		if size := len(told[0].Object) + x.terms*(termOverhead+20); size > abi.FactMax {
			t.Errorf("%d values: a fact of %d bytes", x.values, size)
		}
	}
}
