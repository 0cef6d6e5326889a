package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/files"
)

// What the API server is asked at most in the long run and at once, as upstream does in
// k8s.io/apiserver/pkg/server/options.
const (
	questionsPerSecond = 200
	questionsAtOnce    = 400
)

// perhapsMax is for how long a request that anybody may make waits for whom it is from.
const perhapsMax = time.Second

// Guard decides for each request whether it is let through.
type Guard struct {
	base  *rest.Config
	wake  chan struct{} // the API server's authorities are wanted now
	first chan struct{} // closed when they were asked for once
	once  sync.Once

	strangers *strangers

	mu        sync.Mutex // of what changes
	given     *config.Serving
	published *published
	missing   error // why there is nothing newer
	present   atomic.Pointer[policy]
}

// policy is how a guard decides at the moment. It isn't changed.
type policy struct {
	always always
	tokens *tokens
	access *access
	client kubernetes.Interface // of what is published
	// files of CAs; nil where none is named
	clientFile, headerFile *files.Parsed[*authority]

	clients *authority
	proxies *proxies
	problem error // why proxies aren't as they are configured
}

// New makes a guard of the configuration. base is how the API server is reached where the configuration doesn't say
// otherwise.
func New(ctx context.Context, c *config.Serving, base *rest.Config) (*Guard, error) {
	g := &Guard{base: base, wake: make(chan struct{}, 1), first: make(chan struct{}), strangers: newStrangers()}
	if err := g.Configure(c); err != nil {
		return nil, err
	}
	if a := &c.Authentication; !a.SkipLookup && !a.TolerateLookupFailure {
		if err := g.refreshPublished(ctx); err != nil {
			return nil, fmt.Errorf("%w, or set serving.authentication.tolerateLookupFailure", err)
		}
	}
	return g, nil
}

// Configure changes how the guard decides. After an error it decides as before.
func (g *Guard) Configure(c *config.Serving) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.given != nil && reflect.DeepEqual(g.given.Authentication, c.Authentication) &&
		reflect.DeepEqual(g.given.Authorization, c.Authorization) {
		return nil
	}

	p := &policy{always: c.Authorization.AlwaysAllowPaths}
	authentication, err := g.clientOf(c.Authentication.Kubeconfig, "serving.authentication.kubeconfig")
	if err != nil {
		return err
	}

	authorization, err := g.clientOf(c.Authorization.Kubeconfig, "serving.authorization.kubeconfig")
	if err != nil {
		return err
	}

	p.client = authentication
	p.tokens = newTokens(authentication.AuthenticationV1(), c.Authentication.TokenCacheTTL.Duration)
	p.access = newAccess(authorization.AuthorizationV1(), &c.Authorization)
	if p.clientFile, err = openAuthority(c.Authentication.ClientCAFile, "clientCAFile"); err != nil {
		return err
	}

	if p.headerFile, err = openAuthority(c.Authentication.RequestHeader.ClientCAFile,
		"requestHeader.clientCAFile"); err != nil {
		return err
	}

	own := *c
	g.given = &own
	g.setPolicy(p)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return nil
}

func openAuthority(path, name string) (*files.Parsed[*authority], error) {
	if path == "" {
		return nil, nil
	}
	s, err := files.Open(func(b [][]byte) (*authority, error) { return parseAuthority(b[0]) }, path)
	if err != nil {
		return nil, fmt.Errorf("serving.authentication.%s: %w", name, err)
	}
	return s, nil
}

func (g *Guard) clientOf(kubeconfig, name string) (kubernetes.Interface, error) {
	c := rest.CopyConfig(g.base)
	if kubeconfig != "" {
		var err error
		if c, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.UserAgent = g.base.UserAgent
	}
	c.QPS, c.Burst = questionsPerSecond, questionsAtOnce
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return client, nil
}

// setPolicy has the guard decide by p, completed with what is known of CAs.
func (g *Guard) setPolicy(p *policy) {
	value := func(s *files.Parsed[*authority]) *authority {
		if s == nil {
			return nil
		}
		return s.Value()
	}
	p.clients, p.proxies, p.problem = joinTrust(&g.given.Authentication, value(p.clientFile), value(p.headerFile),
		g.published)
	g.present.Store(p)
}

// Refresh reads the files of CAs anew. Errors, which stay until they are mended, are why what they say, or what the API
// server publishes, isn't taken.
func (g *Guard) Refresh() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := *g.present.Load()
	var errs []error
	refresh := func(s *files.Parsed[*authority], name string) {
		if s == nil {
			return
		}
		changed, err := s.Refresh()
		if changed {
			klog.InfoS("Reloaded the CA certificates", "field", "serving.authentication."+name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("serving.authentication.%s: %w", name, err))
		}
	}
	refresh(p.clientFile, "clientCAFile")
	refresh(p.headerFile, "requestHeader.clientCAFile")
	g.setPolicy(&p)
	if !g.given.Authentication.SkipLookup {
		errs = append(errs, g.missing)
	}
	return errors.Join(append(errs, p.problem)...)
}

// Run keeps up with whom the API server trusts, until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	for retry := lookupRetry; ; {
		g.mu.Lock()
		skip := g.given.Authentication.SkipLookup
		g.mu.Unlock()
		wait := lookupPeriod
		if !skip {
			if err := g.refreshPublished(ctx); err != nil {
				wait, retry = retry, min(2*retry, lookupPeriod)
			} else {
				retry = lookupRetry
			}
		}
		g.once.Do(func() { close(g.first) })
		select {
		case <-time.After(wait):
		case <-g.wake:
		case <-ctx.Done():
			return
		}
	}
}

