package effects

import (
	"context"
	"strings"
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
	"github.com/windlass-dev/windlass/host/schema"
)

// newRecorder sends events under a component's name, aggregated and filtered as upstream does. Their rate is limited
// like that of the controller's other requests, but apart from it: a flood of events holds up no write.
func newRecorder(o *Options) (record.EventRecorder, func(), error) {
	c := apiserver.Limited(o.Config, o.Events)
	c.ContentType, c.AcceptContentTypes = envelope.Protobuf, envelope.Accepted
	over, err := o.Client(c)
	if err != nil {
		return nil, nil, err
	}
	events, err := typedcorev1.NewForConfigAndClient(c, over)
	if err != nil {
		return nil, nil, err
	}
	b := record.NewBroadcaster()
	var sink record.EventSink = &typedcorev1.EventSinkImpl{Interface: events.Events("")}
	stop := b.Shutdown
	if o.Lease != nil {
		ctx, cancel := context.WithCancel(context.Background())
		sink, stop = &fencedSink{ctx, sink, o.Lease}, func() { cancel(); b.Shutdown() }
	}
	b.StartRecordingToSink(sink)
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: o.Controller.EventSource}), stop, nil
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
	klog.V(2).InfoS("Event is dropped", "why", lost, "object",
		klog.KRef(e.InvolvedObject.Namespace, e.InvolvedObject.Name), "kind", e.InvolvedObject.Kind, "reason", e.Reason)
	return e, nil
}

// recordEvent records an event on the object that the effect names. It never fails: an event that can't be written is
// dropped, as upstream drops it.
func (s *Session) recordEvent(e *abi.Effect, res *schema.Resource) {
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
	s.w.Recorder.Event(ref, strings.Clone(e.Event.Type), strings.Clone(e.Event.Reason),
		strings.ToValidUTF8(strings.Clone(e.Event.Message[:min(len(e.Event.Message), eventMax)]), ""))
}
