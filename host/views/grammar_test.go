package views

import (
	"math/rand/v2"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// path is a path with the kind of values found there; only paths of one kind are joined.
type path struct{ text, kind string }

// known is what the grammar knows of a resource.
type known struct {
	res        abi.Resource
	namespaced bool
	paths      []path
	constants  map[string][]string
	selectors  []string
	fields     []string
}

var owners = []path{{"controller.uid", "uid"}, {"owners.uid", "uid"}, {"metadata.uid", "uid"}}

var knowledge = []known{
	{pods, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}, {"spec.nodeName", "node"},
		{"metadata.labels[app]", "label"},
		{"spec.volumes.persistentVolumeClaim.claimName", "name"}}, owners...),
		map[string][]string{"status.phase": {"Running", "Pending", "Failed"}, "spec.nodeName": nodePool,
			"metadata.labels[tier]": labelPool, "status.conditions.type": {"Ready", "Disk"}},
		nil, []string{"metadata.labels", "spec.nodeName", "status.phase", "status.conditions", "metadata.annotations",
			"metadata.ownerReferences", "status.conditions.type", "status"}},
	{services, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}}, owners...),
		map[string][]string{"spec.clusterIP": {"None"}}, []string{"spec.selector"},
		[]string{"metadata", "spec", "spec.clusterIP"}},
	{endpoints, true, []path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}},
		map[string][]string{"metadata.labels[app]": labelPool}, nil, []string{"subsets", "metadata.labels"}},
	{nodesR, false, []path{{"metadata.name", "node"}, {"metadata.labels[app]", "label"}},
		map[string][]string{"spec.providerID": {"p1"}, "spec.taints.effect": {"NoExecute"}}, nil,
		[]string{"metadata.labels", "spec.providerID", "spec", "spec.taints.key"}},
	{namespaces, false, []path{{"metadata.name", "ns"}}, map[string][]string{"status.phase": {"Terminating"}}, nil,
		[]string{"status.phase", "metadata.labels"}},
	{claims, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}, {"spec.volumeName", "name"},
		{"spec.storageClassName", "class"}}, owners...),
		map[string][]string{"spec.storageClassName": classPool}, nil,
		[]string{"spec.volumeName", "metadata.annotations", "spec"}},
	{volumes, false, []path{{"metadata.name", "name"}, {"spec.storageClassName", "class"}, {"spec.claimRef.name", "name"},
		{"spec.claimRef.namespace", "ns"}},
		map[string][]string{"spec.storageClassName": classPool}, nil, []string{"spec.claimRef", "metadata.labels", "spec"}},
	{replicasets, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}}, owners...),
		map[string][]string{"metadata.labels[app]": labelPool}, []string{"spec.selector"},
		[]string{"spec.selector", "status.replicas", "metadata.annotations", "metadata.ownerReferences", "status"}},
	{deployments, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}}, owners...),
		map[string][]string{"spec.strategy.type": {"Recreate"}}, []string{"spec.selector"},
		[]string{"spec", "spec.strategy.type", "metadata.labels", "metadata.ownerReferences"}},
	{webApps, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.name", "name"}}, owners...),
		map[string][]string{"spec.strategy.type": {"Recreate"}}, []string{"spec.selector"},
		[]string{"spec.selector", "spec.strategy.type", "metadata.labels", "metadata.ownerReferences"}},
	{slicesR, true, append([]path{{"metadata.namespace", "ns"}, {"metadata.labels[kubernetes.io/service-name]", "name"},
		{"metadata.name", "name"}}, owners...),
		map[string][]string{"metadata.labels[app]": labelPool}, nil, []string{"addressType", "metadata.labels"}},
}

func knownOf(r abi.Resource) *known {
	i := slices.IndexFunc(knowledge, func(k known) bool { return k.res == r })
	return &knowledge[i]
}

// pickSome picks at least one, in order.
func pickSome[T any](r *rand.Rand, from []T, percent int) []T {
	var all []T
	for _, f := range from {
		if chance(r, percent) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		all = append(all, pick(r, from))
	}
	return all
}

