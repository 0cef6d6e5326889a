package differential

import (
	"encoding/json"
	"hash/fnv"
	"testing"

	"github.com/windlass-dev/windlass/differential/api"
)

// replays is how often a world is played anew in which the two have differed.
const replays = 40

// situation is what the plugin had before it and what it did, from which it follows whether the two differ, but for
// what upstream's controller picks at random.
type situation struct {
	step  int
	key   string
	world uint64 // its objects before; 0 where it is one of metrics, which are a whole step's
	ours  uint64 // its objects with what the plugin has done
	// otherwise says that upstream's controller, in this situation, has come to what is alike, or to a known difference.
	otherwise bool
}

// met notes in what situation the two differ or, where the one that the script looks for has come again, whether they
// are alike in it. It reports whether nothing that follows is of interest.
func (p *play) met(d *Difference, before, ours *api.Cluster, alike bool) bool {
	want := p.script.same
	switch {
	case !alike:
		d.found = situation{step: d.Step, key: d.Key, world: digest(before), ours: digest(ours)}
	case want == nil || d.Step != want.step || d.Key != want.key:
	case digest(before) == want.world && digest(ours) == want.ours:
		want.otherwise = true
	}
	return want != nil && want.otherwise
}

// knows reports whether a difference is a known one. If it is, in the situation that the script looks for, then
// upstream's controller has come to something else there than before.
func (p *play) knows(d *Difference) bool {
	if !p.known(d) {
		return false
	}
	if want := p.script.same; want != nil && want.world != 0 && d.found == *want {
		want.otherwise = true
	}
	return true
}

// digest returns a hash of all objects of a cluster, 0 of none.
func digest(c *api.Cluster) uint64 {
	if c == nil {
		return 0
	}
	h := fnv.New64a()
	for _, o := range objectsOf(c) {
		if err := json.NewEncoder(h).Encode(o); err != nil {
			panic(err) // an object of Kubernetes' own types
		}
	}
	return h.Sum64()
}

// byChance reports whether it was upstream's chance that the two differed in a world: played anew, they are alike in
// the same situation, or differ in a known way, or come to no difference at all, for what a plugin does follows from
// its world.
func (s *Subject) byChance(t *testing.T, server *api.Server, d *Difference, known func(*Difference) bool) (bool,
	error) {
	again := 0
	for range replays {
		x := &script{seed: d.Seed, steps: d.Step, same: &d.found}
		n, _, err := s.inBubble(t, server, x, known)
		switch {
		case err != nil:
			return false, err
		case d.found.otherwise:
			return true, nil
		case n != nil:
			again++
		}
	}
	return again == 0, nil
}
