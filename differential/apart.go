package differential

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/differential/world"
)

// apart is one run of a script in which each controller has a cluster of its own, whose changes come to its caches late
// by some: upstream's have expectations where ours have barriers, so single syncs aren't comparable, but what is there
// when all has settled is, and which writes led there.
type apart struct {
	subject *Subject
	script  *script
	sides   [2]*side
	deed    string
	step    int
	past    []string
	happens sync.WaitGroup // what a step is about, where that takes time
	// before are the objects before the controllers have done anything in the present step.
	before []runtime.Object
	began  time.Time
	// several are the classes of several objects that a controller may take for one another (Subject.Alike).
	several map[string]bool
	// names stand for those that each side's controller has made up, where they are compared.
	names [2]map[string]string
	most  int    // steps, 0: all
	salt  uint64 // another one has caches be late otherwise
}

// side is a controller on its cluster.
type side struct {
	name    string
	subject *Subject
	cluster *api.Cluster
	show    func(c *api.Change, initial bool) error
	reached func(version uint64)
	wake    func(key string)             // nil: there are no keys
	work    func() (did bool, err error) // does one thing of what is to do
	next    func() (time.Time, bool)     // when the next key is to be synced at a time
	backlog []api.Change
	writes  []string
	r       *world.Rand
	lag     lag
	version uint64 // the highest that was shown
	syncs   int
	until   time.Time       // when a step is over, see over; zero: when nothing is left to do
	wrote   time.Time       // when it did last
	keys    map[string]bool // that were synced
	errors  []string        // that syncs have ended with in the present step
	seen    []*api.Request  // in the present step
	// measured returns what the controller's metrics stand at, before what they stood at as the step began.
	measured func() native.Measures
	before   native.Measures
}

// lag is how late a side's caches are.
type lag int

const (
	somewhat lag = iota // by some changes, at random
	never               // each change is shown at once
	whenIdle            // changes are shown when there is nothing else to do
)

// runApart runs a script in the present bubble.
func (s *Subject) runApart(server *api.Server, x *script, known func(*Difference) bool) (*Difference, int, error) {
	a := &apart{subject: s, script: x}
	n, err := a.native(server)
	if err != nil {
		return nil, 0, err
	}
	defer n.Close()
	p, err := a.plugin(server)
	if err != nil {
		return nil, 0, err
	}
	defer p.Close()
	d, err := a.through(a.sides[:])
	syncs := a.sides[0].syncs + a.sides[1].syncs
	if err != nil || d == nil || known(d) {
		return nil, syncs, err
	}
	raced, err := a.raced(server)
	if raced {
		d = nil
	}
	return d, syncs, err
}

// tries is how often a world is run again to see what else upstream's controller may come to.
const tries = 24

// raced reports whether upstream's controller comes to what the plugin has come to when its caches are late otherwise:
// then it is a race of its own which of them it is.
func (a *apart) raced(server *api.Server) (bool, error) {
	ours := a.state(a.sides[1].cluster, nil)
	for i := range tries {
		b := &apart{subject: a.subject, script: a.script, most: a.step + 1, salt: uint64(i + 1)}
		n, err := b.native(server)
		if err != nil {
			return false, err
		}
		_, err = b.through(b.sides[:1])
		n.Close()
		if err != nil {
			return false, err
		}
		if a.state(b.sides[0].cluster, nil) == ours {
			return true, nil
		}
	}
	return false, nil
}

