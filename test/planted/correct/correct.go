// Package correct is a controller without a known mistake, in parts. Each of the other folders beside it changes one
// part, and so has one mistake.
//
// It keeps a ConfigMap, called shard, for each replica of a ReplicaSet: NAME-0 and so on, with the data of the
// ConfigMap that the set's annotation names. (They take the place of pods, because nobody else does anything with
// them.) For each set there is a ClusterRole, too, which no owner reference can tie to a set in a namespace: a
// finalizer holds the set until the role is deleted. A shard is available once it is minReadySeconds old.
package correct

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	rbacv1 "github.com/windlass-dev/windlass/sdk/api/rbac/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// What the sets, shards and roles bear.
const (
	ConfigAnnotation = "shards.example.com/config" // of a set: the ConfigMap with its shards' data
	Finalizer        = "shards.example.com/role"
	SetLabel         = "shards.example.com/set" // of a shard and of a role: the set's UID
	IndexKey         = "index"                  // of a shard's data
	Ready            = "Ready"                  // the condition
)

// The objects, by what they are here.
type (
	Set    = appsv1.ReplicaSet
	Status = appsv1.ReplicaSetStatus
	Shard  = corev1.ConfigMap
	Role   = rbacv1.ClusterRole
)

// Parts are the controller: what it reads and may do, and the steps of its sync.
type Parts struct {
	Sets    *sdk.View[Set, *Set]
	Configs *sdk.View[Shard, *Shard]
	Shards  *sdk.View[Shard, *Shard]
	Roles   *sdk.View[Role, *Role]
	*sdk.Controller

	// Hold has the set stay until End lets it go.
	Hold func(c *sdk.Call, s *Set)
	// Config returns the data for the set's shards, and whether it is there.
	Config func(c *sdk.Call, s *Set) (metav1.StringMap, bool)
	// Wanted is how many shards there should be.
	Wanted func(s *Set) int
	// Name names a shard.
	Name func(s *Set, index int) string
	// New is a shard as it should be.
	New func(c *sdk.Call, s *Set, index int, config metav1.StringMap) *Shard
	// Mend sets the data and the label that a shard should have, and reports whether it hadn't.
	Mend func(shard, want *Shard) bool
	// Delete is how a shard or a role is deleted.
	Delete func(o sdk.Object) sdk.Effect
	// Spread creates, mends and deletes shards.
	Spread func(c *sdk.Call, s *Set, shards []*Shard, config metav1.StringMap) error
	// Counts reports whether a shard counts as there.
	Counts func(sh *Shard) bool
	// Report is the status that the shards amount to.
	Report func(c *sdk.Call, s *Set, shards []*Shard) Status
	// Write writes a set that has a new status.
	Write func(s *Set) sdk.Effect
	// Wait comes back when time alone changes the status.
	Wait func(c *sdk.Call, s *Set, shards []*Shard) error
	// End lets a set that is being deleted go.
	End func(c *sdk.Call, s *Set) error
}

// Plugin is the controller as it should be.
var Plugin = New(func(*Parts) {})

