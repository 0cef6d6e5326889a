package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/differential/world"
)

// Difference is what the two controllers did otherwise.
type Difference struct {
	Subject string
	Step    int
	Deed    string // what happened before
	Key     string
	Kind    string // sync, wake, answer, rest, end, metrics, panic; under the host also host and writes
	Text    string

	script  *script
	late    bool // the caches were
	rested  bool // chance decides what each comes to: caches were late, or something is refused for ever
	now     time.Time
	objects func() []runtime.Object // as the caches showed them
	past    []string                // what had happened before
	// found is the situation in which they differed, outcome what upstream's controller came to in it, and ours what the
	// plugin wrote and told.
	found situation
	outcome
	ours    []string
	changes map[string]int
	// theirs and others are what upstream's controller and the plugin have come to, writes what upstream's has sent, told
	// what its subject explains, and missed the changes that have woken upstream's alone.
	theirs, others remains
	writes         []string
	told           string
	missed         []*missed
	errors         []string // that syncs of either have ended with
	unknown        []atom   // of which no rule knows
	judged                  // "": upstream's other plays haven't been asked
	// counted says that a rule of known.yaml has recognised it, goesOn that the world goes on all the same.
	counted, goesOn bool
}

// play is one run of a script.
type play struct {
	subject *Subject
	script  *script
	native  *native.Native
	plugin  *plugin.Plugin
	cluster *api.Cluster
	forever *fault // which writes are refused as long as the world lasts; nil: none
	deed    string
	step    int
	syncs   int
	// missed are keys that an event has woken upstream's controller for and not the plugin, with the event.
	missed map[string]*missed
	// woken are keys that the plugin is woken for and hasn't been synced for.
	woken map[string]bool
	past  []string
	known func(*Difference) bool
	// failed is what the last sync of a key did that failed: one that fails so again isn't repeated at once.
	failed map[string]string
	// queued are keys that upstream's queue has by now: that one is to come later, too, keeps nothing back.
	queued map[string]bool
	// handled are the events about each key that handlers of upstream's controller have told of, without a sync.
	handled map[string][]string
	// later are keys of which upstream's controller has only asked to be woken for them when they are due.
	later map[string]bool
	// due is when a key is to be synced again by its own wish.
	due map[string]time.Time
	// measured is what the metrics of the two stood at when they were compared last.
	measured [2]native.Measures
}

// run runs a script in the present bubble, up to the first difference that isn't known.
func (s *Subject) run(server *api.Server, x *script, known func(*Difference) bool) (d *Difference, syncs int,
	err error) {
	p := &play{
		subject: s, script: x, cluster: server.NewCluster(), missed: map[string]*missed{}, failed: map[string]string{},
		woken: map[string]bool{}, queued: map[string]bool{}, later: map[string]bool{}, due: map[string]time.Time{},
		handled: map[string][]string{}, known: known, forever: s.forever(x),
	}
	if p.native, err = native.New(p.cluster, x.seed, s.Native); err != nil {
		return nil, 0, err
	}
	defer p.native.Close()
	p.native.Measure(s.measured())
	if p.plugin, err = s.beside(p.cluster); err != nil {
		return nil, 0, err
	}
	defer p.plugin.Close()
	p.plugin.Metrics = s.measured()
	if s.late {
		p.plugin.Stay()
	}
	d, err = p.through()
	return d, p.syncs, err
}

// beside makes the plugin's controller, with those of its parts that do nothing but wake it.
func (s *Subject) beside(c *api.Cluster) (*plugin.Plugin, error) {
	indexes, err := s.indexes()
	if err != nil {
		return nil, err
	}
	p, err := plugin.New(guesttest.Native(s.Plugin), indexes[0], s.settings(), c, s.Signer)
	if err != nil {
		return nil, err
	}
	for _, i := range s.wakers(indexes) {
		w, err := plugin.New(guesttest.Native(s.Plugin), i, s.settings(), c, s.Signer)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.Wakers = append(p.Wakers, w)
	}
	return p, nil
}

// stepsMost is how many things happen in a world after its beginning, where its subject doesn't say.
const stepsMost = 4

