package manager

import "testing"

// A trial that another version has overtaken ends at once, and only once, whatever its syncs say afterwards.
func TestTrialEnds(t *testing.T) {
	x := &trial{left: trialSyncs, over: make(chan error, 1)}
	if !x.countSync(nil) {
		t.Fatal("over after one sync")
	}
	x.endTrial()
	x.endTrial()
	if x.countSync(errStarting) {
		t.Error("goes on after its end")
	}
	select {
	case err := <-x.over:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	default:
		t.Error("who waits for its end isn't told")
	}
}
