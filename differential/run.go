package differential

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// Worlds is how many are tried where the environment doesn't say (WORLDS, and SEED for the first).
const Worlds = 1000

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q: it must be a whole number", name, text)
	}
	return n
}

const (
	// found is how many differences a run looks for where the environment doesn't say (FOUND).
	found = 3
	// undecidedMost is how many worlds of a thousand may be undecided.
	undecidedMost = 1
)

// tenth returns how many of so many worlds are also played with late caches, and under the host: they take longer.
func tenth(worlds uint64) uint64 { return max(worlds/10, 1) }

// gateWorlds returns how many of so many worlds are also played with each of the subject's gates the other way round.
func gateWorlds(worlds uint64) uint64 { return max(min(worlds, Worlds)/8, worlds/40, 1) }

// otherwise is the subject with a feature gate the other way round, in upstream's code and ours, until the test ends.
func (s *Subject) otherwise(t *testing.T, gate string) *Subject {
	t.Helper()
	all := utilfeature.DefaultFeatureGate
	on := !all.Enabled(featuregate.Feature(gate))
	if spec := utilfeature.DefaultMutableFeatureGate.GetAll()[featuregate.Feature(gate)]; spec.LockToDefault {
		featuregatetesting.SetFeatureGateEmulationVersionDuringTest(t, all, version.MajorMinor(1, 34))
	}
	featuregatetesting.SetFeatureGateDuringTest(t, all, featuregate.Feature(gate), on)

	other := *s
	other.Settings = maps.Clone(s.Settings)
	if other.Settings == nil {
		other.Settings = map[string]string{}
	}
	for _, g := range s.Gates { // another version may have others of them off
		other.Settings[g] = strconv.FormatBool(all.Enabled(featuregate.Feature(g)))
	}
	return &other
}

// Run compares a subject on random worlds: with caches that show all at once, with late ones, and under the host. It
// fails the test where the two differ in a way that no rule of known.yaml knows. With LATE=n in the environment there
// are so many worlds with late caches and no others, with HOSTED=n so many under the host.
func Run(t *testing.T, s *Subject) {
	t.Helper()
	worlds := max(number(t, "WORLDS", Worlds)/max(s.Share, 1), 1)
	lates, hosts := number(t, "LATE", 0), number(t, "HOSTED", 0)
	all := lates == 0 && hosts == 0

	if all || lates > 0 && s.Apart { // there they are late already
		s.on(t, cmp.Or(lates, worlds))
	}
	if !s.Apart && (all || lates > 0) {
		late := *s
		late.late = true
		t.Run("late", func(t *testing.T) { late.on(t, cmp.Or(lates, tenth(worlds))) })
	}
	if all || hosts > 0 {
		hosted := *s
		hosted.hosted = true
		t.Run("hosted", func(t *testing.T) { hosted.on(t, cmp.Or(hosts, tenth(worlds))) })
	}
	if all && s.Share <= 1 {
		s.recorded(t)
	}
	if !all || s.Apart {
		return
	}
	for _, gate := range s.Gates {
		t.Run(gate, func(t *testing.T) { s.otherwise(t, gate).on(t, gateWorlds(worlds)) })
	}
}

