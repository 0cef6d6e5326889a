package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/guard"
)

const (
	// shutdownMax is how long requests in flight may take once the server ends.
	shutdownMax = 5 * time.Second
	// streamsMax bounds the requests at once on one of them.
	streamsMax = 64
	// lookAgain is how often the files that the configuration names are compared with what was taken of them.
	lookAgain = 2 * time.Second
)

// Options say what is served where.
type Options struct {
	// Config says where, with which certificate and to whom.
	Config *config.Serving
	// Client is how the API server is reached where Config doesn't say otherwise.
	Client *rest.Config
	// Registry has Windlass's metrics. /metrics gives client-go's, Go's and the process's beside them: the registry must
	// not have those too.
	Registry *prometheus.Registry
	// Checks returns what /healthz and /readyz test, as of now: one for each controller.
	Checks func() []Check
	// Handle serves further paths, by patterns of http.ServeMux, to those whom the guard lets through.
	Handle map[string]http.Handler
	// Open serves GETs of these very paths to anybody: what is the same everywhere, and tells nothing of this process.
	Open map[string]http.Handler
	// Ready returns what only /readyz tests: the caches, say.
	Ready func() []Check
	// Configuration returns the configuration that is applied, for /configz; nil for none.
	Configuration func() any
	// Component is what /statusz and /flagz call the process.
	Component Component
	// Flags are those that the process was started with, for /flagz.
	Flags map[string]string
}

// Server is a server whose address is taken.
type Server struct {
	listener net.Listener
	http     http.Server
	guard    *guard.Guard
	mux      *recorder
	metrics  *metrics
	started  time.Time
	options  Options

	mu       sync.Mutex // of what changes
	pair     *pair
	unpin    func()
	problems atomic.Pointer[error]
	now      atomic.Pointer[config.Serving] // as it is served
	tls      atomic.Pointer[tls.Config]
}

// New takes the address, with everything that the configuration names. Run serves.
func New(ctx context.Context, o Options) (*Server, error) {
	c := o.Config
	s := &Server{options: o, started: time.Now(), metrics: newMetrics(o.Registry), unpin: func() {}}
	var err error
	if s.pair, err = openPair(&c.TLS, c.BindAddress); err != nil {
		return nil, err
	}
	if s.guard, err = guard.New(ctx, c, o.Client); err != nil {
		return nil, err
	}

	address := net.JoinHostPort(c.BindAddress, strconv.Itoa(int(max(c.Port, 0))))
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving.bindAddress and port: %w: choose another address, or port 0 for none", err)
	}

	s.listener = l
	s.applyServing(c)
	s.mux = s.newRoutes()
	places := &places{all: map[net.Conn]*place{}}
	s.http = http.Server{
		Handler: s.metrics.countAnswers(s.serveOpen(s.guard.Handler(places.handler(
			http.NewCrossOriginProtection().Handler(s.mux))))),
		ConnContext:       places.enter,
		ConnState:         places.follow,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    64 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streamsMax},
		ErrorLog:          log.New(quiet{}, "", 0),
		TLSConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.tls.Load(), nil },
			NextProtos:         []string{"h2", "http/1.1"},
		},
	}

	return s, nil
}

// applyServing serves as the configuration says, with the certificate as it is now. The lock is held, or nobody else
// has the server yet.
func (s *Server) applyServing(c *config.Serving) {
	was, own := s.now.Load(), *c
	s.now.Store(&own)
	contend(c.Profiling && c.ContentionProfiling)
	served := s.pair.current()
	if was != nil && reflect.DeepEqual(was.TLS, c.TLS) && s.tls.Load().Certificates[0].Leaf.Equal(served.Leaf) {
		return // clients may go on with their sessions
	}
	t := &tls.Config{
		Certificates: []tls.Certificate{*served},
		ClientAuth:   tls.RequestClientCert, // the guard verifies it, against the CAs of now
		NextProtos:   []string{"h2", "http/1.1"},
	}
	// Package config has checked the names.
	t.MinVersion, _ = cliflag.TLSVersion(c.TLS.MinVersion)
	t.CipherSuites, _ = cliflag.TLSCipherSuites(c.TLS.CipherSuites)
	s.tls.Store(t)
	s.metrics.expiry.Set(float64(served.Leaf.NotAfter.Unix()))
	s.unpin()
	var err error
	if s.unpin, err = pinCertificate(s.listenPort(), served); err != nil {
		klog.V(1).InfoS("Can't store the server's certificate for the commands of this machine: give them "+
			"--certificate-authority", "err", err)
	}
}

