package effects

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/names"
	"github.com/windlass-dev/windlass/host/schema"
)

// parseResource reads what Resource.String writes.
func parseResource(s string) (abi.Resource, error) {
	r, ok := abi.ParseResource(strings.Clone(s))
	if !ok {
		return r, fmt.Errorf("%s is not a resource; write version/plural or group/version/plural, such as v1/pods or apps/v1/replicasets",
			names.Quote(s))
	}
	if err := r.WellNamed(); err != nil {
		return r, fmt.Errorf("%s is not a resource: %w", names.Quote(s), err)
	}
	return r, nil
}

// resources are what is known of the resources that effects name.
type resources struct {
	custom bool     // whether others than the built-in ones can be found
	parsed sync.Map // "apps/v1/replicasets" → *schema.Resource

	reviews sync.Map // the same of those that are only reviewed
}

// find finds the resource that an effect names. One that isn't built in comes without kind and scope, for a
// request's address needs neither and checks must not ask the server.
func (k *resources) find(name string) (*schema.Resource, error) {
	if r, ok := k.parsed.Load(name); ok {
		return r.(*schema.Resource), nil
	}
	r, err := parseResource(name)
	if err != nil {
		return nil, err
	}
	res, err := schema.For(r)
	if err != nil {
		if !k.custom || r.Name == allResources {
			return nil, err
		}
		return schema.Custom(r, "", true), nil
	}
	k.parsed.Store(r.String(), res)
	return res, nil
}

// reviewed finds a resource that can only be created, and isn't stored.
func (k *resources) reviewed(name string) (*schema.Resource, error) {
	if r, ok := k.reviews.Load(name); ok {
		return r.(*schema.Resource), nil
	}
	r, err := parseResource(name)
	if err != nil {
		return nil, err
	}
	res, err := schema.ForReview(r)
	if err != nil {
		return nil, err
	}
	k.reviews.Store(r.String(), res)
	return res, nil
}

// id names a resource by a string that all writes to it share: writes are remembered by the thousand.
func (k *resources) id(r abi.Resource) string {
	id := r.String()
	if res, ok := k.parsed.Load(id); ok {
		return res.(*schema.Resource).ID()
	}
	return id
}

// watchedStore returns the cache of a resource that the controller reads: what it doesn't read can't mislead its next
// sync.
func (w *Writer) watchedStore(r abi.Resource) Store {
	if !w.reads[r] && !w.reads[schema.Any] {
		return nil
	}
	return w.Stores(r)
}

// builtin reports whether the host knows the type of a resource's objects.
func builtin(r abi.Resource) bool {
	_, err := schema.For(r)
	return err == nil
}

func groupResource(r abi.Resource) apischema.GroupResource {
	return apischema.GroupResource{Group: r.Group, Resource: r.Name}
}

// bodyType is the type that travels under a resource's subresource.
func bodyType(res *schema.Resource, subresource string) (apiVersion, kind string) {
	switch subresource {
	case "scale":
		return "autoscaling/v1", "Scale"
	case "binding":
		return "v1", "Binding"
	case "token":
		return "authentication.k8s.io/v1", "TokenRequest"
	case "eviction":
		return "policy/v1", "Eviction"
	}
	return res.APIVersion(), res.Kind
}

// ownBody reports whether a subresource's objects are of another type than the resource's.
func ownBody(subresource string) bool {
	switch subresource {
	case "scale", "binding", "token", "eviction":
		return true
	}
	return false
}

// message is the schema of that type.
func message(res *schema.Resource, subresource string) (*schema.Message, error) {
	if subresource != "scale" {
		return res.Message, nil
	}
	return schema.MessageOf(reflect.TypeFor[autoscalingv1.Scale]())
}

var patchTypes = map[abi.PatchType]types.PatchType{
	abi.JSONPatch: types.JSONPatchType, abi.MergePatch: types.MergePatchType,
	abi.StrategicPatch: types.StrategicMergePatchType,
}
