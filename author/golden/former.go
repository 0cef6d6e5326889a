package golden

import (
	"strings"

	"github.com/windlass-dev/windlass/host/record"
)

// The form that outputs had before the first release: objects whole, events by their fields, and performed effects
// marked behind. A case that wants it so still holds, until it is updated; the next release knows it no more.

// former is what the former form has of a note.
type former struct {
	Performed bool `json:"performed,omitempty"`
	whole     any  // the object
}

// performs begins the note of an effect that was performed in the middle of the sync.
const performs = "perform "

// formerText is an output in the former form, in YAML.
func (o *Output) formerText() (string, error) {
	was := *o
	was.Effects = formerNotes(o.Effects)
	return record.YAML(was)
}

func formerNotes(notes []Note) (all []Note) {
	for _, n := range notes {
		do, performed := strings.CutPrefix(n.Do, performs)
		was := Note{Do: do, Failed: n.Failed, Skipped: n.Skipped, With: n.With, Object: n.Object,
			Members: formerNotes(n.Members)}
		if was.Performed = performed; n.whole != nil {
			was.Object = n.whole
		}
		all = append(all, was)
	}
	return all
}
