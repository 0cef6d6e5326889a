package effects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/cluster"
)

var (
	configMaps  = abi.Resource{Version: "v1", Name: "configmaps"}
	podsR       = abi.Resource{Version: "v1", Name: "pods"}
	deployments = abi.Resource{Group: "apps", Version: "v1", Name: "deployments"}
	namespaces  = abi.Resource{Version: "v1", Name: "namespaces"}
)

func allowAll(r abi.Resource, subresources ...string) []abi.Write {
	verbs := []string{"create", "update", "patch", "delete", "get", "list", "deletecollection"}
	w := []abi.Write{{Resource: r, Verbs: verbs}}
	for _, s := range subresources {
		w = append(w, abi.Write{Resource: r, Subresource: s, Verbs: verbs})
	}
	return w
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": value}}
}

func (w *world) create(o *corev1.ConfigMap) *abi.Effect {
	return &abi.Effect{Kind: abi.EffectCreate, Resource: "v1/configmaps", Namespace: w.ns,
		Object: schematest.Marshal(w.t, o)}
}

func (w *world) configMaps() []corev1.ConfigMap {
	w.t.Helper()
	l, err := w.kube.CoreV1().ConfigMaps(w.ns).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Items
}

// Each kind of effect does on a real server what its name says.
func TestOnClusterEffects(t *testing.T) {
	w := newWorld(t, abi.Controller{
		EventSource: "test-component",
		Views: []abi.View{{Name: "maps", Resource: configMaps, Fields: []string{"metadata.labels", "data"},
			Lazy: true}},
		Writes: append(append(allowAll(configMaps), allowAll(podsR, "eviction")...),
			abi.Write{Resource: abi.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "subjectaccessreviews"},
				Verbs: []string{"create"}}),
	}, nil)
	ctx := t.Context()
	s := w.beginSession()
	defer s.End()

	o := w.requireOK(s.Perform(ctx,
		[]abi.Effect{*w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"},
			Data: map[string]string{"k": "v"}})}))
	name := o[0].Name
	got, err := w.kube.CoreV1().ConfigMaps(w.ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil || !strings.HasPrefix(name, "made-") || len(name) != 10 || got.GenerateName != "made-" ||
		string(got.UID) != o[0].UID || got.ResourceVersion != o[0].Object.ResourceVersion {
		t.Fatalf("created %q: %v %v", name, got, err)
	}
	at := func(e abi.Effect) abi.Effect {
		e.Resource, e.Namespace = "v1/configmaps", w.ns
		if e.Name == "" {
			e.Name = name
		}
		return e
	}
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch,
		Object: []byte(`{"data":{"merge":"1"}}`)})}))
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectPatch, Patch: abi.StrategicPatch,
		Precondition: abi.PreconditionVersion, Object: []byte(`{"metadata":{"labels":{"l":"1"}}}`)})}))
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectPatch, Patch: abi.JSONPatch,
		Precondition: abi.PreconditionVersion, Object: []byte(`[{"op":"add","path":"/data/json","value":"1"}]`)})}))
	o = w.requireOK(s.Perform(ctx, []abi.Effect{
		at(abi.Effect{Kind: abi.EffectApply, Object: schematest.Marshal(t,
			&corev1.ConfigMap{Data: map[string]string{"applied": "1"}})}),
		at(abi.Effect{Kind: abi.EffectGet}),
		at(abi.Effect{Kind: abi.EffectList}),
		{Kind: abi.EffectView, Ask: &abi.Ask{View: 0}},
		{Kind: abi.EffectReview, Resource: "authorization.k8s.io/v1/subjectaccessreviews",
			Object: schematest.Marshal(t, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "nobody",
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}})},
	}))
	var seen corev1.ConfigMap
	if err := seen.Unmarshal(o[1].Object.Data); err != nil ||
		fmt.Sprint(seen.Data) != "map[applied:1 json:1 k:v merge:1]" || seen.Labels["l"] != "1" ||
		len(seen.ManagedFields) > 0 {
		t.Errorf("live get: %v %v", seen, err)
	}
	if l := o[2].View; len(l.Objects) != 1 || l.StoreVersion == "" || l.Count != 1 {
		t.Errorf("live list: %+v", l)
	}
	var review authorizationv1.SubjectAccessReview
	if err := review.Unmarshal(o[4].Object.Data); err != nil || review.Status.Allowed || review.Spec.User != "nobody" {
		t.Errorf("review: %v %v", review, err)
	}
	got, _ = w.kube.CoreV1().ConfigMaps(w.ns).Get(ctx, name, metav1.GetOptions{})
	owners := map[string]bool{}
	for _, f := range got.ManagedFields {
		owners[f.Manager+" "+string(f.Operation)] = true
	}
	if !owners["test-controller Apply"] || !owners["effects-test Update"] {
		t.Errorf("field managers: %v", owners)
	}

	// An update of what the live get answered.
	seen.Data["k"] = "updated"
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectUpdate, Object: schematest.Marshal(t, &seen)})}))
	before := w.sent.Load()
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectUpdate, Object: schematest.Marshal(t, &seen)})}))
	if w.sent.Load() != before {
		t.Error("an update that changes nothing was sent")
	}

	// Dry run.
	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectDelete, DryRun: true})}))
	dry := w.create(configMap("dry", "1"))
	dry.DryRun = true
	w.requireOK(s.Perform(ctx, []abi.Effect{*dry}))
	if m := w.configMaps(); len(m) != 1 || m[0].Data["k"] != "updated" {
		t.Errorf("after an update and dry runs: %v", m)
	}

	w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectEvent, Resource: "v1/configmaps", Namespace: w.ns, Name: name,
		Event: &abi.EventData{Type: "Normal", Reason: "Tested", Message: "told"}}}))
	cluster.Eventually(t, time.Minute, "the event is there", func() (bool, any) {
		l, err := w.kube.CoreV1().Events(w.ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(l.Items) == 1 && l.Items[0].Source.Component == "test-component" &&
			l.Items[0].Message == "told" &&
			l.Items[0].InvolvedObject.Kind == "ConfigMap" && l.Items[0].InvolvedObject.UID == got.UID, fmt.Sprint(l, err)
	})
	if form := w.proxy.contentTypeOf("events"); form != envelope.Protobuf {
		t.Errorf("the event was sent as %q, want %q, which costs less to make", form, envelope.Protobuf)
	}

	w.requireOK(s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectDelete})}))
	out, _ := s.Perform(ctx, []abi.Effect{at(abi.Effect{Kind: abi.EffectDelete}),
		at(abi.Effect{Kind: abi.EffectGet, Always: true}), at(abi.Effect{Kind: abi.EffectGet, Tolerate: abi.TolerateNotFound,
			Always: true}), at(abi.Effect{Kind: abi.EffectGet})})
	if out[0].Reason != "NotFound" || out[1].Reason != "NotFound" || out[2].Code != abi.CodeOK ||
		out[3].Code != abi.CodeSkipped {
		t.Errorf("after the delete: %+v", out)
	}
	w.requireOK(s.Perform(ctx, []abi.Effect{*w.create(configMap("a", "1")), *w.create(configMap("b", "1"))}))
	w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectDeleteCollection, Resource: "v1/configmaps",
		Namespace: w.ns}}))
	if m := w.configMaps(); len(m) > 0 {
		t.Errorf("after a deletecollection: %v", m)
	}
}

