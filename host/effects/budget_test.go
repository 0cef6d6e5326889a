package effects

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// A sync that wants more deletes than a minute has begins with as many as it has; the next one waits, and the sync is
// put off until then.
func TestDeletesBeyondTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		w := &Writer{lasting: &lasting{}, Options: Options{
			Plugin: "p", Controller: &abi.Controller{Name: "c"},
			Deletes: budget.NewDeletes(2), Metrics: Metrics{OverBudget: func() { refused++ }},
		}}
		s := w.Begin(abi.KeyRef{Name: "k"}, nil)
		if err := s.reserve(3); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := s.spendDelete(); err != nil {
				t.Errorf("delete %d: %v", i, err)
			}
		}

		var over *OverBudgetError
		err := s.spendDelete()
		if !errors.As(err, &over) || over.After != time.Minute || s.Deferred() != time.Minute || refused != 1 {
			t.Errorf("the third delete: %v, put off by %v, told %d times", err, s.Deferred(), refused)
		}
		time.Sleep(time.Minute) // virtual
		if err := s.spendDelete(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}
