package effects

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/printable"
)

// named is what a request is called that isn't sent by send.
type named string

func (n named) String() string { return string(n) }

// discoverOrRead performs a discovery or a read.
func (s *Session) discoverOrRead(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if e.Kind == abi.EffectRead {
		b, err := s.readPath(ctx, e)
		return abi.Outcome{Object: abi.ObjectData{Data: b}}, err
	}
	ctx, awaited := awaiting.Begin(ctx, named("get discovery"))
	defer awaited.End()
	ctx, cancel := context.WithTimeout(ctx, s.w.Timeout)
	defer cancel()
	if e.Discover.APIVersion == "" && e.Discover.Kind == "" {
		if err := s.w.awaitRequest(ctx); err != nil {
			return abi.Outcome{}, fmt.Errorf("discovery: %w", err)
		}
		awaited.Sent()
		d, err := s.w.Discovery.All(ctx)
		return abi.Outcome{Discovery: d}, err
	}
	if e.UID != "" && s.w.Gone != nil && s.w.Gone(e.UID) {
		return abi.Outcome{}, apierrors.NewNotFound(apischema.GroupResource{Resource: strings.Clone(e.Discover.Kind)}, e.UID)
	}
	awaited.Sent()
	r, err := s.w.Discovery.Kind(ctx, strings.Clone(e.Discover.APIVersion), strings.Clone(e.Discover.Kind))
	if err != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Discovery: &abi.Discovery{Resources: []abi.APIResource{r}}}, nil
}

// readMax bounds the answer to a read, in bytes.
const readMax = 16 << 20

// readRetries is how often a read is sent again when the server asks for that.
const readRetries = 2

// readPath gets a path in JSON. Whether it answers is the plugin's concern: nothing waits for a metrics API that is
// down.
func (s *Session) readPath(ctx context.Context, e *abi.Effect) ([]byte, error) {
	p, err := parsePath(e.Path)
	if err != nil {
		return nil, err
	}
	if p.nothing {
		return nil, nowhere()
	}

	path, _, _ := strings.Cut(e.Path, "?")
	ctx, awaited := awaiting.Begin(ctx, named("get "+path))
	defer awaited.End()
	ctx, cancel := context.WithTimeout(ctx, s.w.Timeout)
	defer cancel()
	q := s.w.client.Get().AbsPath(p.segments...).SetHeader("Accept", runtime.ContentTypeJSON).MaxRetries(readRetries)
	for name, values := range p.query {
		for _, v := range values {
			q.Param(name, v)
		}
	}
	awaited.Sent()
	start := time.Now()
	b, err := s.bounded(q.Stream(ctx))
	if s.w.Metrics.Write != nil {
		s.w.Metrics.Write("get", printable.Line(e.Resource, textMost), "", statusCodeOf(err), time.Since(start))
	}
	return b, err
}

func (s *Session) bounded(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(&apiserver.Held{ReadCloser: r, Hold: s.hold}, readMax+1))
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	if len(b) > readMax {
		return nil, fmt.Errorf("the server's answer is larger than %d bytes", readMax)
	}
	return b, nil
}
