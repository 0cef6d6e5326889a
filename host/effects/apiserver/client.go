package apiserver

import (
	"net/http"
	"net/url"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// Client is one identity's connection to the API server.
type Client struct {
	rest.Interface
	over *http.Client
	base *url.URL
}

// NewClient makes the client of a configuration, with the limiter's rate limit, nil for none. connect makes what it
// sends its requests over.
func NewClient(config *rest.Config, connect func(*rest.Config) (*http.Client, error),
	limiter flowcontrol.RateLimiter) (Client, error) {
	c := Limited(config, limiter)
	c.ContentType = envelope.Protobuf
	c.AcceptContentTypes = envelope.Accepted
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.Timeout = 0 // each request has its own
	over, err := connect(c)
	if err != nil {
		return Client{}, err
	}
	base, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return Client{}, err
	}
	r, err := rest.UnversionedRESTClientForConfigAndClient(c, over)
	return Client{r, over, base}, err
}

// Limited returns the configuration with another rate limit, nil for none.
func Limited(config *rest.Config, limiter flowcontrol.RateLimiter) *rest.Config {
	c := rest.CopyConfig(config)
	c.RateLimiter = limiter
	if limiter == nil {
		c.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	}
	return c
}
