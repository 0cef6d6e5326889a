package tracing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/tracing/tracingtest"
	"github.com/windlass-dev/windlass/test/cluster"
)

// traceOne is what is done on the hot path.
func traceOne(ctx context.Context, t *Tracer) {
	ctx, root := t.Root(ctx, "sync")
	_, step := Start(ctx, "snapshot")
	step.Int("bytes", 1)
	step.End()
	inside, request := Request(ctx, "effect create")
	request.Text("windlass.verb", "create")
	_ = Parent(inside)
	request.Event("sent again", time.Time{}, "", "")
	request.Fail("Conflict")
	request.End()
	root.Seconds("queue", time.Second)
	root.End()
}

// Where nothing is traced, nothing is allocated.
func TestOffAllocations(t *testing.T) {
	for name, tracer := range map[string]*Tracer{"nil": nil, "not configured": {}} {
		if n := testing.AllocsPerRun(1000, func() { traceOne(t.Context(), tracer) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkOff(b *testing.B) {
	ctx, tracer := b.Context(), &Tracer{}
	for b.Loop() {
		traceOne(ctx, tracer)
	}
}

func BenchmarkOn(b *testing.B) {
	ctx, tracer := b.Context(), &Tracer{}
	if err := tracer.Configure(configured(tracingtest.Start(b).Address)); err != nil {
		b.Fatal(err)
	}
	defer tracer.Close()
	for b.Loop() {
		traceOne(ctx, tracer)
	}
}

func configured(endpoint string) *config.Tracing {
	return &config.Tracing{Endpoint: endpoint, SamplingRatePerMillion: 1_000_000}
}

// What is said of a sync comes to the collector as it was said, and the requests' header names the span that they were
// sent in.
func TestTree(t *testing.T) {
	r, tracer := tracingtest.Start(t), &Tracer{}
	if err := tracer.Configure(configured(r.Address)); err != nil {
		t.Fatal(err)
	}
	ctx, root := tracer.Root(t.Context(), "sync")
	root.Text("windlass.key", "bad \xff and "+strings.Repeat("long", 1000))
	root.Int("windlass.attempt", 3)
	parked := time.Unix(1_700_000_000, 0)
	root.Event("parked", parked, "windlass.resource", "v1/pods")
	inside, request := Request(ctx, "effect create")
	header := Parent(inside)
	request.Fail("Conflict")
	request.End()
	root.End()
	tracer.Close()
	if tracer.On() {
		t.Error("it is on after its end")
	}

	roots := r.Roots()
	if len(roots) != 1 || len(roots[0].Within) != 1 {
		t.Fatalf("received %v", roots)
	}
	x := roots[0]
	if key := x.Text("windlass.key"); !strings.HasPrefix(key, "bad ? and long") || len(key) > textMost ||
		x.Int("windlass.attempt") != 3 {
		t.Errorf("received %v", x)
	}
	if len(x.Events) != 1 || x.Events[0].Name != "parked" || x.Events[0].TimeUnixNano != uint64(parked.UnixNano()) ||
		x.Events[0].Attributes[0].Value.GetStringValue() != "v1/pods" {
		t.Errorf("its events are %v", x.Events)
	}
	child := x.Within[0]
	if child.Kind != tracepb.Span_SPAN_KIND_CLIENT || child.Status.Code != tracepb.Status_STATUS_CODE_ERROR ||
		child.Status.Message != "Conflict" {
		t.Errorf("within it is %v", child)
	}
	if want := fmt.Sprintf("00-%s-%s-01", hex.EncodeToString(child.TraceId), hex.EncodeToString(child.SpanId)); header !=
		want {
		t.Errorf("the header is %s, want %s", header, want)
	}
	if s := r.Resource("service.name"); s != "windlass" {
		t.Errorf("the service is %q", s)
	}
	if n := tracer.spans.exported.Load(); n != 2 {
		t.Errorf("counted %d exported spans", n)
	}
}

// A sync has no more spans than it may, and syncs beyond the sampling rate have none.
func TestBounds(t *testing.T) {
	r, tracer := tracingtest.Start(t), &Tracer{}
	if err := tracer.Configure(configured(r.Address)); err != nil {
		t.Fatal(err)
	}

	ctx, root := tracer.Root(t.Context(), "sync")
	for range spansMost + 10 {
		_, s := Start(ctx, "effect")
		s.End()
	}
	root.End()
	none := configured(r.Address)
	none.SamplingRatePerMillion = 0
	if err := tracer.Configure(none); err != nil { // ends the tracer before
		t.Fatal(err)
	}

	within, sampled := tracer.Root(t.Context(), "sync")
	if _, s := Start(within, "effect"); sampled != nil || s != nil {
		t.Error("a sync is traced that is sampled by 0 of a million")
	}
	tracer.Close()

	eventually(t, "the spans come", func() (bool, string) {
		n := tracer.spans.exported.Load()
		return n == spansMost, fmt.Sprint(n)
	})
	if n := tracer.spans.dropped.Load(); n != 11 {
		t.Errorf("%d spans were dropped, want 11", n)
	}
}

func eventually(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	cluster.Eventually(t, time.Minute, what, done)
}

// Whatever is the matter with the collector, syncs don't wait for it, and each span is counted.
func TestBadCollectors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	refusing := tracingtest.Start(t)
	refusing.Refuse = func() error { return status.Error(codes.PermissionDenied, "not you") }
	for name, address := range map[string]string{"nobody there": closed.Addr().String(), "mute": mute.Addr().String(),
		"refusing": refusing.Address} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracer := &Tracer{}
			if err := tracer.Configure(configured(address)); err != nil {
				t.Fatal(err)
			}
			well := &Tracer{}
			if err := well.Configure(configured(tracingtest.Start(t).Address)); err != nil {
				t.Fatal(err)
			}
			defer well.Close()

			const syncs = 20_000
			trace := func(tracer *Tracer) time.Duration {
				begin := time.Now()
				for range syncs {
					traceOne(t.Context(), tracer)
				}
				return time.Since(begin)
			}
			// a hundred batches would wait for that each
			if took, usual := trace(tracer), trace(well); took > 10*usual+exportMost {
				t.Errorf("%d syncs took %v, and %v where the collector is well", syncs, took, usual)
			}

			begin := time.Now()
			tracer.Close()
			if took := time.Since(begin); took > 3*exportMost { // which one batch may take; there are eight of them
				t.Errorf("the end took %v", took)
			}
			s := &tracer.spans
			if s.exported.Load() != 0 || s.dropped.Load() == 0 || s.failed.Load()+s.dropped.Load() > 3*syncs ||
				s.failed.Load()+s.dropped.Load() < 3*syncs-queueMost {
				t.Errorf("exported %d, failed %d, dropped %d of %d", s.exported.Load(), s.failed.Load(), s.dropped.Load(), 3*syncs)
			}
		})
	}
}

