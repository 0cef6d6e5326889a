package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource is a resource with the message of its objects.
type Resource struct {
	abi.Resource
	// Kind of the objects, such as ReplicaSet.
	Kind       string
	Namespaced bool
	Message    *Message
	// New makes an empty typed object, of a resource that isn't built in one with metadata alone.
	New func() runtime.Object
	// Partial tells that of its objects nothing but the metadata is asked for.
	Partial bool
	// Custom tells that the resource isn't built in. The API server has its objects in JSON; between host and guest they
	// are metadata and a body, see [FromJSON]. Its kind, "", may be unknown.
	Custom bool

	once sync.Once
	id   string
}

// Any stands for all resources, in views and rights.
var Any = abi.Resource{Name: "*"}

// Partial makes a resource of whose objects nothing but the metadata is asked for; or the one that stands for any,
// whose objects are of all kinds.
func Partial(r abi.Resource, kind string, namespaced bool) *Resource {
	custom := false
	if r != Any {
		_, known := builtin()[r]
		custom = !known
	}
	return &Resource{Resource: r, Kind: kind, Namespaced: namespaced, Message: metadata(), New: newPartial, Partial: true,
		Custom: custom}
}

// Custom makes a resource that isn't built in, such as one that a CustomResourceDefinition defines.
func Custom(r abi.Resource, kind string, namespaced bool) *Resource {
	return &Resource{Resource: r, Kind: kind, Namespaced: namespaced, Message: custom(), New: newPartial, Custom: true}
}

func newPartial() runtime.Object { return &metav1.PartialObjectMetadata{} }

// Named returns the resource that a manifest names: a built-in one, or one that isn't, whose kind and scope the API
// server knows. Nothing is asked of a cluster. A name in one of the built-in groups, or in a group without a dot, as no
// custom resource has it, is a mistake.
func Named(r abi.Resource) (*Resource, error) {
	if strings.Contains(r.Group, ".") && r.Version != "" && r.Name != "" && !isBuiltinGroup(r.Group) {
		return Custom(r, "", true), nil
	}
	return For(r)
}

func isBuiltinGroup(group string) bool {
	for r := range builtin() {
		if r.Group == group {
			return true
		}
	}
	return false
}

// metadata is the message that every object begins with.
var metadata = sync.OnceValue(func() *Message {
	m, err := MessageOf(reflect.TypeFor[metav1.PartialObjectMetadata]())
	if err != nil {
		panic(err) // a type of Kubernetes' own
	}
	return m
})

// ID is the resource as [abi.Resource.String] gives it, made once.
func (r *Resource) ID() string {
	r.once.Do(func() { r.id = r.Resource.String() })
	return r.id
}

// APIVersion is the group and version as objects have them.
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

var resources sync.Map // abi.Resource → *Resource

// For returns a built-in resource. Nothing is asked of a cluster.
func For(r abi.Resource) (*Resource, error) {
	if s, ok := resources.Load(r); ok {
		return s.(*Resource), nil
	}
	e, ok := builtin()[r]
	if !ok {
		return nil, fmt.Errorf("%s is not a built-in resource with a protobuf form%s; name group, version and plural as "+
			"kubectl api-resources shows them", r, hintFor(r))
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(reflect.New(e.typ).Interface().(runtime.Object))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	m, err := MessageOf(e.typ)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if !m.object {
		return nil, fmt.Errorf("%s: %s has no metadata", r, m.Name)
	}
	s, _ := resources.LoadOrStore(r, &Resource{
		Resource: r, Kind: gvks[0].Kind, Namespaced: e.namespaced, Message: m,
		New: func() runtime.Object { return reflect.New(e.typ).Interface().(runtime.Object) },
	})
	return s.(*Resource), nil
}

// All returns all built-in resources, sorted.
func All() []abi.Resource {
	return Sorted(builtin())
}

// older are, newest first, the versions of a resource that has had the same form in them.
var older = map[abi.Resource][]string{
	{Group: "certificates.k8s.io", Version: "v1", Name: "clustertrustbundles"}: {"v1beta1", "v1alpha1"},
}

// Older returns the versions in which a built-in resource may be read and written where the API server doesn't serve
// it as it is named: they have the same form, and what stands in it means the same.
func Older(r abi.Resource) []string { return older[r] }

// WithOlder returns the resources that have [Older] versions.
func WithOlder() []abi.Resource { return Sorted(older) }

// Sorted returns the resources of a map, in the order of their names.
func Sorted[V any](m map[abi.Resource]V) []abi.Resource {
	return slices.SortedFunc(maps.Keys(m), func(a, b abi.Resource) int { return strings.Compare(a.String(), b.String()) })
}

type builtinType struct {
	typ        reflect.Type
	namespaced bool
}

// builtin reads the resources off client-go's clientset: a getter is named by the plural, takes a namespace where the
// resource has one, and gives an interface whose Get names the Go type. So neither plurals nor scopes are guessed.
var builtin = sync.OnceValue(func() map[abi.Resource]builtinType {
	all := map[abi.Resource]builtinType{}
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for i := range clientset.NumMethod() {
		group := clientset.Method(i).Type
		if group.NumIn() != 0 || group.NumOut() != 1 || group.Out(0).Kind() != reflect.Interface {
			continue
		}
		for j := range group.Out(0).NumMethod() {
			getter := group.Out(0).Method(j)
			if getter.Type.NumOut() != 1 || getter.Type.Out(0).Kind() != reflect.Interface {
				continue
			}
			get, ok := getter.Type.Out(0).MethodByName("Get")
			if !ok || get.Type.NumOut() != 2 || get.Type.Out(0).Kind() != reflect.Pointer {
				continue
			}
			typ := get.Type.Out(0).Elem()
			object, ok := reflect.New(typ).Interface().(runtime.Object)
			if !ok {
				continue
			}
			gvks, _, err := scheme.Scheme.ObjectKinds(object)
			if err != nil {
				continue
			}
			r := abi.Resource{Group: gvks[0].Group, Version: gvks[0].Version, Name: strings.ToLower(getter.Name)}
			all[r] = builtinType{typ: typ, namespaced: getter.Type.NumIn() == 1}
		}
	}
	return all
})

// hintFor names the resources that may have been meant.
func hintFor(r abi.Resource) string {
	var near []string
	for _, x := range All() {
		if x.Name == r.Name || x.Name == r.Name+"s" || x.Name == r.Name+"es" {
			near = append(near, x.String())
		}
	}
	if len(near) == 0 {
		return ""
	}
	return " (there is " + strings.Join(near, ", ") + ")"
}
