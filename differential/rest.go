package differential

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
)

// Some of upstream's controllers need several syncs for what the plugin does in one: they wait until their caches show
// what they have written, fail on a version of their own, and are woken again. They are compared at rest: each works on
// a cluster of its own and sees what it has written there until nothing wakes it any more. Upstream's begins with the
// keys that either was woken for, the plugin with its own alone, so that a wake-up that never comes is a difference of
// what is left.
//
// So is every subject where caches are late: then each is shown changes some syncs after they were made.

// restingSide is one of the two controllers while it works by itself.
type restingSide struct {
	cluster *api.Cluster
	sync    func(key string) (native.Result, error)
	show    func(*api.Change) ([]string, error)
	ready   func(key string) bool    // nil: always
	late    *world.Rand              // says how many changes are shown after a sync; nil: all
	order   *world.Rand              // says which key comes next; nil: the first
	backlog []api.Change             // those to be shown
	last    map[string]native.Result // of each key
	did     map[string]bool          // the keys for which something was written
	due     map[string]time.Time     // when keys were to be synced again before
	failed  map[string]int           // in a row
	events  []string
	syncs   int
	story   []string // what each sync did
	errors  []string // what those that failed have ended with
	left    []string // keys that are still to be synced after restMost syncs
	rests   bool     // nothing is left, and all has been shown
}

const (
	restMost     = 40          // syncs of one restingSide in a step
	restMore     = 4           // times as many, until the plugin is said to come to no rest where upstream's does
	failsMost    = 3           // of a key in a row
	failsByOrder = 10          // of a key in a row, where it is chance which of several that are refused comes first
	batch        = time.Second // for which upstream's controllers gather events of a key
)

// work has a restingSide sync keys until none is left to be synced. The fault, if there is one, lasts for a key until
// one of its syncs has met it: which of them that is hangs on what each side does in one sync.
func (s *restingSide) work(keys []string, f *fault, of *Subject) error {
	met, fails := map[string]bool{}, failsMost
	if f != nil && f.forever && of.Told != nil {
		fails = failsByOrder
	}
	keys, s.rests = slices.Clone(keys), false
	again := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}

	for n := 0; n < restMost; {
		next := slices.IndexFunc(keys, func(key string) bool { return s.ready == nil || s.ready(key) })
		if s.order != nil && next >= 0 { // upstream's are always ready
			next = s.order.IntN(len(keys))
		}
		if next < 0 {
			if s.rests = len(s.backlog) == 0; s.rests {
				break
			}
			woken, err := s.deliver(1)
			if err != nil {
				return err
			}
			for _, key := range woken {
				again(key)
			}
			continue
		}
		key := keys[next]
		keys = slices.Delete(keys, next, next+1)
		n++
		s.cluster.Fault = nil
		if f != nil && (f.forever || !met[key]) {
			refuses := f.begin(of)
			s.cluster.Fault = func(r *api.Request) error {
				err := refuses(r)
				met[key] = met[key] || err != nil
				return err
			}
		}
		seen := len(s.cluster.Requests)
		r, err := s.sync(key)
		if err != nil {
			return err
		}
		s.tell(key, r, s.cluster.Requests[seen:])
		s.syncs++
		s.last[key] = r
		s.events = append(s.events, r.Events...)
		if s.failed[key]++; !r.Failed {
			s.failed[key] = 0
		}
		woken, err := s.see()
		if err != nil {
			return err
		}
		for _, key := range woken {
			again(key)
		}
		atOnce := r.Again > 0 && r.Again < time.Millisecond
		if r.Failed && s.failed[key] < fails || !r.Failed && atOnce {
			again(key)
		}
	}

	s.cluster.Fault, s.left = nil, keys
	return nil
}

// see shows the controller what has changed, or where caches are late some of it, and returns the keys that this wakes.
func (s *restingSide) see() ([]string, error) {
	changes, err := s.cluster.Changes()
	if err != nil {
		return nil, err
	}
	s.backlog = append(s.backlog, changes...)
	n := len(s.backlog)
	if s.late != nil {
		n = s.late.IntN(n + 1)
	}
	return s.deliver(n)
}

