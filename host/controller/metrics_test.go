package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/abi"
)

// A metric's seconds are those of the performs that it names, and of nothing else: what a guest makes up is none.
func TestSecondsOfPerforms(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, int64(ms)*int64(time.Millisecond)) }
	w := &worker{performs: []span{{at(0), at(10)}, {at(15), at(40)}, {at(90), at(100)}}}
	for _, x := range []struct {
		from, to int32
		want     float64
	}{
		{1, 2, 0.010}, {2, 3, 0.025}, {1, 3, 0.040}, {1, 4, 0.100}, {3, 4, 0.010},
		{2, 2, 0}, {4, 4, 0}, {3, 2, 0}, {1, 5, 0}, {-1, 2, 0}, {1, -1 << 31, 0}, {-1 << 31, 1<<31 - 1, 0},
	} {
		if got := w.seconds(&abi.MetricUpdate{From: x.from, To: x.to}, at(0)); got != x.want {
			t.Errorf("from %d to %d: %v s, want %v", x.from, x.to, got, x.want)
		}
	}
	if got := w.seconds(&abi.MetricUpdate{}, time.Now().Add(-time.Hour)); got < 3600 || got > 3700 {
		t.Errorf("the whole sync: %v s, it began an hour ago", got)
	}
}

func TestCode(t *testing.T) {
	conflict := apierrors.NewConflict(kschema.GroupResource{Resource: "pods"}, "web", errors.New("changed"))
	odd := &apierrors.StatusError{}
	odd.ErrStatus.Code = 99999
	for want, errs := range map[int][]error{
		200: {nil},
		409: {conflict, fmt.Errorf("update: %w", conflict), errors.Join(errors.New("said so"), conflict)},
		500: {errors.New("said so"), odd, &apierrors.StatusError{}},
	} {
		for _, err := range errs {
			if got := code(err); got != want {
				t.Errorf("%v: %d, want %d", err, got, want)
			}
		}
	}
}
