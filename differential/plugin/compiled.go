package plugin

import (
	"fmt"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
)

// compiled is what doesn't change from world to world: a plugin is of one version in a process.
type compiled struct {
	plan   *views.Plan
	labels *views.Labels
}

// known are the compiled controllers, by plugin and index: to compile one takes up to a tenth of a world's time.
var known sync.Map

func compile(m *abi.Manifest, index int32) (*compiled, error) {
	key := fmt.Sprint(m.Name, " ", index)
	if c, ok := known.Load(key); ok {
		return c.(*compiled), nil
	}

	plan, err := views.Compile(&m.Controllers[index])
	if err != nil {
		return nil, err
	}
	labels, err := plan.Labels(m.Metrics)
	if err != nil {
		return nil, err
	}
	c, _ := known.LoadOrStore(key, &compiled{plan, labels})
	return c.(*compiled), nil
}
