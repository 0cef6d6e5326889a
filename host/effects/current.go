package effects

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
)

// Currency tells when stores are as new as the server: what a process asks before it goes on with another one's work.
type Currency struct{ reader apiserver.Client }

// NewCurrency makes one that asks under an identity that may list.
func NewCurrency(config *rest.Config) (*Currency, error) {
	reader, err := apiserver.NewClient(config, rest.HTTPClientFor, nil)
	if err != nil {
		return nil, fmt.Errorf("client of the host: %w", err)
	}
	return &Currency{reader}, nil
}

// Probe returns why a resource can't be listed, nil if it can.
func (c *Currency) Probe(ctx context.Context, r abi.Resource) error {
	_, err := new(apiserver.Listing).ReadPage(ctx, c.reader, r, "", "")
	return err
}

// busy is how long a store may take to reach the server's version by itself, as one does in which much happens, before
// more than a page of its list is looked at.
const busy = 100 * time.Millisecond

// Await waits until a resource's store isn't older than this call. progress has its argument called after each change
// of the store.
//
// A store that is quiet doesn't know that it is: it learns the server's version from a bookmark, once a minute. So it
// is compared with what a consistent list shows of each object.
func (c *Currency) Await(ctx context.Context, r abi.Resource, store Store,
	progress func(func()) (remove func(), err error)) error {
	moved := make(chan struct{}, 1)
	remove, err := progress(func() {
		select {
		case moved <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer remove()
	l := &apiserver.Listing{}
	next, err := l.ReadPage(ctx, c.reader, r, "", "")
	if err != nil {
		return fmt.Errorf("listing %s: %w", r, err)
	}

	now := l.Version
	soon := time.NewTimer(busy)
	defer soon.Stop()
	for {
		reached, err := resourceversion.CompareResourceVersion(store.Version(), now)
		if err == nil && reached >= 0 || next == "" && shows(store, "", l) {
			return nil
		}
		select {
		case <-moved:
		case <-soon.C:
			for next != "" {
				if next, err = l.ReadPage(ctx, c.reader, r, "", next); err != nil {
					return fmt.Errorf("listing %s: %w", r, err)
				}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
