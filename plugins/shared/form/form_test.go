package form_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	wholejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"

	"github.com/windlass-dev/windlass/abi/wire"
	_ "github.com/windlass-dev/windlass/author/guest/guesttest" // brings the host's helpers
	"github.com/windlass-dev/windlass/plugins/shared/form"
	guestcorev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// large is a number that a float64 can't hold.
const large = 1<<53 + 1

// templates are pod templates as the API server has them, by what is special about them.
func templates() map[string]*corev1.PodTemplateSpec {
	of := func(change ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
		t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
		for _, f := range change {
			f(t)
		}
		return t
	}
	seconds, yes, none := int64(large), true, int64(0)

	return map[string]*corev1.PodTemplateSpec{
		"nothing": {},
		"small":   of(),
		"a number that no float holds": of(func(t *corev1.PodTemplateSpec) {
			t.Spec.ActiveDeadlineSeconds = &seconds
		}),
		"keys that are to be sorted": of(func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"z": "1", "a": "2", "A": "3", "$patch": "4", "é": "5", "": "6"}
		}),
		"what HTML and JSON escape": of(func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Args = []string{"<a&b>", "\"\\\n\x01\u2028", "é世", ""}
		}),
		"zeros that are said": of(func(t *corev1.PodTemplateSpec) {
			t.Spec.TerminationGracePeriodSeconds, t.Spec.AutomountServiceAccountToken = &none, &yes
		}),
		"quantities, ports and times": of(func(t *corev1.PodTemplateSpec) {
			t.CreationTimestamp = metav1.Unix(1_800_000_000, 0)
			c := &t.Spec.Containers[0]
			c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.1"), "memory": resource.MustParse("1.5Gi")}
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Port: intstr.FromString("http")}}}
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{
				Port: intstr.FromInt32(80)}}}
		}),
		"empty members": of(func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			t.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}),
	}
}

// ours returns a template as plugins have it.
func ours(t *testing.T, from *corev1.PodTemplateSpec) *guestcorev1.PodTemplateSpec {
	t.Helper()
	b, err := from.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	out := &guestcorev1.PodTemplateSpec{}
	if err := wire.Unmarshal(b, unsafe.Pointer(out), &guestcorev1.PodTemplateSpecTable); err != nil {
		t.Fatal(err)
	}
	return out
}

// theirs returns a template as upstream's type has it.
func theirs(t *testing.T, from *guestcorev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t.Helper()
	out := &corev1.PodTemplateSpec{}
	if err := out.Unmarshal(wire.Append(nil, unsafe.Pointer(from), &guestcorev1.PodTemplateSpecTable)); err != nil {
		t.Fatal(err)
	}
	return out
}

// A template's JSON is what upstream makes of it on the way into a revision: printed, read into a map, printed again.
// A DaemonSet's numbers stay whole (getPatch in pkg/controller/daemon/update.go), a StatefulSet's become floats
// (pkg/controller/statefulset/stateful_set_utils.go).
func TestTemplateJSON(t *testing.T) {
	differ := 0
	for name, in := range templates() {
		printed, err := json.Marshal(theirs(t, ours(t, in)))
		if err != nil {
			t.Fatal(err)
		}

		var texts []string
		for floats, unmarshal := range map[bool]func([]byte, any) error{false: func(b []byte, v any) error {
			return wholejson.Unmarshal(b, v)
		}, true: json.Unmarshal} {
			var keys map[string]any
			if err := unmarshal(printed, &keys); err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(keys)
			if err != nil {
				t.Fatal(err)
			}

			got, err := form.TemplateJSON(ours(t, in), floats)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s, floats %v: %v\n%s\nwant\n%s", name, floats, err, got, want)
			}
			texts = append(texts, string(got))
		}

		if texts[0] != texts[1] {
			differ++
			if in.Spec.ActiveDeadlineSeconds == nil {
				t.Errorf("%s: floats make a difference:\n%s\n%s", name, texts[0], texts[1])
			}
		}
	}
	if differ != 1 {
		t.Errorf("floats made a difference to %d templates", differ)
	}
}

// A template that is read from JSON is what encoding/json makes of it with upstream's type.
func TestParseTemplate(t *testing.T) {
	texts := map[string]string{
		"nothing":                `{}`,
		"null":                   `null`,
		"a member that isn't":    `{"spec":{"nothing":{"of":"it"}},"$patch":"replace"}`,
		"null members":           `{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}`,
		"another case":           `{"Spec":{"NodeName":"n"}}`,
		"escapes":                `{"spec":{"nodeName":"\u003ca\u0026\u2028"}}`,
		"a quantity as number":   `{"spec":{"overhead":{"cpu":0.25,"memory":"128974848"}}}`,
		"a port as number":       `{"spec":{"containers":[{"readinessProbe":{"tcpSocket":{"port":80}}}]}}`,
		"a number of 2^53 + 1":   `{"spec":{"activeDeadlineSeconds":9007199254740993}}`,
		"a member said twice":    `{"spec":{"nodeName":"a","nodeName":"b"}}`,
		"blanks":                 "\n { \"spec\" : { } } \t",
		"a text for a number":    `{"spec":{"activeDeadlineSeconds":"7"}}`,
		"a number for a text":    `{"spec":{"nodeName":7}}`,
		"too large a number":     `{"spec":{"priority":4294967296}}`,
		"a list":                 `[]`,
		"no quantity":            `{"spec":{"overhead":{"cpu":"many"}}}`,
		"an end that is missing": `{"spec":{}`,
		"more than one":          `{} {}`,
		"no bytes":               ``,
	}
	for name, in := range templates() {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		texts[name+", printed"] = string(b)
	}

	refused := 0
	for name, text := range texts {
		var want corev1.PodTemplateSpec
		failed := json.Unmarshal([]byte(text), &want)
		got, err := form.ParseTemplate([]byte(text))
		if failed != nil {
			refused++
			if err == nil || !strings.Contains(err.Error(), failed.Error()) {
				t.Errorf("%s: error %v, upstream's is %v", name, err, failed)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Upstream, too, sends templates as protobuf, which doesn't know empty lists and maps from none.
		if d := cmp.Diff(theirs(t, ours(t, &want)), theirs(t, got)); d != "" {
			t.Errorf("%s: read otherwise than upstream (-upstream +ours):\n%s", name, d)
		}
	}
	if refused != 8 {
		t.Errorf("%d texts were refused, want 8", refused)
	}
}

// A template's hash is controller.ComputeHash's (pkg/controller/controller_utils.go).
func TestTemplateHash(t *testing.T) {
	zero, one, many, negative := int32(0), int32(1), int32(1<<31-1), int32(-1)
	seen := map[string]string{}
	for name, in := range templates() {
		for _, collisions := range []*int32{nil, &zero, &one, &many, &negative} {
			h := fnv.New32a()
			fmt.Fprint(h, dump.ForHash(*theirs(t, ours(t, in))))
			what := name
			if collisions != nil {
				h.Write(binary.LittleEndian.AppendUint32(nil, uint32(*collisions)))
				h.Write(make([]byte, 4))
				what = fmt.Sprint(name, ", ", *collisions, " collisions")
			}

			want := rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
			got, err := form.TemplateHash(ours(t, in), collisions)
			if err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", what, got, err, want)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%s and %s have the hash %s", what, other, got)
			}
			seen[got] = what
		}
	}
}
