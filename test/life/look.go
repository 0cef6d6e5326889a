package life

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Lines are what a script has left behind: a line for each field of each object and for each kind of event, with
// its value.
type Lines map[string]string

// unlooked resources are nobody's affair here; events are looked at by themselves.
var unlooked = []string{"events", "leases", "ipaddresses", "csinodes"}

// Look returns what there is in namespaces now, as [Lines] by namespace: objects without what two runs of the same
// don't have in common, and events. Under "" are those objects without a namespace that the API server didn't come
// with.
func (s *Stage) Look(t testing.TB, names *Names, scripts map[string]*Script) map[string]Lines {
	t.Helper()
	all := map[string]Lines{}
	objects := map[string][]unstructured.Unstructured{}
	for _, r := range s.resources(t) {
		l, err := s.Dynamic.Resource(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		for _, o := range l.Items {
			objects[homeNamespace(&o, scripts)] = append(objects[homeNamespace(&o, scripts)], o)
		}
	}
	for namespace, script := range scripts {
		all[namespace] = names.objectLines(objects[namespace], namespace, script)
		maps.Copy(all[namespace], s.glances(names, namespace, script))
		for what, n := range s.eventCounts(t, names, namespace, script) {
			all[namespace][what] = n
		}
	}
	return all
}

// recordObjects takes objects down as they are.
func (p *player) recordObjects(which []Which) {
	p.Helper()
	g := glance{step: p.what}
	for i := range which {
		l, err := p.listObjects(p.Context(), &which[i], p.namespace)
		p.must(err)
		g.objects = append(g.objects, l...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked[p.namespace] = append(p.looked[p.namespace], g)
}

// glances are what a script's steps have looked at.
func (s *Stage) glances(names *Names, namespace string, script *Script) Lines {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Lines{}
	for _, g := range s.looked[namespace] {
		for what, v := range names.objectLines(g.objects, namespace, script) {
			all[g.step+": "+what] = v
		}
	}
	return all
}

// homeNamespace returns the namespace of the script whose object it is: of one without a namespace, the script that its
// label names.
func homeNamespace(o *unstructured.Unstructured, scripts map[string]*Script) string {
	in := o.GetNamespace()
	if o.GetKind() == "Namespace" {
		in = o.GetName()
	} else if in == "" {
		in = o.GetLabels()["life"]
	}
	for namespace, s := range scripts {
		if in == namespace || slices.Contains(s.Namespaces, in) {
			return namespace
		}
	}
	return in
}

// resources are all that can be listed, each in its preferred version.
func (s *Stage) resources(t testing.TB) (all []schema.GroupVersionResource) {
	t.Helper()
	lists, err := s.Client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Logf("discovery: %v", err) // an API that doesn't answer may be part of a script
	}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			unlooked := slices.Contains(unlooked, r.Name) || strings.HasSuffix(gv.Group, "metrics.k8s.io")
			if slices.Contains(r.Verbs, "list") && !unlooked {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

// others tell of things, too: the scheduler, kubelets and the API server.
var others = []string{"default-scheduler", "kwok", "kubelet",
	"ipallocator-repair-controller", "portallocator-repair-controller"}

// eventCounts returns the events of a script's namespaces, with how often each was told, unless that is a matter of
// timing.
func (s *Stage) eventCounts(t testing.TB, names *Names, namespace string, script *Script) map[string]string {
	t.Helper()
	counts := map[string]int{}
	for _, in := range append([]string{namespace}, script.Namespaces...) {
		l, err := s.Client.CoreV1().Events(in).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Items {
			if slices.Contains(others, e.Source.Component) || slices.Contains(others, e.ReportingController) {
				continue
			}
			normal := names.normalFor(namespace, script)
			message, by := normal.normalText(e.Message), e.Source.Component+"/"+e.ReportingController
			if script.Counts == "vary" {
				// Many are told as one, which has no reporting controller.
				message = number.ReplaceAllString(strings.TrimPrefix(message, "(combined from similar events): "), "N")
				by = e.Source.Component
			}
			o := e.InvolvedObject
			line := fmt.Sprintf("event of %s %s %s %s: %s %s by %s: %s",
				o.APIVersion, o.Kind, normal.normalText(o.Name), o.FieldPath, e.Type, e.Reason, by, message)
			counts[line] += int(max(e.Count, 1))
		}
	}

	all := map[string]string{}
	for line, n := range counts {
		all[line] = fmt.Sprint(n, " times")
		if script.Counts == "vary" {
			all[line] = "told"
		}
	}
	return all
}

// managers are who has written an object, each how and what of it. The native manager goes by the name of the
// program that it is part of here, and so do scheduler and kubelets: of the status of pods only what is of a
// controller's condition counts.
func managers(o *unstructured.Unstructured) (all []string) {
	for _, f := range o.GetManagedFields() {
		name := f.Manager
		if name == filepath.Base(cluster.Binary()) {
			name = "kube-controller-manager"
		}
		if o.GetKind() == "Pod" && f.Subresource == "status" && f.FieldsV1 != nil && name == "kube-controller-manager" &&
			!strings.Contains(f.FieldsV1.GetRawString(), "DisruptionTarget") {
			continue
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", name, f.Operation, f.Subresource)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
