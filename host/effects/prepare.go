package effects

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// prepare compares an update with its base while the answer can still be refused. Later updates of an object that the
// answer itself moves are compared when their turn comes.
func (c *checker) prepare(e *abi.Effect, res *schema.Resource) error {
	switch e.Kind {
	case abi.EffectCreate, abi.EffectApply, abi.EffectReview:
		return c.prepareObject(e, res)
	}
	if e.Kind == abi.EffectList || e.Kind == abi.EffectDeleteCollection {
		return nil
	}

	k := objectKeyOf(e, res)
	moved := c.touched[k]
	if (e.Kind == abi.EffectDelete || e.Kind == abi.EffectEvict) && !moved {
		if version, uid := expected(e, c.bases.find(k), abi.PreconditionUID); version == "" && uid == "" {
			return fmt.Errorf("it has no precondition, neither a UID nor a version, and %s/%s is in none of the views",
				printable.Line(e.Namespace, textMost), printable.Line(e.Name, textMost))
		}
	}

	switch e.Kind {
	case abi.EffectUpdate:
		c.touched[k] = true
		if moved {
			return nil
		}
		b := c.bases.find(k)
		if b == nil {
			return fmt.Errorf("%s/%s is in none of the views and wasn't read live: there is no object to compare the update with", e.Namespace, e.Name)
		}
		p, err := c.compare(e, res, k, b)
		if err != nil {
			return err
		}
		c.plans.keep(e, p)
	case abi.EffectPatch, abi.EffectDelete, abi.EffectGet:
		c.touched[k] = true
	}
	return nil
}

// examine is prepare without what a sync knows only if its performs were really done.
func (c *checker) examine(e *abi.Effect, res *schema.Resource) error {
	switch e.Kind {
	case abi.EffectCreate, abi.EffectApply, abi.EffectReview:
		return c.prepareObject(e, res)
	}
	return nil
}

// prepareObject checks that the object can be read.
func (c *checker) prepareObject(e *abi.Effect, res *schema.Resource) error {
	if envelope.IsJSON(e.Object) && e.Kind == abi.EffectApply {
		return nil
	}
	m, err := envelope.ReadMeta(e.Object)
	if err != nil {
		return fmt.Errorf("the object: %w", err)
	}
	if e.Kind != abi.EffectCreate || e.Subresource != "" {
		return nil
	}
	if m.Name == "" && m.GenerateName == "" && e.Name == "" {
		return errors.New("the object has neither name nor generateName")
	}
	if m.Name != "" && e.Name != "" && m.Name != e.Name || m.Namespace != "" && m.Namespace != e.Namespace {
		return errors.New("the object's name or namespace isn't the effect's")
	}
	if res.Namespaced && !res.Custom && e.Namespace == "" { // of one that isn't built in the server knows the scope
		return errors.New("it names no namespace")
	}
	k := objectKey{resource: res.Resource, namespace: e.Namespace, name: cmp.Or(m.Name, e.Name)}
	c.touched[k], c.created[k] = true, true
	return nil
}
