package life

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// patience is far more than anything takes, for machines on which many tests run at once.
const patience = 3 * time.Minute

// interval is how often a script looks. All scripts are played at a time: at each moment more than a hundred wait, and
// what they ask is work for the API servers, which the managers then wait for.
const interval = 100 * time.Millisecond

// Play makes a namespace, plays the script in it, and returns when what its rest says holds.
func (s *Stage) Play(t testing.TB, script *Script, namespace string) {
	t.Helper()
	if script.Before == nil {
		s.Namespace(t, namespace)
	}
	s.playSteps(t, script.Steps, namespace)
	s.Rest(t, script, namespace)
}

// PlayPart plays one of the script's parts, from 0 on, after all before it; the last one ends with what its rest says.
func (s *Stage) PlayPart(t testing.TB, script *Script, part int, namespace string) {
	t.Helper()
	parts := script.Parts()
	if part == 0 {
		s.Namespace(t, namespace)
	}
	s.playSteps(t, parts[part], namespace)
	if part == len(parts)-1 {
		s.Rest(t, script, namespace)
	}
}

// Before plays what of a script comes before a manager runs. There is nobody who makes accounts.
func (s *Stage) Before(t testing.TB, script *Script, namespace string) {
	t.Helper()
	p := &player{Stage: s, TB: t, namespace: namespace, what: "before"}
	meta := metav1.ObjectMeta{Name: namespace}
	ns := &corev1.Namespace{ObjectMeta: meta}
	_, err := s.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	p.must(err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = s.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	p.must(err)
	s.playSteps(t, script.Before, namespace)
}

func (s *Stage) playSteps(t testing.TB, steps []Step, namespace string) {
	t.Helper()
	p := &player{Stage: s, TB: t, namespace: namespace, watches: map[string]*watch{}}
	for i := range steps {
		step := &steps[i]
		p.what = fmt.Sprintf("step %d, %s", i+1, step.Verb())
		t.Logf("step %d: %s", i+1, step.Verb())
		p.playStep(step)
	}
}

// Rest waits until what the script's rest says holds.
func (s *Stage) Rest(t testing.TB, script *Script, namespace string) {
	t.Helper()
	p := &player{Stage: s, TB: t, namespace: namespace, what: "rest"}
	p.awaitConditions(script.Rest)
}

// Namespace makes a namespace, and returns when pods can be made in it.
func (s *Stage) Namespace(t testing.TB, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, patience+s.Longer, "service account default in "+name, func() (bool, any) {
		_, err := s.Client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, err
	})
}

// player does one step.
type player struct {
	*Stage
	testing.TB
	namespace, what string
	watches         map[string]*watch // by app
}

func (p *player) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v", p.what, err)
	}
}

func (p *player) playStep(s *Step) {
	p.Helper()
	switch {
	case s.Create != nil:
		for i := range max(s.Create.Times, 1) {
			for _, o := range s.Create.Objects {
				p.createObject(o, i)
			}
		}

	case s.Patch != nil:
		p.patchObjects(s.Patch)
	case s.Delete != nil:
		p.deleteObjects(s.Delete)
	case s.End != nil:
		p.endPods(s.End)
	case s.Metrics != nil:
		p.measure(s.Metrics)
	case s.Look != nil:
		p.recordObjects(s.Look)
	case s.Refuse != nil:
		p.refuseChanges(s.Refuse)

	case s.Allow != nil:
		p.allowChanges(s.Allow)
	case s.Watch != nil:
		p.watches[s.Watch.App] = p.startWatch(s.Watch)
	case s.Watched != nil:
		p.watched(s.Watched)
	case s.Until != nil:
		p.awaitConditions(s.Until)
	case s.Expect != nil:
		for i := range s.Expect {
			if why := p.lacksCondition(p.Context(), &s.Expect[i]); why != "" {
				p.Errorf("%s[%d]: %s", p.what, i, why)
			}
		}
	}
}

// createObject makes an object, which may be of a kind that isn't served at once.
func (p *player) createObject(object map[string]any, i int) {
	p.Helper()
	filled, err := p.fillVariables(p.Context(), object, p.namespace, i)
	p.must(err)
	o := &unstructured.Unstructured{Object: filled.(map[string]any)}
	in := p.namespace
	if o.GetNamespace() != "" {
		in = o.GetNamespace()
	}

	status := o.Object["status"]
	what := p.what + ": " + o.GetKind() + " " + o.GetName() + " is made"
	cluster.Poll(p, interval, patience+p.Longer, what, func() (bool, any) {
		gvk := o.GroupVersionKind()
		r, err := p.resource(gvk.Kind+"."+gvk.Version+"."+gvk.Group, in)
		if err != nil {
			return false, err
		}
		made, err := r.Create(p.Context(), o, metav1.CreateOptions{FieldManager: "test"})
		if apierrors.IsNotFound(err) || noAccount(err) {
			return false, err
		}
		if apierrors.IsAlreadyExists(err) && gvk.Kind == "CustomResourceDefinition" {
			return true, nil // it is for all scripts
		}
		p.must(err)
		if status == nil {
			return true, nil
		}
		p.must(p.setStatus(p.Context(), made, status, in))
		return true, nil
	})
}