// Pods are evicted under their disruption budget, and patched, for no controller may update them.
func TestOnClusterPods(t *testing.T) {
	w := newWorld(t, abi.Controller{
		Views: []abi.View{{Name: "pods", Resource: podsR, Fields: []string{"metadata.labels", "metadata.finalizers",
			"status.phase", "spec.nodeName"}}},
		Writes: []abi.Write{{Resource: podsR, Verbs: []string{"create", "patch", "delete"}},
			{Resource: podsR, Subresource: "eviction", Verbs: []string{"create"}}},
	}, nil)

	ctx := t.Context()
	if _, err := w.kube.CoreV1().ServiceAccounts(w.ns).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	p := pod(func(p *corev1.Pod) {
		p.Namespace, p.Labels, p.Finalizers = w.ns, map[string]string{"app": "x"}, []string{"test/a", "test/b"}
	})
	s := w.beginSession()
	w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: w.ns,
		Object: schematest.Marshal(t, &p)}}))
	cluster.Eventually(t, time.Minute, "the pod runs", func() (bool, any) {
		got, err := w.kube.CoreV1().Pods(w.ns).Get(t.Context(), "p", metav1.GetOptions{})
		return err == nil && got.Status.Phase == corev1.PodRunning, fmt.Sprint(got.Status, err)
	})

	o := w.cachedObject("v1/pods", "p")
	s = w.beginSession(o)
	view := decodeProjected[*corev1.Pod](w, o)
	view.Labels["app"], view.Finalizers = "y", []string{"test/b"}
	w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/pods", Namespace: w.ns, Name: "p",
		Object: schematest.Marshal(t, view)}}))
	got, err := w.kube.CoreV1().Pods(w.ns).Get(ctx, "p", metav1.GetOptions{})
	if err != nil || got.Labels["app"] != "y" || len(got.Finalizers) != 1 || got.Spec.Containers[0].Image != "i" {
		t.Fatalf("%v %v", got, err)
	}

	// A patch of an older version is a conflict.
	s = w.beginSession(o)
	out, _ := s.Perform(ctx, []abi.Effect{{Kind: abi.EffectUpdate, Resource: "v1/pods", Namespace: w.ns, Name: "p",
		Object: schematest.Marshal(t, view)}})
	if out[0].Reason != "Conflict" {
		t.Errorf("a stale patch: %+v", out[0])
	}

	min := intstr.FromInt32(1)
	if _, err := w.kube.PolicyV1().PodDisruptionBudgets(w.ns).Create(ctx,
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "pdb"},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &min,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "y"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	o = w.cachedObject("v1/pods", "p")
	s = w.beginSession(o)
	evict := abi.Effect{Kind: abi.EffectEvict, Resource: "v1/pods", Namespace: w.ns, Name: "p"}
	if out, _ = s.Perform(ctx, []abi.Effect{evict}); out[0].Reason != "TooManyRequests" {
		t.Errorf("an eviction against the budget: %+v", out[0])
	}

	if err := w.kube.PolicyV1().PodDisruptionBudgets(w.ns).Delete(ctx, "pdb", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.requireOK(s.Perform(ctx, []abi.Effect{evict}))
	if got, err = w.kube.CoreV1().Pods(w.ns).Get(ctx, "p", metav1.GetOptions{}); err != nil ||
		got.DeletionTimestamp == nil {
		t.Errorf("after the eviction: %v %v", got, err)
	}
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	d, err := w.kube.AppsV1().Deployments(w.ns).Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Annotations: map[string]string{"a": "1"}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"x": "y"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// Several writes of one sync to one object: each answer is the base of the next, and status writes carry annotations.
func TestOnClusterMovingBase(t *testing.T) {
	w := newWorld(t, abi.Controller{
		Views: []abi.View{{Name: "d", Resource: deployments,
			Fields: []string{"metadata.annotations", "spec.replicas", "status"}}},
		Writes: allowAll(deployments, "status", "scale"),
	}, nil)

	ctx := t.Context()
	w.deployment()
	o := w.cachedObject("apps/v1/deployments", "d")
	d := decodeProjected[*appsv1.Deployment](w, o)
	effect := func(sub string) abi.Effect {
		return abi.Effect{Kind: abi.EffectUpdate, Resource: "apps/v1/deployments", Subresource: sub, Namespace: w.ns,
			Name: "d", Object: schematest.Marshal(t, d),
			UID: string(d.UID), Version: d.ResourceVersion} // as the SDK fills them in
	}

	// The guest changes spec and status of one object, then writes it twice.
	three := int32(3)
	d.Spec.Replicas, d.Status.ObservedGeneration, d.Annotations["a"] = &three, 1, "2"
	effects := []abi.Effect{effect("status"), effect("")}
	d.Status.Replicas = 2
	effects = append(effects, effect("status"))
	s := w.beginSession(o)
	if err := s.Finish(ctx, effects); err != nil {
		t.Fatal(err)
	}

	got, err := w.kube.AppsV1().Deployments(w.ns).Get(ctx, "d", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 3 || got.Status.ObservedGeneration != 1 || got.Status.Replicas != 2 ||
		got.Annotations["a"] != "2" {
		t.Fatalf("%+v %+v %v", got.Spec.Replicas, got.Status, err)
	}

	// The same with performs in between, through the answers.
	o = w.cachedObject("apps/v1/deployments", "d")
	d = decodeProjected[*appsv1.Deployment](w, o)
	s = w.beginSession(o)
	for i := range int32(3) {
		d.Status.Replicas = 10 + i
		out := w.requireOK(s.Perform(ctx, []abi.Effect{effect("status")}))
		d = schematest.Unmarshal(t, o.Resource, out[0].Object.Data).(*appsv1.Deployment)
		d.Annotations[fmt.Sprint("performed-", i)] = "1"
		out = w.requireOK(s.Perform(ctx, []abi.Effect{effect("")}))
		d = schematest.Unmarshal(t, o.Resource, out[0].Object.Data).(*appsv1.Deployment)
	}

	// A patch whose answer the guest's object doesn't take, then an update of that object: both stay.
	stale := effect("")
	patch := stale
	patch.Kind, patch.Patch, patch.Precondition, patch.Object = abi.EffectPatch, abi.MergePatch, abi.PreconditionNone,
		[]byte(`{"metadata":{"annotations":{"patched":"1"}}}`)
	w.requireOK(s.Perform(ctx, []abi.Effect{patch}))
	d.Annotations["after-patch"] = "1"
	out0 := w.requireOK(s.Perform(ctx, []abi.Effect{effect("")}))
	if p := schematest.Unmarshal(t, o.Resource,
		out0[0].Object.Data).(*appsv1.Deployment); p.Annotations["patched"] != "1" || p.Annotations["after-patch"] != "1" {
		t.Errorf("a patch and an update: %v", p.Annotations)
	}

	// A copy from before a performed update is stale: its update conflicts and reverts nothing.
	d.Annotations["too-late"] = "1"
	if out, _ := s.Perform(ctx, []abi.Effect{effect("")}); out[0].Reason != "Conflict" {
		t.Errorf("an update of a stale copy: %+v", out[0])
	}

	// A scale is got live, changed, and written back.
	at := abi.Effect{Kind: abi.EffectGet, Resource: "apps/v1/deployments", Subresource: "scale", Namespace: w.ns,
		Name: "d"}
	out := w.requireOK(s.Perform(ctx, []abi.Effect{at}))
	var scale autoscalingv1.Scale
	if err := scale.Unmarshal(out[0].Object.Data); err != nil || scale.Spec.Replicas != 3 {
		t.Fatalf("scale: %v %v", scale, err)
	}

	scale.Spec.Replicas = 5
	at.Kind, at.Object = abi.EffectUpdate, schematest.Marshal(t, &scale)
	w.requireOK(s.Perform(ctx, []abi.Effect{at}))
	got, err = w.kube.AppsV1().Deployments(w.ns).Get(ctx, "d", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 5 || got.Status.Replicas != 12 || got.Annotations["performed-2"] != "1" ||
		got.Spec.Template.Spec.Containers[0].Image != "i" {
		t.Fatalf("%+v %+v %v", got.Annotations, got.Status, err)
	}
}

// An answer with one forbidden or malformed effect is refused with all the others.
func TestOnClusterRefusals(t *testing.T) {
	refused := 0
	w := newWorld(t, abi.Controller{
		Views:  []abi.View{{Name: "maps", Resource: configMaps, Fields: []string{"metadata.labels[a]"}}},
		Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"create", "update", "patch"}}},
	}, func(o *Options) {
		o.Metrics.Refused = func() { refused++ }
		o.Grant = granted(t, grant.Rule{APIGroups: []string{"*"}, Resources: []string{"*"},
			Verbs: []string{"create", "update"}})
	})

	s := w.beginSession()
	w.requireOK(s.Perform(t.Context(), []abi.Effect{*w.create(configMap("there", "1"))}))
	o := w.cachedObject("v1/configmaps", "there")
	view := decodeProjected[*corev1.ConfigMap](w, o)
	view.Data = map[string]string{"k": "2"}
	fine := *w.create(configMap("never", "1"))
	named := func(e abi.Effect) abi.Effect {
		if e.Resource == "" {
			e.Resource = "v1/configmaps"
		}
		if e.Namespace == "" {
			e.Namespace = w.ns
		}
		if e.Name == "" {
			e.Name = "there"
		}
		return e
	}

	for what, c := range map[string]struct {
		bad  abi.Effect
		want string
	}{
		"verb": {named(abi.Effect{Kind: abi.EffectDelete}),
			"effect 1 (delete v1/configmaps) refused, nothing of the answer was written: it is not among the writes"},
		"grant": {named(abi.Effect{Kind: abi.EffectPatch, Patch: abi.MergePatch, Object: []byte("{}")}),
			"(patch v1/configmaps) refused, nothing of the answer was written: the operator hasn't granted it: plugins[test].grant has no rule with apiGroups: [\"\"], resources: [configmaps], verbs: [patch]"},
		"subresource": {named(abi.Effect{Kind: abi.EffectUpdate, Subresource: "status", Object: []byte{}}),
			"(update v1/configmaps/status)"},
		"resource": {named(abi.Effect{Kind: abi.EffectCreate, Resource: "v1/secrets", Object: []byte{1}}),
			"(create v1/secrets)"},
		"no resource": {named(abi.Effect{Kind: abi.EffectCreate, Resource: "configmaps"}), "is not a resource"},
		"evict":       {named(abi.Effect{Kind: abi.EffectEvict, Resource: "v1/pods"}), "(create v1/pods)"},
		"event":       {named(abi.Effect{Kind: abi.EffectEvent}), "names no eventSource"},
		"kind":        {named(abi.Effect{Kind: 99}), "unknown kind of effect 99"},
		"bytes":       {named(abi.Effect{Kind: abi.EffectUpdate, Object: []byte{0xff}}), "the object: field at byte 0"},
		"unseen field": {named(abi.Effect{Kind: abi.EffectUpdate, Object: schematest.Marshal(t, view)}),
			"it changes data[k] without having seen all of it"},
		"unseen": {named(abi.Effect{Kind: abi.EffectUpdate, Name: "other", Object: schematest.Marshal(t, view)}),
			"none of the views"},
		"no name": {named(abi.Effect{Kind: abi.EffectUpdate, Name: "../x", Object: schematest.Marshal(t, view)}),
			"none of the views"},
		"member": {abi.Effect{Kind: abi.EffectGroup, Members: []abi.Effect{fine,
			named(abi.Effect{Kind: abi.EffectDelete})}}, "effect 1.1 (delete"},
		"no sibling": {abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{}}, "no siblings"},
	} {
		t.Run(what, func(t *testing.T) {
			before := refused
			s := w.beginSession(o)
			effects := []abi.Effect{fine, c.bad}
			_, performed := s.Perform(t.Context(), effects)
			for _, err := range []error{performed, s.Check(effects), s.Finish(t.Context(), effects)} {
				if !Refused(err) || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), `plugin "test": controller test-controller: key `+w.ns+"/key: effect 1") {
					t.Errorf("got %v, want %s", err, c.want)
				}
			}
			if refused != before+3 || s.Writes() > 0 {
				t.Errorf("%d refusals were counted, %d writes", refused-before, s.Writes())
			}
		})
	}

	if m := w.configMaps(); len(m) != 1 {
		t.Errorf("a refused answer wrote: %v", m)
	}
}