func (p *play) through() (*Difference, error) {
	if err := p.populate(); err != nil {
		return nil, err
	}
	p.measured = [2]native.Measures{p.native.Measured(), p.plugin.Measured()}
	for p.step = 0; p.step <= p.script.steps; p.step++ {
		if p.script.skipped[p.step] {
			continue
		}
		keys, err := p.happen()
		if err != nil {
			return nil, err
		}

		var d *Difference
		if p.subject.AtRest || p.subject.late || p.inOrderOfChance() {
			d, err = p.rest(keys)
		} else if d, err = p.settle(keys); d == nil {
			d = p.measure()
		}

		switch {
		case err != nil:
			return nil, err
		case d == nil:
		case !p.knows(d):
			return d, nil
		case !d.goesOn:
			return nil, nil // from a known difference on nothing is comparable
		}
	}
	return nil, nil
}

// measure compares what has been added to the metrics since they were compared last. Where each controller works by
// itself it isn't: there one may need syncs that the other doesn't.
func (p *play) measure() *Difference {
	before := p.measured
	p.measured = [2]native.Measures{p.native.Measured(), p.plugin.Measured()}
	a, b := p.measured[0].Since(before[0]), p.measured[1].Since(before[1])
	text := compare(a, b)
	d := p.difference("metrics", "", text)
	d.theirs, d.others = remains{lines: a}, remains{lines: b}
	o := func() outcome { return outcome{alike: text == "", ends: text == ""} }
	if p.met(d, nil, nil, o, text == "") || text == "" {
		return nil
	}
	return d
}

// rand returns choices of the world's that are about one thing in it.
func (p *play) rand(about int) *world.Rand { return world.NewRand(p.script.seed*1000 + uint64(about)) }

// settleMost bounds the syncs of a step: a world whose controllers come to no rest by then goes on all the same.
const settleMost = 40

// settle syncs keys until none is left: those that syncs wake by what they write, and those that fail, too.
func (p *play) settle(keys []string) (*Difference, error) {
	for n := 0; len(keys) > 0 && n < settleMost; n++ {
		key := keys[0]
		keys = keys[1:]
		more, d, err := p.sync(key, n < len(keys))
		if d != nil || err != nil {
			return d, err
		}
		for _, k := range more {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return nil, nil
}

// populate puts the world's objects into the cluster; one that a server wouldn't admit stays out.
func (p *play) populate() error {
	if p.subject.Aggregated != nil {
		p.cluster.Aggregated = p.subject.Aggregated(world.NewRand(p.script.seed))
	}
	objects := p.script.objects
	if objects == nil {
		objects = append(world.Basics(), p.subject.World(world.NewRand(p.script.seed).At(world.Begin))...)
	}
	if p.script.record != nil {
		if err := p.script.record.begin(objects); err != nil {
			return err
		}
	}
	for i, o := range objects {
		if p.script.without[i] {
			continue
		}
		if err := p.cluster.Add(o); err != nil && !refusal(err) {
			return fmt.Errorf("seed %d: object %d: %w", p.script.seed, i, err)
		}
	}
	return nil
}

func refusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) ||
		apierrors.IsBadRequest(err)
}

