package tracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/config"
)

// client calls the one method of OTLP over gRPC that there is, on net/http: RATIONALE.md has the figures of the gRPC
// library.
type client struct {
	http *http.Client
	url  string
}

var _ otlptrace.Client = (*client)(nil)

// export is the method (opentelemetry/proto/collector/trace/v1/trace_service.proto). Its request is a TracesData by its
// bytes: a list of ResourceSpans in field 1.
const export = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

const (
	dialMost   = 5 * time.Second
	answerMost = 64 << 10
	retryAfter = time.Second
)

func newClient(c *config.Tracing) (*client, error) {
	u := url.URL{Scheme: "http", Host: c.Endpoint, Path: export}
	t := &http.Transport{DialContext: (&net.Dialer{Timeout: dialMost}).DialContext, Protocols: new(http.Protocols),
		MaxIdleConns: 1, IdleConnTimeout: 5 * time.Minute}
	if !c.TLS.Enabled {
		t.Protocols.SetUnencryptedHTTP2(true)
		return &client{&http.Client{Transport: t}, u.String()}, nil
	}

	u.Scheme = "https"
	t.Protocols.SetHTTP2(true)
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLS.ServerName}
	if c.TLS.CAFile != "" {
		pem, err := os.ReadFile(c.TLS.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.caFile: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.caFile: %s has no certificate in PEM", c.TLS.CAFile)
		}
	}

	if c.TLS.CertFile != "" {
		pair := func() (*tls.Certificate, error) {
			p, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("tls.certFile and tls.keyFile: %w", err)
			}
			return &p, nil
		}
		if _, err := pair(); err != nil {
			return nil, err
		}
		// Read at each handshake: certificates are renewed.
		t.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair() }
	}

	return &client{&http.Client{Transport: t}, u.String()}, nil
}

// Start is otlptrace.Client's. A connection is made when there is something to send.
func (c *client) Start(context.Context) error { return nil }

// Stop is otlptrace.Client's.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch. One whose answer didn't come, or says that the collector is not to be had, is sent once
// more.
func (c *client) UploadTraces(ctx context.Context, all []*tracepb.ResourceSpans) error {
	body, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 5), &tracepb.TracesData{ResourceSpans: all})
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(body[1:], uint32(len(body)-5)) // after a 0: the message isn't compressed
	again, err := c.callOnce(ctx, body)
	if err == nil || !again {
		return err
	}
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return err
	case <-timer.C:
	}
	_, err = c.callOnce(ctx, body)
	return err
}

// callOnce calls the method; again tells whether it may be called again after an error.
func (c *client) callOnce(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}

	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("TE", "trailers")
	answer, err := c.http.Do(r)
	if err != nil {
		return ctx.Err() == nil, err
	}

	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode >= http.StatusInternalServerError,
			fmt.Errorf("the collector answered %s: is it OTLP's gRPC port (4317 as a rule, not 4318)?", answer.Status)
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, answerMost)); err != nil || n == answerMost {
		return false, errors.Join(fmt.Errorf("the collector's answer can't be read (%d bytes)", n), err)
	}

	status, message := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" {
		status, message = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	if status == "0" {
		return false, nil
	}

	if text, err := url.PathUnescape(message); err == nil {
		message = text
	}
	return status == unavailable, fmt.Errorf("the collector refuses spans: gRPC status %s: %s",
		strconv.Quote(status), strconv.Quote(message[:min(len(message), textMost)]))
}

// unavailable is gRPC's status of a server that may be there later.
const unavailable = "14"