// In a terminating namespace a slow start stops after its first member, and the failure has a name.
func TestOnClusterGroups(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: allowAll(configMaps)}, nil)
	ctx := t.Context()
	members := func(n int, prefix string) []abi.Effect {
		var m []abi.Effect
		for i := range n {
			m = append(m, *w.create(configMap(fmt.Sprint(prefix, i), "1")))
		}
		return m
	}
	out := w.requireOK(w.beginSession().Perform(ctx, []abi.Effect{{Kind: abi.EffectGroup, Mode: abi.SlowStart,
		Members: members(20, "slow")}}))
	if len(out[0].Members) != 20 || len(w.configMaps()) != 20 {
		t.Fatalf("slow start: %d made", len(w.configMaps()))
	}
	// All but three fail: four more are tried at most, however long each takes.
	m := append(members(3, "more"), members(20, "slow")[3:]...)
	out, _ = w.beginSession().Perform(ctx, []abi.Effect{{Kind: abi.EffectGroup, Mode: abi.SlowStart, Members: m},
		*w.create(configMap("after", "1")), func() abi.Effect {
			e := *w.create(configMap("always",
				"1"))
			e.Always = true
			return e
		}()})
	codes := make([]int, 3)
	for _, o := range out[0].Members {
		codes[o.Code]++
	}
	if failed := codes[abi.CodeFailed]; codes[abi.CodeOK] != 3 || failed < 1 || failed > 4 ||
		!slices.IsSortedFunc(out[0].Members, func(a, b abi.Outcome) int { return cmp.Compare(a.Code, b.Code) }) {
		t.Errorf("a failing slow start: %d done, %d failed, %d skipped", codes[abi.CodeOK], failed, codes[abi.CodeSkipped])
	}
	if out[0].Code != abi.CodeFailed || out[0].Reason != "AlreadyExists" || out[1].Code != abi.CodeSkipped ||
		out[2].Code != abi.CodeOK {
		t.Errorf("what follows a failing slow start: %v %q, %v, %v", out[0].Code, out[0].Reason, out[1].Code, out[2].Code)
	}
	if n := len(w.configMaps()); n != 20+3+1 {
		t.Errorf("%d objects", n)
	}
	// Independent members, two of them sequences; a failure stops its sequence alone.
	taken := *w.create(configMap("slow0", "1"))
	out, err := w.beginSession().Perform(ctx, []abi.Effect{{Kind: abi.EffectGroup, Mode: abi.Independent,
		Members: []abi.Effect{
			{Kind: abi.EffectGroup, Members: []abi.Effect{taken, *w.create(configMap("s1", "1"))}},
			{Kind: abi.EffectGroup, Members: []abi.Effect{*w.create(configMap("s2", "1")), *w.create(configMap("s3", "1"))}},
		}}, *w.create(configMap("s4", "1"))})
	if err != nil || out[0].Code != abi.CodeOK || out[0].Members[0].Code != abi.CodeFailed ||
		out[0].Members[0].Members[1].Code != abi.CodeSkipped || out[0].Members[1].Code != abi.CodeOK ||
		out[1].Code != abi.CodeOK {
		t.Errorf("independent: %+v %v", out, err)
	}
	if err := w.kube.CoreV1().Namespaces().Delete(ctx, w.ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := w.sent.Load()
	err = w.beginSession().Finish(ctx, []abi.Effect{{Kind: abi.EffectGroup, Mode: abi.SlowStart,
		Members: members(20, "late")}})
	if !NamespaceTerminating(err) || w.sent.Load() != before+1 {
		t.Errorf("in a terminating namespace: %d requests, %v", w.sent.Load()-before, err)
	}
	tolerant := members(20, "late")
	for i := range tolerant {
		tolerant[i].Tolerate = abi.TolerateNamespaceTerminating
	}
	w.requireOK(w.beginSession().Perform(ctx, tolerant[:1]))

	// An object that is still there asks once, whatever it wants.
	before = w.sent.Load()
	for range 3 {
		s := w.writer.Begin(abi.KeyRef{Namespace: w.ns, Name: "key"}, keyObject{uid: "key"})
		w.requireOK(s.Perform(ctx, []abi.Effect{{Kind: abi.EffectGroup, Mode: abi.SlowStart, Members: tolerant}}))
		s.End()
	}
	if n := w.sent.Load() - before; n != 1 {
		t.Errorf("three syncs in a terminating namespace sent %d creates", n)
	}
}
