package effects

import "github.com/windlass-dev/windlass/host/cache"

// recentMax is how many written versions a Writer remembers. An echo comes within milliseconds; one that is forgotten
// costs a sync.
const recentMax = 8192

// version is one version of an object.
type version struct{ uid, version string }

// step is what one write has made of an object: the version that it was made of, "" for a new object, and its own.
type step struct{ uid, from, to string }

// origin is the version that a write was made of, if that is known: of a write that demands none, and of one whose
// answer was lost, somebody else may have changed the object before it, or after.
type origin struct {
	version string // "" of an object that was created
	known   bool
}

var (
	created   = origin{known: true}
	uncertain = origin{}
)

// demanded is the origin of a write that demands a version, "" for none.
func demanded(version string) origin { return origin{version, version != ""} }

// noteWritten remembers a version that was written.
func (w *Writer) noteWritten(uid string, from origin, to string) {
	if uid == "" || to == "" {
		return
	}
	w.written.Add(version{uid, to})
	if from.known {
		w.own.Add(step{uid, from.version, to})
	}
}

// Own reports whether an event shows no more than a write of this controller's, so that it is an echo. It isn't where
// somebody else may have changed the object between what the event tells of, as after a list, or by what the API server
// has answered to a write that changed nothing.
func (w *Writer) Own(e cache.Event) bool {
	if e.New == nil {
		return false
	}
	x := step{uid: string(e.New.UID), to: e.New.ResourceVersion}
	if e.Old != nil {
		x.from = e.Old.ResourceVersion
	}
	return w.own.Has(x)
}

// Answered reports whether the API server has answered this controller with the version of the object. It may be
// another's that a write of this controller's has left as it was.
func (w *Writer) Answered(o *cache.Object) bool {
	return w.written.Has(version{string(o.UID), o.ResourceVersion})
}
