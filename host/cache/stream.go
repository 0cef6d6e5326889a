package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/host/schema"
)

// The field numbers of a WatchEvent and of the RawExtension in it.
const (
	eventType, eventObject = 1, 2
	extensionRaw           = 1
)

// events reads a stream's events without a copy: the object's bytes are the stream's own, which the decoder of the
// object has read before the next event comes.
type events struct{}

func (events) Decode(data []byte, _ *kschema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*kschema.GroupVersionKind, error) {
	e, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("a stream has events, not a %T", into)
	}
	*e = metav1.WatchEvent{}
	err := schema.Each(data, func(number int32, content []byte) error {
		switch number {
		case eventType:
			e.Type = internEventType(content)
		case eventObject:
			return schema.Each(content, func(number int32, content []byte) error {
				if number == extensionRaw {
					e.Object.Raw = content
				}
				return nil
			})
		}
		return nil
	})
	return e, nil, err
}

// internEventType returns the type of an event, of which there are few.
func internEventType(b []byte) string {
	for _, k := range [...]string{"MODIFIED", "ADDED", "DELETED", "BOOKMARK"} {
		if string(b) == k {
			return k
		}
	}
	return string(b)
}

// jsonEvents reads events in JSON in the same way.
type jsonEvents struct{ events }

func (jsonEvents) Decode(data []byte, _ *kschema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*kschema.GroupVersionKind, error) {
	e, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("a stream has events, not a %T", into)
	}
	*e = metav1.WatchEvent{}
	err := schema.EachMember(data, func(name, value []byte) error {
		switch string(name) {
		case "type":
			e.Type = internEventType(bytes.Trim(value, `"`))
		case "object":
			e.Object.Raw = value
		}
		return nil
	})
	return e, nil, err
}

func (events) Encode(runtime.Object, io.Writer) error { return errors.New("the cache writes nothing") }

func (events) Identifier() runtime.Identifier { return "windlass-events" }
