package awkward

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
)

// uncounted are resources whose objects come and go with what happened, or with the hour.
var uncounted = []string{"events", "leases"}

// Tally returns how many objects each owner has, and which have none, in the namespaces of awkward objects: what a
// manager has made of these. What CronJobs own isn't there: that is by the hour; nor are the orphans.
func (p *Place) Tally(t testing.TB) map[string]int {
	t.Helper()
	all, left := map[string]int{}, map[types.UID]bool{}
	for _, r := range p.counted(t) {
		l, err := p.metadata.Resource(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		for i := range l.Items {
			o := &l.Items[i]
			owner := metav1.GetControllerOf(o)
			switch {
			case !strings.HasPrefix(o.Namespace, Namespace) || strings.HasPrefix(o.Name, child):
			case owner == nil:
				all[fmt.Sprint(r.Resource, " ", o.Namespace, "/", o.Name)]++
			case owner.Kind == "CronJob" || left[owner.UID]:
				left[o.UID] = true
			default:
				// A Deployment's ReplicaSets have other hashes in their names than natively, docs/differences.md: also
				// longer ones, for which long names are cut shorter.
				name := strings.TrimSuffix(owner.Name, "-"+o.Labels[appsv1.DefaultDeploymentUniqueLabelKey])
				all[fmt.Sprintf("%s in %s of %s %.230s", r.Resource, o.Namespace, owner.Kind, name)]++
			}
		}
	}
	return all
}

// counted returns the resources to count, by name: jobs before pods, some of which jobs own that are left out.
func (p *Place) counted(t testing.TB) (all []schema.GroupVersionResource) {
	t.Helper()
	lists, err := p.client.Discovery().ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		t.Fatal(err)
	}
	for _, l := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists) {
		version, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			if !slices.Contains(uncounted, r.Name) {
				all = append(all, version.WithResource(r.Name))
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.Resource, b.Resource) })
	return all
}

// What is known to differ, docs/differences.md: objects whose owner's name natively can't be asked for, and what is
// made for sets whose templates have numbers that natively can't be read back.
var keptNatively = []string{"configmaps awkward/odd-2", "configmaps awkward/odd-3", "configmaps awkward/odd-4"}

const failsNatively = " of StatefulSet "

// Differences returns what two tallies differ in.
func Differences(ours, native map[string]int) (all []string) {
	both := maps.Clone(ours)
	maps.Copy(both, native)
	for _, k := range slices.Sorted(maps.Keys(both)) {
		if ours[k] == 0 && slices.Contains(keptNatively, k) || native[k] == 0 && strings.Contains(k, failsNatively) {
			continue
		}
		if ours[k] != native[k] {
			all = append(all, fmt.Sprintf("%.200s: %d, natively %d", k, ours[k], native[k]))
		}
	}
	return all
}
