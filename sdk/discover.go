package sdk

import (
	"github.com/windlass-dev/windlass/abi"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// ResourceOf asks which resource has the kind; the version may be *, for the one that the API server prefers. An
// [Error] with the reason NoKindMatch tells that none has, as far as the API server says now.
func (c *Call) ResourceOf(apiVersion, kind string) (*abi.APIResource, error) {
	return c.ResourceOfObject(apiVersion, kind, "")
}

// ResourceOfObject is [Call.ResourceOf] for an object's kind: the failure is NotFound where the object is known to have
// been deleted, whether there is still such a kind or not.
func (c *Call) ResourceOfObject(apiVersion, kind string, uid metav1.UID) (*abi.APIResource, error) {
	d, err := c.discover(&abi.Discover{APIVersion: apiVersion, Kind: kind}, string(uid))
	if err != nil {
		return nil, err
	}
	if len(d.Resources) != 1 {
		return nil, &Error{Reason: "NoKindMatch", Message: "no resource has the kind " + apiVersion + " " + kind}
	}
	return &d.Resources[0], nil
}

// Discover asks the API server for all its resources, each in its preferred version.
func (c *Call) Discover() (*abi.Discovery, error) { return c.discover(&abi.Discover{}, "") }

func (c *Call) discover(d *abi.Discover, uid string) (*abi.Discovery, error) {
	o, err := c.performOne(&abi.Effect{Kind: abi.EffectDiscover, Discover: d, UID: uid})
	if err != nil {
		return nil, err
	}
	if o.Discovery == nil {
		return &abi.Discovery{}, nil
	}
	return o.Discovery, nil
}

// Read gets a path below a resource of the controller's writes that may be read (get or list), and gives the answer in
// JSON.
func (c *Call) Read(r abi.Resource, path string) ([]byte, error) {
	o, err := c.performOne(&abi.Effect{Kind: abi.EffectRead, Resource: r.String(), Path: path})
	if err != nil {
		return nil, err
	}
	return o.Object.Data, nil
}

// Publish makes the bytes the key's fact, for other keys of this controller; an empty one removes it. Those who ask for
// facts by terms find it under each of its terms, and always if it has none.
func (c *Call) Publish(fact []byte, terms ...string) error {
	_, err := c.performOne(&abi.Effect{Kind: abi.EffectPublish, Object: fact, Terms: terms})
	return err
}

// Facts are what the controller's keys in a namespace have published last under one of the terms or under none; without
// terms all. A key whose object is gone has no fact.
func (c *Call) Facts(namespace string, terms ...string) ([]abi.Fact, error) {
	o, err := c.performOne(&abi.Effect{Kind: abi.EffectFacts, Namespace: namespace, Terms: terms})
	if err != nil {
		return nil, err
	}
	return o.Facts, nil
}

// Zone asks for the period of a time zone that a moment lies in. The zone is one of the host's database, such as
// "Europe/Rome", UTC (also without a name), or [abi.LocalZone], the one of the manager's process. The failure has the
// reason [UnknownTimeZone] and says what Go's time.LoadLocation does.
func (c *Call) Zone(name string, at metav1.Time) (*abi.ZonePeriod, error) {
	o, err := c.performOne(&abi.Effect{Kind: abi.EffectZone, Zone: &abi.Zone{Name: name, At: at.Unix()}})
	if err != nil {
		return nil, err
	}
	if o.Zone == nil {
		return nil, errorString("the host's answer has no period of zone " + name)
	}
	return o.Zone, nil
}

func (c *Call) performOne(e *abi.Effect) (*abi.Outcome, error) {
	out, err := c.DoAll(Effect{Effect: e})
	return &out[0], err
}