// New is the plugin after a change.
func New(change func(p *Parts)) *sdk.Plugin {
	p := &Parts{}
	p.Sets = sdk.Key(appsv1.ReplicaSets).
		Fields("metadata.generation", "metadata.deletionTimestamp", "metadata.finalizers",
			"metadata.annotations["+ConfigAnnotation+"]", "spec.replicas", "spec.minReadySeconds", "status")
	p.Configs = sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(),
		sdk.Join("metadata.name", p.Sets, "metadata.annotations["+ConfigAnnotation+"]")).Named("configs").Fields("data")
	p.Shards = sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(), sdk.ControlledBy(p.Sets)).Named("shards").
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences",
			"data")
	p.Roles = sdk.Select(rbacv1.ClusterRoles,
		sdk.Join("metadata.labels["+SetLabel+"]", p.Sets, "metadata.uid")).Fields("metadata.deletionTimestamp")

	p.Controller = &sdk.Controller{
		Name: "shards-controller", EventSource: "shards-controller",
		Writes: sdk.Writes{appsv1.ReplicaSets.Verbs("update"), appsv1.ReplicaSets.Sub("status", "update"),
			corev1.ConfigMaps.Verbs("create", "update", "delete"), rbacv1.ClusterRoles.Verbs("create", "delete")},
		Sync: p.sync,
	}

	p.Hold, p.Config, p.Wanted, p.Name, p.New, p.Mend, p.Delete, p.Spread = hold, p.config, wanted, name, p.shard, mend,
		remove, p.spread
	p.Counts, p.Report, p.Write, p.Wait, p.End = there, p.report, write, wait, p.end
	change(p)
	if p.Reads == nil {
		p.Reads = sdk.Views{p.Sets, p.Configs, p.Shards, p.Roles}
	}
	return &sdk.Plugin{Name: "shards", Version: "1.0.0",
		Description: "Keeps a ConfigMap for each replica of a ReplicaSet.", Controllers: []*sdk.Controller{p.Controller}}
}

// sync holds the set, gives it its role and its shards, and writes its status, whether or not that worked.
func (p *Parts) sync(c *sdk.Call) error {
	s, ok := p.Sets.Get(c)
	if !ok {
		return nil
	}
	if s.Deleting() {
		return p.End(c, s)
	}

	p.Hold(c, s)
	if len(p.OwnRoles(c, s)) == 0 {
		c.Add(sdk.Create(role(s)))
	}
	shards := p.Shards.List(c)
	config, known := p.Config(c, s)
	var failure error
	if known {
		failure = p.Spread(c, s, shards, config)
	}
	reported := sdk.Clone(s)
	reported.Status = p.Report(c, s, shards)
	if !resource.Equal(reported, s) {
		c.Add(p.Write(reported))
	}
	if failure != nil {
		return failure
	}

	return p.Wait(c, s, shards)
}

func hold(c *sdk.Call, s *Set) {
	s = sdk.Clone(s)
	if s.AddFinalizer(Finalizer) {
		c.Add(sdk.Update(s))
	}
}

func (p *Parts) config(c *sdk.Call, s *Set) (metav1.StringMap, bool) {
	if s.Annotations.Get(ConfigAnnotation) == "" {
		return nil, true
	}
	config, ok := p.Configs.Get(c)
	if !ok {
		return nil, false
	}
	return config.Data, true
}

func wanted(s *Set) int {
	if s.Spec.Replicas == nil {
		return 1
	}
	return int(*s.Spec.Replicas)
}

// nameMax is how long a ConfigMap's name may be.
const nameMax = 253

func name(s *Set, index int) string {
	suffix := "-" + strconv.Itoa(index)
	if len(s.Name)+len(suffix) <= nameMax {
		return s.Name + suffix
	}
	h := fnv.New32a()
	h.Write([]byte(s.Name))
	suffix = "-" + strconv.FormatUint(uint64(h.Sum32()), 36) + suffix
	return s.Name[:nameMax-len(suffix)] + suffix
}

func role(s *Set) *Role {
	r := &Role{}
	r.Name = "shards-" + string(s.UID)
	r.Labels.Set(SetLabel, string(s.UID))
	r.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}
	return r
}

// OwnRoles are the set's: one at most. Somebody else's may bear the label.
func (p *Parts) OwnRoles(c *sdk.Call, s *Set) (l []*Role) {
	for _, r := range p.Roles.List(c) {
		if r.Name == role(s).Name {
			l = append(l, r)
		}
	}
	return l
}

