package sdk

import (
	"github.com/windlass-dev/windlass/abi"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Metadata is an object of any kind of which nothing but the metadata is read.
type Metadata = resource.Metadata

// GetMetadata reads an object's metadata live. With a UID it is that object or none: one of the same name is not found.
func (c *Call) GetMetadata(of, namespace, name string, uid metav1.UID) (*Metadata, error) {
	o := &Metadata{Resource: of}
	o.Namespace, o.Name, o.UID = namespace, name, uid
	if err := c.Do(Live(o)); err != nil {
		return nil, err
	}
	return o, nil
}

// ListMetadata reads the metadata of all objects of a resource in a namespace, live: each on the wire, to be decoded
// into a [Metadata], or where there may be a great many into a type with fewer fields.
func (c *Call) ListMetadata(of, namespace string) ([]abi.ObjectData, error) {
	o, err := c.performOne(&abi.Effect{Kind: abi.EffectList, Resource: of, Namespace: namespace, Metadata: true})
	if err != nil || o.View == nil {
		return nil, err
	}
	return o.View.Objects, nil
}

// IfUnchanged has an effect done only while the object has the version that the plugin saw.
func IfUnchanged() Option {
	return func(e *Effect) { e.Precondition = abi.PreconditionVersion }
}
