package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	flagzv1alpha1 "k8s.io/apiserver/pkg/server/flagz/api/v1alpha1"
	flagzv1beta1 "k8s.io/apiserver/pkg/server/flagz/api/v1beta1"
	flagznegotiate "k8s.io/apiserver/pkg/server/flagz/negotiate"
	statuszv1alpha1 "k8s.io/apiserver/pkg/server/statusz/api/v1alpha1"
	statuszv1beta1 "k8s.io/apiserver/pkg/server/statusz/api/v1beta1"
	statusznegotiate "k8s.io/apiserver/pkg/server/statusz/negotiate"
	"k8s.io/klog/v2"
)

// Component says what a process is to Kubernetes.
type Component struct {
	// Name is the component's, in whose place Windlass may be.
	Name string
	// Version is the release of Kubernetes that it belongs to, without a v.
	Version string
	// Emulated is the version of Kubernetes whose behaviour it has, such as 1.37.
	Emulated string
}

// zpage is one of the pages /statusz and /flagz in the forms of Kubernetes (k8s.io/apiserver/pkg/server/statusz and
// flagz, whose types and negotiation these are; their handlers would bring CEL and gRPC along): text where nothing else
// is asked for, an object of config.k8s.io where Accept names its version and kind, and 406 for anything else.
type zpage struct {
	component    string
	name         string // without the slash, as the text's header has it
	codecs       zpageCodecs
	restrictions negotiation.EndpointRestrictions
	text         func(separator string) string
	objects      map[schema.GroupVersionKind]func() apiruntime.Object
}

// separators of names and values in the text are drawn by lot, as upstream's are, so that nobody comes to rely on one.
var separators = []string{":", ": ", "=", " "}

// zpageCodecs are a scheme's codecs for the media types of zpages.
type zpageCodecs struct {
	serializer.CodecFactory
	media []apiruntime.SerializerInfo
}

// SupportedMediaTypes are those of zpages, in the order in which they are preferred.
func (c zpageCodecs) SupportedMediaTypes() []apiruntime.SerializerInfo { return c.media }

// newZpageCodecs returns codecs for what the functions add to a scheme.
func newZpageCodecs(add ...func(*apiruntime.Scheme) error) zpageCodecs {
	scheme := apiruntime.NewScheme()
	for _, f := range add {
		if err := f(scheme); err != nil {
			panic(err) // two of the packages above contradict each other
		}
	}

	text := func(apiruntime.ObjectCreater, apiruntime.ObjectTyper) apiruntime.SerializerInfo {
		return apiruntime.SerializerInfo{MediaType: "text/plain", MediaTypeType: "text", MediaTypeSubType: "plain",
			EncodesAsText: true}
	}
	c := zpageCodecs{CodecFactory: serializer.NewCodecFactory(scheme, serializer.WithSerializer(text),
		serializer.WithSerializer(cbor.NewSerializerInfo))}
	for _, m := range c.CodecFactory.SupportedMediaTypes() {
		if m.MediaType != apiruntime.ContentTypeProtobuf { // the types have no such form
			c.media = append(c.media, m)
		}
	}
	return c
}

// statuszPage returns upstream's page of the process: since when it runs, of which version it is, what it serves.
func (s *Server) statuszPage() *zpage {
	old, present := statuszv1alpha1.SchemeGroupVersion.WithKind("Statusz"),
		statuszv1beta1.SchemeGroupVersion.WithKind("Statusz")
	object := func() *statuszv1beta1.Statusz {
		return &statuszv1beta1.Statusz{
			TypeMeta:         typeMeta(present),
			ObjectMeta:       metav1.ObjectMeta{Name: s.options.Component.Name},
			StartTime:        metav1.NewTime(s.started),
			UptimeSeconds:    int64(time.Since(s.started).Seconds()),
			GoVersion:        runtime.Version(),
			BinaryVersion:    s.options.Component.Version,
			EmulationVersion: s.options.Component.Emulated,
			Paths:            folders(s.Patterns()),
		}
	}

	return &zpage{
		component: s.options.Component.Name,
		name:      "statusz",
		codecs:    newZpageCodecs(statuszv1alpha1.AddToScheme, statuszv1beta1.AddToScheme),
		restrictions: statusznegotiate.StatuszEndpointRestrictions{
			RecognizedStructuredKinds: map[schema.GroupVersionKind]bool{old: true, present: true}},
		text: func(separator string) string {
			o := object()
			up := time.Duration(o.UptimeSeconds) * time.Second
			var text strings.Builder
			for _, line := range [][2]string{
				{"Started", o.StartTime.Format(time.UnixDate)},
				{"Up", fmt.Sprintf("%d hr %02d min %02d sec", int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60)},
				{"Go version", o.GoVersion},
				{"Binary version", o.BinaryVersion},
				{"Emulation version", o.EmulationVersion},
				{"Paths", strings.Join(o.Paths, " ")},
			} {
				fmt.Fprintf(&text, "%s%s %s\n", line[0], separator, line[1])
			}
			return "\n" + text.String()
		},
		objects: map[schema.GroupVersionKind]func() apiruntime.Object{
			present: func() apiruntime.Object { return object() },
			old: func() apiruntime.Object {
				o := statuszv1alpha1.Statusz(*object())
				o.TypeMeta = typeMeta(old)
				return &o
			},
		},
	}
}