func (p *Parts) shard(c *sdk.Call, s *Set, index int, config metav1.StringMap) *Shard {
	sh := &Shard{Data: config.Clone()}
	sh.Namespace, sh.Name = s.Namespace, p.Name(s, index)
	sh.Labels.Set(SetLabel, string(s.UID))
	sh.OwnerReferences = []metav1.OwnerReference{owner.Ref(s)}
	sh.Data.Set(IndexKey, strconv.Itoa(index))
	return sh
}

func mend(sh, want *Shard) bool {
	sound := true
	for _, l := range want.Labels {
		if sh.Labels.Get(l.Key) != l.Value {
			sh.Labels.Set(l.Key, l.Value)
			sound = false
		}
	}
	if !wire.EqualMaps(sh.Data, want.Data) {
		sh.Data = want.Data
		sound = false
	}
	return !sound
}

func remove(o sdk.Object) sdk.Effect { return sdk.Delete(o, sdk.Tolerate(abi.TolerateNotFound)) }

func (p *Parts) spread(c *sdk.Call, s *Set, shards []*Shard, config metav1.StringMap) error {
	found := map[string]*Shard{}
	for _, sh := range shards {
		found[sh.Name] = sh
	}
	for i := range p.Wanted(s) {
		want := p.New(c, s, i, config)
		sh := found[want.Name]
		delete(found, want.Name)
		switch {
		case sh == nil:
			c.Add(sdk.Create(want))
		case sh.Deleting(): // its end brings the next sync
		default:
			if sh = sdk.Clone(sh); p.Mend(sh, want) {
				c.Add(sdk.Update(sh))
			}
		}
	}
	for _, sh := range shards {
		if found[sh.Name] != nil && !sh.Deleting() {
			c.Add(p.Delete(sh))
		}
	}
	return nil
}

func there(sh *Shard) bool { return !sh.Deleting() }

func (p *Parts) report(c *sdk.Call, s *Set, shards []*Shard) Status {
	r := sdk.Clone(s).Status // with what of it nobody here knows
	r.ObservedGeneration, r.Replicas, r.AvailableReplicas = s.Generation, 0, 0
	for _, sh := range shards {
		if !p.Counts(sh) {
			continue
		}
		r.Replicas++
		if remaining(c, s, sh) <= 0 {
			r.AvailableReplicas++
		}
	}
	ready := corev1.ConditionFalse
	if int(r.AvailableReplicas) == p.Wanted(s) {
		ready = corev1.ConditionTrue
	}
	Condition(&r, appsv1.ReplicaSetCondition{Type: Ready, Status: ready, LastTransitionTime: c.Now().Truncate()})
	return r
}

// Condition sets a condition; one that is there keeps its time as long as its status stays.
func Condition(r *Status, x appsv1.ReplicaSetCondition) {
	for i := range r.Conditions {
		if old := &r.Conditions[i]; old.Type == x.Type {
			if old.Status == x.Status {
				x.LastTransitionTime = old.LastTransitionTime
			}
			*old = x
			return
		}
	}
	r.Conditions = append(r.Conditions, x)
}

// remaining is how long it takes until a shard is available.
func remaining(c *sdk.Call, s *Set, sh *Shard) time.Duration {
	return sh.CreationTimestamp.Add(time.Duration(s.Spec.MinReadySeconds) * time.Second).Sub(c.Now())
}

func write(s *Set) sdk.Effect { return sdk.UpdateStatus(s, sdk.Always()) }

func wait(c *sdk.Call, s *Set, shards []*Shard) error {
	for _, sh := range shards {
		if left := remaining(c, s, sh); left > 0 && !sh.Deleting() {
			_ = c.After(left) // of several the earliest counts
		}
	}
	return nil
}

func (p *Parts) end(c *sdk.Call, s *Set) error {
	for _, r := range p.OwnRoles(c, s) {
		if !r.Deleting() {
			c.Add(p.Delete(r))
		}
	}
	if s = sdk.Clone(s); s.RemoveFinalizer(Finalizer) {
		c.Add(sdk.Update(s))
	}
	return nil
}
