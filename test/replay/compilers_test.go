package replay

import (
	"testing"

	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/test/module"
)

// compilers replays what modules of TinyGo's did in the same plugins as Go's own compiler builds them: every message is
// the same, byte for byte.
func compilers(t *testing.T, recordings map[string]string) {
	for _, name := range []string{"replicaset", "job"} {
		t.Run(name, func(t *testing.T) {
			f, err := record.Open(recordings[name+"-controller"])
			if err != nil {
				t.Fatal(err)
			}
			p := plugins.New(name, name, module.BuildWithGo(t, name))
			same, performs := 0, 0
			if err := replay.Run(t.Context(), f, replay.Options{Plugin: p}, func(r replay.Result) {
				if r.Verdict != replay.Same {
					t.Errorf("sync %d of %s (%s) is %s: %s\n%s", r.Number, r.Key, r.Ended, r.Verdict, r.Why, r.Diff)
					return
				}
				same++
				performs += len(f.Syncs[r.Number-1].Performs)
			}); err != nil {
				t.Fatal(err)
			}
			if same < 5 || performs == 0 {
				t.Errorf("%d syncs, %d performs: too little was recorded to tell", same, performs)
			}
			t.Logf("%d syncs with %d performs are the same under TinyGo and Go", same, performs)
		})
	}
}
