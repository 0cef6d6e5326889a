package controller

import (
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// A sync of a key that has nothing to do, from the queue to the answer: what a worker takes beside the sandbox.
func BenchmarkSync(b *testing.B) {
	c, _ := failing(b, 0, func(int) int { return http.StatusConflict })
	accounts := abi.Resource{Version: "v1", Name: "serviceaccounts"}
	s, err := schema.For(accounts)
	if err != nil {
		b.Fatal(err)
	}
	c.World.(world)[accounts] = objects{"default": {Resource: s, Namespace: "shop", Name: "default", UID: "a"}}
	w, k := newWorker(c), Key{Name: "shop"}

	b.ReportAllocs()
	for b.Loop() {
		c.Wake(k)
		w.syncNext(b.Context())
	}
	if _, all := c.Stuck(func(string) bool { return true }, 1); all != 0 {
		b.Error("the key is stuck")
	}
}