// on compares a subject on a number of worlds.
func (s *Subject) on(t *testing.T, worlds uint64) {
	t.Helper()
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	known, err := readKnown(s.Controller)
	if err != nil {
		t.Fatal(err)
	}
	own := *s
	own.known, s = known, &own
	steps := cmp.Or(s.Steps, stepsMost)
	file := os.Getenv("RECORD") // of the last of the worlds
	first, enough := number(t, "SEED", 1), max(number(t, "FOUND", found), 1)

	syncs, begun, differences := 0, time.Now(), uint64(0)
	otherOutcome := 0
	var open []uint64
	for seed := first; seed < first+worlds && differences < enough; seed++ {
		x := &script{seed: seed, steps: steps}
		if file != "" {
			x.record = s.record(seed)
		}
		d, n, err := s.inBubble(t, server, x, known.has)
		if err != nil {
			t.Fatal(err)
		}
		syncs += n
		if file != "" {
			if err := x.record.write(file); err != nil {
				t.Fatal(err)
			}
		}
		if d == nil {
			continue
		}
		v, why, err := s.judge(t, server, d, known.has)
		if err != nil {
			t.Fatal(err)
		}
		switch v {
		case right:
			otherOutcome++
			continue
		case undecided:
			open = append(open, seed)
			t.Logf("undecided, for upstream's own outcomes differ: %s: %s", why, d.head())
			continue
		}
		differences++
		t.Errorf("%v\n# %s", s.smaller(t, server, d, known.has), why)
	}
	t.Logf("%d worlds, %d syncs, %.1f ms each world; known differences ended %d of them early", worlds, syncs,
		time.Since(begun).Seconds()*1000/float64(worlds), known.early)
	t.Logf("%d worlds came to another one of upstream's outcomes, %d are undecided", otherOutcome, len(open))
	if most := 1 + undecidedMost*int(worlds)/1000; len(open) > most {
		t.Errorf("%d worlds are undecided (SEED=%v): more than %d", len(open), open, most)
	}
	if syncs == 0 && worlds >= 100 { // a world alone may have nothing to sync
		t.Error("nothing was synced: the worlds are empty")
	}
	for _, k := range known.rules {
		t.Logf("known: %d times: %s: %s", k.seen, k.Row, k.Cause)
	}
}

// inBubble runs a script in a bubble of its own, or in several.
func (s *Subject) inBubble(t *testing.T, server *api.Server, x *script, known func(*Difference) bool) (d *Difference,
	syncs int, err error) {
	if s.hosted {
		return s.compareHosted(t, server, x, known)
	}
	run := s.run
	if s.Apart {
		run = s.runApart
	}
	synctest.Test(t, func(*testing.T) { d, syncs, err = run(server, x, known) })
	return d, syncs, err
}

// smaller leaves out what a difference doesn't need.
func (s *Subject) smaller(t *testing.T, server *api.Server, d *Difference, known func(*Difference) bool) *Difference {
	x := d.script.until(d.Step)
	x.without, x.skipped = map[int]bool{}, map[int]bool{}
	again := func() bool {
		n, _, err := s.inBubble(t, server, x, known)
		if err != nil || n == nil || n.Kind != d.Kind {
			return false
		}
		d = n
		return true
	}
	for step := 1; step < d.Step; step++ {
		if x.skipped[step] = true; !again() {
			delete(x.skipped, step)
		}
	}
	for i := len(world.Basics()); i < 60; i++ {
		if x.without[i] = true; !again() {
			delete(x.without, i)
		}
	}
	return d
}

// head reports what each did.
func (d *Difference) head() string {
	late := ""
	if d.late {
		late = " where caches are late"
	}
	const form = "%s differs from upstream's%s (SEED=%d WORLDS=1): %s, step %d, after: %s\n(-upstream +plugin)\n%s\n"
	head := fmt.Sprintf(form, d.Subject, late, d.script.seed, d.Kind, d.Step, d.Deed, d.Text)
	for _, a := range d.unknown {
		head += fmt.Sprintf("# no rule knows of: %s\n", a)
	}
	return head
}

// String reports a difference: what each did, and the world as a golden case.
func (d *Difference) String() string {
	var b strings.Builder
	b.WriteString(d.head())
	if len(d.past) > 0 {
		fmt.Fprintf(&b, "# before that:\n#  %s\n", strings.Join(d.past, "\n#  "))
	}
	fmt.Fprintf(&b, "# as a golden case\nkey: %s\nnow: %q\nobjects:\n", d.Key, d.now.Format(time.RFC3339))
	for _, o := range d.objects() {
		y, err := yaml.Marshal(o)
		if err != nil {
			fmt.Fprintf(&b, "# %v\n", err)
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(string(y)), "\n") {
			lead := "  "
			if i == 0 {
				lead = "- "
			}
			b.WriteString(lead + line + "\n")
		}
	}
	return b.String()
}
