package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/windlass-dev/windlass/host/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
)

// magic starts each message that Kubernetes sends as protobuf; a runtime.Unknown follows.
var magic = []byte("k8s\x00")

// The field numbers that the decoder knows by itself: of runtime.Unknown, TypeMeta, lists, ListMeta, ObjectMeta.
const (
	unknownTypeMeta, unknownRaw                   = 1, 2
	typeMetaAPIVersion, typeMetaKind              = 1, 2
	listMetadata, listItems                       = 1, 2
	objectMetadata                                = 1
	metaName, metaNamespace, metaUID, metaVersion = 1, 3, 5, 6
	metaAnnotations                               = 12
)

// decoder reads one resource's objects, projected to what is selected. It may be used by several goroutines.
type decoder struct {
	resource *schema.Resource
	selection
	identity *schema.Mask
	known    func(namespace, name string) *Object // what is stored already, whose memory is used again; nil: nothing is
	begin    func()                               // is called before each object and list; may be nil
	scratch  sync.Pool                            // *scratch

	only  *schema.Mask // without groups, what is kept of every object
	mu    sync.RWMutex
	masks map[string]*schema.Mask // by the groups that keep an object; there are few combinations

	// partial tells that nothing but metadata is asked for, so that the server needn't send more.
	partial bool
	// json tells that the server sends JSON, for the resource isn't built in; entire is all that is wanted of any object,
	// and of a bookmark.
	json           bool
	entire         *schema.Mask
	apiVersion     string
	kind, listKind kschema.GroupVersionKind
}

type scratch struct {
	bytes  []byte
	wire   []byte // of an object that came as JSON
	chosen []byte // 1 for each group that keeps the object
	probe  Object
}

func newDecoder(r *schema.Resource, s *selection) (*decoder, error) {
	identity, err := r.Message.Mask("metadata.name", "metadata.namespace", "metadata.uid")
	if err != nil {
		return nil, err
	}
	gv, kind := kschema.GroupVersion{Group: r.Group, Version: r.Version}, r.Kind
	partial := s.metadataOnly()
	if partial {
		gv, kind = metav1.SchemeGroupVersion, "PartialObjectMetadata"
	}
	d := &decoder{
		resource: r, selection: *s, identity: identity, masks: map[string]*schema.Mask{},
		partial: partial, apiVersion: gv.String(), kind: gv.WithKind(kind), listKind: gv.WithKind(kind + "List"),
	}
	d.json = r.Custom && !partial
	bookmark, err := r.Message.Mask("metadata.resourceVersion", "metadata.annotations")
	if err != nil {
		return nil, err
	}
	d.entire = s.widestMask().Union(identity).Union(bookmark)
	d.scratch.New = func() any { return &scratch{chosen: make([]byte, len(s.groups))} }
	if len(s.groups) == 0 {
		d.only, err = d.withIdentity(d.selection.chosenMask(nil))
	}
	return d, err
}

// isOlder reports whether an answer of this version has the resource's form.
func (d *decoder) isOlder(apiVersion string) bool {
	return slices.ContainsFunc(schema.Older(d.resource.Resource), func(v string) bool {
		return apiVersion == d.resource.Group+"/"+v
	})
}

// withIdentity returns the mask with what makes an object, which may be nothing.
func (d *decoder) withIdentity(m *schema.Mask) (*schema.Mask, error) {
	if m == nil {
		return nil, nil
	}
	return m.Union(d.identity).Without("metadata.resourceVersion")
}

// chooseMask returns what is kept of the object, whose bytes may be wider than that: nil if it isn't kept.
func (d *decoder) chooseMask(o *Object, chosen []byte) (*schema.Mask, error) {
	if d.only != nil {
		return d.only, nil
	}
	for i, g := range d.groups {
		chosen[i] = 0
		if g.filter.Keep(o) {
			chosen[i] = 1
		}
	}
	d.mu.RLock()
	m, ok := d.masks[string(chosen)]
	d.mu.RUnlock()
	if ok {
		return m, nil
	}
	m, err := d.withIdentity(d.selection.chosenMask(chosen))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.masks[string(chosen)] = m
	d.mu.Unlock()
	return m, nil
}

