package record

import (
	"errors"
	"testing"
)

// A tape gives outcomes in their order to who performs the same. Who performs less hasn't done the same, nor has who
// performs more, or something else; what it does after that is found on the tape again.
func TestTape(t *testing.T) {
	in := func(names ...string) (all [][]byte) {
		for _, n := range names {
			all = append(all, []byte(n))
		}
		return all
	}

	recorded := []Perform{{In: []byte("a"), Out: []byte("A")}, {In: []byte("b"), Out: []byte("B")}}
	refused := []Perform{{In: []byte("a"), Refused: "no"}}
	for name, x := range map[string]struct {
		recorded       []Perform
		made           [][]byte
		outs           string // - for an error
		strayed, whole bool
		left           int
	}{
		"the same":            {recorded, in("a", "b"), "AB", false, true, 0},
		"none of none":        {nil, nil, "", false, true, 0},
		"less":                {recorded, in("a"), "A", false, false, 1},
		"none":                {recorded, nil, "", false, false, 2},
		"more":                {recorded, in("a", "b", "b"), "AB-", true, false, 0},
		"in another order":    {recorded, in("b", "a"), "-A", true, false, 1},
		"one between":         {recorded, in("a", "x", "b"), "A-B", true, false, 0},
		"refused once more":   {refused, in("a"), "-", false, true, 0},
		"what wasn't refused": {refused, in("b"), "-", true, false, 1},
	} {
		tape := &Tape{Recorded: x.recorded}
		outs := ""
		for _, in := range x.made {
			out, err := tape.Perform(in)
			if err != nil {
				out = []byte("-")
			}
			if errors.Is(err, ErrStrayed) && !tape.Strayed {
				t.Errorf("%s: it says that %q isn't recorded, and that nothing has strayed", name, in)
			}
			outs += string(out)
		}
		if outs != x.outs || tape.Strayed != x.strayed || tape.Whole() != x.whole || len(tape.Left()) != x.left ||
			len(tape.Made) != len(x.made) {
			t.Errorf("%s: outcomes %q, strayed %v, whole %v, %d left, %d made; expected %q, %v, %v, %d, %d",
				name, outs, tape.Strayed, tape.Whole(), len(tape.Left()), len(tape.Made), x.outs, x.strayed, x.whole, x.left,
				len(x.made))
		}
	}
}
