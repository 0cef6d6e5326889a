package module

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestObjects(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Name, pod.Spec.NodeName = "web", "<a&b>"
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"name":"web"},"spec":{"containers":null,"nodeName":"\u003ca\u0026b\u003e"},"status":{}}`
	got := Helpers["json_form"](append([]byte("v1/Pod\n"), raw...))
	if got[0] != 0 || string(got[1:]) != want {
		t.Errorf("json_form gives %q, want %s", got, want)
	}
	back := Helpers["protobuf_form"]([]byte("v1/Pod\n" + want))
	var read corev1.Pod
	if err := read.Unmarshal(back[1:]); back[0] != 0 || err != nil || read.Name != pod.Name ||
		read.Spec.NodeName != pod.Spec.NodeName {
		t.Errorf("protobuf_form gives %q: %v", back, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, x := range []struct{ helper, argument, want string }{
		{"json_form", "", "no newline"},
		{"json_form", "v1/Pod", "no newline"},
		{"json_form", "Pod\n", "want group/version/Kind"},
		{"json_form", "v1/Pot\n", "isn't built in"},
		{"json_form", "example.com/v1/Pod\n", "isn't built in"},
		{"json_form", "v1/Pod\n\x0a\xff", "v1/Pod: "},
		{"json_form", "v1/Pod\n\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "v1/Pod: "},
		{"protobuf_form", "v1/Pod\n{", "v1/Pod: "},
		{"protobuf_form", "v1/Pod\n[]", "v1/Pod: "},
		{"template_hash", "many\n", "collision count"},
		{"template_hash", "\n\x0a\xff", "v1/PodTemplateSpec: "},
	} {
		got := Helpers[x.helper]([]byte(x.argument))
		if len(got) == 0 || got[0] != 1 || !strings.Contains(string(got[1:]), x.want) {
			t.Errorf("%s of %q gives %q, want an error with %q", x.helper, x.argument, got, x.want)
		}
	}
}

// What a guest gives may be anything; an answer says whether it worked, and doesn't share the argument's memory, which
// the guest may change.
func FuzzHelpers_answer_whatever_a_guest_gives(f *testing.F) {
	f.Add("v1/Pod\n\x0a\x05\x0a\x03web")
	f.Add("v1/PodTemplateSpec floats\n\x0a\x05\x0a\x03web")
	f.Add("apps/v1/DaemonSet\n{}")
	f.Add("3\n\x12\x00")
	f.Fuzz(func(t *testing.T, argument string) {
		for name, helper := range Helpers {
			b := []byte(argument)
			first := string(helper(b))
			if first == "" || first[0] > 1 {
				t.Fatalf("%s gives %q", name, first)
			}
			answer := helper([]byte(argument))
			clear(b)
			if string(answer) != first {
				t.Fatalf("%s gives %q, then %q", name, first, answer)
			}
		}
	})
}