func (s *Server) listenPort() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Configure serves as the configuration says now. After an error, which names the field, what that is about is as it
// was; the rest holds.
func (s *Server) Configure(c *config.Serving) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	next, now := *c, s.now.Load()
	next.BindAddress, next.Port = now.BindAddress, now.Port // of which config.WaitForRestart tells
	if !sameFiles(&next.TLS, &s.pair.given) {
		if p, err := openPair(&next.TLS, next.BindAddress); err != nil {
			errs = append(errs, err)
			next.TLS = now.TLS
		} else {
			s.pair = p
		}
	}
	if err := s.guard.Configure(&next); err != nil {
		errs = append(errs, err)
	}
	s.applyServing(&next)
	return errors.Join(errs...)
}

func sameFiles(a, b *config.ServingTLS) bool {
	return a.CertFile == b.CertFile && a.KeyFile == b.KeyFile && a.CertDir == b.CertDir
}

// Refresh takes what has changed in the files that the configuration names. What can't be taken is said once, counted,
// and told by [Server.Problems] until it is mended.
func (s *Server) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.pair.refresh()
	if changed {
		s.applyServing(s.now.Load())
		s.metrics.reloads.WithLabelValues("ok").Inc()
		klog.InfoS("Reloaded the serving certificate", "notAfter", s.pair.current().Leaf.NotAfter.Format(time.RFC3339))
	}
	err = errors.Join(err, s.guard.Refresh())
	was := s.Problems()
	if err != nil && (was == nil || was.Error() != err.Error()) {
		s.metrics.reloads.WithLabelValues("failed").Inc()
		klog.ErrorS(err, "Rejected the changed certificate or CA file, serving with the one before")
	} else if err == nil && was != nil {
		klog.InfoS("Certificate and CA files can be used again")
	}
	s.problems.Store(&err)
}

// Problems are why the server doesn't serve as it is configured; nil: it does.
func (s *Server) Problems() error {
	if err := s.problems.Load(); err != nil {
		return *err
	}
	return nil
}

// Certificate is the one that is served with.
func (s *Server) Certificate() *tls.Certificate { return &s.tls.Load().Certificates[0] }

// Address is the address taken, with the port where any was asked for.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Patterns are all that is served, as patterns of http.ServeMux, sorted.
func (s *Server) Patterns() []string {
	all := slices.Clone(s.mux.patterns)
	slices.Sort(all)
	return all
}

// Run serves until ctx ends, then lets requests in flight end.
func (s *Server) Run(ctx context.Context) error {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unpin()
	}()

	klog.InfoS("Serving health, metrics and state", "address", "https://"+s.Address())
	own, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { s.guard.Run(own) })

	all.Go(func() {
		for tick := time.Tick(lookAgain); ; {
			select {
			case <-tick:
				s.Refresh()
			case <-own.Done():
				return
			}
		}
	})

	done := make(chan error, 1)
	go func() { done <- s.http.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-done:
		return fmt.Errorf("serving on %s: %w", s.Address(), err)
	case <-ctx.Done():
	}

	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownMax)
	defer cancel()
	if err := s.http.Shutdown(bounded); err != nil {
		_ = s.http.Close()
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		klog.InfoS("Cut off requests that were still running", "after", shutdownMax)
	}

	return nil
}

// quiet logs what net/http complains of: handshakes of whoever knocks.
type quiet struct{}

func (quiet) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("panic serving")) { // a fault of ours
		klog.ErrorS(nil, "The handler of a request panicked, please report it", "err", string(b))
	} else {
		klog.V(3).InfoS("Connection failed", "err", string(b))
	}
	return len(b), nil
}
