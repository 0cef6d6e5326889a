package golden

import (
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// unlisted are the resources of a case that can't be listed, for the plan of its controller.
type unlisted []abi.Resource

// unlistedResources returns the resources that can't be listed.
func (c *Case) unlistedResources() (all unlisted, err error) {
	for i, s := range c.Unlisted {
		r, ok := abi.ParseResource(s)
		if !ok {
			return nil, fmt.Errorf("unlisted[%d] %q: a resource is written as apps/v1/deployments or v1/pods", i, s)
		}
		all = append(all, r)
	}
	return all, nil
}

// Current is for the plan.
func (u unlisted) Current(r abi.Resource) (young abi.Resource, ok bool) {
	if r == schema.Any && len(u) > 0 {
		return u[0], false
	}
	return r, !slices.Contains(u, r)
}

// Lost is for the plan.
func (unlisted) Lost(abi.Resource) bool { return false }

// Lacking is for the plan.
func (u unlisted) Lacking() (without []abi.Resource, young abi.Resource, wait time.Duration) {
	return u, young, 0
}
