package effects

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

func partial(t *testing.T, raw []byte) *metav1.PartialObjectMetadata {
	t.Helper()
	o := &metav1.PartialObjectMetadata{}
	if err := o.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// Metadata of a built-in resource's object is no base for updates of the whole.
func TestOnClusterMetadata(t *testing.T) {
	c := collector()
	c.Views = append(c.Views, abi.View{Name: "d", Resource: deployments,
		Fields: []string{"metadata.annotations", "spec.replicas"}})
	w := newWorld(t, c, discovering)
	ctx := t.Context()
	w.deployment()
	o := w.cachedObject("apps/v1/deployments", "d")
	at := abi.Effect{Resource: "apps/v1/deployments", Namespace: w.ns, Name: "d"}
	metadata := at
	metadata.Kind, metadata.Metadata = abi.EffectGet, true
	s := w.beginSession(o)
	out := w.requireOK(s.Perform(ctx, []abi.Effect{metadata}))
	if d := partial(t, out[0].Object.Data); d.Name != "d" || d.Annotations != nil || len(d.ManagedFields) > 0 {
		t.Errorf("metadata: %+v", d)
	}

	update := at
	d := decodeProjected[*appsv1.Deployment](w, o)
	two := int32(2)
	d.Spec.Replicas = &two
	update.Kind, update.Object, update.Version, update.UID = abi.EffectUpdate, schematest.Marshal(t, d), d.ResourceVersion,
		string(d.UID)
	w.requireOK(s.Perform(ctx, []abi.Effect{update}))
	got, err := w.kube.AppsV1().Deployments(w.ns).Get(ctx, "d", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 2 || got.Spec.Template.Spec.Containers[0].Image != "i" ||
		got.Annotations["a"] != "1" {
		t.Fatalf("updated: %+v %v", got, err)
	}

	patch := metadata
	patch.Kind, patch.Patch, patch.Object = abi.EffectPatch, abi.StrategicPatch,
		[]byte(`{"metadata":{"labels":{"x":"y"}}}`)
	if p := partial(t, w.performOK(patch).Object.Data); p.Labels["x"] != "y" {
		t.Errorf("patched: %+v", p)
	}

	list := metadata
	list.Kind, list.Name = abi.EffectList, ""
	if l := w.performOK(list).View; l.Count != 1 || partial(t, l.Objects[0].Data).Labels["x"] != "y" {
		t.Errorf("listed: %+v", l)
	}

	remove := metadata
	remove.Kind, remove.Propagation, remove.UID = abi.EffectDelete, abi.PropagationOrphan, string(d.UID)
	if p := partial(t, w.performOK(remove).Object.Data); p.DeletionTimestamp == nil || len(p.Finalizers) != 1 {
		t.Errorf("deleted: %+v", p)
	}

	list.Kind = abi.EffectDeleteCollection
	w.performOK(list)
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(ctx, configMap("c", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	list.Resource = "v1/configmaps"
	if o := w.performOK(list); o.Object.ResourceVersion == "" || len(w.configMaps()) > 0 {
		t.Errorf("%+v %v", o, w.configMaps())
	}
}

// What can't be done without knowing an object's type is refused, and without discovery all that isn't built in.
func TestOnClusterMetadataRefusals(t *testing.T) {
	w := newWorld(t, collector(), discovering)
	without := newWorld(t, collector(), nil)
	object := []byte(`{"metadata":{"name":"a"}}`)
	widget := abi.Effect{Resource: "example.com/v1/widgets", Namespace: "n", Name: "a", Object: object,
		Patch: abi.MergePatch}
	deployment := abi.Effect{Resource: "apps/v1/deployments", Namespace: "n", Name: "a", Object: object,
		Patch: abi.MergePatch, Metadata: true}
	with := func(e abi.Effect, kind abi.EffectKind, sub string) abi.Effect {
		e.Kind, e.Subresource = kind, sub
		return e
	}

	for name, e := range map[string]abi.Effect{
		"create":                 with(widget, abi.EffectCreate, ""),
		"update":                 with(widget, abi.EffectUpdate, ""),
		"update of the status":   with(widget, abi.EffectUpdate, "status"),
		"metadata of an update":  with(deployment, abi.EffectUpdate, ""),
		"metadata of a create":   with(deployment, abi.EffectCreate, ""),
		"metadata of an apply":   with(deployment, abi.EffectApply, ""),
		"metadata of a scale":    with(deployment, abi.EffectGet, "scale"),
		"patch of a subresource": with(widget, abi.EffectPatch, "scale"),
		"a delete of anything":   with(widget, abi.EffectDelete, ""),
		"all resources":          {Kind: abi.EffectList, Resource: "v1/*"},
		"a path for a resource": {Kind: abi.EffectGet, Resource: "example.com/v1/../v1/widgets", Namespace: "n",
			Name: "a"},
		"an object without a name": {Kind: abi.EffectGet, Resource: "example.com/v1/widgets", Namespace: "n"},
		"a discovery of nothing":   {Kind: abi.EffectDiscover},
	} {
		s := w.beginSession()
		if _, err := s.Perform(t.Context(), []abi.Effect{e}); !Refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, e := range []abi.Effect{
		{Kind: abi.EffectGet, Resource: "example.com/v1/widgets", Namespace: "n", Name: "a/b"},
		{Kind: abi.EffectGet, Resource: "example.com/v1/widgets", Namespace: "..", Name: "a"},
	} {
		s := w.beginSession()
		o, err := s.Perform(t.Context(), []abi.Effect{e})
		if err != nil || o[0].Reason != string(metav1.StatusReasonNotFound) {
			t.Errorf("a path for a name of %s: %+v, %v", e.Resource, o, err)
		}
	}

	remove := with(widget, abi.EffectDelete, "")
	remove.UID = "u"
	for _, e := range []abi.Effect{
		with(widget, abi.EffectGet, ""), remove, with(widget, abi.EffectGet, "scale"),
		{Kind: abi.EffectDiscover, Discover: &abi.Discover{}},
	} {
		if err := without.beginSession().Check([]abi.Effect{e}); !Refused(err) {
			t.Errorf("without discovery: %s: %v", verbs[e.Kind], err)
		}
		if err := w.beginSession().Check([]abi.Effect{e}); err != nil {
			t.Errorf("with discovery: %s: %v", verbs[e.Kind], err)
		}
	}
}
