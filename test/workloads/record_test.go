package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
)

// setName is where a message names a set. Which one a Deployment that recreates its pods names in the end is a matter of chance with either manager: it makes the new set when the
// last old pod has gone, and when its status changes at that very moment, the update that would say so conflicts, and is not made again while no pod is there.
var setName = regexp.MustCompile(`"web-[^"]*"`)

// quiet is how long nothing must change for a space to count as settled.
const quiet = 1500 * time.Millisecond

// record is all that users see of what controllers did here, once nothing changes any more: a line each, without times, and with names that don't depend on chance.
func (s *space) record(steps bool) []string {
	s.Helper()
	last := []string{}
	changes, since := 0, time.Now()
	s.eventually("the space settles", func() (bool, string) {
		lines, ok := s.look(steps)
		n := len(s.deploymentHistory.all()) + len(s.setHistory.all()) + len(s.podHistory.all())
		if !ok || n != changes || !slices.Equal(lines, last) {
			last, changes, since = lines, n, time.Now()
		}
		return time.Since(since) > quiet, strings.Join(lines, "\n")
	})
	return last
}

// look is a record as of now; it fails while the history is behind.
func (s *space) look(steps bool) ([]string, bool) {
	deployments, err := s.deployments.List(s.ctx, metav1.ListOptions{})
	s.must(err)
	sets, pods := s.listSets(), s.listPods()
	events, err := s.client.CoreV1().Events(s.name).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	if !s.deploymentHistory.includes(pointers(deployments.Items)) || !s.setHistory.includes(pointers(sets)) || !s.podHistory.includes(pointers(pods)) {
		return nil, false
	}
	lines := []string{}
	add := func(what string, value any) {
		b, err := json.Marshal(value)
		s.must(err)
		lines = append(lines, what+" "+string(b))
	}
	condition := func(what string, values ...any) {
		lines = append(lines, what+fmt.Sprintf(" condition %s %s %s: %s", values...))
	}
	for _, d := range deployments.Items {
		me := "deployment " + d.Name
		add(me+" labels", d.Labels)
		add(me+" annotations", d.Annotations)
		add(me+" managers", managers(d.ManagedFields))
		x := d.Status
		x.Conditions = nil
		add(me+" status", x)
		for _, c := range d.Status.Conditions {
			if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && c.Type == appsv1.DeploymentProgressing {
				c.Message = setName.ReplaceAllString(c.Message, "some set")
			}
			condition(me, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, rs := range sets {
		me := "set " + rs.Name
		add(me+" labels", rs.Labels)
		add(me+" annotations", rs.Annotations)
		add(me+" managers", managers(rs.ManagedFields))
		add(me+" owners", owners(rs.OwnerReferences))
		add(me+" spec", rs.Spec)
		x := rs.Status
		x.Conditions, x.ObservedGeneration = nil, 0 // the latter is a matter of steps
		add(me+" status", x)
		for _, c := range rs.Status.Conditions {
			condition(me, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, p := range pods {
		me := "pod " + p.Name
		add(me+" generateName", p.GenerateName)
		maps.DeleteFunc(p.Labels, func(label, _ string) bool { return strings.HasPrefix(label, "topology.") }) // the scheduler's choice
		add(me+" labels", p.Labels)
		add(me+" annotations", p.Annotations)
		add(me+" managers", managers(p.ManagedFields))
		add(me+" finalizers", p.Finalizers)
		add(me+" owners", owners(p.OwnerReferences))
	}
	accounts, err := s.client.CoreV1().ServiceAccounts(s.name).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	for _, a := range accounts.Items {
		a.ObjectMeta = metav1.ObjectMeta{Name: a.Name, Labels: a.Labels, Annotations: a.Annotations, OwnerReferences: a.OwnerReferences, Finalizers: a.Finalizers}
		add("account", a)
	}
	bundles, err := s.client.CoreV1().ConfigMaps(s.name).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	for _, m := range bundles.Items {
		m.ObjectMeta = metav1.ObjectMeta{Name: m.Name, Labels: m.Labels, Annotations: m.Annotations, OwnerReferences: m.OwnerReferences, Finalizers: m.Finalizers}
		add("config map", m)
	}
	lines = append(lines, countEvents(events.Items, s.normal, steps)...)
	for i := range lines {
		lines[i] = s.normal(lines[i])
	}
	slices.Sort(lines)
	return slices.Compact(lines), true
}

func pointers[T any](l []T) []*T {
	p := make([]*T, len(l))
	for i := range l {
		p[i] = &l[i]
	}
	return p
}

func owners(l []metav1.OwnerReference) []metav1.OwnerReference {
	l = slices.Clone(l)
	for i := range l {
		l[i].UID = ""
	}
	return l
}

// managers are who has written an object, each how and what of it. The native manager goes by the name of the program that it is part of here, as do the kubelets;
// they write nothing but the status of pods.
func managers(l []metav1.ManagedFieldsEntry) (all []string) {
	for _, f := range l {
		name := f.Manager
		if name == filepath.Base(cluster.Binary()) {
			name = "kube-controller-manager"
		}
		all = append(all, fmt.Sprintf("%s %s %s", name, f.Operation, f.Subresource))
	}
	slices.Sort(all)
	return all
}

var number = regexp.MustCompile(`\b\d+\b`)

// countEvents has a line for each kind of event, with how often it happened, unless that depends on the steps taken.
func countEvents(events []corev1.Event, normal func(string) string, steps bool) []string {
	counts := map[string]int32{}
	for _, e := range events {
		if e.InvolvedObject.Kind == "Pod" {
			continue // the scheduler's
		}
		message, by := normal(e.Message), e.Source.Component+"/"+e.ReportingController
		if steps {
			// Many are reported as one, which has no reporting controller.
			message, by = number.ReplaceAllString(strings.TrimPrefix(message, "(combined from similar events): "), "N"), e.Source.Component
		}
		line := fmt.Sprintf("event of %s %s %s %s: %s %s by %s: %s", e.InvolvedObject.APIVersion, e.InvolvedObject.Kind, normal(e.InvolvedObject.Name), e.InvolvedObject.FieldPath,
			e.Type, e.Reason, by, message)
		counts[line] += e.Count
	}
	var lines []string
	for line, n := range counts {
		if !steps {
			line = fmt.Sprintf("%s (%d times)", line, n)
		}
		lines = append(lines, line)
	}
	return lines
}

// normal replaces names that depend on chance or on the manager: hashes by the set's image and its place among the sets of that image, the random ends of pods' names, and
// the namespace.
func (s *space) normal(text string) string {
	text = strings.ReplaceAll(text, s.name, "NAMESPACE")
	seen := map[string]bool{}
	of := map[string]int{}
	for _, c := range s.setHistory.all() {
		rs := c.object
		if seen[rs.Name] {
			continue
		}
		seen[rs.Name] = true
		if hash := rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
			i := rs.Spec.Template.Spec.Containers[0].Image
			of[i]++
			text = strings.ReplaceAll(text, hash, fmt.Sprintf("<%s,%d>", i, of[i]))
		}
	}
	return random.ReplaceAllString(text, "$1-*")
}

// random is the end of a generated pod name.
var random = regexp.MustCompile(`(>|\bweb|\bother)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
