// Package discovery tells which resources an API server serves.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// patience is how old a listing may be that knows of no match before the server is asked again. References to kinds
// that nobody serves are looked up again and again; they must not make a request each.
const patience = 5 * time.Second

// Client remembers what the API server served last. It is safe for concurrent use.
type Client struct {
	server   *discovery.DiscoveryClient
	tags     *tags
	patience time.Duration

	asking sync.Mutex // one listing at a time; the others wait for it and look again
	mu     sync.Mutex
	known  *listing
}

// New makes a client. It asks the server nothing yet, and its requests wait for no rate limit.
func New(config *rest.Config) (*Client, error) {
	c := rest.CopyConfig(config)
	c.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	t := &tags{pages: map[string]page{}}
	c.Wrap(t.wrapTransport)
	d, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("discovery: client: %w", err)
	}
	return &Client{server: d, tags: t, patience: patience}, nil
}

// NoMatchError tells that no resource has the kind or the name, as far as the server says now.
type NoMatchError struct {
	What string // such as "kind example.com/v1 Foo"
}

func (e *NoMatchError) Error() string { return "the API server serves no resource with the " + e.What }

// Reason is that of the outcome of an effect that failed for it.
func (e *NoMatchError) Reason() string { return "NoKindMatch" }

// All lists, from the server, all resources in their preferred versions. Of a group version that can't be listed there
// is a failure.
func (c *Client) All(ctx context.Context) (*abi.Discovery, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	l, err := c.refreshListing(ctx)
	if err != nil {
		return nil, err
	}
	return l.pluginListing(), nil
}

// Unknown returns the group versions whose discovery has failed each time so far: what they serve isn't known.
func (c *Client) Unknown() []abi.DiscoveryFailure {
	if l := c.lastListing(); l != nil {
		return l.unknown()
	}
	return nil
}

// Kind returns the resource whose objects have the kind, in any served version, or in the preferred one for a version
// "*". The error is a [NoMatchError] when there is none; when it can't be told, because the group version can't be
// listed, it is another one.
func (c *Client) Kind(ctx context.Context, apiVersion, kind string) (abi.APIResource, error) {
	return c.findResource(ctx, apiVersion, "kind "+apiVersion+" "+kind, func(l *listing) (abi.APIResource, bool) {
		return l.ofKind(gvk{apiVersion, kind})
	})
}

// Resource returns a resource that objects can be read and written of, a built-in one without a request.
func (c *Client) Resource(ctx context.Context, r abi.Resource) (*schema.Resource, error) {
	if res, err := schema.For(r); err == nil {
		return res, nil
	}
	gv := apischema.GroupVersion{Group: r.Group, Version: r.Version}.String()
	a, err := c.findResource(ctx, gv, "name "+r.String(), func(l *listing) (abi.APIResource, bool) {
		a, ok := l.resources[r]
		return a, ok
	})
	if err != nil {
		return nil, err
	}
	return schema.Custom(r, a.Kind, a.Namespaced), nil
}

// findResource looks something up in what is known, and at a miss in a new listing, unless the last one is too young.
func (c *Client) findResource(ctx context.Context, groupVersion, what string,
	look func(*listing) (abi.APIResource, bool)) (abi.APIResource, error) {
	l := c.lastListing()
	if l != nil {
		if r, ok := look(l); ok {
			return r, nil
		}
	}
	if l == nil || time.Since(l.at) >= c.patience {
		var err error
		if l, err = c.newerListing(ctx, l); err != nil {
			return abi.APIResource{}, err
		}
		if r, ok := look(l); ok {
			return r, nil
		}
	}
	if message, failed := l.failure(groupVersion); failed {
		return abi.APIResource{}, fmt.Errorf("can't tell whether the API server serves the %s: discovery of %s failed: %s",
			what, groupVersion, message)
	}
	return abi.APIResource{}, &NoMatchError{what}
}

func (c *Client) lastListing() *listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// newerListing returns a listing other than the one that had no match.
func (c *Client) newerListing(ctx context.Context, old *listing) (*listing, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if l := c.lastListing(); l != old {
		return l, nil // somebody else has asked meanwhile
	}
	return c.refreshListing(ctx)
}

// refreshListing lists and remembers. The caller holds asking.
func (c *Client) refreshListing(ctx context.Context) (*listing, error) {
	at := time.Now()
	if old := c.lastListing(); old != nil && len(old.failures) == 0 && c.tags.isUnchanged(ctx, c.server.RESTClient()) {
		l := *old
		l.at = at
		c.mu.Lock()
		defer c.mu.Unlock()
		c.known = &l
		return &l, nil
	}
	groups, lists, err := c.server.ServerGroupsAndResourcesWithContext(ctx)
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	l := newListing(at, groups, lists, partly)
	c.mu.Lock()
	defer c.mu.Unlock()
	l.keepUnlisted(c.known)
	c.known = l
	return l, nil
}