func (a *apart) native(server *api.Server) (*native.Native, error) {
	c := server.NewCluster()
	n, err := native.New(c, a.script.seed+a.salt<<32, a.subject.Native)
	if err != nil {
		return nil, err
	}

	n.Measure(a.subject.measured())
	keys := newTodo()
	s := &side{name: "upstream", subject: a.subject, cluster: c, reached: n.Reached, measured: n.Measured,
		keys: map[string]bool{}}
	s.next = func() (time.Time, bool) { return keys.first(!s.until.IsZero()) }
	// A key that wants to be synced again as soon as may be, again and again until a time is over, would fill a step
	// that lasts until then with syncs that do nothing.
	again := func(d time.Duration) time.Duration {
		if d == native.Soon && !s.until.IsZero() {
			return time.Second
		}
		return d
	}
	take := func() {
		for _, k := range n.Queue.Woken {
			keys.now(k)
		}
		for k, d := range n.Queue.After {
			keys.at(k, time.Now().Add(again(d)))
		}
	}

	s.show = func(c *api.Change, initial bool) error {
		_, err := n.Show(c, initial)
		take()
		return err
	}

	s.work = func() (bool, error) {
		if n.Works() {
			return n.Work(), nil
		}
		if a.salt > 0 { // workers take keys side by side
			keys.shuffle = s.r.Shuffle
			s.r.Shuffle(len(keys.keys), func(i, j int) { keys.keys[i], keys.keys[j] = keys.keys[j], keys.keys[i] })
		}
		key, ok := keys.next()
		if !ok {
			return false, nil
		}
		r := n.Sync(key)
		r.Again = again(r.Again)
		take()
		keys.ended(key, r)
		s.keys[key] = true
		if r.Panic != nil {
			return false, fmt.Errorf("%w: %v", errPanic, r.Panic)
		}
		if r.Err != nil {
			s.errors = append(s.errors, oneLine(r.Err))
		}
		return true, nil
	}
	if !n.Works() {
		s.wake = keys.now
	}
	a.sides[0] = s
	return n, nil
}

// errPanic is that upstream's controller has panicked.
var errPanic = errors.New("upstream's controller panics")

// part is one of a plugin's controllers.
type part struct {
	*plugin.Plugin
	keys  *todo
	every time.Duration // after which its only key is synced again; 0: it has others
}

// periodic reports whether a controller looks at all again and again, so that its timers never end.
func (s *Subject) periodic() bool {
	return slices.ContainsFunc(s.Plugin.Manifest().Controllers, func(c abi.Controller) bool { return c.Key.Period > 0 })
}

// parts are a plugin's controller and those that are part of it.
type parts []part

func (all parts) Close() {
	for _, p := range all {
		p.Close()
	}
}

func (a *apart) plugin(server *api.Server) (parts, error) {
	indexes, err := a.subject.indexes()
	if err != nil {
		return nil, err
	}
	c := server.NewCluster()
	var all parts
	for _, i := range indexes {
		p, err := plugin.New(guesttest.Native(a.subject.Plugin), i, a.subject.settings(), c, a.subject.Signer)
		if err != nil {
			return nil, err
		}
		p.Metrics = a.subject.measured()
		p.Stay()
		keys := newTodo()
		for _, k := range p.Keys() {
			keys.now(k)
		}
		all = append(all, part{p, keys, time.Duration(a.subject.Plugin.Manifest().Controllers[i].Key.Period)})
	}
	a.sides[1] = all.side(a.subject, c)
	return all, nil
}

func (all parts) side(of *Subject, c *api.Cluster) *side {
	s := &side{name: "plugin", subject: of, cluster: c}
	s.measured = func() native.Measures {
		m := native.Measures{}
		for _, p := range all {
			for series, n := range p.Measured() {
				m[series] += n
			}
		}
		return m
	}

	s.reached = func(version uint64) {
		for _, p := range all {
			p.Reached(version)
		}
	}

	s.show = func(c *api.Change, initial bool) error {
		for _, p := range all {
			woken, err := p.Show(c, initial)
			if err != nil {
				return err
			}
			for _, k := range woken {
				p.keys.now(k)
			}
		}
		return nil
	}

	s.next = func() (at time.Time, ok bool) {
		for _, p := range all {
			if t, is := p.keys.first(false); is && (!ok || t.Before(at)) {
				at, ok = t, true
			}
		}
		return at, ok
	}

	s.work = func() (bool, error) {
		first := 0
		if len(all) > 1 {
			first = s.r.IntN(len(all)) // they work side by side
		}
		for i := range all {
			p := all[(first+i)%len(all)]
			key, ok := p.keys.nextOf(p.Ready)
			if !ok {
				continue
			}
			r, err := p.Sync(key)
			p.keys.ended(key, r)
			if p.every > 0 {
				p.keys.at(key, time.Now().Add(p.every))
			}
			return true, err
		}
		return false, nil
	}
	return s
}