// happen has the next thing happen and both controllers see it. It returns the keys to sync.
func (p *play) happen() ([]string, error) {
	clear(p.queued) // what a step has left there comes to nothing
	clear(p.handled)
	if p.step == 0 {
		keys, err := p.show(true)
		p.deed = "the beginning"
		return union(keys, p.plugin.Keys()), err
	}

	r := world.NewRand(p.script.seed*1000 + uint64(p.step))
	if r.One(3) {
		time.Sleep(time.Duration(r.IntN(1200)) * time.Second)
	}

	var due []string
	for key, at := range p.due {
		if !at.After(time.Now()) {
			delete(p.due, key)
			delete(p.later, key)
			due, p.woken[key] = append(due, key), true
		}
	}

	what, err := p.subject.deed(p.script, p.step, r, p.cluster)
	if err != nil {
		return nil, fmt.Errorf("seed %d, step %d: %w", p.script.seed, p.step, err)
	}

	p.deed = what
	p.past = append(p.past, fmt.Sprintf("%s step %d: %s", time.Now().UTC().Format(time.TimeOnly), p.step, what))
	keys, err := p.show(false)
	keys = union(keys, due)
	if all := p.plugin.Keys(); r.One(3) && len(all) > 0 {
		keys = union(keys, []string{all[r.IntN(len(all))]})
	}
	return keys, err
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// show shows both controllers what has changed, and returns the keys that it wakes in either. Upstream's wake for more
// than they look at; so what it wakes and the plugin doesn't is only noted here (see [play.sync]).
func (p *play) show(initial bool) (keys []string, err error) {
	changes, err := p.cluster.Changes()
	if err != nil {
		return nil, err
	}

	for i := range changes {
		c := &changes[i]
		theirs, err := p.native.Show(c, initial)
		if err != nil {
			return nil, err
		}
		ours, err := p.plugin.Show(c, initial)
		if err != nil {
			return nil, err
		}
		for _, key := range ours {
			p.woken[key] = true
			delete(p.missed, key)
		}
		for i := range theirs {
			theirs[i] = p.subject.key(theirs[i])
			if !initial && !p.woken[theirs[i]] {
				p.missed[theirs[i]] = &missed{change: c, wakes: theirs[i], ours: ours}
			}
		}
		for _, line := range p.native.Handled {
			key := strings.Fields(line)[2]
			p.handled[key] = append(p.handled[key], line)
		}
		for _, key := range theirs {
			p.queued[key] = true
			delete(p.later, key)
		}
		p.postpone()
		keys = union(union(keys, theirs), ours)
		p.native.Reached(c.Version)
		p.plugin.Reached(c.Version)
	}
	return keys, nil
}

// postpone takes down which keys the last change wakes upstream's controller for later, but for those that it has been
// woken for already.
func (p *play) postpone() {
	for key, d := range p.native.Queue.After {
		key = p.subject.key(key)
		if p.queued[key] {
			continue
		}
		p.later[key] = true
		if at, ok := p.due[key]; !ok || at.After(time.Now().Add(d)) {
			p.due[key] = time.Now().Add(d)
		}
	}
}

func (p *play) difference(kind, key, text string) *Difference {
	found := p.cluster // a sync leaves it as it is
	return &Difference{
		Subject: p.subject.Controller, script: p.script, Step: p.step, Deed: p.deed, Key: key, Kind: kind, Text: text,
		now: time.Now().UTC(), past: slices.Clone(p.past), late: p.subject.late,
		rested:  p.subject.late || p.inOrderOfChance(),
		objects: func() []runtime.Object { return objectsOf(found) },
	}
}

// refused makes a difference one of an answer that the host doesn't take.
func (d *Difference) refused(err error) *Difference {
	d.Kind, d.Text = "answer", "the plugin's answer is refused: "+err.Error()
	return d
}

// panicked makes a difference one of upstream's controller, which has panicked.
func (d *Difference) panicked(with any) *Difference {
	d.Kind, d.Text = "panic", fmt.Sprint("upstream's controller panics: ", with)
	return d
}

// objectsOf returns all objects of a cluster.
func objectsOf(c *api.Cluster) (all []runtime.Object) {
	for _, gvr := range c.Resources() {
		if l, err := c.List(gvr); err == nil {
			all = append(all, l...)
		}
	}
	return all
}

// sync has both sync a key, each on a cluster of its own, and compares what came of it. It returns the keys to sync
// next.
func (p *play) sync(key string, mayFail bool) (more []string, d *Difference, err error) {
	p.syncs++
	before := p.difference("sync", key, "")
	theirs, ours := p.cluster.Clone(), p.cluster.Clone()
	r := world.NewRand(p.script.seed*1000 + uint64(p.step)*100 + uint64(p.syncs))
	if f := p.fault(r); f != nil && (mayFail || f.forever) {
		theirs.Fault, ours.Fault = f.begin(p.subject), f.begin(p.subject)
		before.Deed += ", " + f.String()
	}

	p.plugin.On(ours)
	w, err := p.plugin.Sync(key)
	if err != nil {
		return nil, before.refused(err), nil
	}
	if p.later[key] || p.handled[key] != nil {
		waits, err := p.waits(key, ours, w)
		if waits || err != nil {
			p.plugin.Uncount()
			if w.Again == 0 && p.handled[key] == nil { // else it waits as well, from now on
				p.plugin.Undo() // or it knows what upstream's controller hasn't seen
			}
			delete(p.woken, key)
			delete(p.handled, key)
			return nil, nil, err
		}
	}
	p.native.On(theirs)
	n := p.native.Sync(key)
	if n.Panic != nil {
		return nil, before.panicked(n.Panic), nil
	}
	delete(p.queued, key)
	theirs.Fault, ours.Fault = nil, nil

	alike := p.subject.alike(p.cluster)
	a, err := p.subject.lines(key, p.cluster, theirs, n, alike)
	if err != nil {
		return nil, nil, err
	}
	b, err := p.subject.lines(key, p.cluster, ours, w, alike)
	if err != nil {
		return nil, nil, err
	}
	a, b = p.subject.known.untold(a, b)
	for _, err := range []error{n.Err, w.Err} {
		if err != nil {
			before.errors = append(before.errors, oneLine(err))
		}
	}
	text := compare(a, b)
	o := func() outcome {
		before.ours, before.changes = linesOf(p.cluster, b), changesOf(ours.Requests)
		return outcome{text == "", text == "", digest(theirs), linesOf(p.cluster, a), changesOf(theirs.Requests)}
	}
	if p.met(before, p.cluster, ours, o, text == "") {
		return nil, nil, nil
	}
	if text != "" {
		before.theirs, before.others, before.writes = remains{lines: a}, remains{lines: b}, sentBy(theirs.Requests)
		if w.Err != nil {
			text += "\nthe plugin's error: " + oneLine(w.Err)
		}
		if p.subject.Explain != nil {
			before.told = p.subject.Explain(before.objects(), text)
			text += before.told
		}
		before.Text = text
		return nil, before, nil
	}
	if missed, ok := p.missed[key]; ok && p.matters(key, a, n) {
		before.theirs, before.writes = remains{lines: a}, sentBy(theirs.Requests)
		before.missed = append(before.missed, missed)
		before.Kind, before.Text = "wake", missed.String()+"\nwhere a sync does this:\n"+strings.Join(a, "\n")
		return nil, before, nil
	}
	p.past = append(p.past, fmt.Sprintf("%s both sync %s: %s", time.Now().UTC().Format(time.TimeOnly), key, summary(a)))
	delete(p.missed, key)
	delete(p.due, key)
	if p.woken[key] = w.Failed; !w.Failed {
		delete(p.woken, key)
	}
	if n.Again > 0 {
		p.due[key] = time.Now().Add(n.Again)
	}
	theirs.Requests = nil
	theirs.Past(ours) // or what comes next has the version of a write of ours that never came
	p.cluster = theirs
	all := strings.Join(a, "\n")
	if more, err = p.show(false); n.Failed && p.failed[key] != all {
		more = append(more, key)
	}
	p.failed[key] = all
	return more, nil, err
}

// waits reports whether a sync of the plugin's has done no more than tell what handlers of upstream's controller have,
// which isn't woken yet.
func (p *play) waits(key string, c *api.Cluster, r native.Result) (bool, error) {
	r.Again = 0
	did, err := p.subject.lines(key, p.cluster, c, r, nil)
	return slices.Equal(did, slices.Sorted(slices.Values(p.handled[key]))), err
}

// matters reports whether a sync that only upstream's controller was woken for has come to anything: more than to be
// synced again at a time at which the key would have been synced anyway.
func (p *play) matters(key string, did []string, r native.Result) bool {
	if r.Failed || r.Again == 0 || len(did) > 1 {
		return len(did) > 0
	}
	due, ok := p.due[key]
	return !ok || due.After(time.Now().Add(r.Again))
}