// A collector's restart loses nothing: what it was not there for is sent once more.
func TestUnavailableFor(t *testing.T) {
	r, tracer, calls := tracingtest.Start(t), &Tracer{}, 0
	r.Refuse = func() error {
		if calls++; calls == 1 {
			return status.Error(codes.Unavailable, "starting")
		}
		return nil
	}
	if err := tracer.Configure(configured(r.Address)); err != nil {
		t.Fatal(err)
	}
	traceOne(t.Context(), tracer)
	tracer.Close()
	if n := tracer.spans.exported.Load(); n != 3 || calls != 2 {
		t.Errorf("%d of 3 spans were exported in %d calls", n, calls)
	}
}

// TLS verifies the collector, and shows it a certificate where there is one.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	ca := authority(t, folder, "ca")
	server := ca.certificate(t, folder, "collector")
	ca.certificate(t, folder, "windlass")
	authority(t, folder, "other")
	pair, err := tls.LoadX509KeyPair(server+".crt", server+".key")
	if err != nil {
		t.Fatal(err)
	}

	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	r := tracingtest.Start(t, grpc.Creds(
		credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert})))
	file := func(name string) string { return filepath.Join(folder, name) }
	good := config.TracingTLS{Enabled: true, CAFile: file("ca.crt"), CertFile: file("windlass.crt"),
		KeyFile: file("windlass.key"), ServerName: "collector"}

	for name, x := range map[string]struct {
		change func(*config.TracingTLS)
		spans  int64
	}{
		"good":                 {func(*config.TracingTLS) {}, 3},
		"no certificate":       {func(c *config.TracingTLS) { c.CertFile, c.KeyFile = "", "" }, 0},
		"an unknown authority": {func(c *config.TracingTLS) { c.CAFile = file("other.crt") }, 0},
		"another name":         {func(c *config.TracingTLS) { c.ServerName = "somebody" }, 0},
		"no TLS":               {func(c *config.TracingTLS) { *c = config.TracingTLS{} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := configured(r.Address)
			c.TLS = good
			x.change(&c.TLS)
			tracer := &Tracer{}
			if err := tracer.Configure(c); err != nil {
				t.Fatal(err)
			}
			traceOne(t.Context(), tracer)
			tracer.Close()
			if n := tracer.spans.exported.Load(); n != x.spans {
				t.Errorf("%d spans were exported, want %d", n, x.spans)
			}
		})
	}
}

// A configuration that can't be used leaves what there is.
func TestConfigureRefuses(t *testing.T) {
	tracer := &Tracer{}
	if err := tracer.Configure(configured(tracingtest.Start(t).Address)); err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := tracer.live.Load()
	for want, x := range map[string]config.TracingTLS{
		"tracing: tls.caFile: ": {Enabled: true, CAFile: empty},
		"tracing: tls.certFile": {Enabled: true, CertFile: empty, KeyFile: empty},
	} {
		c := configured("127.0.0.1:4317")
		c.TLS = x
		if err := tracer.Configure(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
	if tracer.live.Load() != before {
		t.Error("it isn't what it was")
	}
}

// ca is an authority that signs certificates.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func authority(t *testing.T, folder, name string) *ca {
	t.Helper()
	a := &ca{}
	a.cert, a.key = issueCertificate(t, folder, name, nil)
	return a
}

// certificate returns the path of a certificate and its key without .crt and .key.
func (a *ca) certificate(t *testing.T, folder, name string) string {
	t.Helper()
	issueCertificate(t, folder, name, a)
	return filepath.Join(folder, name)
}

func issueCertificate(t *testing.T, folder, name string, by *ca) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature |
			x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}

	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	for file, b := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der},
		name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
