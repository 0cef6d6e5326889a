package differential

import "k8s.io/apimachinery/pkg/runtime"

// script is a world and what happens in it: all follows from the seed, less what is left out.
type script struct {
	seed    uint64       // of what isn't recorded
	without map[int]bool // of the objects
	skipped map[int]bool // of the steps
	steps   int
	// objects, where set, take the place of the seed's, and happens of its deeds.
	objects []runtime.Object
	happens []RecordedStep
	// record, where set, is where a world is taken down.
	record *Recorded
	// replay, where set, has it be played in another order, and a situation be looked for.
	replay *replay
}

// until returns the same world, up to a step.
func (x *script) until(step int) *script {
	return &script{seed: x.seed, steps: step, objects: x.objects, happens: x.happens}
}