func (s *restingSide) deliver(n int) (woken []string, err error) {
	for i := range s.backlog[:n] {
		more, err := s.show(&s.backlog[i])
		if err != nil {
			return nil, err
		}
		woken = append(woken, more...)
	}
	s.backlog = s.backlog[n:]
	if s.late != nil && n > 0 {
		clear(s.failed)
		for _, key := range slices.Sorted(maps.Keys(s.last)) {
			if s.last[key].Failed {
				woken = append(woken, key) // for what it hadn't seen, perhaps
			}
		}
	}
	return woken, nil
}

// tell takes down what a sync did.
func (s *restingSide) tell(key string, r native.Result, requests []*api.Request) {
	text := "sync " + key
	for _, q := range requests {
		if !q.Writes() {
			continue
		}
		s.did[key] = true
		if text += "; " + q.String(); q.Err != nil {
			text += " fails: " + string(apierrors.ReasonForError(q.Err))
		}
	}
	if r.Failed {
		text += "; fails"
	}
	if r.Err != nil {
		s.errors = append(s.errors, oneLine(r.Err))
	}
	s.story = append(s.story, text)
}

func (p *play) newSide() *restingSide {
	s := &restingSide{
		cluster: p.cluster.Clone(), due: p.due,
		last: map[string]native.Result{}, did: map[string]bool{}, failed: map[string]int{},
	}
	if p.subject.late {
		s.late = p.rand(p.step*100 + 51)
	}
	return s
}

// upstreamSide is upstream's controller on a cluster of its own.
func (p *play) upstreamSide() *restingSide {
	s := p.newSide()
	if x := p.script.replay; x != nil && x.step == p.step {
		s.order = world.NewRand(p.script.seed*1000 + x.order<<32)
		if s.late != nil {
			s.late = s.order
		}
	}
	s.sync = func(key string) (native.Result, error) {
		r := p.native.Sync(key)
		if r.Panic == nil {
			return r, nil
		}
		if d := p.difference("", key, "").panicked(r.Panic); !p.known(d) {
			return r, errors.New(d.Text)
		}
		r.Failed = true // a new manager would try again
		return r, nil
	}

	s.show = func(c *api.Change) ([]string, error) {
		keys, err := p.native.Show(c, false)
		s.events = append(s.events, p.native.Handled...)
		for key, d := range p.native.Queue.After {
			if d <= batch {
				keys = append(keys, key)
			}
		}
		p.native.Reached(c.Version)
		for i := range keys {
			keys[i] = p.subject.key(keys[i])
		}
		return keys, err
	}
	return s
}

// pluginSide is the plugin on a cluster of its own.
func (p *play) pluginSide() *restingSide {
	s := p.newSide()
	s.sync = func(key string) (native.Result, error) { return p.plugin.Sync(key) }
	s.show = func(c *api.Change) ([]string, error) {
		keys, err := p.plugin.Show(c, false)
		p.plugin.Reached(c.Version)
		return keys, err
	}
	if p.subject.late {
		s.ready = p.plugin.Ready
	}
	return s
}

// rested is both sides at rest, and what is left of each.
type rested struct {
	theirs, ours *restingSide
	names        map[string]string // of those that are alike
	a, b         remains           // of theirs, of ours
}

