package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/test/worlds"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
)

// Whatever happens to a store, a reader for which it is current finds in it all objects that there were when it was
// listed last, and nothing that wasn't declared is missing of them. Stores are dropped, widened, doubted, expire, and
// lists come late, of the first informer or the second.
func TestWhatIsCurrentIsComplete(t *testing.T) {
	held := 0
	for seed := range uint64(worlds.Number(400)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { held += history(t, seed) })
	}
	if held == 0 {
		t.Error("no reader was ever current")
	}
}

// aspects are what readers may want; an object has all of them.
var aspects = []string{"metadata.labels", "metadata.annotations", "data"}

// told is a reader with what the test knows of it.
type told struct {
	*Reader
	aspect           string
	doubted, expired bool
}

func history(t *testing.T, seed uint64) (held int) {
	r := rand.New(rand.NewPCG(seed, 18))
	s, err := schema.For(secrets)
	if err != nil {
		t.Fatal(err)
	}

	// What lists and watches waits until it is stopped: the test says what comes.
	idle := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}

	x := newResource(s, func(*decoder) (clientcache.ListerWatcher, error) { return idle, nil })
	var readers []*told
	truth, version := map[string]*corev1.Secret{}, 1
	list := func(f *feed) {
		if f == nil {
			return
		}
		var all []any
		for _, o := range truth {
			all = append(all, decoded(t, f.decoder, o))
		}
		if err := f.Replace(all, strconv.Itoa(version)); err != nil {
			t.Fatal(err)
		}
	}

	for range 40 {
		x.mu.Lock()
		first, second := x.feed, x.wider
		x.mu.Unlock()
		switch pick := r.IntN(10); {
		case pick < 2:
			one := &told{aspect: aspects[r.IntN(len(aspects))]}
			one.Reader = newReader(x, pathMask(t, secrets, one.aspect), Want{})
			if err := x.declare(one.Reader, t.Context()); err != nil {
				t.Fatal(err)
			}
			readers = append(readers, one)
		case pick < 3 && len(readers) > 0:
			i := r.IntN(len(readers))
			readers[i].Release()
			if readers[i].Current() {
				t.Error("a reader that has stopped reading is current")
			}
			readers = append(readers[:i], readers[i+1:]...)
		case pick < 6:
			list(first)
			if first != nil {
				for _, one := range readers {
					one.expired = false
				}
			}
		case pick < 8:
			list(second)
		case pick < 9 && len(readers) > 0:
			switch one := readers[r.IntN(len(readers))]; r.IntN(3) {
			case 0:
				one.Doubt()
				one.doubted = true
			case 1:
				one.Trust()
				one.doubted = false
			default:
				one.Expire()
				one.expired = true
			}
		default:
			version++
			name := fmt.Sprint("s", r.IntN(4))
			delete(truth, name)
			if r.IntN(3) > 0 {
				truth[name] = secret(name, strconv.Itoa(version), map[string]string{"a": "b"})
			}
			x.mu.Lock()
			live := x.feed
			x.mu.Unlock()
			list(live) // a watch would bring it
			if live != nil {
				for _, one := range readers {
					one.expired = false
				}
			}
		}

		for _, one := range readers {
			if !one.Current() {
				continue
			}
			held++
			if one.doubted || one.expired {
				t.Fatalf("a reader of %s is current though it is doubted (%v) or expired (%v)",
					one.aspect, one.doubted, one.expired)
			}
			for name := range truth {
				o := x.store.Get("ns", name)
				if o == nil {
					t.Fatalf("a reader of %s is current, and %s isn't there", one.aspect, name)
				}
				if !keepsAspect(t, o, one.aspect) {
					t.Fatalf("a reader of %s is current, and %s was kept without", one.aspect, name)
				}
			}
		}
	}

	for _, one := range readers {
		one.Release()
	}
	return held
}

// keepsAspect reports whether something of an aspect was kept of an object.
func keepsAspect(t *testing.T, o *Object, aspect string) bool {
	t.Helper()
	var s corev1.Secret
	if err := s.Unmarshal(o.Raw); err != nil {
		t.Fatal(err)
	}
	switch aspect {
	case "data":
		return len(s.Data) > 0
	case "metadata.labels":
		return len(s.Labels) > 0
	}
	return len(s.Annotations) > 0
}
