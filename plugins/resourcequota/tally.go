package resourcequota

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// tally is what has been found so far of how much a quota's objects take.
type tally struct {
	hard   corev1.ResourceList
	scopes []requirement
	// sums are by the place of the resource in hard; nothing is there of a resource that nobody counts.
	sums []amount
	// failed are the resources whose sums can't be told.
	failed []bool
	errs   []error
}

func newTally(spec *corev1.ResourceQuotaSpec) *tally {
	return &tally{hard: spec.Hard, scopes: scopesOf(spec),
		sums: make([]amount, len(spec.Hard)), failed: make([]bool, len(spec.Hard))}
}

// share is a resource that objects of one kind are counted for, with how.
type share[How any] struct {
	place int
	how   How
}

// sharesOf returns the resources of the quota that are counted of one kind of objects. From now on they are known: they
// are 0 at least.
func sharesOf[How any](t *tally, counts func(corev1.ResourceName) (How, bool)) []share[How] {
	var shares []share[How]
	for i := range t.hard {
		if how, ok := counts(t.hard[i].Key); ok && !t.failed[i] {
			shares = append(shares, share[How]{i, how})
			t.add(i, whole(0))
		}
	}
	return shares
}

func (t *tally) add(place int, a amount) { t.sums[place] = t.sums[place].plus(a) }

// fail keeps the old number of a resource.
func (t *tally) fail(place int, err error) {
	t.failed[place] = true
	t.errs = append(t.errs, err)
}

// used returns what the quota's status is to say: what has been counted, and of what hasn't, what it has said before.
func (t *tally) used(before corev1.ResourceList) corev1.ResourceList {
	var used corev1.ResourceList
	for i := range t.hard {
		name := t.hard[i].Key
		if t.sums[i].broken && !t.failed[i] {
			t.fail(i, sdk.Errors("the sum of ", string(name), " is too large, or what an object says of it is no quantity"))
		}
		if t.sums[i].there && !t.failed[i] {
			used.Set(name, wire.Quantity{Text: t.sums[i].Text()})
		} else if old, ok := before.Lookup(name); ok {
			used.Set(name, old)
		}
	}
	return used
}

// err returns what has failed, nil where nothing has.
func (t *tally) err() error {
	if len(t.errs) == 0 {
		return nil
	}
	text := t.errs[0].Error()
	for _, err := range t.errs[1:] {
		text += "; " + err.Error()
	}
	return sdk.Errors(text)
}
