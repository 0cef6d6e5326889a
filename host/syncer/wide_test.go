package syncer

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
)

// A key that isn't an object may keep more: there may be something to keep of all objects.
func TestWideState(t *testing.T) {
	for name, x := range map[string]struct {
		key  abi.Key
		size int
		want string
	}{
		"an object, too much":   {abi.Key{}, abi.StateMax + 1, Refused},
		"a single key":          {abi.Key{Single: true}, abi.WideStateMax, OK},
		"a single key, more":    {abi.Key{Single: true}, abi.WideStateMax + 1, Refused},
		"a group's key":         {abi.Key{Path: "metadata.namespace"}, abi.WideStateMax, OK},
		"a group's key, more":   {abi.Key{Path: "metadata.namespace"}, abi.WideStateMax + 1, Refused},
		"an object, all it may": {abi.Key{}, abi.StateMax, OK},
	} {
		t.Run(name, func(t *testing.T) {
			target, _ := newTarget(t)
			target.Manifest.Key = x.key
			plan, err := views.Compile(target.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			target.Plan, target.Module = plan, alwaysAnswers(abi.SyncResponse{State: make([]byte, x.size)})
			k, around, states := abi.KeyRef{Namespace: "shop", Name: "k"}, world{}, &States{}
			around.put(t, "shop", "k")
			s := &Syncer{World: around, States: states}
			if err := s.Prepare(t.Context(), target, &Turn{Key: k, Metrics: &counts{}}); err != nil {
				t.Fatal(err)
			}
			o := s.Sync(t.Context())
			if kept, _ := states.Get(k); o.Result != x.want || (len(kept.Blob) == x.size) != (x.want == OK) {
				t.Errorf("%v, %v, %d bytes kept", o.Result, o.Err, len(kept.Blob))
			}
		})
	}
}
