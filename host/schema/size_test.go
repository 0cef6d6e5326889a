package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a message takes in memory is known before it is decoded: at least its structs, and not much more than its text.
func TestDecodedSize(t *testing.T) {
	m, err := MessageOf(reflect.TypeFor[corev1.PodTemplateSpec]())
	if err != nil {
		t.Fatal(err)
	}
	container := int(reflect.TypeFor[corev1.Container]().Size())
	template := func(containers int, labels map[string]string) []byte {
		p := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		p.Spec.Containers = make([]corev1.Container, containers)
		b, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}

	for name, x := range map[string]struct {
		b           []byte
		least, most int
	}{
		"nothing":         {template(0, nil), int(reflect.TypeFor[corev1.PodSpec]().Size()), 4 << 10},
		"many containers": {template(1000, nil), 1000 * container, 2000*container + 4<<10},
		"a long label":    {template(0, map[string]string{"a": strings.Repeat("{", 10_000)}), 10_000, 13_000},
		"garbage":         {[]byte("\x07"), -1, -1},
	} {
		size, err := m.DecodedSize(x.b, 100<<20)
		if err == nil {
			var p corev1.PodTemplateSpec
			if err := p.Unmarshal(x.b); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(&p)
			if err != nil {
				t.Fatal(err)
			}
			inJSON, err := m.DecodedJSONSize(text, 100<<20)
			if err != nil || inJSON < x.least || inJSON > x.most {
				t.Errorf("%s: %d bytes in JSON, %v; want %d to %d", name, inJSON, err, x.least, x.most)
			}
		}
		if x.least < 0 {
			if err == nil {
				t.Errorf("%s has %d bytes", name, size)
			}
			continue
		}
		if err != nil || size < x.least || size > x.most {
			t.Errorf("%s: %d bytes, %v; want %d to %d", name, size, err, x.least, x.most)
		}
	}

	if _, err := m.DecodedSize(template(1000, nil), 1000*container); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Errorf("more than it may have: %v", err)
	}

	schemaProps, err := MessageOf(reflect.TypeFor[metav1.ObjectMeta]())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schemaProps.DecodedSize([]byte("\x0a\x01a\x5a\x02\x0a\x00"), 10_000); err != nil {
		t.Error(err)
	}
}
