package module

import (
	"bytes"
	"encoding/binary"
	"runtime"
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

// What is small on the wire, and would be large in memory or in JSON, is refused before it is decoded.
func TestHelpersAreBounded(t *testing.T) {
	containers := bytes.Repeat([]byte("\x12\x00"), 500_000) // of a pod's spec: a megabyte that becomes one of 350 MB
	spec := append(binary.AppendUvarint([]byte{0x12}, uint64(len(containers))), containers...)
	for _, x := range []struct{ name, head, body, want string }{
		{"json_form", "v1/PodTemplateSpec", string(spec), "decoded it would take more than 16777216 bytes of memory"},
		{"template_hash", "", string(spec[:200_000]), "the message is cut short"},
		{"protobuf_form", "v1/PodTemplateSpec", `{"Spec":{"containers":[` + strings.Repeat("{},", 50_000) + `{}]}}`,
			"decoded it would take more than 16777216 bytes of memory"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := CallHelper(x.name, []byte(x.head+"\n"+x.body))
		runtime.ReadMemStats(&after)
		if got[0] != 1 || !strings.Contains(string(got), x.want) {
			t.Errorf("%s: %.200s, want %s", x.name, got, x.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s allocated %d bytes", x.name, took)
		}
	}

	small := bytes.Repeat([]byte("\x12\x00"), 50_000)
	template := append(binary.AppendUvarint([]byte{0x12}, uint64(len(small))), small...)
	if got := CallHelper("template_hash", append([]byte("\n"), template...)); !strings.Contains(string(got), "16777216 bytes") {
		t.Errorf("the hash of 50,000 containers: %.200s", got)
	}
	if got := CallHelper("template_hash", append([]byte("\n"), template[:0]...)); got[0] != 0 {
		t.Errorf("the hash of nothing: %.200s", got)
	}
}

// What an object that the API server admits can have in it is read: a long text with braces, and as many small things
// as fit into 1.5 MB.
func TestHelpersTakeWhatIsAdmitted(t *testing.T) {
	const objectMax = 3 << 19 // bytes that etcd takes
	pod := func(change func(*corev1.Container)) *corev1.PodTemplateSpec {
		p := &corev1.PodTemplateSpec{}
		p.Annotations = map[string]string{"config": strings.Repeat("{", 250_000)}
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "x"}}
		change(&p.Spec.Containers[0])
		return p
	}

	for name, template := range map[string]*corev1.PodTemplateSpec{
		"braces": pod(func(*corev1.Container) {}),
		"a long text": pod(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 1_200_000)}}
		}),
		"many ports": pod(func(c *corev1.Container) {
			for i := range int32(60_000) {
				c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: i + 1, Protocol: corev1.ProtocolTCP})
			}
		}),
		"many variables": pod(func(c *corev1.Container) {
			for range 100_000 {
				c.Env = append(c.Env, corev1.EnvVar{Name: "A"})
			}
		}),
	} {
		raw, err := template.Marshal()
		if err != nil || len(raw) > objectMax {
			t.Fatalf("%s: %d bytes, %v", name, len(raw), err)
		}
		text := CallHelper("json_form", append([]byte("v1/PodTemplateSpec\n"), raw...))
		if text[0] != 0 {
			t.Errorf("%s: json_form: %.200s", name, text[1:])
			continue
		}
		back := CallHelper("protobuf_form", append([]byte("v1/PodTemplateSpec\n"), text[1:]...))
		if back[0] != 0 || !bytes.Equal(back[1:], raw) {
			t.Errorf("%s: protobuf_form: %.200s", name, back)
		}
		if hash := CallHelper("template_hash", append([]byte("\n"), raw...)); hash[0] != 0 {
			t.Errorf("%s: template_hash: %.200s", name, hash[1:])
		}
	}
}
