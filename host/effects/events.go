package effects

import (
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// newRecorder sends events under a component's name, aggregated and filtered as upstream does. Their rate is limited like that of the controller's other requests, but
// apart from it: a flood of events holds up no write.
func newRecorder(config *rest.Config, connect func(*rest.Config) (*http.Client, error), limiter flowcontrol.RateLimiter, component string) (record.EventRecorder, func(), error) {
	c := limited(config, limiter)
	over, err := connect(c)
	if err != nil {
		return nil, nil, err
	}
	events, err := typedcorev1.NewForConfigAndClient(c, over)
	if err != nil {
		return nil, nil, err
	}
	b := record.NewBroadcaster()
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events.Events("")})
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}), b.Shutdown, nil
}

// event records an event on the object that the effect names. It never fails: an event that can't be written is dropped, as upstream drops it.
func (s *Session) event(e *abi.Effect, res *schema.Resource) {
	ref := &corev1.ObjectReference{
		APIVersion: res.APIVersion(), Kind: res.Kind,
		Namespace: strings.Clone(e.Namespace), Name: strings.Clone(e.Name), UID: types.UID(strings.Clone(e.UID)),
		ResourceVersion: strings.Clone(e.Version),
	}
	if b := s.find(objectKey{resource: res.Resource, namespace: e.Namespace, name: e.Name}); b != nil && (ref.UID == "" || string(ref.UID) == b.uid) {
		ref.UID = types.UID(b.uid)
		if ref.ResourceVersion == "" {
			ref.ResourceVersion = b.version
		}
	}
	s.w.Recorder.Event(ref, strings.Clone(e.Event.Type), strings.Clone(e.Event.Reason), strings.ToValidUTF8(strings.Clone(e.Event.Message[:min(len(e.Event.Message), eventMax)]), ""))
}