// rest has both controllers work until they rest, and compares what is left.
func (p *play) rest(keys []string) (*Difference, error) {
	before := p.difference("sync", strings.Join(keys, ", "), "")
	f := p.fault(p.rand(p.step*100 + 50))
	if p.subject.late && p.forever == nil {
		f = nil // it would be met by one side and, in another order, not by the other
	}
	if f != nil {
		before.Deed += ", " + f.String()
	}

	x := &rested{theirs: p.upstreamSide(), ours: p.pluginSide(), names: p.subject.alike(p.cluster)}
	refused, err := p.work(x, keys, f)
	if refused != nil {
		return before.refused(refused), nil
	}
	if err != nil {
		return nil, err
	}

	if restless, err := p.isRestless(x); restless || err != nil {
		before.Kind, before.Text = "rest", "upstream's controller comes to rest, the plugin doesn't:\n"+
			strings.Join(x.ours.story[len(x.ours.story)-4:], "\n")+p.errorsOf(x, keys)
		before.tell(x.theirs.story, x.ours.story[:min(len(x.ours.story), restStory)])
		return before, err
	}

	p.subject.rename(x.theirs.cluster.Requests, x.names)
	p.subject.rename(x.ours.cluster.Requests, x.names)
	if x.a, x.b, err = p.remain(x.theirs, x.ours, x.names); err != nil {
		return nil, err
	}
	text := differ(x.a, x.b)
	// Where caches are late, whether the last sync of several fails, and when it wants the next to be, hangs on what each
	// saw; so it does on the order in which upstream's comes to what is refused for ever, and on which attempt is the
	// last.
	if (p.subject.late || p.forever != nil) && differ(x.a.still().without(" fails"), x.b.still().without(" fails")) == "" {
		text = ""
	}
	o := func() outcome {
		before.ours = linesOf(p.cluster, x.b.still().without(" fails").lines)
		before.changes = changesOf(x.ours.cluster.Requests)
		objects := differ(remains{objects: x.a.objects}, remains{objects: x.b.objects})
		return outcome{text == "", objects == "", digest(x.theirs.cluster),
			linesOf(p.cluster, x.a.still().without(" fails").lines), changesOf(x.theirs.cluster.Requests)}
	}
	if p.met(before, p.cluster, x.ours.cluster, o, text == "") {
		return nil, nil
	}
	lines := x.a.lines
	if text != "" {
		if lines, err = p.describe(before, x, keys, text); err != nil {
			return nil, err
		}
		if before.Kind == "answer" || !p.knows(before) || !before.goesOn {
			return before, nil
		}
	}
	for _, line := range lines {
		p.past = append(p.past, fmt.Sprintf("%s step %d: %s", time.Now().UTC().Format(time.TimeOnly), p.step, line))
	}
	return nil, p.goOn(x)
}

// work has both work until they rest, the plugin first: which keys both merely wait with upstream's needn't sync. What
// is refused is an answer of the plugin's.
func (p *play) work(x *rested, keys []string, f *fault) (refused, err error) {
	theirs, ours := x.theirs, x.ours
	p.plugin.On(ours.cluster)
	woken := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return p.missed[key] != nil })
	if err := ours.work(woken, f, p.subject); err != nil {
		return err, nil
	}

	theirKeys := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		waits := p.later[key] && ours.last[key].Again > 0 || p.handled[key] != nil
		return waits && !ours.did[key] && slices.Equal(ours.last[key].Events, p.handled[key]) // both wait
	})
	for _, key := range keys {
		theirs.events = append(theirs.events, p.handled[key]...)
	}
	p.native.Begin()
	theirs.cluster.Forgiving = p.subject.AtRest
	p.native.On(theirs.cluster)
	if err := theirs.work(theirKeys, f, p.subject); err != nil {
		return nil, err
	}

	if p.subject.late {
		if err := p.wait(theirs, ours); err != nil {
			return nil, err
		}
	}
	p.syncs += theirs.syncs + ours.syncs
	return nil, nil
}

// isRestless reports whether the plugin goes on and on where upstream's controller has come to rest: it may undo what
// it has done, and do it again.
func (p *play) isRestless(x *rested) (bool, error) {
	for range restMore {
		if x.ours.rests || !x.theirs.rests {
			return false, nil
		}
		if err := x.ours.work(x.ours.left, p.forever, p.subject); err != nil {
			return false, err
		}
	}
	return !x.ours.rests, nil
}

// restStory is how many of its syncs are told of a plugin that doesn't come to rest.
const restStory = 12

// tell adds to what has happened before what each has done since.
func (d *Difference) tell(theirs, ours []string) {
	for _, line := range theirs {
		d.past = append(d.past, "upstream's: "+line)
	}
	for _, line := range ours {
		d.past = append(d.past, "the plugin: "+line)
	}
}

