package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// DefaultTimeout is how long getting one module may take, all in all.
const DefaultTimeout = time.Minute

// attempts is how often a request is sent, and a body asked for, before that is given up.
const attempts = 3

// Options say how registries are reached.
type Options struct {
	// Credentials is the path of a docker config file. Its credential helpers are never run. Empty: none.
	Credentials string
	// CAFile is a bundle of certificates in PEM that are trusted beside the system's. Empty: none.
	CAFile string
	// PlainHTTP are the registries, host:port, that are spoken to without TLS.
	PlainHTTP []string
	// Timeout bounds each of the client's calls as a whole. 0: DefaultTimeout.
	Timeout time.Duration
}

// Client speaks to registries.
type Client struct {
	options Options
	auth    *auth.Client
	base    *http.Transport
}

// New makes a client; its files are read now.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	c := &Client{options: o}
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}

	c.base = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // bytes are compared as they are
		IdleConnTimeout:        30 * time.Second,
	}

	again := &retry.GenericPolicy{Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: attempts - 1}
	transport := retry.NewTransport(encrypted{c.base, o.PlainHTTP})
	transport.Policy = func() retry.Policy { return again }
	c.auth = &auth.Client{Client: &http.Client{Transport: transport}, Cache: auth.NewCache(),
		Header: http.Header{"User-Agent": {"windlass"}}}

	if o.Credentials != "" {
		if _, err := os.Stat(o.Credentials); err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		store, err := credentials.NewFileStore(o.Credentials)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w: it must be a docker config file, as docker login writes it", err)
		}
		c.auth.Credential = credentials.Credential(store)
	}

	return c, nil
}

// Close gives idle connections up.
func (c *Client) Close() { c.base.CloseIdleConnections() }

func (o Options) roots() (*x509.CertPool, error) {
	if o.CAFile == "" {
		return nil, nil // the system's
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file: %s has no certificate in PEM", o.CAFile)
	}
	return roots, nil
}

// encrypted keeps all requests on TLS, those to redirects and to token services among them, except to the registries
// that are spoken to in plain.
type encrypted struct {
	next  http.RoundTripper
	plain []string
}

func (e encrypted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !slices.Contains(e.plain, r.URL.Host) {
		return nil, &plainError{r.URL.Host}
	}
	return e.next.RoundTrip(r)
}

// plainError is for a request that would have gone without TLS.
type plainError struct{ host string }

func (e *plainError) Error() string { return "sends to " + e.host + " without TLS" }

// repository returns the client of a reference's repository, and a context that bounds what is done with it.
func (c *Client) repository(ctx context.Context, r Reference) (context.Context, context.CancelFunc, *remote.Repository,
	error) {
	parsed, err := registry.ParseReference(r.Repository)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	return ctx, cancel, &remote.Repository{
		Client: c.auth, Reference: parsed, PlainHTTP: slices.Contains(c.options.PlainHTTP, r.registryHost()),
		MaxMetadataBytes: manifestMax, SkipReferrersGC: true,
		ManifestMediaTypes: []string{typeManifest, typeDockerManifest, typeIndex, typeDockerIndex},
	}, nil
}