// noAccount reports whether admission doesn't know yet of the account that pods of a namespace have.
func noAccount(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "serviceaccount")
}

// setStatus writes a status where the resource has one of its own.
func (p *player) setStatus(ctx context.Context, made *unstructured.Unstructured, status any, in string) error {
	gvk := made.GroupVersionKind()
	r, err := p.resource(gvk.Kind+"."+gvk.Version+"."+gvk.Group, in)
	if err != nil {
		return err
	}
	b, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, made.GetName(), types.MergePatchType, b, metav1.PatchOptions{FieldManager: "test"}, "status")
	return err
}

// awaitObjects waits until there are as many of what is meant, and returns the first of them by name.
func (p *player) awaitObjects(
	w *Which, count int, but func(*unstructured.Unstructured) bool,
) (some []unstructured.Unstructured) {
	p.Helper()
	count = max(count, 1)
	what := fmt.Sprintf("%s: %d of %s %s%s", p.what, count, w.Kind, w.Name, w.Selector)
	cluster.Poll(p, interval, patience+p.Longer, what, func() (bool, any) {
		all, err := p.listObjects(p.Context(), w, p.namespace)
		if err != nil {
			return false, err
		}
		some = nil
		for _, o := range all {
			if but == nil || !but(&o) {
				some = append(some, o)
			}
		}
		return len(some) >= count, fmt.Sprintf("%d are there", len(some))
	})
	return some[:count]
}

func (p *player) patchObjects(x *Patch) {
	p.Helper()
	for _, o := range p.awaitObjects(&x.Which, x.Count, nil) {
		kind, body := types.MergePatchType, x.Merge
		if x.JSON != nil {
			kind, body = types.JSONPatchType, x.JSON
		}
		if x.Strategic != nil {
			kind, body = types.StrategicMergePatchType, x.Strategic
		}
		filled, err := p.fillVariables(p.Context(), body, p.namespace, 0)
		p.must(err)
		var sub []string
		if x.Subresource != "" {
			sub = append(sub, x.Subresource)
		}
		p.sendPatch(&o, kind, filled, sub...)
	}
}

func (p *player) sendPatch(o *unstructured.Unstructured, kind types.PatchType, body any, subresources ...string) {
	p.Helper()
	b, err := json.Marshal(body)
	p.must(err)
	r, err := p.resourceOf(o)
	p.must(err)
	_, err = r.Patch(p.Context(), o.GetName(), kind, b, metav1.PatchOptions{FieldManager: "test"}, subresources...)
	p.must(err)
}

// deleteObjects deletes objects, and lets others be quicker.
func (p *player) deleteObjects(x *Delete) {
	p.Helper()
	policy := metav1.DeletePropagationBackground
	if x.Propagation != "" {
		policy = metav1.DeletionPropagation(x.Propagation)
	}
	terminates := func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil }
	var which []unstructured.Unstructured
	if x.All {
		all, err := p.listObjects(p.Context(), &x.Which, p.namespace)
		p.must(err)
		which = all
	} else {
		which = p.awaitObjects(&x.Which, x.Count, terminates)
	}
	for _, o := range which {
		r, err := p.resourceOf(&o)
		p.must(err)
		options := metav1.DeleteOptions{PropagationPolicy: &policy, GracePeriodSeconds: x.Grace}
		err = r.Delete(p.Context(), o.GetName(), options)
		if !apierrors.IsNotFound(err) {
			p.must(err)
		}
	}
}

// endPods writes the status of pods that have ended.
func (p *player) endPods(x *End) {
	p.Helper()
	ago, _ := time.ParseDuration(x.Ago) // checked when it was read
	ended := func(o *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return phase == "Succeeded" || phase == "Failed" || o.GetDeletionTimestamp() != nil
	}

	for _, o := range p.awaitObjects(&x.Which, x.Count, ended) {
		at := time.Now().Add(-ago).UTC().Format(time.RFC3339)
		phase := "Succeeded"
		if x.Code != 0 || x.Reason != "" {
			phase = "Failed"
		}
		status := map[string]any{"phase": phase}
		if x.Reason != "" {
			status["reason"] = x.Reason
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
		var statuses []any
		for _, c := range containers {
			name := c.(map[string]any)["name"]
			terminated := map[string]any{"exitCode": x.Code, "startedAt": at, "finishedAt": at}
			statuses = append(statuses, map[string]any{
				"name": name, "image": "image", "imageID": "image", "state": map[string]any{"terminated": terminated}})
		}
		status["containerStatuses"] = statuses
		if x.Conditions != nil {
			status["conditions"] = x.Conditions
		}
		p.sendPatch(&o, types.StrategicMergePatchType, map[string]any{"status": status}, "status")
	}
}

func (p *player) measure(x *Metrics) {
	p.Helper()
	if p.Metrics == nil {
		p.Fatalf("%s: this cluster has no metrics APIs", p.what)
	}
	for app, of := range x.Use {
		for name, value := range of {
			p.Metrics.Use(app, name, value)
		}
	}
	for name, values := range x.Say {
		p.Metrics.Say(name, values)
	}
}
