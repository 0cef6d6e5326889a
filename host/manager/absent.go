package manager

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// catalogued is a controller that could run here, or that kube-controller-manager has.
type catalogued struct {
	name    string
	here    bool   // a plugin has it
	on      bool   // the list turns it on
	unnamed bool   // the list doesn't name it: "*", or the lack of it, decides
	lost    string // the module without it that has taken the place of the built-in plugin with it
}

// catalogue returns all controllers that the found plugins or kube-controller-manager have, by name, but for those that
// are parts of others.
func catalogue(found []plugins.Found, list []string, aliases map[string]string) (all []catalogued) {
	list = config.Canonical(config.Canonical(list, aliases), kcm.Aliases())
	add := func(name string, here, off bool, lost string) {
		if slices.ContainsFunc(all, func(c catalogued) bool { return c.name == name }) {
			return
		}
		named := slices.Contains(list, name) || slices.Contains(list, "-"+name)
		all = append(all, catalogued{name, here, config.Enabled(name, list, off), !named, lost})
	}
	addAll := func(m *abi.Manifest, lost string) {
		for i := range m.Controllers {
			if c := &m.Controllers[i]; c.PartOf == "" {
				add(c.Name, true, c.DisabledByDefault, lost)
			}
		}
	}

	for _, f := range found {
		addAll(f.Manifest, "")
	}
	for _, f := range found {
		if f.Replaces != nil {
			addAll(f.Replaces, f.String())
		}
	}
	for _, c := range kcm.Controllers {
		add(c.Name, false, c.DisabledByDefault, "")
	}
	slices.SortFunc(all, func(a, b catalogued) int { return strings.Compare(a.name, b.name) })
	return all
}

// endingMost is how many namespaces are told of that are being deleted.
const endingMost = 20

// How often objects that nobody acts for are counted, and how long that may take.
const (
	countEvery = time.Minute
	countMax   = 2 * time.Second
	// countAtOnce is so few that by default no request waits for a second for its turn: client-go logs such a wait, with
	// the request's path.
	countAtOnce = 8
)

// unattended counts the objects that nobody acts for because their controllers don't run. It asks when it is asked: for
// what nobody looks at nothing is read.
type unattended struct {
	mu     sync.Mutex
	client metadata.Interface // made when it is first needed
	asked  time.Time
	counts map[string]int64 // by resource
	ending []state.Ending
}

// countObjects fills in how many objects the absent controllers have of their own, and returns the namespaces that are
// being deleted.
func (u *unattended) countObjects(ctx context.Context, r *rest.Config, l *leaders,
	all []state.Absent) []state.Ending {
	u.mu.Lock()
	defer u.mu.Unlock()
	wanted := map[string][]*state.Absent{} // by resource
	for i := range all {
		if r := kcm.ObjectsOf(all[i].Name); r != "" && l.leadsFor(all[i].Name) {
			wanted[r] = append(wanted[r], &all[i])
		}
	}
	if time.Since(u.asked) >= countEvery {
		u.asked = time.Now()
		u.counts, u.ending = u.queryCounts(ctx, r, l, wanted)
	}
	for r, of := range wanted {
		if n := u.counts[r]; n > 0 {
			for _, a := range of {
				a.Resource, a.Objects = r, n
			}
		}
	}
	return u.ending
}

// queryCounts asks for one object's metadata of each resource, and how many more there are, and for the namespaces that
// are being deleted. What can't be listed, because the API server doesn't serve it or doesn't let us, counts as none.
func (u *unattended) queryCounts(ctx context.Context, config *rest.Config, l *leaders,
	wanted map[string][]*state.Absent) (counts map[string]int64, ending []state.Ending) {
	if u.client == nil {
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, nil
		}
		u.client = client
	}

	ctx, cancel := context.WithTimeout(ctx, countMax)
	defer cancel()
	var asking errgroup.Group // without errors: what can't be listed counts as none
	asking.SetLimit(countAtOnce)
	resources := slices.Collect(maps.Keys(wanted))
	found := make([]int64, len(resources))
	for i, id := range resources {
		if r, ok := abi.ParseResource(id); ok {
			asking.Go(func() error { found[i] = u.count(ctx, r); return nil })
		}
	}

	if l.leadsFor("namespace-controller") {
		asking.Go(func() error { ending = u.listEnding(ctx); return nil })
	}
	_ = asking.Wait()
	counts = map[string]int64{}
	for i, id := range resources {
		counts[id] = found[i]
	}
	return counts, ending
}

// count returns how many objects there are of a resource; none where they can't be listed.
func (u *unattended) count(ctx context.Context, r abi.Resource) int64 {
	l, err := u.client.Resource(schema.GroupVersionResource{Group: r.Group, Version: r.Version,
		Resource: r.Name}).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0
	}
	n := int64(len(l.Items))
	if l.RemainingItemCount != nil {
		n += *l.RemainingItemCount
	}
	return n
}

// listEnding returns the namespaces that are being deleted, those that have been so for longest first.
func (u *unattended) listEnding(ctx context.Context) (all []state.Ending) {
	l, err := u.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx,
		metav1.ListOptions{FieldSelector: "status.phase=Terminating"})
	if err != nil {
		return nil
	}
	for i := range l.Items {
		if since := l.Items[i].DeletionTimestamp; since != nil {
			all = append(all, state.Ending{Namespace: l.Items[i].Name, Since: since.Time})
		}
	}
	slices.SortFunc(all, func(a, b state.Ending) int { return a.Since.Compare(b.Since) })
	return all[:min(len(all), endingMost)]
}

// absentControllers returns the controllers that aren't among those that run, and the namespaces that are being
// deleted.
func (i *inspector) absentControllers(ctx context.Context, running []state.ControllerStatus) ([]state.Absent,
	[]state.Ending) {
	all := []state.Absent{}
	for _, c := range i.chooser.last.Load().known {
		if slices.ContainsFunc(running, func(r state.ControllerStatus) bool { return r.Name == c.name }) {
			continue
		}
		x := state.Absent{Name: c.name, Built: c.here}
		x.State, x.Message = i.whyAbsent(c)
		all = append(all, x)
	}
	if leavesOthers(i.applied.Load().config) {
		return all, nil
	}
	return all, i.unattended.countObjects(ctx, i.rest, i.leaders, all)
}

func (i *inspector) whyAbsent(c catalogued) (why, message string) {
	switch {
	case !c.here && c.on:
		return state.NotBuilt, "isn't built yet"
	case !c.on && c.unnamed:
		message = "is off unless --controllers names it"
	case !c.on:
		message = "is turned off by --controllers"
	case i.leaders.isColdStandby() && !i.leaders.leadsFor(c.name):
		return "Standby", "another process holds its Lease"
	case i.coming.hasController(c.name):
		if i.leaving.has(c.name) {
			return state.Loading, errPredecessor.Error()
		}
		return state.Loading, errComing.Error()
	default:
		return state.LeftOut, "its plugin couldn't be loaded"
	}
	if c.lost != "" {
		message += ", and isn't in " + c.lost + ", which has taken the built-in plugin's place"
	}
	if !c.here {
		message += ", and isn't built yet"
	}
	return state.Disabled, message
}

// leavesOthers reports whether a manager leaves all controllers but its own to another one: it names each of them, and
// runs them under a Lease of its own.
func leavesOthers(c *config.Configuration) bool {
	l, usual := &c.LeaderElection, config.Default().LeaderElection.ResourceName
	return !slices.Contains(c.Controllers, "*") && l.LeaderElect && l.ResourceName != usual
}
