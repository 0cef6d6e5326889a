package views

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
)

// seen is what a key's snapshot holds, as the brute-force evaluator sees it.
type seen struct {
	views  []bruteView
	hashes [][]uint64 // of each row's loud bytes
	absent bool
}

func evaluateKey(b *brute, key abi.KeyRef) seen {
	s := seen{views: b.evaluateViews(key)}
	for i := range b.c.Views {
		h := make([]uint64, len(s.views[i].rows))
		for j, t := range s.views[i].rows {
			h[j] = t.loudHash(&b.c.Views[i])
		}
		s.hashes = append(s.hashes, h)
	}
	s.absent = !b.c.Key.Single && len(s.views[b.c.Key.View].rows) == 0
	return s
}

// differs names the loud view in which two looks at a key differ; excepted rows don't count.
// Nor does a count that is what the key was delivered last: a quiet event had changed it, and this one changes it back.
func differs(b *brute, whole []bool, before, after seen, delivered []int64,
	except func(view int, t *thing) bool) (string, bool) {
	for i := range b.c.Views {
		v := &b.c.Views[i]
		if slices.Contains(v.Quiet, "*") || v.Lazy || after.absent && !whole[i] {
			continue
		}
		if before.views[i].guarded != after.views[i].guarded {
			return fmt.Sprintf("view %d: its guard", i), true
		}
		x, y := loudRows(before, i, except), loudRows(after, i, except)
		if v.Count > 0 {
			back := delivered != nil && delivered[i] == int64(min(len(after.views[i].rows), int(v.Count)))
			if min(len(x), int(v.Count)) != min(len(y), int(v.Count)) && !back {
				return fmt.Sprintf("view %d: its count", i), true
			}
			continue
		}
		if !slices.Equal(x, y) {
			return fmt.Sprintf("view %d: its objects, %v before, %v after", i, x, y), true
		}
	}
	return "", false
}

type loudRow struct {
	ns, name string
	hash     uint64
}

func loudRows(s seen, i int, except func(int, *thing) bool) []loudRow {
	var all []loudRow
	for j, t := range s.views[i].rows {
		if except == nil || !except(i, t) {
			all = append(all, loudRow{t.ns, t.name, s.hashes[i][j]})
		}
	}
	return all
}

// compareSnapshot compares a snapshot with what the brute-force evaluator found.
func compareSnapshot(c *abi.Controller, s *Snapshot, want seen) error {
	for i, d := range s.Views() {
		v := &c.Views[i]
		if v.Lazy {
			continue
		}
		if d.Guarded != want.views[i].guarded {
			return fmt.Errorf("view %d: guarded is %v", i, d.Guarded)
		}

		var names []string
		for _, t := range want.views[i].rows {
			names = append(names, t.ns+"/"+t.name)
		}
		if v.Count > 0 {
			if int(d.Count) != min(len(names), int(v.Count)) {
				return fmt.Errorf("view %d: count is %d, the objects are %v", i, d.Count, names)
			}
			continue
		}

		var got []string
		for _, o := range s.Rows(i) {
			got = append(got, o.Namespace+"/"+o.Name)
		}
		if !slices.Equal(got, names) {
			return fmt.Errorf("view %d: holds %v, want %v", i, got, names)
		}
	}

	return nil
}

// sameData compares what two snapshots deliver, versions aside.
func sameData(s, want *Snapshot) error {
	for i, d := range s.Views() {
		x := want.Views()[i]
		if d.Count != x.Count || d.Guarded != x.Guarded ||
			!slices.EqualFunc(d.Objects, x.Objects, func(a, b abi.ObjectData) bool {
				return bytes.Equal(a.Data, b.Data)
			}) {
			return fmt.Errorf("view %d: delivers %d objects, unfiltered %d, or other bytes", i, len(d.Objects), len(x.Objects))
		}
	}
	return nil
}

func viewCounts(s *Snapshot) []int64 {
	var all []int64
	for _, d := range s.Views() {
		all = append(all, d.Count)
	}
	return all
}