// refreshPublished takes what the API server publishes. After an error what was taken before stays.
func (g *Guard) refreshPublished(ctx context.Context) error {
	next, err := readPublished(ctx, g.present.Load().client.CoreV1())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing = err
	if err != nil {
		return err
	}
	g.published = next
	p := *g.present.Load()
	g.setPolicy(&p)
	g.once.Do(func() { close(g.first) })
	return nil
}

// Handler answers requests that aren't let through, and hands on the others.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := g.present.Load()
		if !isCleanPath(r.URL.Path) {
			http.Error(w, "no such path", http.StatusNotFound)
			return
		}
		if p.always.matchesPath(r.URL.Path) {
			next.ServeHTTP(w, g.perhaps(r))
			return
		}
		may := func() error { return g.strangers.allow(p, r) }
		u, err := g.authenticate(r, may)
		if err != nil {
			refuseRequest(w, r, err)
			return
		}
		if u == nil {
			u = anonymous
		}

		verb := strings.ToLower(r.Method)
		v, err := g.present.Load().access.authorize(r.Context(), u, verb, r.URL.Path, may)
		switch {
		case errors.Is(err, errStrangers):
			refuseRequest(w, r, err)
		case err != nil:
			klog.V(2).InfoS("Refused a request", "path", r.URL.Path, "user", u.Name, "err", err)
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case !v.allowed:
			klog.V(2).InfoS("Refused a request", "path", r.URL.Path, "user", u.Name, "verb", verb, "reason", v.why)
			http.Error(w, fmt.Sprintf("user %q may not %s %s: %s", u.Name, verb, r.URL.Path, accessHint(u, verb, r.URL.Path)),
				http.StatusForbidden)
		case u == anonymous:
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, withUser(r, u))
		}
	})
}

// accessHint says what would let a user through who may not do this.
func accessHint(u *User, verb, path string) string {
	if u == anonymous {
		return "a client certificate or a bearer token is needed"
	}
	role := "--viewer"
	if verb != "get" || strings.HasPrefix(path, "/debug/") && path != "/debug/explain" {
		role = "--operator"
	}
	return fmt.Sprintf("a ClusterRole with nonResourceURLs: [%q], verbs: [%s], bound to the user, would allow it; "+
		"windlass rbac %s USER prints one", path, verb, role)
}

// perhaps returns a request that anybody may make. It tells whom it is from where that is known at once, and the
// cluster allows it to the user as well: more may be said then.
func (g *Guard) perhaps(r *http.Request) *http.Request {
	if (r.TLS == nil || len(r.TLS.PeerCertificates) == 0) && r.Header.Get("Authorization") == "" {
		return r
	}
	p := g.present.Load()
	may := func() error { return g.strangers.allow(p, r) }
	ctx, cancel := context.WithTimeout(r.Context(), perhapsMax)
	defer cancel()
	u, err := g.authenticate(r.WithContext(ctx), may)
	if err != nil || u == nil {
		return r
	}
	if v, err := p.access.authorize(ctx, u, strings.ToLower(r.Method), r.URL.Path, may); err != nil || !v.allowed {
		return r
	}
	return withUser(r, u)
}

// withUser returns a request that tells whom it is from, without the token.
func withUser(r *http.Request, u *User) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), userKey{}, u))
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	return r
}

// isCleanPath reports whether a path is what it looks like: rules are about paths, and no other spelling may lead
// around them.
func isCleanPath(p string) bool {
	c := path.Clean(p)
	return strings.HasPrefix(p, "/") && (c == p || c+"/" == p)
}

// refuseRequest answers one who shows something that isn't known. err says what is wrong with it.
func refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	klog.V(2).InfoS("Refused a request", "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
	if errors.Is(err, errStrangers) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	if unavailable := (*unavailableError)(nil); errors.As(err, &unavailable) {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "not authenticated: "+err.Error(), http.StatusUnauthorized)
}

// authenticate returns whom a request is from, nil if it shows nothing that says so. What is wrong with one of the
// things that it shows doesn't matter where another one is right, as upstream has it.
// may is asked before the API server is.
func (g *Guard) authenticate(r *http.Request, may func() error) (*User, error) {
	var errs []error
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		u, err := g.present.Load().userOfConnection(r)
		if u == nil { // a request soon after the start may come before it is known whom the API server trusts
			select {
			case <-g.first:
			case <-time.After(lookupMax):
			case <-r.Context().Done():
			}
			u, err = g.present.Load().userOfConnection(r)
		}
		if u != nil {
			return u.withAuthenticated(), nil
		}
		errs = append(errs, err)
	}
	if token := bearerToken(r); token != "" {
		u, err := g.present.Load().tokens.userOfToken(r.Context(), token, may)
		if err == nil {
			return u.withAuthenticated(), nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// bearerToken is the token that a request shows, "" if it shows none.
func bearerToken(r *http.Request) string {
	kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(kind, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// userOfConnection returns the user that the request's certificate names, or that a front proxy does that has the
// certificate. Without a user there is an error.
func (p *policy) userOfConnection(r *http.Request) (*User, error) {
	var errs []error
	if p.proxies != nil {
		u, err := p.proxies.userFromHeaders(r)
		if u != nil {
			return u, nil
		}
		errs = append(errs, err)
	}
	if p.clients == nil {
		return nil, errors.Join(append(errs, errors.New("client certificates can't be verified: no client CA is known"))...)
	}
	c, err := p.clients.verifyClient(r)
	if err != nil {
		return nil, errors.Join(append(errs, fmt.Errorf("the client certificate isn't trusted here: %w", err))...)
	}
	if u := userOfCertificate(c); u != nil {
		return u, nil
	}
	return nil, errors.Join(append(errs, errors.New("the client certificate has no common name"))...)
}