// flagzPage returns upstream's page of the flags that the process was started with.
func (s *Server) flagzPage() *zpage {
	old, present := flagzv1alpha1.SchemeGroupVersion.WithKind("Flagz"), flagzv1beta1.SchemeGroupVersion.WithKind("Flagz")
	metadata := metav1.ObjectMeta{Name: s.options.Component.Name}

	return &zpage{
		component: s.options.Component.Name,
		name:      "flagz",
		codecs:    newZpageCodecs(flagzv1alpha1.AddToScheme, flagzv1beta1.AddToScheme),
		restrictions: flagznegotiate.FlagzEndpointRestrictions{
			RecognizedStructuredKinds: map[schema.GroupVersionKind]bool{old: true, present: true}},
		text: s.flagLines,
		objects: map[schema.GroupVersionKind]func() apiruntime.Object{
			present: func() apiruntime.Object {
				return &flagzv1beta1.Flagz{TypeMeta: typeMeta(present), ObjectMeta: metadata, Flags: s.options.Flags}
			},
			old: func() apiruntime.Object {
				return &flagzv1alpha1.Flagz{TypeMeta: typeMeta(old), ObjectMeta: metadata, Flags: s.options.Flags}
			},
		},
	}
}

// flagLines has a line for each flag of the process.
func (s *Server) flagLines(separator string) string {
	var text strings.Builder
	for _, n := range slices.Sorted(maps.Keys(s.options.Flags)) {
		fmt.Fprintf(&text, "%s%s%s\n", n, separator, s.options.Flags[n])
	}
	return text.String()
}

func typeMeta(kind schema.GroupVersionKind) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
}

// folders returns the first elements of the paths of patterns, sorted.
func folders(patterns []string) []string {
	all := map[string]bool{}
	for _, p := range patterns {
		path := p[strings.Index(p, "/"):] // behind the method
		if first, _, _ := strings.Cut(path[1:], "/"); first != "" && !strings.HasPrefix(first, "{") {
			all["/"+first] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ServeHTTP answers in the form that the request accepts. As upstream, it doesn't look at the method.
func (p *zpage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache, private")
	if strings.TrimSpace(r.Header.Get("Accept")) == "" {
		p.writeText(w)
		return
	}

	media, form, err := negotiation.NegotiateOutputMediaType(r, p.codecs, p.restrictions)
	switch {
	case err != nil:
		p.writeRefusal(w, r, err)
	case form.MediaType == "text/plain":
		p.writeText(w)
	default:
		kind := *media.Convert // the restrictions let nothing without it through
		if kind.Version == "v1alpha1" {
			w.Header().Set("Warning", fmt.Sprintf(
				`299 - "This version of the %s endpoint is deprecated. Please use a newer version."`, p.name))
		}
		contentType := fmt.Sprintf("%s;g=%s;v=%s;as=%s", form.MediaType, kind.Group, kind.Version, kind.Kind)
		p.writeObject(w, http.StatusOK, contentType, form.Serializer, kind.GroupVersion(), p.objects[kind]())
	}
}

func (p *zpage) writeText(w http.ResponseWriter) {
	separator := separators[rand.IntN(len(separators))]
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "\n%s %s\nWarning: This endpoint is not meant to be machine parseable, has no formatting "+
		"compatibility guarantees and is for debugging purposes only.\n%s",
		p.component, p.name, p.text(separator))
}

// writeRefusal answers with a Status in a form that the request accepts, or in JSON.
func (p *zpage) writeRefusal(w http.ResponseWriter, r *http.Request, why error) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Reason: metav1.StatusReasonUnknown, Message: why.Error()}
	if known := interface{ Status() metav1.Status }(nil); errors.As(why, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

	_, form, err := negotiation.NegotiateOutputMediaType(r, p.codecs, negotiation.DefaultEndpointRestrictions)
	if err != nil || form.Serializer == nil {
		b, _ := json.MarshalIndent(&status, "", "  ") // it has nothing that can't be JSON
		w.Header().Set("Content-Type", apiruntime.ContentTypeJSON)
		w.WriteHeader(int(status.Code))
		_, _ = w.Write(b)
		return
	}
	p.writeObject(w, int(status.Code), form.MediaType, form.Serializer, schema.GroupVersion{Version: "v1"}, &status)
}

func (p *zpage) writeObject(w http.ResponseWriter, code int, contentType string, form apiruntime.Serializer,
	version schema.GroupVersion, o apiruntime.Object) {
	var b bytes.Buffer
	if err := p.codecs.EncoderForVersion(form, version).Encode(o, &b); err != nil {
		klog.ErrorS(err, "Can't encode a page", "page", p.name, "as", contentType)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}
