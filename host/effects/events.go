package effects

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// teller sends a controller's events. It begins with the first: most controllers have none to tell for hours, and
// client-go's broadcaster holds queues of a thousand events and three goroutines.
type teller struct {
	begin func() (recorder record.EventRecorder, end func())

	mu       sync.Mutex
	recorder record.EventRecorder // nil before the first event
	end      func()
	ended    bool
}

// newTeller sends events under a component's name, aggregated and filtered as upstream does. Their rate is limited like
// that of the controller's other requests, but apart from it: a flood of events holds up no write.
func newTeller(o *Options) (*teller, error) {
	c := apiserver.Limited(o.Config, o.Events)
	c.ContentType, c.AcceptContentTypes = envelope.Protobuf, envelope.Accepted
	over, err := o.Client(c)
	if err != nil {
		return nil, err
	}
	events, err := typedcorev1.NewForConfigAndClient(c, over)
	if err != nil {
		return nil, err
	}

	source := corev1.EventSource{Component: o.Controller.EventSource}
	lease := o.Lease
	return &teller{begin: func() (record.EventRecorder, func()) {
		b := record.NewBroadcaster()
		var sink record.EventSink = &typedcorev1.EventSinkImpl{Interface: events.Events("")}
		end := b.Shutdown
		if lease != nil {
			ctx, cancel := context.WithCancel(context.Background())
			sink, end = &fencedSink{ctx, sink, lease}, func() { cancel(); b.Shutdown() }
		}
		b.StartRecordingToSink(sink)
		return b.NewRecorder(scheme.Scheme, source), end
	}}, nil
}

// tell sends an event, or drops it where the teller has ended.
func (t *teller) tell(ref *corev1.ObjectReference, eventType, reason, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	if t.recorder == nil {
		t.recorder, t.end = t.begin()
	}
	t.recorder.Event(ref, eventType, reason, message)
}

// close ends the sending. An event that is on its way is dropped.
func (t *teller) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.end != nil {
		t.end()
	}
}

// fencedSink drops the events of a lease that is lost. client-go's recorder would hold all later ones up for minutes
// while it tries to write them: of its errors it takes none of a transport's to be final.
type fencedSink struct {
	ctx context.Context
	record.EventSink
	lease func(context.Context) (time.Duration, error)
}

func (s *fencedSink) Create(e *corev1.Event) (*corev1.Event, error) {
	return s.writeFenced(e, func() (*corev1.Event, error) { return s.EventSink.Create(e) })
}

func (s *fencedSink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.writeFenced(e, func() (*corev1.Event, error) { return s.EventSink.Patch(e, patch) })
}

func (s *fencedSink) writeFenced(e *corev1.Event, write func() (*corev1.Event, error)) (*corev1.Event, error) {
	_, lost := s.lease(s.ctx)
	if lost == nil {
		written, err := write()
		if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return written, err
		}
		if _, lost = s.lease(s.ctx); lost == nil {
			return written, err
		}
	}
	klog.V(2).InfoS("Event is dropped", "component", e.Source.Component, "err", lost, "object",
		klog.KRef(e.InvolvedObject.Namespace, e.InvolvedObject.Name), "kind", e.InvolvedObject.Kind, "reason", e.Reason)
	return e, nil
}

// recordEvent records an event on the object that the effect names. It never fails: an event that can't be written is
// dropped, as upstream drops it.
func (s *Session) recordEvent(e *abi.Effect, res *schema.Resource) {
	if n := len(e.Event.Reason) + len(e.UID) + len(e.Version) + len(e.Name) + len(e.Namespace); n > eventNamesMax {
		s.w.log.Info("An event is left out: the API server would refuse it, for its name begins with the object's",
			"object", printable.Line(e.Namespace+"/"+e.Name, textMost), "reason", printable.Line(e.Event.Reason, textMost),
			"bytes", n, "limit", eventNamesMax)
		return
	}

	ref := &corev1.ObjectReference{
		APIVersion: res.APIVersion(), Kind: res.Kind,
		Namespace: strings.Clone(e.Namespace), Name: strings.Clone(e.Name), UID: types.UID(strings.Clone(e.UID)),
		ResourceVersion: strings.Clone(e.Version),
	}
	if b := s.bases.find(objectKey{resource: res.Resource, namespace: e.Namespace, name: e.Name}); b != nil &&
		(ref.UID == "" || string(ref.UID) == b.uid) {
		ref.UID = types.UID(b.uid)
		if ref.ResourceVersion == "" {
			ref.ResourceVersion = b.version
		}
	}
	s.w.teller.tell(ref, strings.Clone(e.Event.Type), strings.Clone(e.Event.Reason),
		strings.ToValidUTF8(strings.Clone(e.Event.Message[:min(len(e.Event.Message), eventMax)]), ""))
}
