package guard

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// What bounds questions to the API server: how many answers are kept, and how long one is waited for. How many are
// asked in a time is the client's limit.
const (
	answersMax  = 1024
	questionMax = 10 * time.Second
)

// answers keeps what the API server said for a while: a yes for one time, a no for another. Errors aren't kept.
type answers[T any] struct {
	yes, no time.Duration
	kept    *cache.LRUExpireCache // each yes
	denied  *cache.LRUExpireCache // each no: however many there are, they take no yes's place
	asking  singleflight.Group    // one question at a time of each kind
}

func newAnswers[T any](yes, no time.Duration) *answers[T] {
	return &answers[T]{yes: yes, no: no, kept: cache.NewLRUExpireCache(answersMax),
		denied: cache.NewLRUExpireCache(answersMax)}
}

// get returns the answer to a question. Where none is kept, may is asked first whether the API server may be; its error
// is that of get.
func (a *answers[T]) get(ctx context.Context, question string, may func() error,
	ask func(context.Context) (answer T, yes bool, _ error)) (T, error) {
	for _, kept := range []*cache.LRUExpireCache{a.kept, a.denied} {
		if v, ok := kept.Get(question); ok {
			return v.(T), nil
		}
	}

	if err := may(); err != nil {
		var none T
		return none, err
	}

	// The question outlives who asked it first: others wait for its answer.
	asked := a.asking.DoChan(question, func() (any, error) {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionMax)
		defer cancel()
		v, yes, err := ask(own)
		kept, ttl := a.denied, a.no
		if yes {
			kept, ttl = a.kept, a.yes
		}
		if err == nil && ttl > 0 {
			kept.Add(question, v, ttl)
		}
		return v, err
	})

	select {
	case r := <-asked:
		if r.Err != nil {
			var none T
			return none, r.Err
		}
		return r.Val.(T), nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// unavailableError is of a question that the API server didn't answer.
type unavailableError struct{ error }

func (e *unavailableError) Unwrap() error { return e.error }