func constant(r *rand.Rand, k *known) abi.Condition {
	var paths []string
	for p := range k.constants {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	p := pick(r, paths)
	if chance(r, 30) {
		return abi.Condition{Op: abi.OpExists, Path: p, Not: chance(r, 50)}
	}
	return abi.Condition{Op: abi.OpIn, Path: p, Values: pickSome(r, k.constants[p], 40), Not: chance(r, 30)}
}

// randomJoin makes a join of the resource with an earlier view or the key; false if there is nothing to join.
func randomJoin(r *rand.Rand, c *abi.Controller, k *known) (abi.Condition, bool) {
	if !c.Key.Single && chance(r, 30) {
		if c.Key.Path == "" {
			key := knownOf(c.Views[c.Key.View].Resource)
			nameKind := key.paths[slices.IndexFunc(key.paths, func(p path) bool { return p.text == "metadata.name" })].kind
			field, kind := "name", nameKind
			if key.namespaced && chance(r, 50) {
				field, kind = "namespace", "ns"
			}
			if p, ok := pathOfKind(r, k, kind); ok {
				return abi.Condition{Op: abi.OpJoin, Path: p, View: abi.FromKey, ViewPath: field}, true
			}
			return abi.Condition{}, false
		}
		key := knownOf(c.Views[c.Key.View].Resource)
		i := slices.IndexFunc(key.paths, func(p path) bool { return p.text == c.Key.Path })
		if p, ok := pathOfKind(r, k, key.paths[i].kind); ok {
			return abi.Condition{Op: abi.OpJoin, Path: p, View: abi.FromKey, ViewPath: "value"}, true
		}
		return abi.Condition{}, false
	}

	var earlier []int
	for i, v := range c.Views {
		if !v.Lazy {
			earlier = append(earlier, i)
		}
	}

	if len(earlier) == 0 {
		return abi.Condition{}, false
	}
	e := pick(r, earlier)
	far := knownOf(c.Views[e].Resource)
	if len(far.selectors) > 0 && chance(r, 40) {
		return abi.Condition{Op: abi.OpSelected, Path: "metadata.labels", View: int32(e), ViewPath: pick(r, far.selectors)},
			true
	}

	fp := pick(r, far.paths)
	p, ok := pathOfKind(r, k, fp.kind)
	if !ok {
		return abi.Condition{}, false
	}
	if p == "owners.uid" && chance(r, 60) {
		return abi.Condition{Each: true, Path: "metadata.ownerReferences", Where: &abi.Condition{All: []abi.Condition{
			{Op: abi.OpJoin, Path: "uid", View: int32(e), ViewPath: fp.text},
			{Op: abi.OpIn, Path: "blockOwnerDeletion", Values: []string{"true"}}}}}, true
	}

	return abi.Condition{Op: abi.OpJoin, Path: p, View: int32(e), ViewPath: fp.text}, true
}

func pathOfKind(r *rand.Rand, k *known, kind string) (string, bool) {
	var all []string
	for _, p := range k.paths {
		if p.kind == kind {
			all = append(all, p.text)
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return pick(r, all), true
}

func conjunction(r *rand.Rand, c *abi.Controller, k *known) abi.Condition {
	var all []abi.Condition
	for range 1 + r.IntN(3) {
		if j, ok := randomJoin(r, c, k); ok {
			all = append(all, j)
		}
	}
	if chance(r, 35) || len(all) == 0 {
		all = append(all, constant(r, k))
	}
	if len(all) > 1 && chance(r, 15) {
		last := len(all) - 1
		all[last] = abi.Condition{Any: []abi.Condition{all[last], constant(r, k)}}
	}
	return abi.Condition{All: all}
}

// randomController makes a controller of the grammar.
func randomController(r *rand.Rand) abi.Controller {
	c := abi.Controller{Name: "random"}
	k := &knowledge[r.IntN(len(knowledge))]
	key := abi.View{Name: "key", Resource: k.res, Fields: pickSome(r, k.fields, 50)}
	if chance(r, 30) {
		w := constant(r, k)
		key.Where = &w
	}

	switch x := r.IntN(10); {
	case x == 0:
		c.Key.Single = true
	case x < 3:
		c.Key.Path = pick(r, k.paths).text
	}

	c.Views = append(c.Views, key)
	for range 1 + r.IntN(4) {
		k := &knowledge[r.IntN(len(knowledge))]
		v := abi.View{Name: "v", Resource: k.res, Fields: pickSome(r, k.fields, 40)}
		var any []abi.Condition
		for range 1 + r.IntN(2) {
			any = append(any, conjunction(r, &c, k))
		}
		w := abi.Condition{Any: any}
		v.Where = &w
		if chance(r, 20) {
			v.Guard = randomGuard(r, &c)
		}
		switch r.IntN(10) {
		case 0, 1:
			v.Count = int32(1 + r.IntN(3))
		case 2, 3:
			v.Lazy, v.Distinct = true, k.res != schema.Any && chance(r, 30)
			if chance(r, 50) {
				v.AskBy = []string{pick(r, k.paths).text}
			}
		}
		decorate(r, &v)
		c.Views = append(c.Views, v)
	}

	decorate(r, &c.Views[0])
	return c
}

func randomGuard(r *rand.Rand, c *abi.Controller) *abi.Condition {
	var earlier []int
	for i, v := range c.Views {
		if !v.Lazy {
			earlier = append(earlier, i)
		}
	}

	if len(earlier) == 0 {
		return nil
	}
	leaf := func() abi.Condition {
		e := pick(r, earlier)
		if chance(r, 25) {
			return abi.Condition{Op: abi.OpExists, View: int32(e), Not: chance(r, 50)}
		}
		l := constant(r, knownOf(c.Views[e].Resource))
		l.View = int32(e)
		return l
	}

	g := abi.Condition{All: []abi.Condition{leaf()}}
	if chance(r, 40) {
		g.All = append(g.All, leaf())
	}
	if chance(r, 30) {
		g = abi.Condition{Any: []abi.Condition{g, leaf()}}
	}
	return &g
}

// decorate makes parts of a view quiet.
func decorate(r *rand.Rand, v *abi.View) {
	switch r.IntN(8) {
	case 0:
		v.Quiet = []string{"*"}
	case 1:
		v.Quiet = pickSome(r, v.Fields, 30)
	case 2:
		if slices.Contains(v.Fields, "status") || slices.Contains(v.Fields, "spec") || slices.Contains(v.Fields, "metadata") {
			v.Quiet = []string{"metadata.annotations"}
		}
	}
	if chance(r, 20) {
		v.QuietOn = pickSome(r, []string{abi.QuietAdd, abi.QuietUpdate, abi.QuietDelete}, 40)
	}
	if chance(r, 20) {
		v.Batch = 1e9
	}
}
