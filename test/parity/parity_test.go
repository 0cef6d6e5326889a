package parity

import (
	"flag"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
)

var only = flag.String("only", "", "play only the scripts whose names, such as deployment/work, contain this")

func TestMain(m *testing.M) { life.Main(m) }

// part is a script of a plugin's, of its life or in Go.
type part struct {
	plugin string // with the kind, if it is of a further file
	script *life.Script
	run    func(t *testing.T, s *side, namespace string)
}

func (p *part) name() string { return p.plugin + "/" + p.script.Name }

// namespace is where it is played.
func (p *part) namespace() string { return p.plugin + "-" + p.script.Name }

// allParts returns all scripts of the lives.
func allParts(lives []*life.Life) (all []*part) {
	for _, l := range lives {
		for _, s := range l.Scripts() {
			run := func(t *testing.T, side *side, namespace string) { side.stage.Play(t, s, namespace) }
			plugin := l.Plugin
			if l.Kind != "" {
				plugin += "-" + l.Kind
			}
			all = append(all, &part{plugin, s, run})
		}
	}
	return all
}

func TestParity(t *testing.T) {
	first := &book{}
	t.Run("once", func(t *testing.T) { playBoth(t, first) })
	if len(first.texts) == 0 {
		return
	}
	again := &book{only: first.again}
	t.Run("again", func(t *testing.T) { playBoth(t, again) })
	failRepeated(t, first, again)
}

// playBoth has both managers play the book's scripts, and takes down what they do otherwise. First come those that are
// played with all controllers, and then the others, which mostly wait, at a time. Each group has its own clusters, for
// what one leaves behind would be work for the next.
func playBoth(t *testing.T, b *book) {
	every := loadLives(t)
	t.Run("lives", func(t *testing.T) { playLives(t, b, life.Of("", every)) })
	t.Run("few", func(t *testing.T) {
		t.Run("workloads", func(t *testing.T) {
			t.Parallel()
			playWorkloads(t, b)
		})
		for _, kind := range life.Kinds(every) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				playKind(t, b, kind, life.Of(kind, every))
			})
		}
	})
}

// playLives plays what is played beside each other, with all controllers.
func playLives(t *testing.T, b *book, lives []*life.Life) {
	all, whole := b.selected(allParts(lives)), b.coversAll(allParts(lives))
	if len(all) == 0 {
		return
	}
	native, ours := newSides(t)
	controllers, settings := configured(lives)
	playSides(t, "all", all, native, ours, func(t *testing.T, s *side) { s.startManager(t, controllers, settings, true) })
	t.Run("same", func(t *testing.T) { compare(t, b, all, native, ours) })
	if whole && !t.Failed() {
		for _, s := range []*side{native, ours} {
			s.scrapeMetrics(t)
		}
		t.Run("metrics", func(t *testing.T) { compareMetrics(t, lives, len(controllers), native, ours) })
	}
	t.Run("requests", func(t *testing.T) { compareRequests(t, b, "all", lives, native, ours) })
	native.manager.stop()
	ours.manager.stop()
	if whole {
		takeover(t, b, all, native, ours, controllers, settings)
	}
	windlass.ExpectRoles(t, ours.cluster)
}

// playSides has both managers go through all scripts, at a time, and returns when both clusters are at rest.
func playSides(t *testing.T, name string, all []*part, native, ours *side, start func(*testing.T, *side)) {
	for _, s := range []*side{native, ours} {
		start(t, s)
	}
	t.Run(name, func(t *testing.T) {
		for _, s := range []*side{native, ours} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.playParts(t, all)
			})
		}
	})
	waitForBoth(t, native, ours)
}

// waitForBoth returns when both clusters are at rest.
func waitForBoth(t *testing.T, native, ours *side) {
	ok := t.Run("rest", func(t *testing.T) {
		for _, s := range []*side{native, ours} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.waitForRest(t)
			})
		}
	})
	if !ok {
		t.FailNow()
	}
}

// side is one manager on its cluster.
type side struct {
	name    string // native or windlass
	cluster *cluster.Cluster
	stage   *life.Stage
	names   *life.Names
	manager *running

	metrics, slis map[string]*family // what the manager served in the end

	mu     sync.Mutex
	failed map[string]bool // scripts, by name
}

