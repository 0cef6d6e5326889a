// Package scale reads and sets how many replicas an object of any kind has.
package scale

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv1 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v1"
	"unsafe"
)

// Scale is an object's scale subresource.
type Scale struct {
	autoscalingv1.Scale
	resource string
}

// Get reads the scale of an object live. The resource is named as [sdk.Call.ResourceOf] names it.
func Get(c *sdk.Call, resource, namespace, name string) (*Scale, error) {
	s := &Scale{resource: resource}
	s.Namespace, s.Name = namespace, name
	return s, s.Refresh(c)
}

// Refresh reads the scale anew.
func (s *Scale) Refresh(c *sdk.Call) error {
	return s.performEffect(c, &abi.Effect{Kind: abi.EffectGet, Namespace: s.Namespace, Name: s.Name})
}

// Update writes the scale now, if nobody has changed the object since it was read; what the API server answers is the
// scale from then on.
func (s *Scale) Update(c *sdk.Call) error {
	return s.performEffect(c, &abi.Effect{Kind: abi.EffectUpdate, Namespace: s.Namespace, Name: s.Name, UID: string(s.UID),
		Version: s.ResourceVersion,
		Object:  wire.Append(nil, unsafe.Pointer(&s.Scale), &autoscalingv1.ScaleTable)})
}

func (s *Scale) performEffect(c *sdk.Call, e *abi.Effect) error {
	e.Resource, e.Subresource = s.resource, "scale"
	out, err := c.DoAll(sdk.Effect{Effect: e})
	if err != nil {
		return err
	}
	s.Scale = autoscalingv1.Scale{}
	if err := wire.Unmarshal(out[0].Object.Data, unsafe.Pointer(&s.Scale), &autoscalingv1.ScaleTable); err != nil {
		return err
	}
	s.Namespace, s.Name, s.ResourceVersion = e.Namespace, e.Name, out[0].Object.ResourceVersion
	return nil
}
