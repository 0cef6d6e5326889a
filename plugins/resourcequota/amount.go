package resourcequota

import (
	"github.com/windlass-dev/windlass/sdk/decimal"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// amount is how much of a resource is asked for. Nothing isn't the same as none: nothing leaves it to others to say.
type amount struct {
	decimal.Amount
	there bool
	// broken is set where an amount can't be read, or is too large to be added up.
	broken bool
}

var one = amount{Amount: decimal.Whole(1), there: true}

func whole(n int64) amount { return amount{Amount: decimal.Whole(n), there: true} }

// readAmount returns what a list says of a resource.
func readAmount(list corev1.ResourceList, name corev1.ResourceName) amount {
	q := list.At(name)
	if q == nil {
		return amount{}
	}
	if q.Text == "" {
		return whole(0)
	}
	a, ok := decimal.ParseAmount(q.Text)
	return amount{Amount: a, there: true, broken: !ok}
}

// plus adds what is there of both.
func (a amount) plus(b amount) amount {
	if !a.there || !b.there {
		if b.there {
			a.Amount, a.there = b.Amount, true
		}
		a.broken = a.broken || b.broken
		return a
	}
	sum, ok := a.Plus(b.Amount)
	return amount{Amount: sum, there: true, broken: a.broken || b.broken || !ok}
}

// times is the amount of n objects that are alike.
func (a amount) times(n int) amount {
	if n == 1 || !a.there {
		return a
	}
	product, ok := a.Times(uint64(n))
	return amount{Amount: product, there: a.there, broken: a.broken || !ok}
}

// atLeast returns the greater of both, the first where they are the same.
func (a amount) atLeast(b amount) amount {
	broken := a.broken || b.broken
	if b.there && (!a.there || b.Compare(a.Amount) > 0) {
		a = b
	}
	a.broken = broken
	return a
}
