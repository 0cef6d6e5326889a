package mirror

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Mirror is a custom resource as it travels: its metadata, and the JSON of all else. This is how a plugin does it that
// has no generated types; see abi/abi.proto.
type Mirror struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Body     string
	XUnknown wire.Unknown
}

// Mirrors are all of them.
var Mirrors = resource.Of[Mirror]{Info: resource.Info{Group: "example.com", Version: "v1", Name: "mirrors",
	Kind: "Mirror", Namespaced: true, Type: &mirrorTable}}

var mirrorTable = wire.Type{Size: unsafe.Sizeof(Mirror{}), Spare: unsafe.Offsetof(Mirror{}.XUnknown) + 1,
	New: wire.Grow[Mirror], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Mirror{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Mirror{}.ObjectMeta), Elem: &metav1.ObjectMetaTable,
			JSON: "metadata"},
		{Num: 2, Kind: wire.String, Offset: unsafe.Offsetof(Mirror{}.Body)},
	}}

// GetResource returns what the object is.
func (m *Mirror) GetResource() *resource.Info { return &Mirrors.Info }

// Content is the JSON.
type Content struct {
	Spec     Spec
	Status   Status
	XUnknown wire.Unknown
}

// Spec is what a person wants.
type Spec struct {
	Message  string
	XUnknown wire.Unknown
}

// Status is what there is.
type Status struct {
	ObservedGeneration int64
	Friends            int32
	Copied             string
	Conditions         []metav1.Condition
	XUnknown           wire.Unknown
}

var (
	contentTable = wire.Type{Size: unsafe.Sizeof(Content{}), Spare: unsafe.Offsetof(Content{}.XUnknown) + 1,
		New: wire.Grow[Content], Fields: []wire.Field{
			{Kind: wire.Message, Offset: unsafe.Offsetof(Content{}.Spec), Elem: &specTable, JSON: "spec"},
			{Kind: wire.Message, Offset: unsafe.Offsetof(Content{}.Status), Elem: &statusTable, JSON: "status"},
		}}
	specTable = wire.Type{Size: unsafe.Sizeof(Spec{}), Spare: unsafe.Offsetof(Spec{}.XUnknown) + 1, New: wire.Grow[Spec],
		Fields: []wire.Field{
			{Kind: wire.String, Offset: unsafe.Offsetof(Spec{}.Message), JSON: "message"},
		}}
	statusTable = wire.Type{Size: unsafe.Sizeof(Status{}), Spare: unsafe.Offsetof(Status{}.XUnknown) + 1,
		New: wire.Grow[Status], Fields: []wire.Field{
			{Kind: wire.Int64, Offset: unsafe.Offsetof(Status{}.ObservedGeneration), JSON: "observedGeneration"},
			{Kind: wire.Int32, Offset: unsafe.Offsetof(Status{}.Friends), JSON: "friends", Keep: true},
			{Kind: wire.String, Offset: unsafe.Offsetof(Status{}.Copied), JSON: "copied"},
			{Kind: wire.Message | wire.Rep, Offset: unsafe.Offsetof(Status{}.Conditions), Elem: &metav1.ConditionTable,
				JSON: "conditions"},
		}}
)

func (m *Mirror) content() (*Content, error) {
	c := &Content{}
	if m.Body == "" {
		return c, nil
	}
	return c, wire.UnmarshalJSON([]byte(m.Body), unsafe.Pointer(c), &contentTable)
}

// withContent returns a copy with another content.
func (m *Mirror) withContent(c *Content) *Mirror {
	o := sdk.Clone(m)
	o.Body = string(wire.AppendJSON(nil, unsafe.Pointer(c), &contentTable))
	return o
}
