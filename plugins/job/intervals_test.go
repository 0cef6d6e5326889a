package job

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for _, x := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 10, ""},
		{"0", 10, "0"},
		{"1,2", 10, "1,2"},
		{"1,2,3", 10, "1-3"},
		{"0,3-5,7-9", 8, "0,3-5,7"},
		{"0,3-5,7-9", 4, "0,3"},
		{"5", 5, ""},
		{"x,1,2-y,-4,5--6,7", 10, "1,7"}, // what can't be read is left out
		{"1,99999999999999999999", 10, "1"},
	} {
		if got := parseIntervals(x.text, x.limit).String(); got != x.want {
			t.Errorf("%q below %d: %q, want %q", x.text, x.limit, got, x.want)
		}
	}
}

// FuzzIntervalsAreSets: intervals are what sets of their numbers are, and survive being written and read.
func FuzzIntervalsAreSets(f *testing.F) {
	f.Add([]byte{1, 2, 3, 7}, []byte{3, 4, 9})
	f.Add([]byte{}, []byte{0, 255, 254, 0})

	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, b := sortedUnique(x), sortedUnique(y)
		la, lb := intervalsOf(a), intervalsOf(b)
		both := la.union(lb)
		var union []int
		common := 0
		for i := range 256 {
			inA, inB := slices.Contains(a, i), slices.Contains(b, i)
			if inA || inB {
				union = append(union, i)
			}
			if inA && inB {
				common++
			}
			if both.has(i) != (inA || inB) || la.has(i) != inA {
				t.Errorf("%v and %v: has(%d) is wrong", la, lb, i)
			}
		}

		if !slices.Equal(intervalsOf(union), both) || both.countAll() != len(union) || la.countCommon(lb) != common ||
			lb.countCommon(la) != common {
			t.Errorf("%v and %v: union %v of %d, %d in common", la, lb, both, both.countAll(), la.countCommon(lb))
		}
		if read := parseIntervals(both.String(), 256); !slices.Equal(read, both) {
			t.Errorf("%q is read as %v", both.String(), read)
		}
	})
}

func sortedUnique(b []byte) (l []int) {
	for _, x := range b {
		l = append(l, int(x))
	}
	slices.Sort(l)
	return slices.Compact(l)
}

func intervalsOf(numbers []int) (l intervals) {
	for _, i := range numbers {
		l = l.extend(interval{i, i})
	}
	return l
}