// newSides are both managers, each on a new cluster.
func newSides(t *testing.T) (native, ours *side) {
	t.Helper()
	return newSide(t, "native"), newSide(t, "windlass")
}

func newSide(t *testing.T, name string) *side {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	s := &side{name: name, cluster: c, stage: life.NewStage(t, c), failed: map[string]bool{}}
	s.names = s.stage.Follow(t)
	s.stage.Metrics = metricsapi.Serve(t, c.RESTConfig())
	s.stage.RestrainKubelets(t)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *side) playParts(t *testing.T, all []*part) {
	s.runEach(t, all, func(t *testing.T, p *part) {
		begun := time.Now()
		p.run(t, s, p.namespace())
		t.Logf("%.1f s", time.Since(begun).Seconds())
	})
}

// runEach runs a test for each script, all at a time, and notes which fail.
func (s *side) runEach(t *testing.T, all []*part, f func(*testing.T, *part)) {
	for _, p := range all {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if t.Failed() {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.failed[p.name()] = true
				}
			}()
			f(t, p)
		})
	}
}

// lookAtParts returns what there is of all scripts.
func (s *side) lookAtParts(t testing.TB, all []*part) map[string]life.Lines {
	t.Helper()
	scripts := map[string]*life.Script{}
	for _, p := range all {
		scripts[p.namespace()] = p.script
	}
	return s.stage.Look(t, s.names, scripts)
}

// patience is far more than anything takes, for machines on which many tests run at once.
const patience = 3 * time.Minute

// compare takes down what the two managers have left otherwise. What differs at first may only be late on one of the
// clusters: it is looked at again until it is the same, or for so long that it won't be.
func compare(t *testing.T, b *book, all []*part, native, ours *side) {
	bugs := readBugs(t)
	left := all
	found := map[string][]string{}
	end := time.Now().Add(late)
	for {
		theirs, mine := native.lookAtParts(t, left), ours.lookAtParts(t, left)
		var differ []*part
		for _, p := range left {
			found[p.name()] = differing(theirs[p.namespace()], mine[p.namespace()])
			if len(unmeant(p, bugs, found[p.name()])) > 0 {
				differ = append(differ, p)
			}
		}
		if left = differ; len(left) == 0 || time.Now().After(end) {
			break
		}
		waitForBoth(t, native, ours)
	}

	for _, p := range all {
		t.Run(p.name(), func(t *testing.T) {
			if native.failed[p.name()] || ours.failed[p.name()] {
				t.Fatal("there is nothing to compare: it failed above")
			}
			for _, line := range unmeant(p, bugs, found[p.name()]) {
				b.addDifference([]*part{p}, p.name()+" "+line, "%s: the managers leave behind what differs: %s", p.name(), line)
			}
			for _, d := range staleBugs(p, bugs, found[p.name()]) {
				b.addDifference([]*part{p}, p.name()+" stale "+d, "%s: %q is told as a difference, and there is none", p.name(), d)
			}
		})
	}
}

// late is how long something may be late before it is a difference.
const late = 20 * time.Second

// differing are the lines that aren't the same, as text.
func differing(theirs, ours life.Lines) (all []string) {
	keys := maps.Clone(theirs)
	maps.Copy(keys, ours)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		t, there := theirs[k]
		o, here := ours[k]
		switch {
		case there && here && t == o:
		case there && goneWhole(k, theirs, ours) || here && goneWhole(k, ours, theirs):
		case !here:
			all = append(all, k+": only native: "+t)
		case !there:
			all = append(all, k+": only Windlass: "+o)
		default:
			all = append(all, k+": native "+t+", Windlass "+o)
		}
	}
	return all
}

// goneWhole reports whether a line is of an object that others have and these don't, which a line of its own says.
func goneWhole(line string, others, these life.Lines) bool {
	for i := range line {
		if line[i] == ' ' && others[line[:i]] == "is there" && these[line[:i]] == "" {
			return true
		}
	}
	return false
}
