package effects

import "github.com/windlass-dev/windlass/host/cache"

// recentMax is how many written versions a Writer remembers. An echo comes within milliseconds; one that is forgotten
// costs a sync.
const recentMax = 8192

type written struct{ uid, version string }

// noteWritten remembers a version that was written.
func (w *Writer) noteWritten(uid, version string) {
	if uid != "" && version != "" {
		w.own.Add(written{uid, version})
	}
}

// Own reports whether this version of the object was written by this controller, so that its event is an echo.
func (w *Writer) Own(o *cache.Object) bool {
	return o != nil && w.own.Has(written{string(o.UID), o.ResourceVersion})
}