// through runs the script with some of the sides.
func (a *apart) through(sides []*side) (*Difference, error) {
	for _, s := range sides {
		if err := a.populate(s); err != nil {
			return nil, err
		}
	}

	for a.step = 0; a.step <= a.script.steps && (a.most == 0 || a.step < a.most); a.step++ {
		if a.script.skipped[a.step] {
			continue
		}
		if err := a.happen(sides); err != nil {
			return nil, err
		}
		a.before, a.began = objectsOf(a.sides[0].cluster), time.Now().UTC()
		if err := a.work(sides); err != nil {
			return nil, err
		}
		if len(sides) < len(a.sides) {
			continue
		}
		if d := a.compare(); d != nil {
			return d, nil
		}
	}
	return nil, nil
}

// work has the sides work in a step.
func (a *apart) work(sides []*side) error {
	if a.subject.Lasts != nil {
		return workFor(a.subject.Lasts(world.NewRand(a.script.seed*1000+uint64(a.step)+500)), sides)
	}
	for _, s := range sides {
		if err := s.settle(); err != nil {
			return err
		}
	}
	return nil
}

// populate puts the world's objects into a side's cluster, and shows them to its controller, if it is shown any.
func (a *apart) populate(s *side) error {
	p := &play{subject: a.subject, script: a.script, cluster: s.cluster}
	if err := p.populate(); err != nil {
		return err
	}
	if f := a.subject.forever(a.script); f != nil {
		s.cluster.Fault = f.begin(a.subject)
	}
	s.r, s.lag = world.NewRand(a.script.seed+7+a.salt<<32), lag(a.salt%3)
	if a.subject.Prompt {
		s.lag = never
	}
	if s.show == nil {
		return nil
	}
	return s.showAll(true)
}

// happen has the same happen in both clusters, which are equal.
func (a *apart) happen(sides []*side) error {
	a.deed = "the beginning"
	if a.step == 0 {
		return nil
	}
	for _, s := range sides {
		r := world.NewRand(a.script.seed*1000 + uint64(a.step))
		what, err := a.subject.deed(a.script, a.step, r, s.cluster)
		if err != nil {
			return fmt.Errorf("seed %d, step %d: %w", a.script.seed, a.step, err)
		}
		a.deed = what
	}
	a.past = append(a.past, fmt.Sprintf("step %d: %s", a.step, a.deed))
	return nil
}

func (s *side) take() error {
	more, err := s.cluster.Changes()
	s.backlog = append(s.backlog, more...)
	return err
}

func (s *side) showAll(initial bool) error {
	if err := s.take(); err != nil {
		return err
	}
	if initial { // informers list side by side
		s.r.Shuffle(len(s.backlog), func(i, j int) { s.backlog[i], s.backlog[j] = s.backlog[j], s.backlog[i] })
	}
	return s.deliver(len(s.backlog), initial)
}

func (s *side) deliver(n int, initial bool) error {
	for i := range s.backlog[:n] {
		c := &s.backlog[i]
		if err := s.show(c, initial); err != nil {
			return err
		}
		s.version = max(s.version, c.Version)
		s.reached(s.version)
	}
	s.backlog = s.backlog[n:]
	return nil
}

// some is how many changes of the backlog are shown now.
func (s *side) some() int {
	switch s.lag {
	case never:
		return len(s.backlog)
	case whenIdle:
		return 0
	}
	return s.r.IntN(len(s.backlog) + 1)
}

// written takes down the writes that have changed something, and reports whether there were any.
func (s *side) written() bool {
	changed := false
	for _, q := range s.cluster.Requests {
		if !q.Writes() || q.Err != nil || !q.Changed {
			continue
		}
		changed = true
		if q.Subresource != "status" { // what it says on the way hangs on when it was looked at; in the end the state has it
			s.writes = append(s.writes, s.subject.line(q))
		}
	}
	s.seen = append(s.seen, s.cluster.Requests...)
	s.cluster.Requests = nil
	return changed
}