// narrowObject appends what the decoder would have kept of an object that a wider one has read; false if nothing.
func (d *decoder) narrowObject(dst []byte, o *Object) ([]byte, bool, error) {
	s := d.scratch.Get().(*scratch)
	defer d.scratch.Put(s)
	mask, err := d.chooseMask(o, s.chosen)
	if err != nil || mask == nil {
		return dst, false, err
	}
	dst, err = mask.Project(dst, o.Raw)
	return dst, true, err
}

// mediaType is what the server is asked for.
func (d *decoder) mediaType() string {
	if d.json {
		return jsonType
	}
	return protobufType
}

// Decode returns a *List, if into is one, an *Object, or a *metav1.Status.
func (d *decoder) Decode(data []byte, _ *kschema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*kschema.GroupVersionKind, error) {
	if d.begin != nil {
		d.begin()
	}
	read := d.decode
	if d.json {
		read = d.decodeJSON
	}
	o, gvk, err := read(data, into)
	if err != nil {
		return nil, gvk, fmt.Errorf("%s: %w", d.resource.Resource, err)
	}
	return o, gvk, nil
}

func (d *decoder) decode(data []byte, into runtime.Object) (runtime.Object, *kschema.GroupVersionKind, error) {
	if !bytes.HasPrefix(data, magic) {
		return nil, nil, fmt.Errorf("the answer is not in protobuf, it starts with %q", data[:min(len(data), 60)])
	}
	var typeMeta, raw []byte
	err := schema.Each(data[len(magic):], func(number int32, content []byte) error {
		switch number {
		case unknownTypeMeta:
			typeMeta = content
		case unknownRaw:
			raw = content
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}

	var apiVersion, kind []byte
	err = schema.Each(typeMeta, func(number int32, content []byte) error {
		switch number {
		case typeMetaAPIVersion:
			apiVersion = content
		case typeMetaKind:
			kind = content
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}

	list, isList := into.(*List)
	gvk := &d.kind
	if isList {
		gvk = &d.listKind
	}
	if string(kind) != gvk.Kind || string(apiVersion) != d.apiVersion && !d.isOlder(string(apiVersion)) {
		got := kschema.FromAPIVersionAndKind(string(apiVersion), string(kind))
		if string(kind) == "Status" && string(apiVersion) == "v1" {
			s := &metav1.Status{}
			return s, &got, s.Unmarshal(raw)
		}
		return nil, &got, fmt.Errorf("the answer is a %s %s, not a %s %s", apiVersion, kind, d.apiVersion, gvk.Kind)
	}
	if isList {
		return list, gvk, d.decodeList(list, raw)
	}

	o, err := d.decodeObject(raw)
	if err != nil {
		return nil, gvk, err
	}
	return o, gvk, nil
}

func (d *decoder) decodeList(l *List, raw []byte) error {
	return schema.Each(raw, func(number int32, content []byte) error {
		switch number {
		case listMetadata:
			var m metav1.ListMeta
			if err := m.Unmarshal(content); err != nil {
				return err
			}
			l.ListMeta = m
		case listItems:
			o, err := d.decodeObject(content)
			if err != nil {
				return fmt.Errorf("item %d: %w", len(l.Items), err)
			}
			if o.Name == "" {
				return fmt.Errorf("item %d has no name", len(l.Items))
			}
			l.Items = append(l.Items, o)
		}
		return nil
	})
}

var errNoName = errors.New("object without a name")

// decodeObject makes an Object of a message: one allocation for it, one for its bytes with the resource version behind
// them. If the bytes are those of the stored object, they are shared. Of an object that nobody keeps only the names are
// left.
func (d *decoder) decodeObject(raw []byte) (*Object, error) {
	var metadata, version, name, namespace, uid []byte
	err := schema.Each(raw, func(number int32, content []byte) error {
		if number == objectMetadata {
			metadata = content
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	err = schema.Each(metadata, func(number int32, content []byte) error {
		switch number {
		case metaName:
			name = content
		case metaNamespace:
			namespace = content
		case metaUID:
			uid = content
		case metaVersion:
			version = content
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(name) == 0 {
		return d.bookmark(metadata, version)
	}

	s := d.scratch.Get().(*scratch)
	defer d.scratch.Put(s)
	s.probe = Object{Resource: d.resource, Namespace: sharedString(namespace), Name: sharedString(name),
		UID: types.UID(sharedString(uid)), ResourceVersion: sharedString(version), Raw: raw}
	mask, err := d.chooseMask(&s.probe, s.chosen)
	s.probe = Object{}
	if err != nil {
		return nil, err
	}
	if mask == nil {
		return &Object{
			Resource: d.resource, Namespace: string(namespace), Name: string(name), UID: types.UID(uid),
			ResourceVersion: string(version),
		}, nil
	}

	kept, err := mask.Project(s.bytes[:0], raw)
	s.bytes = kept[:0]
	if err != nil {
		return nil, err
	}

	if d.known != nil {
		if old := d.known(sharedString(namespace), sharedString(name)); old != nil && string(old.Raw) == string(kept) {
			same := *old
			same.ResourceVersion = string(version)
			return &same, nil
		}
	}

	memory := make([]byte, len(kept)+len(version))
	copy(memory, kept)
	copy(memory[len(kept):], version)
	o := &Object{Resource: d.resource, Raw: memory[:len(kept):len(kept)],
		ResourceVersion: sharedString(memory[len(kept):])}
	return o, o.identify()
}

// identify finds the names in the object's own bytes.
func (o *Object) identify() error {
	return schema.Each(o.Raw, func(number int32, content []byte) error {
		if number != objectMetadata {
			return nil
		}
		return schema.Each(content, func(number int32, content []byte) error {
			switch number {
			case metaName:
				o.Name = sharedString(content)
			case metaNamespace:
				o.Namespace = sharedString(content)
			case metaUID:
				o.UID = types.UID(sharedString(content))
			}
			return nil
		})
	})
}

// bookmark keeps the annotation that ends the initial events of a stream, whatever the mask.
func (d *decoder) bookmark(metadata, version []byte) (*Object, error) {
	o := &Object{Resource: d.resource, ResourceVersion: string(version)}
	return o, schema.Each(metadata, func(number int32, entry []byte) error {
		if number != metaAnnotations {
			return nil
		}
		var key, value []byte
		err := schema.Each(entry, func(number int32, content []byte) error {
			switch number {
			case 1:
				key = content
			case 2:
				value = content
			}
			return nil
		})
		if string(key) == metav1.InitialEventsAnnotationKey {
			o.Raw = bytes.Clone(value)
		}
		return err
	})
}

// sharedString returns bytes that are never written again as a string.
func sharedString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Encode is no part of what the cache does.
func (d *decoder) Encode(runtime.Object, io.Writer) error {
	return errors.New("the cache writes nothing")
}

// Identifier is for client-go.
func (d *decoder) Identifier() runtime.Identifier { return "windlass" }

// negotiator offers the decoder for what it asks for, and beside protobuf JSON, because the bodies of errors may be
// JSON whatever was asked for.
type negotiator struct{ decoder *decoder }

func (n negotiator) SupportedMediaTypes() []runtime.SerializerInfo {
	if n.decoder.json {
		return []runtime.SerializerInfo{{
			MediaType: jsonType, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer:       n.decoder,
			StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: jsonEvents{}, Framer: json.Framer},
		}}
	}
	all := []runtime.SerializerInfo{{
		MediaType: protobufType, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer: n.decoder,
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: events{},
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}}
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType == jsonType {
			all = append(all, info)
		}
	}
	return all
}

func (n negotiator) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

func (n negotiator) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}