// describe says in a difference what is different. It has the plugin go on with all keys that were synced: where it
// comes to the same when it is woken for them, a wake-up is what was missing; then it may ask to be woken otherwise. It
// returns what upstream's controller has left.
func (p *play) describe(d *Difference, x *rested, keys []string, text string) (lines []string, err error) {
	d.theirs, d.others, d.writes = x.a, x.b, sentBy(x.theirs.cluster.Requests)
	d.missed = slices.Collect(maps.Values(p.missed))
	d.Text = text + p.missing(slices.Collect(maps.Keys(p.missed)))
	d.tell(x.theirs.story, x.ours.story)

	moved := differ(x.a.still(), x.b.still()) != ""
	synced := union(keys, slices.Collect(maps.Keys(x.theirs.last)))
	if err := x.ours.work(synced, p.forever, p.subject); err != nil {
		d.refused(err)
		return nil, nil
	}
	p.subject.rename(x.ours.cluster.Requests, x.names)
	a, b, err := p.remain(x.theirs, x.ours, x.names)
	if err != nil {
		return nil, err
	}
	if differ(a, b) == "" || moved && differ(a.still(), b.still()) == "" {
		d.Kind = "wake"
	}
	if d.Kind == "wake" && p.subject.late && !p.subject.AtRest { // as where syncs are compared
		d.Text = strings.TrimPrefix(p.missing(slices.Collect(maps.Keys(p.missed))), "\n") +
			"\nwhere a sync does this:\n" + strings.Join(a.lines, "\n") + "\n" + text
	}

	if p.subject.Explain != nil {
		d.told += "\n" + p.subject.Explain(d.objects(), text)
	}
	d.Text += d.told
	d.Text += p.errorsOf(x, synced)
	d.errors = slices.Concat(x.theirs.errors, x.ours.errors, strings.Split(p.native.Note(synced), "\n"))
	return a.lines, nil
}

// errorsOf are what both controllers' syncs of some keys have failed with, and what else is known of upstream's.
func (p *play) errorsOf(x *rested, keys []string) string {
	return x.theirs.errorsOf("upstream's", keys) + x.ours.errorsOf("the plugin's", keys) + p.native.Note(keys)
}

func (s *restingSide) errorsOf(whose string, keys []string) (text string) {
	for _, key := range keys {
		if err := s.last[key].Err; err != nil {
			text += fmt.Sprintf("\n%s error for %s: %s", whose, key, oneLine(err))
		}
	}
	return text
}

// goOn takes what upstream's controller has left for what both go on from.
func (p *play) goOn(x *rested) error {
	clear(p.missed)
	clear(p.woken)
	for key, r := range x.theirs.last {
		switch delete(p.due, key); {
		case r.Failed:
			p.due[key] = time.Now() // it is tried again before the next thing happens
		case r.Again > 0:
			p.due[key] = time.Now().Add(r.Again)
		}
	}
	// a key is looked at when either wants it: what one does then the other may do later, but does
	for key, r := range x.ours.last {
		if at, ok := p.due[key]; !r.Failed && r.Again > 0 && (!ok || at.After(time.Now().Add(r.Again))) {
			p.due[key] = time.Now().Add(r.Again)
		}
	}

	x.theirs.cluster.Requests, x.theirs.cluster.Forgiving = nil, false
	p.cluster = x.theirs.cluster
	return p.plugin.Load(p.cluster)
}

// moment is how long a controller may put something off that another does at once.
const moment = 2 * time.Second

// wait has both go on with the keys that either has asked to be woken for in a moment.
func (p *play) wait(theirs, ours *restingSide) error {
	for range 3 {
		a, next := theirs.soon()
		b, other := ours.soon()
		if next = max(next, other); next == 0 {
			return nil
		}
		time.Sleep(next)
		if err := theirs.work(a, p.forever, p.subject); err != nil {
			return err
		}
		if err := ours.work(b, p.forever, p.subject); err != nil {
			return err
		}
	}
	return nil
}

// soon are the keys that are to be synced again in a moment, and when the last of them is due.
func (s *restingSide) soon() (keys []string, latest time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(s.last)) {
		if r := s.last[key]; !r.Failed && r.Again > 0 && r.Again <= moment {
			keys, latest = append(keys, key), max(latest, r.Again)
		}
	}
	return keys, latest
}
